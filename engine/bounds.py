"""Does an event of a foreign trace fit what came before it? Asked before it is folded, so that a refusal says what is
wrong, where, and what would work. Also refused: what would only cost time.

`ui/viewer/bounds.js` says the same words; tests/browser/test_check_port.py holds the two equal.
"""

from engine.fold import Fold
from engine.frames import Frame, LaneState
from engine.trace import Commit, Compare, Event, Header, Kv, KvOp, RowDone, Schedule, Verify

MAX_CELLS = 1 << 20  # rows x slots of one event
MAX_ROWS = 1024


def misfit(fold: Fold, event: Event) -> str:
    """Why an event cannot follow; "" when it can, as far as can be said before folding it."""
    if isinstance(event, Header):
        return "a second header" if fold.header else ""
    if event.kind == "pieces" or (event.kind == "end" and not event.lane):
        return ""
    lane = fold.lanes.get(event.lane)
    if lane is None:
        return f"there is no lane '{event.lane}'; the header names {', '.join(fold.lanes) or 'none'}"
    frame = lane.frames[-1] if lane.frames else None
    if isinstance(event, Schedule):
        return _schedule(lane, frame, event)
    if isinstance(event, Compare | RowDone):
        return _row(lane, event.row)
    if not frame or event.step != frame.step:
        return ""  # the fold says so
    if isinstance(event, Verify):
        return _verify(frame, event)
    if isinstance(event, Commit):
        return _one_per_row(frame, event, ("emitted", "kinds"))
    return _cache(lane, frame, event) if isinstance(event, Kv | KvOp) else ""


def _schedule(lane: LaneState, frame: Frame | None, event: Schedule) -> str:
    if frame and event.step <= frame.step:
        return f"step {frame.step} came before"
    if len(set(event.rows)) < len(event.rows) or len(event.rows) > MAX_ROWS:
        return f"a row is listed twice, or there are more than {MAX_ROWS}"
    return next(filter(None, (_row(lane, row) for row in event.rows)), "")


def _verify(frame: Frame, event: Verify) -> str:
    lists = ("lens", "positions", "owners", "slots", "choice") + (() if event.tokens is None else ("tokens",))
    if found := _one_per_row(frame, event, lists):
        return found
    for i, row in enumerate(frame.rows):
        if event.slots[i] < 0:
            return f"slots[{i}] is {event.slots[i]}, a negative slot; the first one is 0"
        if not event.positions[i]:
            return f"positions[{i}] is empty; give the positions that row {row} is fed at"
    return ""


def _cache(lane: LaneState, frame: Frame, event: Kv | KvOp) -> str:
    if event.model not in lane.maps:
        return f"there is no model '{event.model}'; choose target or draft"
    kv = isinstance(event, Kv)
    runs = event.runs if kv else event.moves
    if max(1, len(frame.rows)) * event.width > MAX_CELLS or sum(abs(run[-1]) for run in runs) > MAX_CELLS:
        return f"more than {MAX_CELLS} cells in one event"
    held = set(lane.maps[event.model])
    if kv:
        for n, (row, *_) in enumerate(event.runs):
            if row not in frame.rows:
                return f"runs[{n}]: row {row} is not in step {frame.step}, which has {_listed(frame.rows)}"
        held |= {row for row, *_ in event.runs} if event.reset else set(frame.rows)
    for name in ("hide", "show") if kv else ("moves",):
        for n, (row, *_) in enumerate(getattr(event, name)):
            if row not in held:
                return f"{name}[{n}]: row {row} has nothing in the cache; {_listed(sorted(held))} have"
    return ""


def _row(lane: LaneState, row: int) -> str:
    return "" if row in lane.rows else f"there is no row {row}; the header has {_listed(list(lane.rows))}"


def _one_per_row(frame: Frame, event: Event, names: tuple[str, ...]) -> str:
    for name in names:
        if (n := len(getattr(event, name))) != len(frame.rows):
            return f"{name} has {n} entries for {_listed(frame.rows)}; give one for each"
    return ""


def _listed(rows: list[int]) -> str:
    """Some rows in a sentence.

    >>> _listed([0, 3]), _listed(list(range(20))), _listed([])
    ('rows 0, 3', 'rows 0, 1, 2, 3, 4, 5, 6, 7 and 12 more', 'no row')
    """
    more = f" and {len(rows) - 8} more" if len(rows) > 8 else ""
    return f"rows {', '.join(map(str, rows[:8]))}{more}" if rows else "no row"
