"""The invariants, layout-free, on folded state: live in every round, and on any recorded trace (papers.md A.2).

For each row, at the moment the model reads:

    kv          the visible slots hold the committed tokens 0..n-2, each once, with the right token id
    contiguity  believed position - owner index is one constant (0 for learned absolute positions)
    mask        exactly those slots are visible: no pad, no stale entry, none missing
    input       what is fed is the last committed token and the row's drafts, in order
    emission    what is emitted is the target's choice at that index
    rectangle   left layout only: pads + content = L, so that every row's next slot is the same

Dead slots alone violate nothing, and neither does a constant offset under rotary positions. Of a step whose KV was
not recorded, what its verify event says by itself is checked: input, emission, and contiguity of what was fed.
"""

from collections.abc import Iterator

from engine.frames import Frame, KvMap, LaneState
from engine.trace import Header, Violation


class Checker:
    """Reports each invariant once per row: the first time it fails."""

    def __init__(self) -> None:
        self.reported: set[tuple[str, int]] = set()
        self.offsets: dict[int, int] = {}  # position - owner of the first column that a row was fed, KV or not

    def frame(self, lane: LaneState, header: Header) -> list[Violation]:
        """New violations of the lane's last frame. The frame must have been committed."""
        frame, found = lane.frames[-1], []
        for i, row in enumerate(frame.rows):
            ids = lane.rows[row].ids
            content = ids[: frame.length[row] - len(frame.emitted[i])]
            if row in frame.fed:
                violations = check_row(frame, i, content, header.positions)
            else:
                violations = check_fed(frame, i, content, header.positions, self.offsets)
            for violation in violations:
                if (violation.invariant, row) not in self.reported:
                    self.reported.add((violation.invariant, row))
                    found.append(violation)
        return found


def check_row(frame: Frame, i: int, content: list[int], scheme: str) -> Iterator[Violation]:
    """Violations of batch row i whose committed ids were `content` when the model read them."""
    row = frame.rows[i]
    prefill = max(frame.before[row].position, default=-1) < 0  # nothing of the row is in the cache
    held = 0 if prefill else len(content) - 1  # committed tokens that must be in the cache already
    yield from _kv_and_mask(row, frame.before[row], content, held)
    yield from _new_columns(row, frame.fed[row], frame.slots[i])
    yield from _contiguity(row, frame, i, content, held, scheme)
    if prefill:
        yield from _prefilled(row, frame.fed[row], content)
    else:
        yield from _input(row, frame, i, content)
        if frame.layout == "left":
            yield from _rectangle(row, frame, i, held)
    yield from _emission(row, frame, i)


def _violation(invariant: str, row: int, slot: int, expected: int, actual: int, message: str) -> Violation:
    return Violation(invariant=invariant, row=row, slot=slot, expected=expected, actual=actual, message=message)


def _kv_and_mask(row: int, kv: KvMap, content: list[int], held: int) -> Iterator[Violation]:
    right: dict[int, list[int]] = {}
    for slot, owner in enumerate(kv.owner):
        if 0 <= owner < held and kv.token[slot] == content[owner]:
            right.setdefault(owner, []).append(slot)
    seen: set[int] = set()
    for slot, owner in enumerate(kv.owner):
        if not kv.visible[slot]:
            continue
        if slot in right.get(owner, ()) and owner not in seen:
            seen.add(owner)
        elif owner < 0:
            yield _violation("mask", row, slot, 0, 1, "a pad is visible")
        elif owner in right or owner >= held:
            yield _violation("mask", row, slot, 0, 1, "a stale entry is visible")
        else:
            message = f"the entry of token {owner} holds token id {kv.token[slot]}"
            yield _violation("kv", row, slot, content[owner], kv.token[slot], message)
    for owner in range(held):
        if owner in seen:
            continue
        if owner in right:
            yield _violation("mask", row, right[owner][0], 1, 0, f"token {owner} is in the cache but hidden")
        elif owner not in kv.owner:
            yield _violation("kv", row, -1, owner, -1, f"token {owner} has no entry in the cache")


def _new_columns(row: int, kv: KvMap, start: int) -> Iterator[Violation]:
    for slot in range(start, len(kv.owner)):
        if kv.visible[slot] and kv.owner[slot] < 0:
            yield _violation("mask", row, slot, 0, 1, "a pad is visible")
            return


