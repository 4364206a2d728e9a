"""Hybrid: copy where the row repeats itself, ask a trained drafter where it does not.

The adaptive combination of "Performance or Illusion?" (papers.md D.3) picks the longer proposal after the fact; a
decoder cannot. It can look at the match: a suffix of `match` or more tokens that occurred before is seldom chance.
"""

from engine.cache.slots import SlotCache
from engine.config import MAX_MATCH
from engine.propose import Draft, Proposer, ragged
from engine.propose.ngram import lookup
from engine.propose.states import States
from engine.row import Row
from engine.sampling import SharedNoise


class Hybrid:
    """n-gram's draft where a match of at least `match` tokens exists, else the drafter's; per row and round.

    match 2, row 0 ends in (5 6) and held (5 6 7), row 1 has no such pair:   row 0 [7 ..] ngram    row 1 [d1 ..] eagle3
    """

    name = "hybrid"

    def __init__(self, drafter: Proposer, match: int = 2, longest: int = MAX_MATCH) -> None:
        self.drafter, self.match, self.longest = drafter, match, longest
        self.layers = drafter.layers

    @property
    def cache(self) -> SlotCache | None:
        """The drafter's KV and `at`, the place of each row in it, for the trace."""
        return self.drafter.cache

    @property
    def at(self) -> dict[int, int]:
        return self.drafter.at

    def open(self, rows: list[Row], hidden: States | None = None) -> None:
        self.drafter.open(rows, hidden)

    def propose(self, rows: list[Row], limits: list[int], noise: SharedNoise | None = None) -> Draft:
        """The drafter runs only for rows without a match; those it skips it catches up on when it is asked again."""
        drafts = [lookup(r.ids, n, self.longest, self.match) for r, n in zip(rows, limits, strict=True)]
        asked = [i for i, (copied, n) in enumerate(zip(drafts, limits, strict=True)) if n and not copied]
        found = self.drafter.propose([rows[i] for i in asked], [limits[i] for i in asked], noise) if asked else None
        for i, tokens in zip(asked, found.listed() if found else (), strict=True):
            drafts[i] = tokens
        draft = ragged(drafts, limits, self.drafter.k, "ngram", self.drafter.device)
        draft.q = [[] for _ in rows]  # what is copied has no probability
        for n, i in enumerate(asked):
            draft.why[i], draft.source[i], draft.q[i] = found.why[n], found.source[n], found.q[n]
        return draft

    def observe(self, rows: list[Row], verified: list[int], kept: list[int], hidden: States | None = None) -> None:
        self.drafter.observe(rows, verified, kept, hidden)

    def drop(self, row: int) -> None:
        self.drafter.drop(row)
