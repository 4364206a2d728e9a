"""States: what one target forward leaves behind for a drafter that reads hidden states."""

from dataclasses import dataclass

from torch import Tensor


@dataclass(frozen=True, slots=True)
class States:
    """`layers`: {layer, as HF numbers them: [B, T, H]}. `owners` [B, T]: the token of each column, -1 for pads, filler.

    Whatever the layout of the forward, `owners` says which token of its row a column belongs to.
    """

    layers: dict[int, Tensor]
    owners: Tensor

    def rows(self, rows: list[int]) -> "States":
        """The same for some of the batch rows."""
        if len(rows) == len(self.owners):
            return self
        return States({n: states[rows] for n, states in self.layers.items()}, self.owners[rows])

    def columns(self, row: int, first: int, count: int) -> slice:
        """Where tokens first .. first + count - 1 of a batch row are; owners (-1 0 1 2), first 1, count 2 -> 2:4.

        Raises ValueError when the forward was not fed them.
        """
        owners = self.owners[row].tolist()
        start = owners.index(first) if first in owners else len(owners)
        if owners[start : start + count] != list(range(first, first + count)):
            raise ValueError(f"states of tokens {first}..{first + count - 1} are missing: the forward fed {owners}")
        return slice(start, start + count)
