"""The fold gives back, exactly, the tensors that the engine held: nothing is lost between engine and page."""

from dataclasses import replace

import pytest
import torch

from engine import session
from engine.config import RunConfig
from engine.fold import Fold, KvMap, expand, fold
from engine.lines import dump_line, read_lines
from engine.trace import Event, Kv, KvOp, Schedule, Spans, Verify
from tests.engine import tiny
from tests.engine.conftest import Tape

LENGTHS = (5, 1, 9, 14)
PROMPTS = [tiny.prompt(n, seed, stop=0.2) for seed, n in enumerate(LENGTHS)]
LANES = {
    "eqspec": tiny.config(),
    "eqspec in batches": tiny.config(batch=3, proposer="ngram", k=3),
    "autoregressive": tiny.config("autoregressive"),
    "bsp": tiny.config("bsp"),
    "bsp with stop rule": tiny.config("bsp", faults=frozenset({"padding_gap", "rejection_gap", "draft_positions"})),
    "bsp repaired": tiny.config("bsp", faults=frozenset(), k=5),
}


def recorded(family: str, tape: Tape, lanes: dict[str, RunConfig] = LANES) -> list[Event]:
    pair = tiny.pair(family, 0.1)
    return list(tape.beside(session(lanes, PROMPTS, pair=pair, observer=tape)))


def cells(shadow: torch.Tensor, visible: torch.Tensor) -> KvMap:
    owner, token, position = shadow.T.tolist()
    return KvMap(owner, token, position, visible.int().tolist())


@pytest.mark.parametrize("family", ["llama", "gpt2"])
def test_every_cell_of_every_step_equals_the_engines_own_tensor(family: str, tape: Tape) -> None:
    state = fold(recorded(family, tape))
    frames = {(lane.name, f.step): f for lane in state.lanes.values() for f in lane.frames}
    assert frames.keys() == tape.shots.keys() == tape.after.keys()
    for at, frame in frames.items():
        shot = tape.shots[at]
        assert frame.rows == shot.rows, at
        assert frame.tokens == shot.fed.tokens.tolist(), at
        assert frame.positions == shot.fed.positions.tolist(), at
        assert frame.lens == shot.fed.lens.tolist(), at
        assert frame.width == shot.before + shot.fed.tokens.shape[1], at
        for i, row in enumerate(frame.rows):
            old = cells(shot.shadow[i, : shot.before], shot.visible[i, : shot.before])
            assert frame.before[row] == old, f"{at}: row {row} before the forward"
            assert frame.fed[row] == cells(shot.shadow[i], shot.visible[i]), f"{at}: row {row} after the forward"
            assert frame.mask(i) == shot.mask[i].int().tolist(), f"{at}: mask of row {row}"
        assert frame.after == {row: cells(*kept) for row, kept in tape.after[at].items()}, f"{at}: after the step"


def test_the_drafters_map_equals_the_drafters_own_cache(tape: Tape) -> None:
    state = fold(recorded("gpt2", tape))
    drafted = {(lane.name, f.step): f.drafter for lane in state.lanes.values() for f in lane.frames if f.drafter}
    assert drafted.keys() == tape.drafter.keys()
    assert {name for name, _ in drafted} == {"eqspec", "bsp", "bsp with stop rule", "bsp repaired"}
    for at, maps in drafted.items():
        assert maps.keys() == tape.drafter[at].keys(), at
        for row, kv in maps.items():
            own = tape.drafter[at][row]
            n = len(own)
            assert [kv.owner[:n], kv.token[:n], kv.position[:n]] == own.T.tolist(), f"{at}: drafter of row {row}"
            assert own[:, 0].tolist() == list(range(n)), f"{at}: the drafter's entries of row {row} are not its content"
            assert set(kv.position[n:]) <= {-1}, f"{at}: row {row} shows entries that the drafter has not"


