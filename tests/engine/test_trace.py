"""Traces as files: nothing is lost on a rewrite, what cannot be read is refused by line, runs are deterministic."""

import json
from dataclasses import replace

import pytest

from engine import session
from engine.lines import TraceError, dump_line, from_json, read_lines, to_json
from engine.trace import EVENTS, SCHEMA, Compare, Event, Header, Kv, RowDone, Spans
from tests.engine import tiny

LANES = {
    "eqspec": tiny.config(max_new=8),
    "bsp": tiny.config("bsp", max_new=8),
    "ngram": tiny.config(proposer="ngram", max_new=8),
}


def run() -> list[Event]:
    pair = tiny.pair("llama", 0.2, eos=0.6)
    return list(session(LANES, [tiny.prompt(n, n, stop=0.2) for n in (4, 9, 6)], pair=pair, title="a run"))


@pytest.fixture(scope="module")
def lines() -> list[str]:
    return [dump_line(event) + "\n" for event in run()]


def changed(line: str, **fields: object) -> str:
    return json.dumps({**json.loads(line), **fields})


def test_a_run_holds_every_kind_of_event_that_is_built(lines: list[str]) -> None:
    assert set(EVENTS) - {json.loads(line)["event"] for line in lines} == {"preempt"}


def test_unknown_fields_of_every_event_survive_a_rewrite(lines: list[str]) -> None:
    later = [changed(line, colour=f"c{n}", extra={"note": n}) for n, line in enumerate(lines)]
    events = list(read_lines(later))
    assert [e.extra for e in events] == [{"colour": f"c{n}", "extra": {"note": n}} for n in range(len(lines))]
    assert [json.loads(dump_line(e)) for e in events] == [json.loads(line) for line in later]


def test_a_rewrite_of_a_known_trace_changes_no_byte(lines: list[str]) -> None:
    assert [dump_line(e) + "\n" for e in read_lines(lines)] == lines


def test_empty_optional_fields_are_left_out_and_come_back() -> None:
    event = Kv(model="target", width=3)
    assert to_json(event) == {"event": "kv", "seq": -1, "lane": "", "step": 0, "model": "target", "width": 3}
    assert from_json(to_json(event)) == event
    zero = Compare(row=0, verdict="bug", checked=1, index=0, expected=0, actual=-1, noise=0.0)
    assert from_json(json.loads(dump_line(zero))) == zero, "a zero is a value, not an absence"


def test_blank_lines_are_passed_over(lines: list[str]) -> None:
    assert len(list(read_lines(["\n", *lines[:3], "  \n", *lines[3:]]))) == len(lines)


BAD = [
    pytest.param(2, "{", r"line 3: not JSON", id="not_json"),
    pytest.param(2, "NaN?", r"line 3: not JSON", id="not_json_at_all"),
    pytest.param(2, "[" * 100_000, r"line 3: not JSON", id="nested_without_end"),
    pytest.param(2, "[1, 2]", r"line 3: expected an object with an 'event' field", id="not_an_object"),
    pytest.param(2, '{"seq": 3}', r"line 3: expected an object with an 'event' field", id="no_event"),
    pytest.param(2, '{"event": "telepathy"}', r"line 3: unknown event 'telepathy'; known: header", id="unknown_event"),
    pytest.param(2, '{"event": ["verify"]}', r"line 3: unknown event \['verify'\]", id="event_is_a_list"),
    pytest.param(2, '{"event": "verify", "draft": 1}', r"line 3: verify lacks layout, tokens", id="missing_fields"),
    pytest.param(
        0, '{"event": "row_done", "row": 0, "reason": "stop", "tokens": 1}', r"line 1: .* begins", id="headless"
    ),
    pytest.param(0, '{"event": "header"}', r"line 1: trace schema None; this version reads", id="no_schema"),
    pytest.param(0, '{"event": "header", "schema": 99}', r"line 1: trace schema 99", id="a_later_schema"),
    pytest.param(0, '{"event": "header", "schema": "1"}', r"line 1: trace schema '1'", id="a_schema_that_is_a_word"),
]


@pytest.mark.parametrize(("at", "line", "words"), BAD)
def test_a_line_that_cannot_be_read_is_named(lines: list[str], at: int, line: str, words: str) -> None:
    with pytest.raises(TraceError, match=words):
        list(read_lines([*lines[:at], line, *lines[at + 1 :]]))


@pytest.mark.parametrize("nothing", [[], ["\n", "   "]], ids=["no_line", "blank_lines"])
def test_an_empty_trace_is_refused(nothing: list[str]) -> None:
    with pytest.raises(TraceError, match=r"line 1: the trace is empty"):
        list(read_lines(nothing))


def test_events_before_a_bad_line_are_still_delivered(lines: list[str]) -> None:
    stream = read_lines([*lines[:4], "{"])
    assert [e.kind for e in (next(stream) for _ in range(4))] == [json.loads(line)["event"] for line in lines[:4]]
    with pytest.raises(TraceError, match="line 5"):
        next(stream)


def test_every_event_is_numbered_in_order_and_the_first_is_the_header(lines: list[str]) -> None:
    data = [json.loads(line) for line in lines]
    assert [d["seq"] for d in data] == list(range(len(data)))
    assert (data[0]["event"], data[0]["schema"], data[0]["title"]) == ("header", SCHEMA, "a run")
    assert (data[-1]["event"], data[-1]["lane"], data[-1]["status"]) == ("end", "", "done")


def test_two_runs_are_identical_but_for_spans_and_the_machine() -> None:
    def timeless(event: Event) -> Event:
        if isinstance(event, Header):
            return replace(event, created="", machine={}, versions={})
        return replace(event, spans=[[phase] for phase, _, _ in event.spans]) if isinstance(event, Spans) else event

    one, two = ([timeless(e) for e in run()] for _ in range(2))
    assert len(one) == len(two)
    different = next(((a, b) for a, b in zip(one, two, strict=True) if a != b), None)
    assert different is None, f"first difference: {different}"


def test_spans_of_a_step_are_ordered_on_one_clock() -> None:
    last: dict[str, float] = {}
    for event in run():
        if isinstance(event, Spans):
            for phase, start, end in event.spans:
                assert last.get(event.lane, 0.0) <= start <= end, f"{event.lane} step {event.step}: {phase}"
                last[event.lane] = end


def test_a_value_that_is_not_json_is_never_written() -> None:
    bad = Compare(row=0, verdict="bug", checked=1, noise=float("nan"))
    with pytest.raises(ValueError, match="not JSON compliant"):
        dump_line(bad)


def test_a_line_has_no_newline_and_keeps_letters_as_they_are() -> None:
    line = dump_line(RowDone(row=1, reason="stop", tokens=2, extra={"note": "é\n日本"}))
    assert "\n" not in line
    assert "日本" in line
