"""The equivalence report: every method against the true autoregressive decoding of each row alone (papers.md B.3).

exact    share of rows whose output is that of the row alone
prefix   mean share of the reference's tokens that lead the row's output in agreement (1 where they are equal)
class    a row that differs is "rounding" or "bug" by the rule of `engine.equivalence`, against the noise measured in
         the same run: the largest logit difference, batched against alone, over all committed prefixes
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass, field, replace
from functools import partial

from engine.config import RunConfig
from engine.equivalence import FLOOR, Witness, certify
from engine.fold import fold
from engine.frames import LaneState, RowState
from engine.models import Pair
from engine.registry import FAULTS, METHODS, PUBLISHED_BROKEN
from engine.stream import session
from engine.trace import Event, RowDone

REFERENCE = "autoregressive"


@dataclass(slots=True)
class Difference:
    """A row that is not what the row alone gives: the first differing token (-1: that side had ended) and its class."""

    row: int
    index: int
    expected: int
    actual: int
    verdict: str
    logits: dict | None = None


@dataclass(slots=True)
class Result:
    """One method at one batch size and precision. `noise`: the measured one, never below `FLOOR` of the precision."""

    method: str
    batch: int
    dtype: str
    rows: int
    exact: float
    prefix: float
    noise: float
    violations: int = 0  # invariants that broke, once per row
    faults: list[str] = field(default_factory=list)
    differences: list[Difference] = field(default_factory=list)

    @property
    def broken(self) -> bool:
        """Whether the method was published broken and carries a fault; such a one is reported and not judged."""
        return self.method in PUBLISHED_BROKEN and bool(self.faults)

    @property
    def failed(self) -> bool:
        """Whether there is a difference that rounding does not explain, or a broken invariant."""
        return bool(self.count("bug") or self.violations)

    def count(self, verdict: str) -> int:
        return sum(d.verdict == verdict for d in self.differences)

    def to_json(self) -> dict:
        return {**asdict(self), "rounding": self.count("rounding"), "bug": self.count("bug"), "broken": self.broken}


def verify(
    pair: Pair,
    base: RunConfig,
    prompts: Sequence[str | list[int]],
    methods: Sequence[str],
    batches: Sequence[int],
    progress: Callable[[str, int], None] = lambda text, done: None,
    faults: frozenset[str] | None = None,
) -> Iterator[Result]:
    """Results of all methods and batch sizes at the precision of `base`, whose `method` and `batch` do not matter.

    `faults`: those that each method carries, as far as it knows them; None: as published. `progress` is told what is
    being decoded, and how many of its rows are done.
    """
    alone = replace(base, method=REFERENCE, batch=1, faults=None)
    told = partial(progress, f"{base.dtype}: the reference, each row alone")
    reference = Reference(*(found[REFERENCE] for found in run({REFERENCE: alone}, pair, prompts, told)))
    for batch in batches:
        lanes = {m: config_of(base, m, batch, faults) for m in METHODS if m in methods}
        states: dict[str, LaneState] = {}
        witnesses: dict[str, Witness] = {}
        for name, config in lanes.items():
            found = run({name: config}, pair, prompts, partial(progress, f"{base.dtype}, batch {batch}: {name}"))
            states |= found[0]
            witnesses |= found[1]
        noise = measured(pair, lanes, states, witnesses)
        for name, lane in states.items():
            yield judge(pair, lane, witnesses[name], reference, lanes[name], noise)


def config_of(base: RunConfig, method: str, batch: int, faults: frozenset[str] | None) -> RunConfig:
    """One method of the report; it carries those of the faults that it knows."""
    known = None if faults is None else faults & set(FAULTS.get(method, ()))
    return replace(base, method=method, batch=batch, faults=known)


@dataclass(frozen=True, slots=True)
class Reference:
    """The rows decoded alone, token by token, and the logits seen on the way."""

    lane: LaneState
    witness: Witness

    @property
    def outputs(self) -> dict[int, list[int]]:
        return {r.row: output(r) for r in self.lane.rows.values()}


def run(
    lanes: dict[str, RunConfig],
    pair: Pair,
    prompts: Sequence[str | list[int]],
    told: Callable[[int], None] = lambda done: None,
) -> tuple[dict[str, LaneState], dict[str, Witness]]:
    """All lanes to their end; and the logits that each of them saw. `told` hears how many rows are done."""
    witnesses: dict[str, Witness] = {}
    done = 0

    def observer(lane: object, *_: object) -> None:
        witnesses[lane.name] = lane.witness

    def counted() -> Iterator[Event]:
        nonlocal done
        for event in session(lanes, prompts, pair=pair, certify=False, observer=observer):
            if isinstance(event, RowDone):
                done += 1
                told(done)
            yield event

    told(done)
    return fold(counted()).lanes, witnesses


def measured(
    pair: Pair, lanes: dict[str, RunConfig], states: dict[str, LaneState], witnesses: dict[str, Witness]
) -> float:
    """The largest logit difference of the exact methods against each row alone, where their tokens agree."""
    noise = FLOOR[pair.target.dtype]
    for name, lane in states.items():
        for row in lane.rows.values() if name not in PUBLISHED_BROKEN and not lanes[name].faults else ():
            ids = row.ids[: row.prompt + row.final]
            _, noise = certify(pair, row.row, ids, row.prompt, witnesses[name], noise)
    return noise


def judge(
    pair: Pair, lane: LaneState, witness: Witness, reference: Reference, config: RunConfig, noise: float
) -> Result:
    """One lane against the reference's outputs."""
    expected, found = reference.outputs, {r.row: output(r) for r in lane.rows.values()}
    result = Result(
        method=config.method,
        batch=config.batch,
        dtype=config.dtype,
        rows=len(expected),
        exact=sum(found[r] == want for r, want in expected.items()) / len(expected),
        prefix=sum(leading(found[r], want) for r, want in expected.items()) / len(expected),
        noise=noise,
        violations=sum(len(frame.violations) for frame in lane.frames),
        faults=sorted(config.faults),
    )
    for row, want in expected.items():
        if found[row] == want:
            continue
        index = agreement(found[row], want)
        verdict, logits = classed(pair, lane.rows[row], witness, reference, config, noise)
        ids = [side[index] if index < len(side) else -1 for side in (want, found[row])]
        result.differences.append(Difference(row, index, *ids, verdict, logits))
    return result


