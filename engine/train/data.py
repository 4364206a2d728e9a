"""Batches for training a drafter: conversations of similar length, padded on the right, in a seeded order."""

import random
from collections.abc import Iterator
from dataclasses import dataclass

import torch
from torch import Tensor

from engine.train.features import TOP, Piece, Store

POOL = 128  # conversations sorted by length together
PRIOR = 0.3


@dataclass(frozen=True, slots=True)
class Batch:
    """Right-padded conversations. Column t of `states` is what the target holds after reading tokens 0..t.

    `top`, `log_p`: its most probable tokens for position t + 1. `wanted`: whether t + 1 is to be predicted.
    """

    tokens: Tensor  # [B, T] int64
    states: Tensor  # [B, T, W] bfloat16
    top: Tensor  # [B, T, TOP] int64
    log_p: Tensor  # [B, T, TOP] float32
    wanted: Tensor  # [B, T] bool

    def to(self, device: str) -> "Batch":
        return Batch(*(getattr(self, name).to(device, non_blocking=True) for name in self.__slots__))


def collate(pieces: list[Piece], start: int = 0) -> Batch:
    """Answers, or everything from token `start` on if that is given, are to be predicted.

    Answers from token 2 on, lengths 4 and 3:   wanted  0 1 1 0   (the last token's successor is not in the text)
    0 1 0 0
    """
    b, t = len(pieces), max(len(p.tokens) for p in pieces)
    batch = Batch(
        torch.zeros(b, t, dtype=torch.int64),
        torch.zeros(b, t, pieces[0].states.shape[1], dtype=torch.bfloat16),
        torch.zeros(b, t, TOP, dtype=torch.int64),
        torch.full((b, t, TOP), -1e4),
        torch.zeros(b, t, dtype=torch.bool),
    )
    for i, piece in enumerate(pieces):
        n = len(piece.tokens)
        batch.tokens[i, :n], batch.states[i, :n] = piece.tokens, piece.states
        batch.top[i, :n], batch.log_p[i, :n] = piece.top, piece.log_p
        batch.wanted[i, (start or piece.answer) - 1 : n - 1] = True
    return batch


def batches(store: Store, held: int, tokens: int, seed: int, epoch: int, start: int = 0) -> Iterator[Batch]:
    """One epoch over all conversations but the first `held`, about `tokens` tokens a batch."""
    order = list(range(held, len(store)))
    shuffle = random.Random(seed * 1_000_003 + epoch)
    shuffle.shuffle(order)
    lengths = [b - a for a, b in zip([0, *store.ends], store.ends, strict=False)]
    groups: list[list[int]] = []
    for first in range(0, len(order), POOL):
        pool = sorted(order[first : first + POOL], key=lengths.__getitem__)
        while pool:
            size = max(1, tokens // lengths[pool[-1]])
            groups.append(pool[-size:])
            del pool[-size:]
    shuffle.shuffle(groups)
    for group in groups:
        yield collate([store[n] for n in group], start)


def endless(store: Store, held: int, tokens: int, seed: int, skip: int, start: int = 0) -> Iterator[Batch]:
    """Epoch after epoch, each over all that the store holds by then; a resumed run starts a fresh one, `skip`."""
    if len(store.open()) <= held:
        raise ValueError(f"{len(store)} conversations are too few: {held} are held out; generate more")
    epoch = skip
    while True:
        yield from batches(store.open(), held, tokens, seed, epoch, start)
        epoch += 1


def frequent(store: Store, size: int, vocab: int) -> Tensor:
    """The `size` ids that the target expects most, ascending: its own probabilities summed over every position.

    Probabilities, not counts: rare ids are estimated from far more evidence. What little text cannot tell comes from
    the ids themselves, which for byte-pair vocabularies are an order of frequency: `PRIOR` of the weight follows it.
    """
    mass = torch.zeros(vocab, dtype=torch.float64)
    for n in range(len(store)):
        piece = store[n]
        mass.index_add_(0, piece.top.flatten(), piece.log_p.exp().double().flatten())
    order = 1 / (torch.arange(vocab, dtype=torch.float64) + 100)
    mass = mass / mass.sum() + PRIOR * order / order.sum()
    return mass.topk(min(size, vocab)).indices.sort().values
