"""Prompt lookup: what followed the last few tokens the previous time they occurred in this row."""

from engine.config import MAX_MATCH
from engine.propose import Draft, ragged
from engine.row import Row
from engine.sampling import SharedNoise


class NGram:
    """Match rule: longest first, and of equally long matches the latest.

    The row's last 3 tokens are looked up in what stands before them, prompt included; then the last 2; then the last
    one. The first length that occurs decides, and of its occurrences the one nearest to the end; what followed it is
    drafted, up to K tokens. It may run into the suffix itself, and never past the last token.

    (Hugging Face's prompt lookup takes the first occurrence from the left, vLLM another: compare rules before numbers.)
    Stateless: reads the row's own ids.
    """

    name = "ngram"
    layers: tuple[int, ...] = ()

    def __init__(self, k: int, device: str, longest: int = MAX_MATCH) -> None:
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


def lookup(ids: list[int], limit: int, longest: int = MAX_MATCH, shortest: int = 1) -> list[int]:
    """Up to `limit` tokens that followed the latest earlier occurrence of the longest matching suffix.

    Suffixes of `longest` down to `shortest` tokens are tried; without a match, or with limit 0, nothing is drafted.

    >>> lookup([1, 2, 3, 9, 1, 2, 4, 1, 2], 3)
    [4, 1, 2]
    >>> lookup([1, 2, 3], 3), lookup([7, 1, 9, 7], 3), lookup([7, 1, 9, 7], 3, shortest=2)
    ([], [1, 9, 7], [])
    """
    if limit < 1:
        return []
    for n in range(min(longest, len(ids) - 1), shortest - 1, -1):
        suffix = ids[-n:]
        for start in range(len(ids) - n - 1, -1, -1):
            if ids[start : start + n] == suffix:
                return ids[start + n : start + n + limit]
    return []
