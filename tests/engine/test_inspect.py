"""`inspect` finds the first violation of any trace by itself, and survives whatever it is given."""

from dataclasses import replace
from functools import cache
from pathlib import Path

import pytest

from engine import cli, session
from engine.commands.inspect import report, steps
from engine.inspection import Inspected, inspect
from engine.lines import dump_line
from engine.reading import Reading
from engine.trace import Event, Schedule, Violation
from tests.engine import tiny

PROMPTS = [tiny.prompt(n, 4, stop=0.1) for n in (3, 9, 6)]
EXACT = {
    "autoregressive": tiny.config("autoregressive", max_new=10),
    "eqspec": tiny.config(max_new=10),
    "exspec": tiny.config("exspec", max_new=10, batch=2, window=3),
    "slots": tiny.config("slots", max_new=10),
    "rollback": tiny.config("rollback", max_new=10),
    "dsd": tiny.config("dsd", faults=frozenset(), max_new=10),
    "bsp": tiny.config("bsp", faults=frozenset(), max_new=10),
}
BROKEN = {"good": tiny.config(max_new=10), "bsp": tiny.config("bsp", max_new=10), "dsd": tiny.config("dsd", max_new=10)}


@cache
def recorded(kind: str) -> tuple[Event, ...]:
    lanes = {"exact": EXACT, "broken": BROKEN}[kind]
    return tuple(session(lanes, PROMPTS, pair=tiny.pair("gpt2", 0.3, stop_ids=())))


def lines_of(events: list[Event] | tuple[Event, ...]) -> list[str]:
    return [dump_line(e) + "\n" for e in events]


def by_name(events: list[Event] | tuple[Event, ...]) -> dict[str, Inspected]:
    return {lane.lane: lane for lane in inspect(Reading(lines_of(events)))}


# -- what it finds --------------------------------------------------------------------------------------------------


def test_exact_methods_are_clean_and_every_step_was_checked() -> None:
    events, lanes = recorded("exact"), by_name(recorded("exact"))
    assert set(lanes) == set(EXACT)
    for name, lane in lanes.items():
        assert lane.first is None, f"{name}: {lane.first}"
        assert lane.steps == sum(isinstance(e, Schedule) and e.lane == name for e in events) > 3
        assert (lane.unchecked, lane.disagreements, lane.ended) == ([], [], True)


def test_the_first_violation_is_the_one_that_the_engine_reported_live() -> None:
    events, lanes = recorded("broken"), by_name(recorded("broken"))
    for name in ("bsp", "dsd"):
        live = next(e for e in events if isinstance(e, Violation) and e.lane == name)
        found = lanes[name].first
        assert found.step == live.step
        for field in ("invariant", "row", "slot", "expected", "actual", "message"):
            assert getattr(found.violation, field) == getattr(live, field), field
        assert lanes[name].disagreements == []
    assert lanes["good"].first is None


def test_it_names_the_later_steps_that_rest_on_the_violation() -> None:
    events, lanes = recorded("broken"), by_name(recorded("broken"))
    for name in ("bsp", "dsd"):
        first = lanes[name].first
        row = first.violation.row
        later = [
            e.step
            for e in events
            if isinstance(e, Schedule) and e.lane == name and row in e.rows and e.step > first.step
        ]
        assert first.contaminated == later
    assert lanes["bsp"].first.contaminated, "the row ended in the step of its violation"


def test_the_traces_own_violations_are_not_believed_and_differences_are_told() -> None:
    events = recorded("broken")
    silent = by_name([e for e in events if not isinstance(e, Violation)])
    assert silent["bsp"].first.violation.invariant == "contiguity"
    assert all("(not in the trace)" in d for d in silent["bsp"].disagreements)
    assert len(silent["bsp"].disagreements) == sum(silent["bsp"].counts.values())
    forged = [*events]
    at = next(n for n, e in enumerate(events) if e.kind == "spans" and e.lane == "good" and e.step == 1)
    forged.insert(at, Violation(lane="good", step=1, invariant="kv", row=0, slot=0, expected=1, actual=2, message="x"))
    assert by_name(forged)["good"].first is None
    assert by_name(forged)["good"].disagreements == ["step 1 row 0: kv (only in the trace)"]
    assert any("own violation events differ" in line for line in report(by_name(forged)["good"]))


