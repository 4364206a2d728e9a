"""Prompt lookup: what followed the last few tokens the previous time they occurred in this row."""

from engine.propose import Draft, ragged
from engine.row import Row
from engine.sampling import SharedNoise


class NGram:
    """Match rule: the longest suffix of at most `longest` tokens that occurred before; of those, the latest occurrence.

    (Hugging Face's prompt lookup takes the first occurrence instead, vLLM another: compare rules before numbers.)
    Stateless: reads the row's own ids.
    """

    name = "ngram"
    layers: tuple[int, ...] = ()

    def __init__(self, k: int, device: str, longest: int = 3) -> None:
        self.k, self.device, self.longest = k, device, longest

    def propose(self, rows: list[Row], limits: list[int], noise: SharedNoise | None = None) -> Draft:
        drafts = [lookup(r.ids, n, self.longest) for r, n in zip(rows, limits, strict=True)]
        return ragged(drafts, limits, self.k, self.name, self.device)

    def open(self, rows: list[Row], hidden: dict | None = None) -> None:
        """Nothing to prepare."""

    def observe(self, rows: list[Row], verified: list[int], kept: list[int], hidden: dict | None = None) -> None:
        """Nothing to remember."""

    def drop(self, row: int) -> None:
        """Nothing to forget."""


def lookup(ids: list[int], limit: int, longest: int = 3) -> list[int]:
    """Up to `limit` tokens that followed the latest earlier occurrence of the longest matching suffix.

    >>> lookup([1, 2, 3, 9, 1, 2, 4, 1, 2], 3)
    [4, 1, 2]
    >>> lookup([1, 2, 3], 3)
    []
    """
    if limit < 1:
        return []
    for n in range(min(longest, len(ids) - 1), 0, -1):
        suffix = ids[-n:]
        for start in range(len(ids) - n - 1, -1, -1):
            if ids[start : start + n] == suffix:
                return ids[start + n : start + n + limit]
    return []
