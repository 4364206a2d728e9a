"""Frames: one step of one lane as full tensors in plain Python lists. What every view draws and every check reads.

A row's KV is four parallel lists over the slots of the batch:

    slot      0   1   2   3   4        two rows, left-padded, c = (5, 3)
    owner     0   1   2   3   4        row 0: five content tokens
    owner    -1  -1   0   1   2        row 1: two pads in front; owner -1 belongs to no token
    position  0   1   2   3   4        the position id that the key was rotated with
    visible   1   1   1   1   1        1 when the attention mask shows the slot to the next query
"""

from dataclasses import dataclass, field


@dataclass(slots=True)
class KvMap:
    """One row's KV entries by slot. An unwritten slot has owner, token and position -1 and is not visible."""

    owner: list[int] = field(default_factory=list)
    token: list[int] = field(default_factory=list)
    position: list[int] = field(default_factory=list)
    visible: list[int] = field(default_factory=list)

    def copy(self) -> "KvMap":
        return KvMap(self.owner[:], self.token[:], self.position[:], self.visible[:])

    def resize(self, width: int) -> None:
        """Cut to `width` slots or add empty ones."""
        for cells, empty in ((self.owner, -1), (self.token, -1), (self.position, -1), (self.visible, 0)):
            del cells[width:]
            cells.extend([empty] * (width - len(cells)))

    def set(self, slot: int, owner: int, token: int, position: int, visible: int) -> None:
        self.owner[slot], self.token[slot] = owner, token
        self.position[slot], self.visible[slot] = position, visible


@dataclass(slots=True)
class RowState:
    """One row of one lane: prompt and generated ids, one letter per generated token, why it ended."""

    row: int
    prompt: int
    ids: list[int]
    kinds: str = ""
    done: str = ""
    final: int = -1  # generated tokens that count as output, once done
    compare: dict | None = None


@dataclass(slots=True)
class Frame:
    """One step of one lane. `before`, `fed`, `after`: KV maps by row, around the forward and the clean-up.

    `fed` includes the T columns just written; `origin[row][slot]` is the `fed` slot an `after` entry came from.
    `start`: what the round found. A lane that copies first (`ahead`) has its rectangle in `before`; there `origin` is
    the `start` slot a `before` entry came from, through all copies of the round.
    `length[row]`: content tokens (prompt + generated) after this step's commit.
    """

    lane: str
    step: int
    rows: list[int]
    layout: str = ""
    complete: bool = False
    draft: list[list[int]] = field(default_factory=list)
    why: list[str] = field(default_factory=list)
    source: list[str] = field(default_factory=list)
    q: list[list[float]] = field(default_factory=list)
    tokens: list[list[int]] = field(default_factory=list)
    lens: list[int] = field(default_factory=list)
    slots: list[int] = field(default_factory=list)
    owners: list[int] = field(default_factory=list)
    positions: list[list[int]] = field(default_factory=list)
    choice: list[list[int]] = field(default_factory=list)
    top2: list[list[list[float]]] = field(default_factory=list)
    accepted: list[int] = field(default_factory=list)
    emitted: list[list[int]] = field(default_factory=list)
    kinds: list[str] = field(default_factory=list)
    cut: list[str] = field(default_factory=list)
    width: int = 0
    width_after: int = 0
    start: dict[int, KvMap] = field(default_factory=dict)
    before: dict[int, KvMap] = field(default_factory=dict)
    fed: dict[int, KvMap] = field(default_factory=dict)
    after: dict[int, KvMap] = field(default_factory=dict)
    origin: dict[int, list[int]] = field(default_factory=dict)
    drafter: dict[int, KvMap] = field(default_factory=dict)
    length: dict[int, int] = field(default_factory=dict)
    op: str = ""
    ahead: bool = False
    moves: list[list[int]] = field(default_factory=list)
    copied: list[list] = field(default_factory=list)  # [op, model, bytes] of each copy
    bytes: int = 0
    avoided: int = 0
    violations: list[dict] = field(default_factory=list)
    spans: list[list] = field(default_factory=list)
    timing: dict = field(default_factory=dict)

    def mask(self, i: int) -> list[list[int]]:
        """The boolean attention mask [T][S] of batch row i in this step's forward.

        Old slots are shown as `before` says. Of the new ones a query sees itself and the visible ones to its left
        (pads and filler are not, unless a fault shows them).

            before visible 1 1 0 | two queries: 1 1 0 1 0
                                                1 1 0 1 1
        """
        row, start, width = self.rows[i], self.slots[i], self.width
        old, new = self.before[row].visible, self.fed[row].visible
        return [
            [(old[s] if s < len(old) else 0) if s < start else int(s == q or (s < q and new[s])) for s in range(width)]
            for q in range(start, start + len(self.positions[i]))
        ]


@dataclass(slots=True)
class LaneState:
    """Everything known of one lane: its configuration, rows and frames, and how it ended."""

    name: str
    config: dict
    rows: dict[int, RowState] = field(default_factory=dict)
    frames: list[Frame] = field(default_factory=list)
    status: str = "running"
    totals: dict = field(default_factory=dict)
    error: str = ""
    maps: dict[str, dict[int, KvMap]] = field(default_factory=lambda: {"target": {}, "draft": {}})