def test_the_recorded_runs_have_holes_compactions_and_filler(tape: Tape) -> None:
    events = recorded("gpt2", tape)
    holed = {e.lane for e in events if isinstance(e, Kv) and e.reset and e.hide}
    assert {"bsp with stop rule", "bsp repaired"} <= holed, "no row with holes was moved by a compaction"
    assert {"crop", "realign", "compact", "grow"} <= {e.op for e in events if isinstance(e, KvOp)}
    ragged = [e for e in events if isinstance(e, Verify) and len(set(e.lens)) > 1]
    assert ragged, "every row had the same draft length: no filler was fed"


def test_a_json_round_trip_gives_equal_events_and_an_equal_fold(tape: Tape) -> None:
    events = recorded("llama", tape)
    again = list(read_lines(dump_line(e) + "\n" for e in events))
    assert again == events
    one, two = fold(events), fold(again)
    assert two.lanes == one.lanes
    assert (two.header, two.pieces, two.status) == (one.header, one.pieces, "done")


def test_events_that_come_twice_are_ignored(tape: Tape) -> None:
    events = recorded("llama", tape, {"eqspec": tiny.config()})
    resumed = [copy for n, e in enumerate(events) for copy in (*events[max(0, n - 3) : n], e)]
    assert fold(resumed).lanes == fold(events).lanes


@pytest.fixture
def opened(tape: Tape) -> tuple[Fold, list[Event]]:
    """A fold that has just taken the first verify of a lane, and the events that follow."""
    events = recorded("llama", tape, {"eqspec": tiny.config()})
    n = next(n for n, e in enumerate(events) if isinstance(e, Verify) and e.step == 1)
    return fold(events[: n + 1]), events[n + 1 :]


@pytest.mark.parametrize(
    ("change", "words"),
    [
        pytest.param({"runs": [[0, 10**6, 4, 4, 1]]}, "lie outside width", id="slot_past_the_width"),
        pytest.param({"runs": [[0, -1, 4, 4, 2]]}, "lie outside width", id="negative_slot"),
        pytest.param({"runs": [[0, 0, 4, 4, 0]]}, "lie outside width", id="empty_run"),
        pytest.param({"hide": [[0, 3, 10**6]]}, "lie outside width", id="hidden_run_too_long"),
        pytest.param({"width": 10**9}, "is outside 0", id="absurd_width"),
        pytest.param({"step": 7}, "of step 7 while step 1 is open", id="step_out_of_order"),
        pytest.param({"lane": "other"}, "lane 'other' is not in the header", id="unknown_lane"),
    ],
)
def test_cells_and_steps_out_of_order_are_refused(opened: tuple[Fold, list[Event]], change: dict, words: str) -> None:
    state, (kv, *_) = opened
    assert isinstance(kv, Kv)
    with pytest.raises(ValueError, match=words):
        state.push(replace(kv, **change))


def test_a_move_from_slots_that_do_not_exist_is_refused(opened: tuple[Fold, list[Event]]) -> None:
    state, events = opened
    move = next(n for n, e in enumerate(events) if isinstance(e, KvOp))
    for event in events[:move]:
        state.push(event)
    row, _, to, length = events[move].moves[0]
    with pytest.raises(ValueError, match=f"row {row} has no slots 1000"):
        state.push(replace(events[move], moves=[[row, 1000, to, length]]))


def test_an_event_before_the_first_schedule_is_refused(opened: tuple[Fold, list[Event]]) -> None:
    state, events = opened
    fresh = Fold()
    fresh.push(state.header)
    with pytest.raises(ValueError, match="before the first schedule"):
        fresh.push(events[0])


def test_a_step_is_complete_with_its_spans_or_with_the_next_schedule(tape: Tape) -> None:
    events = recorded("llama", tape, {"eqspec": tiny.config()})
    state = Fold()
    for event in events[: next(n for n, e in enumerate(events) if isinstance(e, Spans))]:
        state.push(event)
    assert not state.lanes["eqspec"].frames[-1].complete
    without = fold(e for e in events if not isinstance(e, Spans)).lanes["eqspec"].frames
    assert all(f.complete for f in without)
    assert len(without) == sum(isinstance(e, Schedule) for e in events)


def test_runs_expand_to_the_full_list() -> None:
    assert expand([[3, 2], [7, -2], [0, 1]]) == [3, 4, 7, 7, 0]
    assert expand([]) == []
