"""Each invariant fires for its own defect, once, with the right row, slot and values, and a good run is silent."""

from collections.abc import Callable
from dataclasses import replace
from functools import cache

import pytest

from engine import session
from engine.check import Checker
from engine.fold import Fold
from engine.trace import Commit, Event, Header, Kv, KvOp, Propose, Spans, Verify
from tests.engine import tiny

LENGTHS = (3, 9, 6)
ROW = 2  # the row whose events are damaged: it has pads in front
METHODS = {
    "eqspec": tiny.config(),
    "autoregressive": tiny.config("autoregressive"),
    "bsp": tiny.config("bsp", faults=frozenset()),
}


@cache
def good(method: str, family: str = "llama") -> tuple[Event, ...]:
    """A run without a defect."""
    prompts = [tiny.prompt(n, 4, stop=0.1) for n in LENGTHS]
    pair = replace(tiny.pair(family, 0.1), stop_ids=frozenset())
    return tuple(session({method: METHODS[method]}, prompts, pair=pair, certify=False))


def found(events: list[Event] | tuple[Event, ...]) -> list[tuple[int, str, int, int, int, int]]:
    """(step, invariant, row, slot, expected, actual) of every violation, checked as the engine does."""
    state, checker, out = Fold(), Checker(), []
    for event in events:
        if isinstance(event, Spans):
            lane = state.lanes[event.lane]
            for v in checker.frame(lane, state.header):
                out.append((event.step, v.invariant, v.row, v.slot, v.expected, v.actual))
        state.push(event)
    return out


Edit = Callable[[Event], Event]


def edited(events: tuple[Event, ...], kind: type[Event], step: int, edit: Edit, **fields: object) -> list[Event]:
    """The events with one of them changed: the one of this kind and step whose fields are as given."""
    hits = [
        n
        for n, e in enumerate(events)
        if isinstance(e, kind) and e.step == step and all(getattr(e, f) == v for f, v in fields.items())
    ]
    assert len(hits) == 1, f"{len(hits)} events to edit"
    return [edit(e) if n == hits[0] else e for n, e in enumerate(events)]


def written(e: Kv) -> list[int]:
    """The run of ROW that belongs to tokens (pads and filler have owner -1)."""
    return next(run for run in e.runs if run[0] == ROW and run[2] >= 0)


def with_runs(e: Kv, of_row: Callable[[list[int]], list[list[int]]]) -> Kv:
    """ROW's token runs replaced, the others kept."""
    runs = [new for run in e.runs for new in (of_row(run) if run[0] == ROW and run[2] >= 0 else [run])]
    return replace(e, runs=runs)


def three_too_far(e: Kv) -> Kv:
    return with_runs(e, lambda run: [[*run[:3], run[3] + 3, run[4]]])


def at(events: tuple[Event, ...], kind: type[Event], step: int, **fields: object) -> Event:
    return next(
        e
        for e in events
        if isinstance(e, kind) and e.step == step and all(getattr(e, f) == v for f, v in fields.items())
    )


def content(events: tuple[Event, ...], step: int) -> list[int]:
    """ROW's ids when `step` read them."""
    ids = list(events[0].prompts[ROW]["ids"])
    for e in events:
        if isinstance(e, Commit) and e.step < step:
            ids += e.emitted[ROW]
    return ids


def rejecting(events: tuple[Event, ...]) -> int:
    """A step, not among the first, in which all rows are live and ROW has a rejected draft."""
    rounds = [e for e in events if isinstance(e, Commit) and e.step > 1]
    return next(
        e.step
        for e in rounds
        if len(e.accepted) == len(LENGTHS)
        and e.accepted[ROW] < len(at(events, Propose, e.step).tokens[ROW])
        and any(isinstance(x, Commit) and x.step == e.step + 1 and len(x.accepted) == len(LENGTHS) for x in rounds)
    )


@pytest.mark.parametrize("family", ["llama", "gpt2"])
@pytest.mark.parametrize("method", METHODS)
def test_a_good_run_is_silent(method: str, family: str) -> None:
    assert found(good(method, family)) == []


