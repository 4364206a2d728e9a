"""Feed: the tensors of one target forward, before the model sees them: tokens, positions, owners, mask."""

from dataclasses import dataclass

import torch
from torch import Tensor

from engine.row import Row


@dataclass(frozen=True, slots=True)
class Feed:
    """What goes in. `owners` [B, T]: content index of each column, -1 for pads and filler. `lens` [B]: real drafts."""

    tokens: Tensor  # [B, T] int64
    positions: Tensor  # [B, T] int64
    owners: Tensor  # [B, T] int64
    lens: Tensor  # [B] int64
    first: int | Tensor  # slot of column 0, of the batch or [B] of each row
    seen: Tensor | None = None  # [B, T] bool: columns that later queries see; None: those that belong to a token

    @property
    def shown(self) -> Tensor:  # [B, T] bool
        return self.owners >= 0 if self.seen is None else self.seen

    @property
    def starts(self) -> list[int]:
        """Slot of column 0 of each row."""
        return [self.first] * len(self.lens) if isinstance(self.first, int) else self.first.tolist()

    @property
    def new(self) -> Tensor:  # [B, T, T] bool
        """Which of the new columns a query sees: itself, and the shown ones to its left."""
        t = self.tokens.shape[1]
        eye = torch.eye(t, dtype=torch.bool, device=self.tokens.device)
        left = torch.ones(t, t, dtype=torch.bool, device=self.tokens.device).tril(-1)
        return eye | (left & self.shown[:, None, :])

    def mask(self, visible: Tensor) -> Tensor:  # visible [B, S0] -> [B, T, S0 + T]
        """Old slots as `visible` says; of the new columns a query sees itself and real ones to its left.

        Two rows, S0=3 (row 1 has a pad in front), T=2, row 1 has no draft (its column 1 is filler):

            row 0   1 1 1 | 1 0     row 1   0 1 1 | 1 0
                    1 1 1 | 1 1             0 1 1 | 1 1
        """
        b, t = self.tokens.shape
        old = visible[:, None, :].expand(b, t, visible.shape[1])
        return torch.cat([old, self.new], dim=2)


def prompts(rows: list[Row], side: str, pad_id: int, device: str) -> Feed:
    """All prompts in one rectangle [B, P], padded on `side`; pads get position 0.

    ids (5 6 7) and (8), side left:   tokens 5 6 7    owners 0 1 2     positions 0 1 2
                                             _ _ 8          -1 -1 0              0 0 0
    """
    longest = max(len(r.ids) for r in rows)
    tokens = torch.full((len(rows), longest), pad_id, dtype=torch.int64)
    owners = torch.full_like(tokens, -1)
    for i, row in enumerate(rows):
        n = len(row.ids)
        at = slice(longest - n, longest) if side == "left" else slice(0, n)
        tokens[i, at] = torch.tensor(row.ids)
        owners[i, at] = torch.arange(n)
    lens = torch.zeros(len(rows), dtype=torch.int64)
    return Feed(tokens.to(device), owners.clamp(min=0).to(device), owners.to(device), lens.to(device), 0)


def round_of(
    rows: list[Row],
    draft: Tensor,  # [B, K] int64
    lens: Tensor,  # [B] int64
    first: int | Tensor,
    shift: list[int] | None = None,  # [B] added to the content index: BSP's drift
) -> Feed:
    """Last committed token and drafts, [B, K + 1], written to the slots from `first` on.

    c = (5, 3), drafts (d e) and (x):   owners 4 5 6     positions 4 5 6     with shift (1, 3):  5 6 7
                                               2 3 -1              2 3 3                         5 6 6

    Filler repeats the row's last real position, so that it never runs past the position table.
    """
    device = draft.device
    last = torch.tensor([[r.ids[-1]] for r in rows], device=device)
    start = torch.tensor([[len(r.ids) - 1] for r in rows], device=device)
    column = torch.arange(draft.shape[1] + 1, device=device)[None, :]
    owners = torch.where(column <= lens[:, None], start + column, -1)
    positions = start + torch.minimum(column, lens[:, None])
    if shift is not None:
        positions = positions + torch.tensor(shift, device=device)[:, None]
    return Feed(torch.cat([last, draft], dim=1), positions, owners, lens, first)
