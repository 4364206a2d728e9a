"""Check a recorded trace against the invariants, whoever wrote it: fold it again and ask `engine.check` every step.

The trace's own violation events are not believed; where they say something else, that is reported beside.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field

from engine.bounds import misfit
from engine.check import Checker
from engine.fold import Fold
from engine.frames import Frame, LaneState
from engine.lines import TraceError
from engine.reading import Reading
from engine.trace import Event, Header, Schedule, Violation


@dataclass(slots=True)
class Finding:
    """The first violation of one lane, and the later steps in which its row was decoded on what was broken."""

    violation: Violation
    step: int
    contaminated: list[int] = field(default_factory=list)


@dataclass(slots=True)
class Inspected:
    """One lane: its first violation (None: clean), how many there are by invariant, what the trace itself claims."""

    lane: str
    first: Finding | None = None
    counts: dict[str, int] = field(default_factory=dict)
    steps: int = 0
    unchecked: list[int] = field(default_factory=list)  # steps whose forward is not in the trace
    partial: list[int] = field(default_factory=list)  # steps whose forward is there without what it wrote
    found: set[tuple[int, str, int]] = field(default_factory=set)  # (step, invariant, row)
    claimed: set[tuple[int, str, int]] = field(default_factory=set)
    ended: bool = False
    judges: bool = False  # its writer reports violations itself: Ragged's own lanes carry their configuration

    @property
    def checked(self) -> int:
        """Steps of which something could be checked; 0: neither clean nor violated."""
        return self.steps - len(self.unchecked)

    @property
    def disagreements(self) -> list[str]:
        """Where the trace's own violation events and this check differ; nothing where its writer reports none."""
        if not self.judges and not self.claimed:
            return []
        only = [(self.found - self.claimed, "not in the trace"), (self.claimed - self.found, "only in the trace")]
        return [f"step {s} row {r}: {i} ({where})" for cells, where in only for s, i, r in sorted(cells)]


class Inspector:
    """Takes events one by one. A step is checked when it is over: with the lane's next one, or at the end."""

    def __init__(self) -> None:
        self.fold = Fold()
        self.lanes: dict[str, Inspected] = {}
        self._checkers: dict[str, Checker] = {}

    def push(self, event: Event) -> None:
        """Raises TraceError when the event cannot follow what came before it."""
        try:
            if why := misfit(self.fold, event):
                raise ValueError(why)
            if isinstance(event, Schedule):
                self._close(event.lane)
            self.fold.push(event)
            if isinstance(event, Header):
                self.lanes = {name: Inspected(name, judges=bool(of.config)) for name, of in self.fold.lanes.items()}
                self._checkers = {name: Checker() for name in self.fold.lanes}
            elif isinstance(event, Violation):
                self.lanes[event.lane].claimed.add((event.step, event.invariant, event.row))
            elif event.kind == "end" and event.lane:
                self.lanes[event.lane].ended = True
        except TraceError:
            raise
        except (LookupError, ValueError, TypeError, AttributeError) as error:
            where = f"{event.kind} of step {event.step} does not fit what came before it"
            raise TraceError(f"{where} ({in_words(error)})") from None

    def close(self) -> list[Inspected]:
        """Check the steps that are still open; what was found in every lane."""
        try:
            for name in self.lanes:
                self._close(name)
        except (LookupError, ValueError, TypeError, AttributeError) as error:
            raise TraceError(f"the last step of lane {name!r} cannot be checked ({in_words(error)})") from None
        return list(self.lanes.values())

    def _close(self, name: str) -> None:
        lane = self.fold.lanes[name]
        if not lane.frames:
            return
        frame, result = lane.frames[-1], self.lanes[name]
        result.steps += 1
        if result.first and result.first.violation.row in frame.rows:
            result.first.contaminated.append(frame.step)
        for violation in self._check(lane, frame, result):
            result.counts[violation.invariant] = result.counts.get(violation.invariant, 0) + 1
            result.found.add((frame.step, violation.invariant, violation.row))
            result.first = result.first or Finding(violation, frame.step)
        lane.frames.clear()  # checked: a long trace needs no more memory than a short one

    def _check(self, lane: LaneState, frame: Frame, result: Inspected) -> list[Violation]:
        """Violations of a step, as far as it was recorded: without a commit nothing was emitted."""
        if not all(row in frame.fed for row in frame.rows):
            (result.partial if frame.positions else result.unchecked).append(frame.step)
        if not frame.positions:
            return []
        frame.emitted = frame.emitted or [[] for _ in frame.rows]
        return self._checkers[lane.name].frame(lane, self.fold.header)


def inspect(reading: Reading) -> list[Inspected]:
    """Every lane of a trace. Raises TraceError, whose message names the line."""
    inspector = Inspector()
    for _ in pushed(reading, inspector):
        pass
    try:
        return inspector.close()
    except TraceError as error:
        raise TraceError(f"line {reading.number}: {error}") from None


def pushed(reading: Reading, inspector: Inspector) -> Iterator[Event]:
    """The events of a trace, each after the inspector has taken it. Raises TraceError, whose message names the line."""
    for number, event in reading:
        try:
            inspector.push(event)
        except TraceError as error:
            raise TraceError(f"line {number}: {error}") from None
        yield event


def in_words(error: Exception) -> str:
    """An exception as part of a sentence. Python's own words say nothing of the trace."""
    ours = type(error) is ValueError
    text = str(error) if ours else "a part of it is missing or too short for its step"
    return text if len(text) <= 160 else f"{text[:157]}..."