def test_kv_a_token_without_an_entry() -> None:
    events = good("eqspec")
    step = rejecting(events)
    _, _, owner, _, length = written(at(events, Kv, step, model="target", reset=True))
    broken = edited(
        events, Kv, step, lambda e: with_runs(e, lambda run: [[*run[:4], run[4] - 1]]), model="target", reset=True
    )
    assert found(broken) == [(step + 1, "kv", ROW, -1, owner + length - 1, -1)]


def test_kv_an_entry_of_another_token() -> None:
    events = good("eqspec")
    step = next(e.step for e in events if isinstance(e, KvOp) and e.op == "crop" and e.step)
    ids = content(events, step + 1)
    assert ids[0] != ids[1]
    slot = written(at(events, Kv, step, model="target", reset=True))[1]
    broken = edited(
        events, KvOp, step, lambda e: replace(e, moves=[[r, s + (r == ROW), t, n] for r, s, t, n in e.moves]), op="crop"
    )
    assert found(broken) == [(step + 1, "kv", ROW, slot, ids[0], ids[1])]


def test_contiguity_a_gap_of_three() -> None:
    events = good("eqspec")
    step = rejecting(events)
    _, slot, owner, position, _ = written(at(events, Kv, step, model="target", reset=False))
    assert owner == position
    broken = edited(events, Kv, step, three_too_far, model="target", reset=False)
    assert found(broken) == [(step, "contiguity", ROW, slot, owner, owner + 3)]


def shifted(events: tuple[Event, ...], by: int, scheme: str) -> list[Event]:
    """ROW's positions all off by the same number, under another position scheme."""
    out = []
    for e in events:
        if isinstance(e, Kv) and e.model == "target":
            e = with_runs(e, lambda run: [[*run[:3], run[3] + by, run[4]]])
        out.append(replace(e, positions=scheme) if isinstance(e, Header) else e)
    return out


def test_contiguity_a_constant_offset_is_silent_for_rotary_positions() -> None:
    assert found(shifted(good("eqspec"), 2, "rotary")) == []


def test_contiguity_a_constant_offset_fires_for_learned_positions() -> None:
    events = good("eqspec")
    slot = max(LENGTHS) - LENGTHS[ROW]
    assert found(shifted(events, 2, "learned")) == [(0, "contiguity", ROW, slot, 0, 2)]


def test_mask_a_pad_among_the_kept_slots() -> None:
    events = good("eqspec")
    step = rejecting(events)
    first = written(at(events, Kv, step, model="target", reset=True))[1]
    assert first > 0, "the row has no pad"
    broken = edited(events, Kv, step, lambda e: replace(e, show=[[ROW, first - 1, 1]]), model="target", reset=True)
    assert found(broken) == [(step + 1, "mask", ROW, first - 1, 0, 1)]


def test_mask_a_pad_of_the_prefill() -> None:
    events = good("eqspec")
    assert found(edited(events, Kv, 0, lambda e: replace(e, show=[[ROW, 1, 1]]), model="target", reset=False)) == [
        (0, "mask", ROW, 1, 0, 1)
    ]


def test_mask_a_stale_entry_is_visible() -> None:
    events = good("bsp")
    step = rejecting(events)
    hidden = next(e for e in events if isinstance(e, Kv) and e.step == step and not e.runs)
    slot = next(s for r, s, _ in hidden.hide if r == ROW)
    broken = edited(
        events, Kv, step, lambda e: replace(e, hide=[cell for cell in e.hide if cell[0] != ROW]), hide=hidden.hide
    )
    assert found(broken) == [(step + 1, "mask", ROW, slot, 0, 1)]


def test_mask_a_token_is_hidden() -> None:
    events = good("eqspec")
    step = rejecting(events)
    slot = written(at(events, Kv, step, model="target", reset=True))[1]
    broken = edited(events, Kv, step, lambda e: replace(e, hide=[[ROW, slot + 1, 1]]), model="target", reset=True)
    assert found(broken) == [(step + 1, "mask", ROW, slot + 1, 1, 0)]


def test_input_a_draft_is_fed_as_another_token() -> None:
    events = good("eqspec")
    step = rejecting(events)
    fed = at(events, Verify, step)
    column = fed.lens[ROW]
    draft = at(events, Propose, step).tokens[ROW][column - 1]
    tokens = [list(row) for row in fed.tokens]
    tokens[ROW][column] = draft + 1
    broken = edited(events, Verify, step, lambda e: replace(e, tokens=tokens))
    assert found(broken) == [(step, "input", ROW, fed.slots[ROW] + column, draft, draft + 1)]


