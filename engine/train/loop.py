"""The training loop of all drafters: steps, learning curve, checkpoints. What is learned comes in as a function."""

import os
import signal
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass, field
from pathlib import Path

import torch
from torch import Tensor, nn
from tqdm import tqdm

from engine.train import data, dtypes
from engine.train.features import Store
from engine.train.recipe import Recipe

SAVE_S = 120.0
PAUSE_S = 60.0  # a step that seems to take longer was a stopped process
VOCABULARY = ("d2t", "t2d")  # of a head: follow the text, so a resumed run has its own already


class CheckpointError(ValueError):
    """A checkpoint that this training cannot go on from."""


@dataclass(slots=True)
class Score:
    """`loss` to minimise; `agree[s]`: positions where step s + 1 names the target's first choice, of `count[s]`."""

    loss: Tensor
    agree: list[int]
    count: list[int]


#: (batch, steps of the training-time test, temperature of the teacher) -> Score
ScoreOf = Callable[[data.Batch, int, float], Score]


@dataclass(slots=True)
class Progress:
    """What a checkpoint holds besides weights. `single`: steps of the first phase.

    `curve`: [step, tokens seen, loss, agreement at each step of the training-time test] per point.
    """

    step: int = 0
    tokens: int = 0
    seconds: float = 0.0
    conversations: int = 0
    single: int = 0
    curve: list[list[float]] = field(default_factory=list)


class Training:
    """Model, optimizers and progress; `run` advances them until the recipe's last step or a signal."""

    def __init__(self, model: nn.Module, score: ScoreOf, recipe: Recipe, checkpoint: Path, device: str) -> None:
        self.model, self.score, self.recipe, self.device = model, score, recipe, device
        self.checkpoint, self.progress, self.stopped = checkpoint, Progress(), False
        self.products = getattr(torch, dtypes.fastest(device))  # weights and sums are float32
        self.trained = [p for p in model.parameters() if p.requires_grad]
        self.optimizers = optimizers(self.trained, recipe)

    def resume(self) -> bool:
        """Load the checkpoint if there is one. Raises CheckpointError for one of other sizes or another optimizer."""
        if not self.checkpoint.is_file():
            return False
        saved = torch.load(self.checkpoint, map_location=self.device, weights_only=True)
        weights = {name: w for name, w in saved["head"].items() if name not in VOCABULARY}
        try:
            self.model.load_state_dict(weights, strict=False)  # frozen weights are the target's, and not saved
            for optimizer, state in zip(self.optimizers, saved["optimizers"], strict=True):
                optimizer.load_state_dict(state)
        except (ValueError, RuntimeError) as error:
            raise CheckpointError(
                f"{self.checkpoint} does not fit: it holds another model or was trained with another --optimizer; "
                f"move it away to go on from the published weights, or name another --checkpoint ({error})"
            ) from error
        self.progress = Progress(**saved["progress"])
        return True

    def save(self) -> None:
        part = self.checkpoint.with_suffix(".part")
        frozen = {name for name, p in self.model.named_parameters(remove_duplicate=False) if not p.requires_grad}
        head = {name: w for name, w in self.model.state_dict().items() if name not in frozen}
        states = [o.state_dict() for o in self.optimizers]
        torch.save({"head": head, "optimizers": states, "progress": asdict(self.progress)}, part)
        os.replace(part, self.checkpoint)

    def stop_on_signals(self) -> None:
        """Let a polite kill end the run after its step, saved."""

        def stop(*_: object) -> None:
            self.stopped = True

        signal.signal(signal.SIGTERM, stop)
        signal.signal(signal.SIGINT, stop)

    def run(self, store: Store) -> None:
        recipe, progress = self.recipe, self.progress
        feed = data.endless(store, recipe.held, recipe.tokens, recipe.seed, progress.step, recipe.start)
        progress.single, saved, losses = recipe.single, time.monotonic(), []
        self.model.train()
        with tqdm(total=recipe.steps, initial=progress.step, unit="step", mininterval=10) as bar:
            while progress.step < recipe.steps and not self.stopped:
                start = time.monotonic()
                losses.append(self.step(next(feed).to(self.device)))
                progress.seconds += min(time.monotonic() - start, PAUSE_S)
                bar.update(1)
                bar.set_postfix(loss=f"{sum(losses[-50:]) / len(losses[-50:]):.3f}", refresh=False)
                if progress.step % recipe.every == 0 or progress.step == recipe.steps:
                    progress.conversations = len(store) - recipe.held
                    agree = self.agreement(store)
                    progress.curve.append([progress.step, progress.tokens, sum(losses) / len(losses), *agree])
                    losses.clear()
                if time.monotonic() - saved > SAVE_S:
                    self.save()
                    saved = time.monotonic()
        self.save()

    def step(self, batch: data.Batch) -> float:
        recipe, progress = self.recipe, self.progress
        for optimizer in self.optimizers:
            for group in optimizer.param_groups:
                group["lr"] = recipe.rate_at(progress.step)
        steps = 1 if progress.step < recipe.single else recipe.depth
        with self.precision():
            found = self.score(batch, steps, recipe.temperature)
        found.loss.backward()
        nn.utils.clip_grad_norm_(self.trained, 1.0)
        for optimizer in self.optimizers:
            optimizer.step()
            optimizer.zero_grad(set_to_none=True)
        progress.step += 1
        progress.tokens += int((batch.tokens > 0).sum())
        return float(found.loss.detach())

    def precision(self) -> torch.autocast:
        half = self.products != torch.float32
        return torch.autocast(torch.device(self.device).type, dtype=self.products if half else None, enabled=half)

    @torch.no_grad()
    def agreement(self, store: Store) -> list[float]:
        """Share of held-out answer positions where each step names the target's first choice."""
        scores: list[Score] = []
        self.model.eval()
        for n in range(0, self.recipe.held, 8):
            batch = data.collate([store[i] for i in range(n, min(n + 8, self.recipe.held))]).to(self.device)
            with self.precision():
                scores.append(self.score(batch, self.recipe.depth, self.recipe.temperature))
        self.model.train()
        agree = [sum(step) for step in zip(*(s.agree for s in scores), strict=True)]
        count = [sum(step) for step in zip(*(s.count for s in scores), strict=True)]
        return [round(a / c, 4) for a, c in zip(agree, count, strict=True)]


def optimizers(trained: list[nn.Parameter], recipe: Recipe) -> list[torch.optim.Optimizer]:
    """Muon for the matrices (each update has all singular values near one), AdamW for the norms; or AdamW for all."""
    if recipe.optimizer == "adamw":
        return [torch.optim.AdamW(trained, betas=(0.9, 0.95), weight_decay=0.0)]
    matrices, vectors = [p for p in trained if p.ndim == 2], [p for p in trained if p.ndim != 2]
    return [
        torch.optim.Muon(matrices, weight_decay=0.0, adjust_lr_fn="match_rms_adamw"),
        torch.optim.AdamW(vectors, betas=(0.9, 0.95), weight_decay=0.0),
    ]
