"""Proposers: where drafts come from. One protocol, one file each."""

from dataclasses import dataclass
from typing import Protocol

import torch
from torch import Tensor

from engine.propose.states import States
from engine.row import Row
from engine.sampling import SharedNoise


@dataclass(slots=True)
class Draft:
    """One round's drafts. Columns beyond `lens` are filler. `why` and `q`: see `trace.Propose`."""

    tokens: Tensor  # [B, K] int64
    lens: Tensor  # [B] int64
    why: list[str]
    source: list[str]
    q: list[list[float]] | None = None

    def listed(self) -> list[list[int]]:
        """Real drafts per row, as plain lists."""
        return [t[:n] for t, n in zip(self.tokens.tolist(), self.lens.tolist(), strict=True)]


def ragged(drafts: list[list[int]], limits: list[int], k: int, source: str, device: str) -> Draft:
    """A Draft from plain lists. A row below K says why: its limit ("room") or the proposer ("empty")."""
    width = max((len(d) for d in drafts), default=0)
    tokens = torch.zeros(len(drafts), width, dtype=torch.int64)
    for i, d in enumerate(drafts):
        tokens[i, : len(d)] = torch.tensor(d, dtype=torch.int64)
    why = ["full" if len(d) == k else "room" if len(d) == n else "empty" for d, n in zip(drafts, limits, strict=True)]
    lens = torch.tensor([len(d) for d in drafts], dtype=torch.int64)
    return Draft(tokens.to(device), lens.to(device), why, [source] * len(drafts))


def doubtful(q: Tensor, floor: float) -> bool:  # [B, N] of the tokens drafted so far
    """Whether every row's drafts are by now less likely than `floor` to be all accepted: drafting on is for nothing."""
    return floor > 0 and bool((q.prod(dim=1) < floor).all())


class Proposer(Protocol):
    """Keeps its own state per row id. `limits` are drafts allowed per row; `propose` may return fewer.

    `noise`: the sampling noise of the coming tokens, shared with the target; None: draft greedily.
    What `propose` returned may be truncated before it is verified: `observe` says what was verified and kept.
    `layers`: the target's hidden states it needs (HF numbering), handed to `open` and `observe` as `hidden`.
    """

    name: str
    layers: tuple[int, ...]

    def open(self, rows: list[Row], hidden: States | None = None) -> None: ...

    def propose(self, rows: list[Row], limits: list[int], noise: SharedNoise | None = None) -> Draft: ...

    def observe(self, rows: list[Row], verified: list[int], kept: list[int], hidden: States | None = None) -> None: ...

    def drop(self, row: int) -> None: ...