def test_input_a_draft_is_fed_at_another_index() -> None:
    events = good("eqspec")
    step = rejecting(events)
    row, slot, owner, position, length = written(at(events, Kv, step, model="target", reset=False))
    last = length - 1
    runs = [[row, slot, owner, position, last], [row, slot + last, owner + last + 1, position + last + 1, 1]]
    broken = edited(events, Kv, step, lambda e: with_runs(e, lambda run: runs), model="target", reset=False)
    assert found(broken) == [(step, "input", ROW, slot + last, owner + last, owner + last + 1)]


def test_a_prefill_that_leaves_a_token_out_or_feeds_another_one() -> None:
    events = good("bsp")
    prefill = at(events, Kv, 0, model="target", reset=False)
    row, slot, owner, position, length = written(prefill)
    short = edited(
        events, Kv, 0, lambda e: with_runs(e, lambda run: [[*run[:4], run[4] - 1]]), model="target", reset=False
    )
    missing = (0, "kv", ROW, -1, owner + length - 1, -1)
    assert missing in found(short)
    assert found(short)[0] == missing
    runs = [[row, slot + 1, owner, position, length - 1], [row, slot, owner + length - 1, position + length - 1, 1]]
    turned = edited(events, Kv, 0, lambda e: with_runs(e, lambda run: runs), model="target", reset=False)
    ids = content(events, 0)
    assert (0, "input", ROW, slot + 1, ids[0], ids[1]) in found(turned)


def test_emission_a_token_that_the_target_did_not_choose() -> None:
    events = good("eqspec")
    step = rejecting(events)
    fed, emitted = at(events, Verify, step), at(events, Commit, step).emitted[ROW]
    n = len(emitted) - 1
    choice = [list(row) for row in fed.choice]
    choice[ROW][n] = emitted[n] + 1
    broken = edited(events, Verify, step, lambda e: replace(e, choice=choice))
    assert found(broken) == [(step, "emission", ROW, fed.slots[ROW] + n, emitted[n] + 1, emitted[n])]


def test_rectangle_a_row_that_was_moved_one_slot_too_far() -> None:
    events = good("eqspec")
    step = next(e.step for e in events if isinstance(e, KvOp) and e.op == "realign" and e.step > 1)
    pads = written(at(events, Kv, step, model="target", reset=True))[1]
    assert pads > 0, "the row has no pad"
    until = next(n for n, e in enumerate(events) if isinstance(e, Spans) and e.step == step + 1) + 1

    def too_far(e: Event) -> Event:
        if isinstance(e, KvOp):
            return replace(e, moves=[[r, s, t - (r == ROW), n] for r, s, t, n in e.moves])
        return with_runs(e, lambda run: [[run[0], run[1] - 1, *run[2:]]])

    broken = edited(events[:until], KvOp, step, too_far, op="realign")
    broken = edited(tuple(broken), Kv, step, too_far, model="target", reset=True)
    assert found(broken) == [(step + 1, "rectangle", ROW, pads - 1, pads, pads - 1)]


def test_an_invariant_is_reported_once_per_row() -> None:
    events = good("eqspec")
    step = rejecting(events)
    broken = tuple(edited(events, Kv, step, three_too_far, model="target", reset=False))
    broken = edited(broken, Kv, step + 1, three_too_far, model="target", reset=False)
    assert [v[:3] for v in found(broken)] == [(step, "contiguity", ROW)]


def test_the_message_says_what_was_found() -> None:
    events = good("eqspec")
    step = rejecting(events)
    owner = written(at(events, Kv, step, model="target", reset=False))[2]
    state = Fold()
    for event in edited(events, Kv, step, three_too_far, model="target", reset=False):
        if isinstance(event, Spans) and event.step == step:
            break
        state.push(event)
    (violation,) = Checker().frame(state.lanes["eqspec"], state.header)
    assert violation.message == f"token {owner} is fed at position {owner + 3}, +3 from its neighbours"
