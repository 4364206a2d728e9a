"""generate: the target writes its own training text, `python -m engine.train.generate`.

Only the system turn and the opening of a user turn are given. The user's text is sampled at temperature 1, the turn
tokens are forced, the answer is sampled at a lower temperature. Some user turns end with an answer written earlier, so
that there are long turns too, and answers that speak of what they were given: a drafter learns to look back from them.
A finished row starts over in its own slots, whose first entries are the opening's for good: all rows stay busy and
nothing is ever padded.
"""

import argparse
import math
import time
from collections import deque
from dataclasses import dataclass, field
from pathlib import Path

import torch
from torch import Tensor
from tqdm import tqdm
from transformers import PreTrainedModel

from engine import load, shelf
from engine.cache.slots import SlotCache
from engine.forward import forward
from engine.train import dtypes, features, shards
from engine.train.draft_head import aux_layers
from engine.train.features import Piece, Store
from engine.train.record import Recorder
from engine.train.turns import Turns, of

FLUSH_S = 60.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """What to generate. Lengths in tokens; a user turn is cut at a length drawn from `user` for each conversation.

    `quoting`: share of user turns that are cut at a third of that and then quote at most `quote` tokens.
    """

    rows: int = 128
    tokens: int = 1_000_000
    user: tuple[int, int] = (12, 96)
    quoting: float = 0.4
    quote: int = 128
    answer: int = 224
    user_temperature: float = 1.0
    answer_temperature: tuple[float, float] = (0.05, 0.6)  # drawn for each conversation: nearly greedy, or varied
    seed: int = 0


@dataclass(slots=True)
class Talk:
    """One conversation being written; `ids` without the opening. `left`: tokens until its current turn is cut."""

    left: int
    warm: float  # temperature of the answer
    quote: list[int]  # what the user's turn ends with
    ids: list[int] = field(default_factory=list)
    forced: list[int] = field(default_factory=list)
    answer: int = 0  # where the answer begins, 0: still the user's turn


