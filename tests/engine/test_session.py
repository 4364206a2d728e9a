"""A session from outside: bad prompts are refused in words, lanes keep step, a stop in mid-run ends cleanly."""

from dataclasses import replace

import pytest

import engine
from engine import session
from engine.config import MAX_ROWS, ConfigError
from engine.fold import fold
from engine.models import pair_of
from engine.trace import Compare, End, Header, Pieces, RowDone, Schedule, Spans
from tests.engine import tiny

PROMPTS = [tiny.prompt(n, 1) for n in (4, 9)]
LANES = {"one": tiny.config(max_new=10), "two": tiny.config("autoregressive", max_new=10)}


def refused(prompts: list, **more: object) -> ConfigError:
    with pytest.raises(ConfigError) as refusal:
        next(session(LANES, prompts, pair=replace(tiny.pair("llama", 0.1), **more)))
    return refusal.value


def test_no_prompt_and_too_many_are_refused_with_the_number() -> None:
    assert str(refused([])) == f"prompts=0 cannot be used: give 1 to {MAX_ROWS} prompts"
    assert refused([[5]] * (MAX_ROWS + 1)).value == MAX_ROWS + 1


def test_an_empty_prompt_is_refused_with_its_row() -> None:
    assert refused([[5], []]).field == "prompts[1]"
    assert "no tokens" in str(refused([[5], []]))


@pytest.mark.parametrize("text", ["", "  \n\t "])
def test_a_prompt_of_blanks_is_refused_with_its_row(text: str) -> None:
    pair = pair_of(tiny.tiny_model("llama"), tokenizer=tiny.tiny_tokenizer())
    with pytest.raises(ConfigError, match=r"prompts\[1\]=.* at least one visible character"):
        next(session({"ar": engine.RunConfig(method="autoregressive")}, ["w1 w2", text], pair=pair))


@pytest.mark.parametrize(("length", "fits"), [(19, True), (20, False), (500, False)])
def test_a_prompt_must_leave_room_for_one_token_in_the_context(length: int, fits: bool) -> None:
    prompts = [[5], [7] * length]
    if fits:
        pair = replace(tiny.pair("llama", 0.1), context=20)
        rows = fold(session(LANES, prompts, pair=pair)).lanes["one"].rows
        assert (rows[1].done, rows[1].final) == ("context", 1)
    else:
        assert f"it has {length} tokens after templating; the model's context is 20, so at most 19 fit" in str(
            refused(prompts, context=20)
        )


def test_run_is_a_session_with_one_lane_named_after_its_method() -> None:
    pair = tiny.pair("llama", 0.1)
    events = list(engine.run(tiny.config(max_new=5), PROMPTS, pair=pair))
    assert [lane["lane"] for lane in events[0].lanes] == ["eqspec"]
    assert events[-1].status == "done"


def test_the_lanes_take_one_step_each_in_turn() -> None:
    events = list(session(LANES, PROMPTS, pair=replace(tiny.pair("llama", 0.1), stop_ids=frozenset())))
    turns = [(e.lane, e.step) for e in events if isinstance(e, Spans)]
    both = [t for t in turns if t[1] <= max(step for lane, step in turns if lane == "one")]
    assert both == sorted(both, key=lambda t: (t[1], t[0]))
    assert len(both) < len(turns), "the slower lane goes on alone"


def test_batches_of_a_lane_follow_each_other_on_one_count_of_steps() -> None:
    lanes = {"one": tiny.config(max_new=6, batch=2)}
    events = list(session(lanes, [*PROMPTS, [5, 6]], pair=tiny.pair("llama", 0.1)))
    steps = [(e.step, e.batch, e.rows) for e in events if isinstance(e, Schedule)]
    assert [s for s, _, _ in steps] == list(range(len(steps)))
    assert {(batch, rows[0]) for _, batch, rows in steps if rows} >= {(0, 0), (1, 2)}


def test_every_token_that_an_event_mentions_has_its_piece_before() -> None:
    known: set[int] = set()
    for e in session(LANES, PROMPTS, pair=tiny.pair("llama", 0.1)):
        if isinstance(e, Pieces):
            assert not known & {i for i, _, _ in e.pieces}, "a piece came twice"
            known |= {i for i, _, _ in e.pieces}
        tokens = {"propose": "tokens", "verify": "choice", "commit": "emitted"}.get(e.kind)
        mentioned = {t for row in getattr(e, tokens) for t in row} if tokens else set()
        assert mentioned <= known, f"{e.kind} of step {e.step}: no piece for {mentioned - known}"


@pytest.mark.parametrize("after", [0, 1, 4])
def test_a_stop_in_mid_run_ends_every_lane_and_the_session(after: int) -> None:
    asked = iter([False] * after + [True] * 99)
    lanes = {"one": tiny.config(), "two": tiny.config("bsp")}
    pair = replace(tiny.pair("llama", 0.1), stop_ids=frozenset())
    events = list(session(lanes, PROMPTS, pair=pair, stop=lambda: next(asked)))
    ends = [e for e in events if isinstance(e, End)]
    assert [(e.lane, e.status) for e in ends] == [("one", "stopped"), ("two", "stopped"), ("", "stopped")]
    assert events[-1] is ends[-1]
    assert sum(isinstance(e, Spans) for e in events) == 2 * after, "a step was left half done"
    done = [(e.lane, e.row, e.reason) for e in events if isinstance(e, RowDone)]
    assert done == [(lane, row, "stopped") for lane in lanes for row in range(len(PROMPTS))]
    verdicts = [e.verdict for e in events if isinstance(e, Compare) and e.lane == "one"]
    assert verdicts == ["equal"] * (len(PROMPTS) if after else 0), "what a stopped row has is compared, nothing more"
    state = fold(events)
    assert state.status == "stopped"
    assert all(len(lane.rows[0].ids) >= len(PROMPTS[0]) + after for lane in state.lanes.values())


def test_without_certification_no_row_is_compared() -> None:
    events = list(session(LANES, PROMPTS, pair=tiny.pair("llama", 0.1), certify=False))
    assert not any(isinstance(e, Compare) for e in events)
    assert events[-1].status == "done"


def test_the_header_says_what_was_run() -> None:
    header = next(session(LANES, PROMPTS, pair=tiny.pair("gpt2", 0.1)))
    assert isinstance(header, Header)
    assert (header.positions, header.stop_ids, header.pad_id) == ("learned", [tiny.STOP], tiny.STOP)
    assert [p["ids"] for p in header.prompts] == PROMPTS
    assert [engine.RunConfig.from_json(lane["config"]) for lane in header.lanes] == list(LANES.values())


def test_the_totals_count_rounds_drafts_and_tokens() -> None:
    events = list(session(LANES, PROMPTS, pair=tiny.pair("llama", 0.1)))
    for name, lane in fold(events).lanes.items():
        rows, totals = lane.rows.values(), lane.totals
        assert totals["emitted"] == sum(r.final for r in rows), name
        assert totals["rounds"] == len({e.step for e in events if isinstance(e, Spans) and e.lane == name}), name
        drafted = sum(len(t) for e in events if e.kind == "propose" and e.lane == name for t in e.tokens)
        assert totals["drafted"] == drafted, name
        assert 0 <= totals["accepted"] <= drafted, name
