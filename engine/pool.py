"""Pool: which rows are decoded together (EXSPEC, papers.md B). Knows lengths, ages, arrivals; nothing of tensors.

Rows arrive, wait outside, enter a window of W as others leave it, and B of the window are picked every step.
"""

from collections import defaultdict
from dataclasses import dataclass, field

from engine.config import RunConfig
from engine.row import Row


def pool_of(config: RunConfig, rows: list[Row]) -> "Pool":
    """EXSPEC's pool; for the other methods plain refill: the window is the batch."""
    size = config.batch or len(rows)
    if config.method == "exspec":
        return Pool(rows, size, config.window or 4 * size, config.grouping, config.age)
    return Pool(rows, size, size, "none", config.age)


@dataclass(slots=True)
class Pool:
    """`grouping`: "content" (rows of equal content length, largest bucket first, once it is `share` of the batch),
    "paper" (the published rule: first bucket to fill a whole batch, keyed on stored length, leftover pads included)
    or "none" (the first rows of the window: EQSPEC with refill). `age`: most rounds in which a row of the window may be
    passed over; `waited[row]`: in how many it was since its last one.
    """

    rows: list[Row]
    batch: int
    window: int
    grouping: str
    age: int
    share: float = 0.5
    admitted: list[Row] = field(default_factory=list)
    waited: dict[int, int] = field(default_factory=dict)
    stored: dict[int, int] = field(default_factory=dict)
    grouped: int = 0
    fallback: int = 0

    def __post_init__(self) -> None:
        self.rows = sorted(self.rows, key=lambda r: r.arrive)

    @property
    def active(self) -> list[Row]:
        """Rows in the window that still decode, in order of arrival."""
        return [r for r in self.admitted if not r.done]

    @property
    def next_arrival(self) -> float | None:
        """When the next row arrives (or has arrived, and waits outside the window); None: all have entered."""
        return self.rows[len(self.admitted)].arrive if len(self.admitted) < len(self.rows) else None

    def admit(self, step: int = 0) -> list[Row]:
        """Rows that have arrived by this step and enter the window now."""
        free = self.window - len(self.active)
        new = self.rows[len(self.admitted) : len(self.admitted) + free]
        new = [r for r in new if r.arrive <= step]
        self.admitted.extend(new)
        self.waited.update((r.row, 0) for r in new)
        self.stored.update((r.row, len(r.ids)) for r in new)
        return new

    def pick(self) -> tuple[list[Row], str]:
        """The next batch and how it came about: "group" (equal lengths), "aged" or "fallback"."""
        active, size = self.active, min(self.batch, len(self.active))
        aged = self._due(active)
        group = [] if aged else self._group(active, size)
        how = "aged" if aged else "group" if group else "fallback"
        rows = group or self._fallback(active, aged, size)
        self.grouped += how == "group"
        self.fallback += how != "group"
        for r in active:
            self.waited[r.row] += 1
        for r in rows:
            self.waited[r.row] = 0
        return rows, how

    def advance(self, rows: list[Row], emitted: list[int], how: str) -> None:
        """Account for the lengths that the published rule stores: a fallback leaves its pads in."""
        longest = max(self.stored[r.row] for r in rows)
        for r, n in zip(rows, emitted, strict=True):
            before = self.stored[r.row] if how == "group" else longest
            self.stored[r.row] = before + n

    def _due(self, active: list[Row]) -> list[Row]:
        """Rows that cannot be passed over now, at most a batch of them, the longest waiting first.

        Taken in order of their wait, row n gets its turn in n // batch steps; the order becomes binding as soon as
        some row would otherwise wait longer than `age`. So none does, where age >= (window - 1) // batch; below that
        nothing but taking turns is possible, and the longest wait is (window - 1) // batch.

            batch 2, age 3, waits (2, 2, 2, 0): row 2 would have its turn in one step, with a wait of 3: two are due
        """
        queue = sorted(active, key=lambda r: -self.waited[r.row])
        late = [n for n, r in enumerate(queue) if self.waited[r.row] + n // self.batch >= self.age]
        return queue[: min(late[-1] + 1, self.batch)] if late else []

    def _group(self, active: list[Row], size: int) -> list[Row]:
        buckets: dict[int, list[Row]] = defaultdict(list)
        for r in active if self.grouping != "none" else ():
            bucket = buckets[self.stored[r.row] if self.grouping == "paper" else len(r.ids)]
            bucket.append(r)
            if self.grouping == "paper" and len(bucket) == self.batch:
                return bucket
        if self.grouping == "paper" or not buckets:
            return []
        largest = max(buckets.values(), key=len)
        return largest[:size] if len(largest) >= max(2, self.share * size) or size == 1 else []

    def _fallback(self, active: list[Row], aged: list[Row], size: int) -> list[Row]:
        """The rows that are due; then those nearest in length (or simply the first, by the published rule)."""
        if self.grouping != "content":
            rest = [r for r in active if r not in aged]
            return [*aged, *rest][:size]
        anchor = aged[0] if aged else min(active, key=lambda r: (-self.waited[r.row], r.row))
        near = sorted(active, key=lambda r: (r not in aged, abs(len(r.ids) - len(anchor.ids)), r.row))
        return near[:size]
