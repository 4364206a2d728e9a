"""The KV half of the fold: `kv` and `kv_op` change a lane's maps (model -> row -> KvMap) and its open frame."""

from engine.frames import Frame, KvMap, LaneState
from engine.trace import Event, Kv, KvOp

MAX_WIDTH = 1 << 17


def apply_kv(lane: LaneState, frame: Frame, event: Kv) -> None:
    """Entries written, hidden, or (with `reset`) stated anew after a copy."""
    maps = lane.maps[event.model]
    check_cells(event, [(slot, length) for _, slot, _, _, length in event.runs])
    check_cells(event, [(slot, length) for _, slot, length in event.hide + event.show])
    if event.reset:
        for row in {run[0] for run in event.runs}:
            old = maps.get(row, KvMap())
            maps[row] = KvMap(token=old.token[:])
    for row in frame.rows:
        if row in maps or event.reset is False:
            maps.setdefault(row, KvMap()).resize(event.width)
    for row, slot, owner, position, length in event.runs:
        m = maps.setdefault(row, KvMap())
        m.resize(event.width)
        for n in range(length):
            mine = owner + n if owner >= 0 else -1
            believed = position + n if owner >= 0 else position
            m.set(slot + n, mine, token_of(lane, frame, event, row, slot + n, mine), believed, int(owner >= 0))
    for seen, cells in enumerate((event.hide, event.show)):
        for row, slot, length in cells:
            maps[row].visible[slot : slot + length] = [seen] * length
    if event.reset:
        for m in maps.values():
            m.token = [t if p >= 0 else -1 for t, p in zip(m.token, m.position, strict=True)]
    snapshot(frame, event, maps)


def token_of(lane: LaneState, frame: Frame, event: Kv, row: int, slot: int, owner: int) -> int:
    """Token of a written slot: what the forward was fed there; after a copy, what the copy brought along.

    The drafter is fed content and drafts only, so there the owner says which token it is.
    """
    i = frame.rows.index(row)
    if event.model == "draft":
        known = lane.rows[row].ids + (frame.draft[i] if frame.draft else [])
        return known[owner] if 0 <= owner < len(known) else -1
    if event.reset:
        return lane.maps["target"][row].token[slot]
    fed = frame.tokens[i] if i < len(frame.tokens) else []
    n = slot - frame.slots[i] if fed else 0
    if not 0 <= n < len(fed):
        raise ValueError(f"{event.at}nothing was fed to slot {slot} of row {row}")
    return fed[n]


def apply_kv_op(lane: LaneState, frame: Frame, event: KvOp) -> None:
    """Entries copied to new slots; rows that the copy does not list have left the batch."""
    maps = lane.maps[event.model]
    check_cells(event, [(dst, length) for _, _, dst, length in event.moves])
    moved: dict[int, KvMap] = {}
    origin: dict[int, list[int]] = {}
    early = event.model == "target" and not frame.positions  # nothing was fed yet
    through = frame.origin if early else {}  # a join may follow a split: its source is where the split put the entry
    for row, src, dst, length in event.moves:
        if row not in moved:
            moved[row], origin[row] = KvMap(), [-1] * event.width
            moved[row].resize(event.width)
        old, known = maps[row], through.get(row, ())
        if src < 0 or src + length > len(old.owner):
            raise ValueError(f"{event.at}row {row} has no slots {src}..{src + length - 1} to move")
        for n in range(length):
            a, b = src + n, dst + n
            moved[row].set(b, old.owner[a], old.token[a], old.position[a], old.visible[a])
            origin[row][b] = known[a] if a < len(known) else a
    for row in frame.rows:
        if row not in event.rows:
            maps.pop(row, None)  # it left the batch
    maps.update(moved)
    if event.model == "target":
        frame.origin = origin
        if not (early and frame.ahead and event.op == "grow"):  # making room does not hide what was moved
            frame.op, frame.moves, frame.ahead = event.op, event.moves, early and event.op != "grow"
        frame.after = {r: maps[r].copy() for r in frame.rows if r in maps}
        frame.width_after = event.width
    frame.copied.append([event.op, event.model, event.bytes])
    frame.bytes, frame.avoided = frame.bytes + event.bytes, frame.avoided + event.avoided


def snapshot(frame: Frame, event: Kv, maps: dict[int, KvMap]) -> None:
    copies = {r: maps[r].copy() for r in frame.rows if r in maps}
    if event.model == "draft":
        frame.drafter = copies
        return
    if event.runs and not event.reset:
        frame.fed, frame.width = {r: m.copy() for r, m in copies.items()}, event.width
    frame.after, frame.width_after = copies, event.width


def check_cells(event: Event, cells: list[tuple[int, int]]) -> None:
    """Raise ValueError when a run of slots lies outside the event's width (or the width is absurd)."""
    if not 0 <= event.width <= MAX_WIDTH:
        raise ValueError(f"{event.at}width {event.width} is outside 0..{MAX_WIDTH}")
    for slot, length in cells:
        if slot < 0 or length < 1 or slot + length > event.width:
            raise ValueError(f"{event.at}slots {slot}..{slot + length - 1} lie outside width {event.width}")
