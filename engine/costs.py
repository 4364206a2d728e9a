"""Costs: what a round takes on this machine, by rows and drafts, and the draft length that pays best under it.

A table is measured (`python -m engine bench --costs FILE`) or given; with the same table every choice is the same.
"""

from dataclasses import dataclass
from math import inf

#: Rows decoded together, drafts per row, milliseconds of such a round: drafting, verifying, moving KV.
Cell = tuple[int, int, float]


@dataclass(frozen=True, slots=True)
class Costs:
    """Between measured rows and drafts costs are interpolated; beyond the measured rows the nearest are taken."""

    cells: tuple[Cell, ...]

    def ms(self, rows: int, drafts: int) -> float:
        """Of one round of `rows` rows that verifies `drafts` drafts each.

        >>> Costs(((1, 0, 30.0), (1, 4, 40.0), (8, 0, 60.0), (8, 4, 140.0))).ms(1, 2)
        35.0
        """
        by_rows = {b: along({k: t for n, k, t in self.cells if n == b}, drafts) for b, _, _ in self.cells}
        return along(by_rows, rows)

    def best(self, rates: list[float], limits: list[int]) -> int:
        """Drafts per row that give most expected tokens per millisecond; the fewest of equals, and it may be 0.

        A rectangle costs what its longest row makes it, so there is one length for the batch; a row whose limit is
        shorter gains no more from it. Row i accepts each draft with chance rates[i].
        """

        def speed(k: int) -> float:
            tokens = sum(expected(a, min(k, n)) for a, n in zip(rates, limits, strict=True))
            return tokens / self.ms(len(rates), k)

        return max(range(max(limits) + 1), key=lambda k: (speed(k), -k))


def problem(cells: object, k: int) -> str:
    """What is wrong with a table for up to `k` drafts; "" if nothing is."""
    shape = "cells are (rows from 1, drafts per row from 0, milliseconds above 0)"
    for cell in cells:
        kinds = [type(x) for x in cell] if isinstance(cell, tuple | list) else []
        if kinds not in ([int, int, float], [int, int, int]) or cell[0] < 1 or cell[1] < 0 or not 0 < cell[2] < inf:
            return f"{cell!r} is no cell: {shape}"
    for b in sorted({b for b, _, _ in cells}):
        measured = [n for rows, n, _ in cells if rows == b]
        if min(measured) > 0 or max(measured) < k:
            return f"for {b} rows it has rounds of {min(measured)} to {max(measured)} drafts; 0 and {k} must be there"
    return ""


def expected(rate: float, drafts: int) -> float:
    """Tokens of a round with so many drafts, each accepted with chance `rate` if those before it were.

    >>> expected(0.5, 0), expected(0.5, 2)
    (1.0, 1.75)
    """
    return sum(rate**n for n in range(drafts + 1))


def along(points: dict[int, float], x: int) -> float:
    """Linear between the points, flat outside."""
    known = sorted(points)
    low = max((p for p in known if p <= x), default=known[0])
    high = min((p for p in known if p >= x), default=known[-1])
    if high <= low:
        return points[low if x >= low else high]
    return points[low] + (points[high] - points[low]) * (x - low) / (high - low)