class Generator:
    """A batch of conversations in a slot cache. `step` feeds one token per row and returns the finished ones."""

    def __init__(
        self,
        model: PreTrainedModel,
        turns: Turns,
        vocab: int,
        plan: Plan,
        offset: int = 0,  # conversations written by earlier runs
        taps: tuple[int, ...] = (),  # hidden states to record, HF numbering
    ) -> None:
        self.model, self.turns, self.vocab, self.plan, self.device = model, turns, vocab, plan, model.device
        # a resumed run draws other numbers than the part before it
        self.random = torch.Generator().manual_seed(plan.seed * 1_000_003 + offset)
        capacity = len(turns.opening) + plan.user[1] + plan.quote + len(turns.closing) + plan.answer + 2
        self.cache = SlotCache(model.config.num_hidden_layers, plan.rows, capacity, str(self.device))
        self.at = torch.arange(plan.rows, device=self.device)
        self.recorder = Recorder(model, turns.opening, plan.rows, capacity, taps, vocab) if taps else None
        self.passages: deque[list[int]] = deque(maxlen=4 * plan.rows)  # the latest answers
        self.talks = [self._talk() for _ in range(plan.rows)]
        self.logits = self._feed(torch.tensor([turns.opening] * plan.rows, device=self.device))
        self.first = self.logits[:1].clone()  # what follows the opening, the same for every conversation

    def step(self) -> list[tuple[list[int], Piece | None]]:
        """Choose one token for every row, feed them; conversations that ended are returned and started over."""
        warm = [t.warm if t.answer else self.plan.user_temperature for t in self.talks]
        drawn = self._sample(torch.tensor(warm, device=self.device)).tolist()
        tokens, ended = [], []
        for n, (talk, token) in enumerate(zip(self.talks, drawn, strict=True)):
            tokens.append(self._append(talk, token))
            if talk.answer and not talk.forced and (tokens[-1] == self.turns.end or talk.left <= 0):
                ended.append(n)
        self.logits = self._feed(torch.tensor(tokens, device=self.device)[:, None])
        done = []
        for n in ended:
            ids, answer = self.talks[n].ids, self.talks[n].answer
            self.passages.append([t for t in ids[answer:][: self.plan.quote] if t != self.turns.end])
            piece = self.recorder.piece(n, ids, len(self.turns.opening) + answer) if self.recorder else None
            done.append((ids, piece))
            self.talks[n] = self._talk()
            self.cache.count[n] = len(self.turns.opening)
            self.logits[n] = self.first[0]
        return done

    def _talk(self) -> Talk:
        low, high = self.plan.user
        left, (a, b) = int(torch.randint(low, high, (), generator=self.random)), self.plan.answer_temperature
        quotes, warm, which = torch.rand(3, generator=self.random).tolist()
        quote: list[int] = []
        if self.passages and quotes < self.plan.quoting:
            left, quote = max(1, left // 3), self.passages[int(which * len(self.passages))]
        return Talk(left, a + warm * (b - a), quote)

    def _append(self, talk: Talk, token: int) -> int:
        """The token that the talk really gets: a forced one, or the one drawn."""
        if talk.forced:
            token = talk.forced.pop(0)
            talk.ids.append(token)
            return token
        talk.left -= 1
        if not talk.answer and (token == self.turns.end or talk.left <= 0):
            given = [*talk.quote, *self.turns.closing]
            talk.left, talk.answer = self.plan.answer, len(talk.ids) + len(given)
            token, *talk.forced = given
        talk.ids.append(token)
        return token

    def _feed(self, tokens: Tensor) -> Tensor:  # [B, T] -> logits of the last column [B, V]
        column = torch.arange(tokens.shape[1], device=self.device)[None, :]
        slots = self.cache.count[self.at][:, None] + column
        mask = self.cache.plan(self.at, slots, slots, tokens, slots)
        keep = torch.tensor([tokens.shape[1] - 1], device=self.device)
        taps = self.recorder.taps if self.recorder and tokens.shape[1] == 1 else ()
        out = forward(self.model, tokens, slots, mask, self.cache, vocab=self.vocab, keep=keep, layers=taps)
        if taps:
            self.recorder.write(self.at, slots[:, 0], out)
        self.cache.count[self.at] += tokens.shape[1]
        return out.logits[:, 0].clone()  # a normal tensor: `step` writes into it

    def _sample(self, temperature: Tensor) -> Tensor:  # [B] -> [B]
        """One token per row by the inverse distribution function."""
        total = (self.logits.float() / temperature[:, None]).softmax(dim=-1).cumsum(dim=-1)
        u = torch.rand(len(total), 1, generator=self.random).to(total)
        return torch.searchsorted(total, u * total[:, -1:]).clamp(max=self.vocab - 1)[:, 0]


def generate(
    model: PreTrainedModel,
    turns: Turns,
    vocab: int,
    plan: Plan,
    folder: Path,
    store: Store | None = None,
    seconds: float = math.inf,
) -> int:
    """Write conversations until `folder` holds plan.tokens or time is up; returns how many it holds. Resumes.

    With a `store`, their features are recorded along the way; it must hold those of all earlier conversations.
    """
    writer = shards.Writer(folder)
    taps = aux_layers(model.config.num_hidden_layers) if store is not None else ()
    batch = Generator(model, turns, vocab, plan, writer.finished, taps)
    saved, pieces = time.monotonic(), []
    end = saved + seconds
    with tqdm(total=plan.tokens, initial=writer.tokens, unit="tok", mininterval=10) as bar:
        full = False
        while not full:
            for ids, piece in batch.step():
                writer.add(ids)
                pieces.append(piece)
                bar.update(len(ids) + 1)
            full = writer.tokens >= plan.tokens or time.monotonic() > end
            if pieces and (full or time.monotonic() - saved > FLUSH_S):
                writer.flush()
                if store is not None:
                    store.append(pieces)
                saved, pieces = time.monotonic(), []
    return writer.tokens


def main(argv: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(prog="engine train generate", description=__doc__)
    parser.add_argument("--target", default=shelf.NAME)
    parser.add_argument("--out", type=Path, default=Path("assets/training"))
    parser.add_argument("--features", type=Path, default=None, help="record features there too (not committed)")
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--dtype", default="auto", help="auto: whichever of float32 and bfloat16 is faster here")
    for name in ("rows", "tokens", "answer", "seed"):
        parser.add_argument(f"--{name}", type=int, default=getattr(Plan(), name))
    args = parser.parse_args(argv)
    place = load.find(args.target, shelf.CACHE)
    tokenizer = load.load_tokenizer(place)
    dtype = dtypes.fastest(args.device) if args.dtype == "auto" else args.dtype
    model = load.load_model(place, dtype, args.device)
    plan = Plan(rows=args.rows, tokens=args.tokens, answer=args.answer, seed=args.seed)
    turns, vocab = of(tokenizer), min(len(tokenizer), model.config.vocab_size)
    store = None
    if args.features:
        taps = aux_layers(model.config.num_hidden_layers)
        store = Store(args.features, len(taps) * model.config.hidden_size)
        features.extract(model, turns, vocab, list(shards.conversations(args.out)), store, taps)
    generate(model, turns, vocab, plan, args.out, store)


if __name__ == "__main__":
    main()
