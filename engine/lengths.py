"""Lengths: how many drafts each row gets in a round, 0 included, and which limit decided.

    acceptance   as long as the row's recent rate of acceptance makes `floor` likely: rate ** n >= floor
    cost         at most what pays best for this batch by a table of measured costs (engine.costs)
    confidence   drafted, but verified only while the drafter's own probabilities multiply to `floor` or more
    budget       drafted, but only the batch's likeliest are verified (engine.tetris)

The first two are decided before drafting, from rounds that are over; the others look at the drafts. Greedy decoding
and shared noise emit the target's own choices whatever is verified, so any rule is exact there. Rejection sampling is
biased by a rule that sees the value of the draft it judges, and its rows must not depend on batch mates: `acceptance`
alone passes, the others are refused by RunConfig (papers.md F.5, F.7).
"""

from dataclasses import dataclass, replace

from engine.config import RunConfig
from engine.costs import Costs
from engine.propose import Draft
from engine.row import Row
from engine.tetris import select

PRIOR = 0.75  # of a row that was not judged yet: hope, so that drafting is tried
MEMORY = 0.9  # weight of a round against the one after it; a row that drafts nothing forgets, and so tries again


@dataclass(slots=True)
class Record:
    """Drafts of a row that were judged, and those of them that were right, older rounds weighing less."""

    right: float = 0.0
    judged: float = 0.0

    @property
    def rate(self) -> float:
        return (self.right + PRIOR) / (self.judged + 1)

    def add(self, verified: int, accepted: int) -> None:
        """A round: drafts behind the first refused one were not judged."""
        self.right = MEMORY * self.right + accepted
        self.judged = MEMORY * self.judged + min(accepted + 1, verified)


class Lengths:
    """`allowed` before drafting, `shorten` after it, `observe` when the target has judged. One lane's rows."""

    def __init__(self, config: RunConfig) -> None:
        self.adapt, self.floor, self.budget = config.adapt, config.floor, config.budget
        self.costs = Costs(config.costs)
        self.records: dict[int, Record] = {}

    def allowed(self, rows: list[Row], limits: list[int]) -> tuple[list[int], list[str]]:
        """Drafts to ask for per row, at most `limits`, and what made them fewer ("": nothing did)."""
        rates = [self._record(r).rate for r in rows]
        lens, why = list(limits), [""] * len(rows)
        if "acceptance" in self.adapt:
            for i, rate in enumerate(rates):
                if (n := likely(rate, lens[i], self.floor)) < lens[i]:
                    lens[i], why[i] = n, "acceptance"
        if "cost" in self.adapt:
            most = self.costs.best(rates, lens)
            for i, n in enumerate(lens):
                if most < n:
                    lens[i], why[i] = most, "cost"
        return lens, why

    def shorten(self, rows: list[Row], draft: Draft, why: list[str]) -> Draft:
        """The draft that is verified. `why`: what `allowed` said; it stands where the drafter used all it was given."""
        why = [given if own == "room" and given else own for given, own in zip(why, draft.why, strict=True)]
        draft = replace(draft, why=why)
        if "confidence" in self.adapt:
            lens = [sum(c >= self.floor for c in row) for row in self._chances(rows, draft)]
            draft = cut(draft, lens, "confidence")
        if self.budget is not None:
            draft = cut(draft, select(self._chances(rows, draft), self.budget), "budget")
        return draft

    def observe(self, rows: list[Row], verified: list[int], accepted: list[int]) -> None:
        for row, n, j in zip(rows, verified, accepted, strict=True):
            self._record(row).add(n, j)

    def drop(self, row: int) -> None:
        self.records.pop(row, None)

    def _record(self, row: Row) -> Record:
        return self.records.setdefault(row.row, Record())

    def _chances(self, rows: list[Row], draft: Draft) -> list[list[float]]:
        """That each draft and all before it are accepted: by the drafter's q, else by the row's recent rate."""
        chances = []
        for i, (row, n) in enumerate(zip(rows, draft.lens.tolist(), strict=True)):
            q = draft.q[i] if draft.q and draft.q[i] else [self._record(row).rate] * n
            product, found = 1.0, []
            for x in q[:n]:
                product *= x
                found.append(product)
            chances.append(found)
        return chances


def likely(rate: float, limit: int, floor: float) -> int:
    """The most drafts, up to `limit`, that are all accepted with chance `floor` or more.

    >>> likely(0.5, 8, 0.2), likely(0.15, 8, 0.2), likely(1.0, 8, 0.2)
    (2, 0, 8)
    """
    return sum(rate**n >= floor for n in range(1, limit + 1))


def cut(draft: Draft, lens: list[int], why: str) -> Draft:
    """The draft with at most `lens` tokens per row; rows that lose some say `why`."""
    short = [n < m for n, m in zip(lens, draft.lens.tolist(), strict=True)]
    if not any(short):
        return draft
    lens = [min(n, m) for n, m in zip(lens, draft.lens.tolist(), strict=True)]
    reasons = [why if lost else own for lost, own in zip(short, draft.why, strict=True)]
    q = draft.q and [row[:n] for row, n in zip(draft.q, lens, strict=True)]
    return replace(draft, tokens=draft.tokens[:, : max(lens)], lens=draft.lens.new_tensor(lens), why=reasons, q=q)
