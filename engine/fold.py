"""Fold a trace's events into frames: the full tensors of every step, exactly, in plain Python lists.

`ui/viewer/fold.js` is the same fold for the browser; a test holds the two equal, and both equal to the engine's
own tensors. Nothing but folded state may be drawn or checked.
"""

from collections.abc import Iterable

from engine.fold_kv import apply_kv, apply_kv_op
from engine.frames import Frame, KvMap, LaneState, RowState
from engine.trace import (
    Commit,
    Compare,
    End,
    Event,
    Header,
    Kv,
    KvOp,
    Pieces,
    Propose,
    RowDone,
    Schedule,
    Spans,
    Verify,
    Violation,
)


class Fold:
    """Accumulates events. `header`, `pieces` (id -> [text, hex]), `lanes` (name -> LaneState), `status`."""

    def __init__(self) -> None:
        self.header: Header | None = None
        self.pieces: dict[int, list[str]] = {}
        self.lanes: dict[str, LaneState] = {}
        self.status = "running"
        self.error = ""
        self.last_seq = -1

    def push(self, event: Event) -> None:
        """Apply one event; one that was seen already (seq not above the last) is ignored.

        Raises ValueError for an unknown lane, a step out of order, or cells outside the batch.
        """
        if 0 <= event.seq <= self.last_seq:
            return
        self.last_seq = event.seq
        if isinstance(event, Header):
            self.header = event
            for spec in event.lanes:
                lane = LaneState(spec["lane"], spec["config"])
                for p in event.prompts:
                    lane.rows[p["row"]] = RowState(p["row"], len(p["ids"]), list(p["ids"]))
                self.lanes[lane.name] = lane
        elif isinstance(event, Pieces):
            self.pieces.update({i: [text, raw] for i, text, raw in event.pieces})
        elif isinstance(event, End) and not event.lane:
            self.status, self.error = event.status, event.error
        elif event.lane not in self.lanes:
            raise ValueError(f"{event.at}lane {event.lane!r} is not in the header")
        else:
            self._push_lane(self.lanes[event.lane], event)

    def _push_lane(self, lane: LaneState, event: Event) -> None:
        if isinstance(event, Schedule):
            return self._schedule(lane, event)
        if isinstance(event, Compare):
            lane.rows[event.row].compare = {
                n: getattr(event, n) for n in ("verdict", "checked", "index", "expected", "actual", "logits", "noise")
            }
            return None
        if isinstance(event, End):
            lane.status, lane.totals, lane.error = event.status, event.totals, event.error
            if lane.frames:
                lane.frames[-1].complete = True
            return None
        if isinstance(event, RowDone):
            lane.rows[event.row].done, lane.rows[event.row].final = event.reason, event.tokens
            return None
        if not lane.frames:
            raise ValueError(f"{event.at}{event.kind} before the first schedule of lane {lane.name!r}")
        frame = lane.frames[-1]
        if event.step != frame.step:
            raise ValueError(f"{event.at}{event.kind} of step {event.step} while step {frame.step} is open")
        if isinstance(event, Propose):
            frame.draft, frame.why, frame.source, frame.q = event.tokens, event.why, event.source, event.q or []
        elif isinstance(event, Verify):
            self._verify(lane, frame, event)
        elif isinstance(event, Kv):
            apply_kv(lane, frame, event)
        elif isinstance(event, KvOp):
            apply_kv_op(lane, frame, event)
        elif isinstance(event, Commit):
            self._commit(lane, frame, event)
        elif isinstance(event, Violation):
            fields = ("invariant", "row", "slot", "expected", "actual", "message")
            frame.violations.append({n: getattr(event, n) for n in fields})
        elif isinstance(event, Spans):
            frame.spans, frame.complete = event.spans, True
            frame.timing = {"device": event.device, "source": event.source, "sync": event.sync}
        return None

    def _schedule(self, lane: LaneState, event: Schedule) -> None:
        if lane.frames:
            lane.frames[-1].complete = True
        for model, kept in (("target", event.rows), ("draft", ())):  # published code keeps finished rows in the batch
            lane.maps[model] = {r: m for r, m in lane.maps[model].items() if r in kept or not lane.rows[r].done}
        target = {r: lane.maps["target"].setdefault(r, KvMap()) for r in event.rows}
        frame = Frame(lane.name, event.step, event.rows)
        frame.start = {r: m.copy() for r, m in target.items()}
        frame.before = {r: m.copy() for r, m in target.items()}
        frame.after = {r: m.copy() for r, m in target.items()}
        frame.length = {r: len(lane.rows[r].ids) for r in event.rows}
        frame.width = frame.width_after = max(len(m.owner) for m in target.values()) if target else 0
        lane.frames.append(frame)

    def _verify(self, lane: LaneState, frame: Frame, event: Verify) -> None:
        # a join between schedule and verify has changed what the model reads
        frame.before = {r: lane.maps["target"][r].copy() for r in frame.rows}
        frame.layout, frame.lens = event.layout, event.lens
        frame.slots, frame.owners = event.slots, event.owners
        frame.positions = [expand(runs) for runs in event.positions]
        frame.tokens = self._whole_rows(lane, frame) if event.tokens is None else event.tokens
        frame.choice, frame.top2 = event.choice, event.top2

    def _whole_rows(self, lane: LaneState, frame: Frame) -> list[list[int]]:
        """What a forward over whole rows was fed, [B][L + K]: pads, content so far, drafts, filler."""
        out, k = [], max((len(d) for d in frame.draft), default=0)
        for i, row in enumerate(frame.rows):
            ids, draft = lane.rows[row].ids, frame.draft[i] if frame.draft else []
            pads = [self.header.pad_id] * (len(frame.positions[i]) - len(ids) - k)
            padded = pads + ids if frame.layout == "left" else ids + pads
            out.append(padded + draft + [0] * (k - len(draft)))
        return out

    def _commit(self, lane: LaneState, frame: Frame, event: Commit) -> None:
        frame.accepted, frame.emitted = event.accepted, event.emitted
        frame.kinds, frame.cut = event.kinds, event.cut or [""] * len(frame.rows)
        for row, ids, kinds in zip(frame.rows, event.emitted, event.kinds, strict=True):
            state = lane.rows[row]
            state.ids.extend(ids)
            state.kinds += kinds
            frame.length[row] = len(state.ids)


def fold(events: Iterable[Event]) -> Fold:
    """All events of a trace, folded."""
    state = Fold()
    for event in events:
        state.push(event)
    return state


def expand(runs: list[list[int]]) -> list[int]:
    """Runs [start, length] to the full list; a negative length repeats the start.

    >>> expand([[3, 2], [7, -2]])
    [3, 4, 7, 7]
    """
    out: list[int] = []
    for start, length in runs:
        out.extend([start] * -length if length < 0 else range(start, start + length))
    return out
