"""Somebody's own loops around a Hugging Face model, as the recorder meets them, and what it makes of them."""

from collections.abc import Callable
from pathlib import Path

import torch
from torch import Tensor
from transformers import DynamicCache, PreTrainedModel

from engine.inspection import Inspected, inspect
from engine.reading import Reading
from engine.recorder import Recorder
from tests.engine import tiny

PROMPTS = [[t for t in tiny.prompt(n, 5) if t > 2] or [7] for n in (9, 4, 6)]
PAD = 0
#: Copies: the recorded model is called by its loop only.
DRAFTERS = {family: tiny.noisy(tiny.target(family), 0.0) for family in ("llama", "gpt2")}
Positions = Callable[[Tensor, int, int], Tensor | None]


def padded(side: str, prompts: list[list[int]] = PROMPTS) -> tuple[Tensor, Tensor]:
    """Ids and mask [B, P]."""
    longest = max(map(len, prompts))
    pads = [[PAD] * (longest - len(p)) for p in prompts]
    ids = [[*z, *p] if side == "left" else [*p, *z] for z, p in zip(pads, prompts, strict=True)]
    mask = [
        [0] * len(z) + [1] * len(p) if side == "left" else [1] * len(p) + [0] * len(z)
        for z, p in zip(pads, prompts, strict=True)
    ]
    return torch.tensor(ids), torch.tensor(mask)


def inspected(path: Path) -> Inspected:
    (lane,) = inspect(Reading(path.read_text().splitlines(keepends=True)))
    return lane


def greedy(model: PreTrainedModel, prompt: list[int], n: int) -> list[int]:
    """Decoded alone, everything fed again each time."""
    ids = list(prompt)
    for _ in range(n):
        ids.append(int(model(torch.tensor([ids])).logits[0, -1].argmax()))
        if ids[-1] == 1:  # the tiny models' stop id
            break
    return ids[len(prompt) :]


def right(mask: Tensor, first: int, t: int) -> Tensor:
    return (mask.cumsum(dim=1) - 1).clamp(min=0)[:, first : first + t]


@torch.inference_mode()
def loop(
    model: PreTrainedModel, ids: Tensor, mask: Tensor, positions: Positions, steps: int = 6, masked: bool = True
) -> None:
    """Somebody's loop around `model`: greedy, one token per row and forward, no stop rule."""
    cache, fed = DynamicCache(config=model.config), ids
    for _ in range(steps):
        first, t = mask.shape[1] - fed.shape[1], fed.shape[1]
        at = positions(mask, first, t)
        out = model(fed, attention_mask=mask if masked else None, position_ids=at, cache=cache)
        last = (
            mask.shape[1] - 1 - mask.flip(1).argmax(dim=1) - first if t > 1 else torch.zeros(len(ids), dtype=torch.long)
        )
        fed = out.logits[torch.arange(len(ids)), last].argmax(dim=-1)[:, None]
        mask = torch.cat([mask, torch.ones_like(fed)], dim=1)


@torch.inference_mode()
def speculative(model: PreTrainedModel, recorder: Recorder, spoil: str = "", told: bool = True) -> list[list[int]]:
    """A small EQSPEC of somebody's own: two good drafts and a bad one, rows realigned by copying, all left-padded."""
    drafter = DRAFTERS[model.config.model_type]
    ids, mask = padded("left")
    rows = [list(p) for p in PROMPTS]
    cache = DynamicCache(config=model.config)
    out = model(ids, attention_mask=mask, position_ids=right(mask, 0, ids.shape[1]), cache=cache)
    first = out.logits[:, -1].argmax(dim=-1).tolist()
    if told:
        recorder.commit([[t] for t in first])
    for row, token in zip(rows, first, strict=True):
        row.append(token)
    for turn in range(4):
        good = [greedy(drafter, row, 2)[: (turn + i) % 3] for i, row in enumerate(rows)]
        drafts = [[*g, *[3, 5, 4]][:3] for g in good]
        width = cache.get_seq_length()
        fed = torch.tensor([[row[-1], *d] for row, d in zip(rows, drafts, strict=True)])
        mask = torch.tensor([[0] * (width + 1 - len(r)) + [1] * (len(r) + 3) for r in rows])
        out = model(fed, attention_mask=mask, position_ids=right(mask, width, 4), cache=cache)
        best = out.logits.argmax(dim=-1).tolist()
        emitted = []
        for d, b in zip(drafts, best, strict=True):
            n = next((n for n in range(3) if d[n] != b[n]), 3)
            emitted.append([*d[:n], d[n] if spoil == "mismatch" and n < 3 else b[n]])
        if told or turn == 3:
            recorder.commit(emitted)
        old = [width + 1 - len(r) for r in rows]
        for row, new in zip(rows, emitted, strict=True):
            row.extend(new)
        longest = max(map(len, rows))
        for layer in cache.layers:
            for name in ("keys", "values"):
                source = getattr(layer, name)
                moved = torch.zeros(*source.shape[:2], longest - 1, source.shape[3], dtype=source.dtype)
                for i, r in enumerate(rows):
                    start = longest - len(r)
                    shift = 1 if spoil == "one_off" and i == 2 and turn == 1 else 0
                    piece = source[i, :, old[i] - shift : old[i] + len(r) - 1 - shift]
                    moved[i, :, start:] = piece
                setattr(layer, name, moved)
    return rows