def classed(
    pair: Pair, row: RowState, witness: Witness, reference: Reference, config: RunConfig, noise: float
) -> tuple[str, dict | None]:
    """The class of a row that differs, and the logits of both candidates.

    A row may differ from the reference and yet be what one forward over itself alone gives: then it is the reference
    that left its own forward, and that must be rounding.
    """
    for state, seen in ((row, witness), (reference.lane.rows[row.row], reference.witness)):
        ids = state.ids[: state.prompt + state.final]
        room = min(config.max_new, pair.context - state.prompt)
        found, _ = certify(pair, state.row, ids, state.prompt, seen, noise, measure=False, room=room)
        if found.verdict != "equal":
            return found.verdict, found.logits
    return "bug", None


def output(row: RowState) -> list[int]:
    """Generated ids that count."""
    return row.ids[row.prompt : row.prompt + row.final]


def leading(found: list[int], want: list[int]) -> float:
    """Share of the reference's tokens that lead the output in agreement.

    >>> leading([5, 6, 9], [5, 6, 7, 8]), leading([5, 6], [5, 6])
    (0.5, 1.0)
    """
    if found == want:
        return 1.0
    return agreement(found, want) / max(1, len(want))


def agreement(found: list[int], want: list[int]) -> int:
    """How many leading tokens are the same."""
    differs = (n for n, (a, b) in enumerate(zip(found, want, strict=False)) if a != b)
    return next(differs, min(len(found), len(want)))


def wrong(results: Sequence[Result]) -> list[Result]:
    """Results of exact methods with a bug-class difference or a broken invariant: these fail the report."""
    return [r for r in results if not r.broken and r.failed]
