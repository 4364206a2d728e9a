"""features: what the target sees and says on its own text, kept on disk, `python -m engine.train.features`.

Per token: the tapped hidden states and the target's most probable next tokens. They follow from the conversations
and are never committed. New conversations are appended, so this can run while `generate` does.
"""

import argparse
import json
import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch
from torch import Tensor
from tqdm import tqdm
from transformers import DynamicCache, PreTrainedModel

from engine import load, shelf
from engine.forward import forward
from engine.train import dtypes, shards
from engine.train.draft_head import aux_layers
from engine.train.turns import Turns, of

FOLDER = shelf.CACHE / "features"
TOP = 16  # next tokens kept per position
BATCH_TOKENS = 2048


@dataclass(frozen=True, slots=True)
class Piece:
    """One conversation, opening included. `answer`: index of the first token of the answer."""

    tokens: Tensor  # [T] int64
    states: Tensor  # [T, taps * H] bfloat16
    top: Tensor  # [T, TOP] int64, what the target thinks comes next
    log_p: Tensor  # [T, TOP] float32
    answer: int


class Store:
    """Flat arrays on disk and an index that is written last: what the index does not name was never there."""

    FILES = ("tokens.u16", "states.bf16", "top.u16", "logp.f16")

    def __init__(self, folder: Path, width: int) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self.folder, self.width = folder, width
        self.sizes = (1, width, TOP, TOP)
        self._read_index()

    def _read_index(self) -> None:
        file = self.folder / "index.json"
        index = json.loads(file.read_text()) if file.is_file() else {"width": self.width, "ends": [], "answers": []}
        if index["width"] != self.width:
            raise ValueError(f"{self.folder} holds states of width {index['width']}, not {self.width}: choose another")
        self.ends: list[int] = index["ends"]
        self.answers: list[int] = index["answers"]

    def __len__(self) -> int:
        return len(self.ends)

    def append(self, pieces: list[Piece]) -> None:
        total = self.ends[-1] if self.ends else 0
        columns = (
            np.concatenate([p.tokens.numpy().astype("<u2") for p in pieces]),
            torch.cat([p.states for p in pieces]).view(torch.int16).numpy(),
            np.concatenate([p.top.numpy().astype("<u2") for p in pieces]),
            np.concatenate([p.log_p.numpy().astype("<f2") for p in pieces]),
        )
        for name, size, data in zip(self.FILES, self.sizes, columns, strict=True):
            with (self.folder / name).open("ab") as file:
                file.truncate(total * size * 2)  # a killed run may have left more than the index names
                file.seek(0, os.SEEK_END)
                file.write(data.tobytes())
        for piece in pieces:
            total += len(piece.tokens)
            self.ends.append(total)
            self.answers.append(piece.answer)
        part = self.folder / "index.part"
        part.write_text(json.dumps({"width": self.width, "ends": self.ends, "answers": self.answers}))
        os.replace(part, self.folder / "index.json")

    def open(self) -> "Store":
        """Map the arrays for reading, with what has been appended since."""
        self._read_index()
        kinds = ("<u2", "<i2", "<u2", "<f2")
        total = self.ends[-1]
        self.maps = [
            np.memmap(self.folder / name, dtype=kind, mode="r", shape=(total, size))
            for name, kind, size in zip(self.FILES, kinds, self.sizes, strict=True)
        ]
        return self

    def __getitem__(self, n: int) -> Piece:
        a, b = self.ends[n - 1] if n else 0, self.ends[n]
        tokens, states, top, log_p = (np.array(m[a:b]) for m in self.maps)
        return Piece(
            torch.from_numpy(tokens[:, 0].astype(np.int64)),
            torch.from_numpy(states).view(torch.bfloat16),
            torch.from_numpy(top.astype(np.int64)),
            torch.from_numpy(log_p.astype(np.float32)),
            self.answers[n],
        )


def answer_start(ids: list[int], turns: Turns) -> int:
    """Index behind the forced turn tokens: closing (9 8), ids 5 6 9 8 7 -> 4."""
    n = len(turns.closing)
    return next(i + n for i in range(len(ids)) if ids[i : i + n] == turns.closing)


def look(model: PreTrainedModel, batch: list[list[int]], taps: tuple[int, ...], vocab: int) -> Iterator[tuple]:
    """(states [T, taps * H] bf16, top [T, TOP], log_p [T, TOP]) of each sequence of a right-padded batch."""
    device = model.device
    longest = max(map(len, batch))
    ids = torch.zeros(len(batch), longest, dtype=torch.int64, device=device)
    for i, tokens in enumerate(batch):
        ids[i, : len(tokens)] = torch.tensor(tokens)
    positions = torch.arange(longest, device=device)[None].expand(len(batch), -1)
    mask = torch.ones(longest, longest, dtype=torch.bool, device=device).tril()[None].expand(len(batch), -1, -1)
    out = forward(model, ids, positions, mask, DynamicCache(), vocab=vocab, layers=taps)
    for i, tokens in enumerate(batch):
        n = len(tokens)
        logits = out.logits[i, :n]
        values, top = logits.topk(TOP, dim=-1)
        log_p = values.float() - logits.float().logsumexp(dim=-1, keepdim=True)
        states = torch.cat([out.hidden[t][i, :n] for t in taps], dim=-1)
        yield states.bfloat16().cpu(), top.cpu(), log_p.cpu()


def extract(
    model: PreTrainedModel, turns: Turns, vocab: int, talks: list[list[int]], store: Store, taps: tuple[int, ...]
) -> None:
    """Append every conversation that the store does not have yet."""
    todo = talks[len(store) :]
    with tqdm(total=sum(map(len, todo)), unit="tok", mininterval=10) as bar:
        while todo:
            pool, todo = todo[:48], todo[48:]
            order = sorted(range(len(pool)), key=lambda i: len(pool[i]))
            found: dict[int, Piece] = {}
            while order:
                size = max(1, BATCH_TOKENS // (len(turns.opening) + len(pool[order[-1]])))
                chunk, order = order[-size:], order[:-size]
                batch = [turns.opening + pool[i] for i in chunk]
                for i, ids, seen in zip(chunk, batch, look(model, batch, taps, vocab), strict=True):
                    answer = len(turns.opening) + answer_start(pool[i], turns)
                    found[i] = Piece(torch.tensor(ids), *seen, answer)
                    bar.update(len(pool[i]))
            store.append([found[i] for i in range(len(pool))])


def main(argv: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(prog="engine train features", description=__doc__)
    parser.add_argument("--target", default=shelf.NAME)
    parser.add_argument("--talks", type=Path, default=Path("assets/training"))
    parser.add_argument("--out", type=Path, default=FOLDER)
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--dtype", default="auto")
    args = parser.parse_args(argv)
    place = load.find(args.target, shelf.CACHE)
    dtype = dtypes.fastest(args.device) if args.dtype == "auto" else args.dtype
    model = load.load_model(place, dtype, args.device)
    tokenizer = load.load_tokenizer(place)
    taps = aux_layers(model.config.num_hidden_layers)
    store = Store(args.out, len(taps) * model.config.hidden_size)
    talks = list(shards.conversations(args.talks))
    extract(model, of(tokenizer), min(len(tokenizer), model.config.vocab_size), talks, store, taps)


if __name__ == "__main__":
    main()