def test_every_prefix_of_a_trace_is_checked_for_what_it_contains() -> None:
    whole = by_name(recorded("broken"))
    events = recorded("broken")
    found_at = {}
    for upto in range(1, len(events) + 1):
        for name, lane in by_name(events[:upto]).items():
            if lane.first:
                assert lane.first.step == whole[name].first.step
                assert lane.found <= whole[name].found, "half of a step has shown what the whole of it does not"
                if not lane.partial:
                    assert lane.first.violation == whole[name].first.violation
                found_at.setdefault(name, upto)
    last = {n: e for n, e in enumerate(events, 1) if n in found_at.values()}
    assert {e.kind for e in last.values()} <= {"verify", "kv", "commit"}, "found as soon as the evidence is there"
    assert set(found_at) == {"bsp", "dsd"}


def test_a_step_that_was_cut_short_is_named_and_checked_for_what_it_contains() -> None:
    events = [e for e in recorded("exact") if e.lane in ("", "eqspec")]
    opened = next(n for n, e in enumerate(events) if e.kind == "schedule" and e.step == 3)
    fed = next(n for n, e in enumerate(events) if e.kind == "verify" and e.step == 3)
    lane = by_name(events[: opened + 1])["eqspec"]
    assert (lane.first, lane.unchecked, lane.partial, lane.ended) == (None, [3], [], False)
    (line,) = report(lane)
    assert line == "eqspec: clean (3 steps checked, not recorded far enough to check: 3, the lane has no end)"
    lane = by_name(events[: fed + 1])["eqspec"]
    assert (lane.first, lane.unchecked, lane.partial) == (None, [], [3])
    kept = "input, positions and emission only"
    assert report(lane) == [f"eqspec: clean (4 steps checked, without their KV ({kept}): 3, the lane has no end)"]


def test_a_verify_event_alone_shows_a_wrong_input_and_a_wrong_position() -> None:
    events = [e for e in recorded("exact") if e.lane in ("", "eqspec")]
    fed = next(n for n, e in enumerate(events) if e.kind == "verify" and e.step == 3)
    good = events[fed]
    tokens = [[row[0] + 1, *row[1:]] if i == 1 else row for i, row in enumerate(good.tokens)]
    first = by_name([*events[:fed], replace(good, tokens=tokens)])["eqspec"].first
    found = first.violation
    assert (first.step, found.invariant, found.row) == (3, "input", good_rows(events, 3)[1])
    assert (found.slot, found.expected, found.actual) == (good.slots[1], good.tokens[1][0], good.tokens[1][0] + 1)
    positions = [[[start + 2, n] for start, n in runs] if i == 1 else runs for i, runs in enumerate(good.positions)]
    found = by_name([*events[:fed], replace(good, positions=positions)])["eqspec"].first.violation
    assert (found.invariant, found.slot, found.actual - found.expected) == ("contiguity", good.slots[1], 2)


def good_rows(events: list[Event], step: int) -> list[int]:
    return next(e.rows for e in events if isinstance(e, Schedule) and e.step == step)


def test_runs_of_steps_are_shortened() -> None:
    assert steps([]) == ""
    assert steps([3, 4, 5, 9, 11, 12]) == "3-5, 9, 11-12"


# -- the command ----------------------------------------------------------------------------------------------------


def inspected(text: str | bytes, folder: Path, capsys: pytest.CaptureFixture) -> tuple[int, str, str]:
    path = folder / "trace.jsonl"
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    code = cli.main(["inspect", str(path)])
    printed = capsys.readouterr()
    return code, printed.out, printed.err


def test_the_command_exits_0_on_a_clean_trace_and_1_on_a_violation(
    tmp_path: Path, capsys: pytest.CaptureFixture
) -> None:
    code, out, err = inspected("".join(lines_of(recorded("exact"))), tmp_path, capsys)
    assert (code, err, out.count(": clean (")) == (0, "", len(EXACT))
    code, out, err = inspected("".join(lines_of(recorded("broken"))), tmp_path, capsys)
    assert (code, err) == (1, "")
    first = next(e for e in recorded("broken") if isinstance(e, Violation) and e.lane == "bsp")
    assert f"first violation: {first.invariant} in step {first.step}, row {first.row}, slot {first.slot}" in out
    assert f"expected {first.expected}, found {first.actual}: {first.message}" in out
