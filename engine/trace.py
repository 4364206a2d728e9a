"""The trace: the events that every view, file, test and tool of Ragged reads.

A trace is one session on one set of prompts, with one or more *lanes* (a lane = one method).
On disk it is JSON lines: one event per line, `{"event": "verify", "seq": 12, "lane": "bsp", "step": 3, ...}`.
Step 0 is the prefill; step r is round r. Equal steps of two lanes are the same tick of the clock.

Within a lane a step is these events, in this order (those in brackets only when they apply):

    schedule -> [propose] -> [kv(draft)] -> [kv_op(grow)] -> verify -> kv(target) -> commit -> [kv(hide)]
             -> [kv_op -> kv(reset)] -> [violation ...] -> [row_done ...] -> spans

Lists that have one entry per row follow the row order of the step's `schedule`.
A recorder that sees the cache only when it is read states copies and visibility just before `verify`.
Regular tensors travel as runs; `engine.fold` (and `ui/viewer/fold.js`) give the full tensors back.
Events other than `spans` and the machine part of `header` are deterministic.
"""

from dataclasses import dataclass, field
from typing import ClassVar

SCHEMA = 1

#: One letter per emitted token in `Commit.kinds`.
KINDS = {"a": "accepted", "b": "bonus", "c": "correction", "r": "residual", "p": "prefill", "m": "mismatch kept"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Event:
    """Common part. `extra` holds fields that this version does not know; they survive a rewrite."""

    kind: ClassVar[str] = ""
    seq: int = -1
    lane: str = ""
    step: int = 0
    extra: dict = field(default_factory=dict)

    @property
    def at(self) -> str:
        """What a message about this event begins with: its place in the trace, where it has one."""
        return f"seq {self.seq}: " if self.seq >= 0 else ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Header(Event):
    """First event of every trace (lane ""). `prompts`: [{row, text, ids, arrive}] with ids *after* templating.

    `models`: {"target": {name, sha256, layers, kv_heads, head_dim, vocab, context}, "draft": {...}}.
    `lanes`: [{lane, config}] in drawing order. `positions`: "rotary" or "learned".
    A run that repeats another one with one token changed says so in `extra["what_if"]` (see `ui/what_if.py`).
    """

    kind: ClassVar[str] = "header"
    schema: int = SCHEMA
    title: str = ""
    created: str = ""
    models: dict
    dtype: str
    device: str
    versions: dict
    machine: dict
    stop_ids: list[int]
    pad_id: int
    positions: str
    chat: bool
    prompts: list[dict]
    lanes: list[dict]


@dataclass(frozen=True, slots=True, kw_only=True)
class Pieces(Event):
    """Token texts, each id once per trace: [id, text, hex bytes]; hex is "" when it is the text's UTF-8."""

    kind: ClassVar[str] = "pieces"
    pieces: list[list]


@dataclass(frozen=True, slots=True, kw_only=True)
class Schedule(Event):
    """Rows of this step in batch order (published code keeps ended ones); who joined and left since the lane's last."""

    kind: ClassVar[str] = "schedule"
    rows: list[int]
    group: int = 0
    batch: int = 0
    joined: list[int] = field(default_factory=list)
    left: list[int] = field(default_factory=list)


@dataclass(frozen=True, slots=True, kw_only=True)
class Propose(Event):
    """Draft tokens per row (ragged) and why each row got that many: full, room, empty, eos, acceptance, cost,
    confidence, budget, done.

    `q`: the drafter's probability of each token, where it has one. `source`: the proposer of each row.
    """

    kind: ClassVar[str] = "propose"
    draft: int
    tokens: list[list[int]]
    why: list[str]
    source: list[str]
    q: list[list[float]] | None = None
    noise: list[list[float]] | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Verify(Event):
    """What one target forward was fed and what it chose.

    `tokens` [B][T]: column 0 is the last committed token, 1..lens[i] the row's drafts, the rest filler (None when
    whole rows were fed, as at prefill: content and drafts, padded on the side of `layout`). `positions` [B]: runs
    [start, length].
    `owners` [B]: content index of column 0. `slots` [B]: slot of column 0; column t goes to slot + t.
    `choice` [B][lens+1]: the target's argmax after each real column. `p`: its probability of each draft, where asked
    for. Position runs of negative length repeat (pads, filler). `top2` [B]: for the columns up to and including the
    first disagreement, [second id, first logit, second logit].
    """

    kind: ClassVar[str] = "verify"
    draft: int
    layout: str
    tokens: list[list[int]] | None
    lens: list[int]
    positions: list[list[list[int]]]
    owners: list[int]
    slots: list[int]
    choice: list[list[int]]
    top2: list[list[list[float]]]
    p: list[list[float]] | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Kv(Event):
    """KV entries as the *shadow tensor* shows them: what is in the cache, not what the engine believes.

    `runs`: [row, slot, owner, position, length]: entry n of a run has owner + n and position + n;
    owner -1 marks pads and filler, whose position is the same throughout. Written entries become visible,
    except owner -1. `hide`: [row, slot, length] turned invisible (a stale entry or a hole; still there).
    `show`: [row, slot, length] visible although they belong to no token (DSD's attended pads).
    `reset`: the rows named in `runs` have exactly these entries now (visible unless hidden in the same event),
    their other slots are empty.
    `width`: slots of the whole batch after this event.
    """

    kind: ClassVar[str] = "kv"
    model: str
    width: int
    reset: bool = False
    runs: list[list[int]] = field(default_factory=list)
    hide: list[list[int]] = field(default_factory=list)
    show: list[list[int]] = field(default_factory=list)


@dataclass(frozen=True, slots=True, kw_only=True)
class KvOp(Event):
    """A copy of KV entries: realign, compact, join, split, grow, crop (copies nothing). Every copy is counted.

    `rows`: the batch after the copy, in order; rows not listed have left it. `moves`: [row, source slot,
    destination slot, length] of every entry that is kept, holes included. `bytes`: read by the copy (keys and
    values, all layers).
    `avoided`: bytes that a copy of everything would have read besides.
    """

    kind: ClassVar[str] = "kv_op"
    op: str
    model: str
    width: int
    rows: list[int]
    moves: list[list[int]]
    bytes: int
    avoided: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Commit(Event):
    """Tokens emitted per row. `accepted`: drafts that agreed (before any cut). `kinds`: one letter of KINDS each.

    `cut`: why tokens after the emitted ones were dropped: "" (nothing dropped), stop, budget, context, rollback;
    empty when no row dropped any.
    """

    kind: ClassVar[str] = "commit"
    draft: int
    accepted: list[int]
    emitted: list[list[int]]
    kinds: list[str]
    cut: list[str] = field(default_factory=list)


@dataclass(frozen=True, slots=True, kw_only=True)
class Violation(Event):
    """The first time an invariant fails in a row: kv, contiguity, mask, input, emission or rectangle."""

    kind: ClassVar[str] = "violation"
    invariant: str
    row: int
    slot: int
    expected: int
    actual: int
    message: str


@dataclass(frozen=True, slots=True, kw_only=True)
class RowDone(Event):
    """A row ended. `reason`: stop (a stop id), budget (max_new), context (position table), fastest (DSD), stopped."""

    kind: ClassVar[str] = "row_done"
    row: int
    reason: str
    tokens: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Preempt(Event):
    """A row gave up its place and its KV and will be prefilled again."""

    kind: ClassVar[str] = "preempt"
    row: int
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Compare(Event):
    """A row against the same row decoded alone (code.md 2i: one forward over prompt + output certifies it).

    `verdict`: equal, rounding, bug. When unequal: `index` of the first different generated token, `expected`
    and `actual` ids (-1: that side had ended), `logits` {"reference": [expected, actual], "lane": [expected,
    actual]} at the same prefix, `noise`: the largest logit difference measured on equal prefixes of this run.
    """

    kind: ClassVar[str] = "compare"
    row: int
    verdict: str
    checked: int
    index: int | None = None
    expected: int | None = None
    actual: int | None = None
    logits: dict | None = None
    noise: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Spans(Event):
    """Time of a step's phases: [phase, t0, t1] in seconds on one monotonic base."""

    kind: ClassVar[str] = "spans"
    spans: list[list]
    device: str
    source: str = "measured"
    sync: str = "none"


@dataclass(frozen=True, slots=True, kw_only=True)
class End(Event):
    """Last event of a lane (its name) or of the session (lane ""). `status`: done, stopped, failed, deadline."""

    kind: ClassVar[str] = "end"
    status: str
    totals: dict = field(default_factory=dict)
    error: str = ""


EVENTS: dict[str, type[Event]] = {
    cls.kind: cls
    for cls in (
        Header,
        Pieces,
        Schedule,
        Propose,
        Verify,
        Kv,
        KvOp,
        Commit,
        Violation,
        RowDone,
        Preempt,
        Compare,
        Spans,
        End,
    )
}