def _contiguity(row: int, frame: Frame, i: int, content: list[int], held: int, scheme: str) -> Iterator[Violation]:
    kv = frame.fed[row]
    start = frame.slots[i]
    entries = [
        (owner, kv.position[slot], slot)
        for slot, owner in enumerate(kv.owner)
        if owner >= 0 and (slot >= start or (kv.visible[slot] and owner < held))
    ]
    entries.sort()
    offset = entries[0][1] - entries[0][0] if scheme == "rotary" and entries else 0
    for owner, position, slot in entries:
        if position != owner + offset:
            message = f"token {owner} is fed at position {position}, {position - owner - offset:+d} from its neighbours"
            yield _violation("contiguity", row, slot, owner + offset, position, message)
            return


def _input(row: int, frame: Frame, i: int, content: list[int]) -> Iterator[Violation]:
    expected = [content[-1], *(frame.draft[i] if frame.draft else [])]
    for t, token in enumerate(expected[: frame.lens[i] + 1]):
        slot = frame.slots[i] + t
        if frame.tokens[i][t] != token:
            yield _violation("input", row, slot, token, frame.tokens[i][t], f"column {t} is fed the wrong token")
        elif frame.fed[row].owner[slot] != len(content) - 1 + t:
            owner = frame.fed[row].owner[slot]
            yield _violation("input", row, slot, len(content) - 1 + t, owner, f"column {t} is fed at the wrong index")


def _prefilled(row: int, kv: KvMap, content: list[int]) -> Iterator[Violation]:
    """A row without entries must be fed all of its content."""
    for owner, token in enumerate(content):
        if owner not in kv.owner:
            yield _violation("kv", row, -1, owner, -1, f"token {owner} is neither fed nor in the cache")
            return
        slot = kv.owner.index(owner)
        if kv.token[slot] != token:
            yield _violation("input", row, slot, token, kv.token[slot], f"token {owner} is fed as another one")
            return


def check_fed(frame: Frame, i: int, content: list[int], scheme: str, offsets: dict[int, int]) -> Iterator[Violation]:
    """What the verify event of a step without KV shows: the right tokens, at positions that go on without a gap."""
    row, drafts, first = frame.rows[i], frame.lens[i], frame.owners[i]
    fed = [*content, *(frame.draft[i] if frame.draft else [])][: len(content) + drafts]
    if first not in (0, len(content) - 1):
        yield _violation("input", row, frame.slots[i], len(content) - 1, first, "column 0 is fed at the wrong index")
        return
    columns = len(fed) - first
    if len(frame.tokens[i]) < columns:
        yield _violation("input", row, -1, columns, len(frame.tokens[i]), f"{columns} tokens should be fed")
        return
    skip = len(frame.tokens[i]) - columns if first == 0 and frame.layout == "left" else 0  # pads in front
    for owner, column in enumerate(range(skip, skip + columns), first):
        slot, token, position = frame.slots[i] + column, frame.tokens[i][column], frame.positions[i][column]
        if token != fed[owner]:
            yield _violation("input", row, slot, fed[owner], token, f"column {column} is fed the wrong token")
            break
        offset = offsets.setdefault(row, position - owner) if scheme == "rotary" else 0
        if position != owner + offset:
            message = f"token {owner} is fed at position {position}, {position - owner - offset:+d} from its neighbours"
            yield _violation("contiguity", row, slot, owner + offset, position, message)
            break
    yield from _emission(row, frame, i)


def _emission(row: int, frame: Frame, i: int) -> Iterator[Violation]:
    for t, token in enumerate(frame.emitted[i]):
        choice = frame.choice[i][t] if t < len(frame.choice[i]) else -1
        if token != choice:
            message = f"emitted token {t} of this step is not the target's choice"
            yield _violation("emission", row, frame.slots[i] + t, choice, token, message)
            return


def _rectangle(row: int, frame: Frame, i: int, held: int) -> Iterator[Violation]:
    kv = frame.before[row]
    if 0 not in kv.owner:
        return
    pads, expected = kv.owner.index(0), frame.slots[i] - held
    if pads != expected:
        yield _violation("rectangle", row, pads, expected, pads, "pads + content is not the batch's width")
