"""`inspect` finds the first violation of any trace by itself, and survives whatever it is given."""

import json
import random
from functools import cache
from pathlib import Path

import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from engine import cli, session
from engine.commands.inspect import report, steps
from engine.inspection import Inspected, inspect
from engine.trace import Event, Schedule, TraceError, Violation, dump_line
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
    return {lane.lane: lane for lane in inspect(lines_of(events))}


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
                assert (lane.first.step, lane.first.violation) == (whole[name].first.step, whole[name].first.violation)
                found_at.setdefault(name, upto)
    last = {n: e for n, e in enumerate(events, 1) if n in found_at.values()}
    assert {e.kind for e in last.values()} <= {"kv", "commit"}, "found as soon as the evidence is there"
    assert set(found_at) == {"bsp", "dsd"}


def test_a_step_without_its_forward_is_named_and_not_judged() -> None:
    events = [e for e in recorded("exact") if e.lane in ("", "eqspec")]
    upto = next(n for n, e in enumerate(events) if e.kind == "verify" and e.step == 3)
    lane = by_name(events[: upto + 1])["eqspec"]
    assert (lane.first, lane.unchecked, lane.ended) == (None, [3], False)
    (line,) = report(lane)
    assert line == "eqspec: clean (3 steps checked, not recorded far enough to check: 3, the lane has no end)"


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


HEAD = json.loads(lines_of(recorded("exact"))[0])


def with_header(**changes: object) -> str:
    return json.dumps({**HEAD, **changes})


def after_header(*events: dict) -> str:
    return "\n".join([with_header(), *(json.dumps({"seq": n, **e}) for n, e in enumerate(events, 1))])


OPEN = {"event": "schedule", "lane": "eqspec", "step": 0, "rows": [0]}
KV = {"event": "kv", "lane": "eqspec", "step": 0, "model": "target"}
VERIFY = {
    **{"event": "verify", "lane": "eqspec", "step": 0, "draft": 0, "layout": "left", "tokens": None, "lens": [0]},
    **{"positions": [[[0, 3]]], "owners": [0], "slots": [0], "choice": [[1]], "top2": [[]]},
}
HOSTILE = {
    "empty": "",
    "not_json": "hello",
    "binary": b"\x80\x00\xff\xfe",
    "no_line_end": "x" * (17 << 20),
    "nested": "[" * 10**6,
    "an_array": "[]",
    "another_version": with_header(schema=2),
    "no_header": json.dumps(OPEN),
    "two_headers": with_header() + "\n" + json.dumps({**HEAD, "seq": 1}),
    "nan": with_header().replace('"rotary"', "NaN").replace('"learned"', "NaN"),
    "infinity": after_header(OPEN, {**VERIFY, "top2": [[[1, 1e999, 0.0]]]}),
    "prompts_are_numbers": with_header(prompts=[1, 2]),
    "prompt_without_ids": with_header(prompts=[{"row": 0}]),
    "the_same_row_twice": with_header(prompts=[{"row": 0, "ids": [1]}] * 2),
    "lane_without_config": with_header(lanes=[{"lane": "x"}]),
    "unknown_lane": after_header({**OPEN, "lane": "other"}),
    "unknown_row": after_header({**OPEN, "rows": [99]}),
    "a_row_twice": after_header({**OPEN, "rows": [0, 0]}),
    "rows_are_words": after_header({**OPEN, "rows": ["0"]}),
    "a_step_backwards": after_header({**OPEN, "step": 5}, {**OPEN, "step": 2}),
    "a_huge_number": after_header({**OPEN, "step": 10**30}),
    "ten_thousand_digits": with_header().replace('"schema": 1', '"schema": ' + "1" * 10**4),
    "true_is_no_number": after_header({**OPEN, "step": True}),
    "a_huge_width": after_header(OPEN, {**KV, "width": 10**12}),
    "a_negative_width": after_header(OPEN, {**KV, "width": -1}),
    "a_huge_run": after_header(OPEN, {**KV, "width": 10, "runs": [[0, 0, 0, 0, 10**12]]}),
    "many_huge_runs": after_header(OPEN, VERIFY, {**KV, "width": 10**5, "runs": [[0, 0, 0, 0, 10**5]] * 10**4}),
    "a_negative_length": after_header(OPEN, {**KV, "width": 10, "runs": [[0, 0, 0, 0, -3]]}),
    "a_short_run": after_header(OPEN, {**KV, "width": 10, "runs": [[0, 0, 0]]}),
    "positions_without_end": after_header(OPEN, {**VERIFY, "positions": [[[0, -(10**9)]]]}),
    "slots_that_nobody_fed": after_header(OPEN, VERIFY, {**KV, "width": 9, "runs": [[0, 0, 0, 0, 9]]}),
    "verify_of_too_few_rows": after_header({**OPEN, "rows": [0, 1]}, VERIFY),
    "a_move_from_nowhere": after_header(
        OPEN, {**KV, "event": "kv_op", "op": "realign", "width": 9, "rows": [0], "moves": [[0, 5, 0, 9]], "bytes": 0}
    ),
}


@pytest.mark.parametrize("text", HOSTILE.values(), ids=HOSTILE.keys())
def test_a_hostile_trace_gives_one_clear_line(text: str | bytes, tmp_path: Path, capsys: pytest.CaptureFixture) -> None:
    code, out, err = inspected(text, tmp_path, capsys)
    assert (code, out) == (2, ""), err
    assert err.count("\n") == 1, err
    assert len(err) < 500
    assert "trace.jsonl: " in err


def test_a_folder_and_a_missing_file_are_refused(tmp_path: Path, capsys: pytest.CaptureFixture) -> None:
    assert cli.main(["inspect", str(tmp_path)]) == 2
    assert cli.main(["inspect", str(tmp_path / "none.jsonl")]) == 2
    assert capsys.readouterr().err.count("not a file") == 2


# -- mutated traces -------------------------------------------------------------------------------------------------

VALUES = [None, True, -1, 0, 1, 7, 10**9, 2**60, 1.5, -0.5, "", "kv", "target", [], [[]], [0], [[0, 0, 0, 0, 5]], {}]


def mutated(lines: list[str], seed: int) -> list[str]:
    """One or two mutations: a value replaced, a field or line dropped, doubled, swapped, or cut short."""
    chance, lines = random.Random(seed), list(lines)
    for _ in range(chance.choice([1, 1, 2])):
        n = chance.randrange(len(lines))
        how = chance.choice(["value"] * 12 + ["drop", "double", "swap", "cut", "field"])
        if how == "drop":
            del lines[n]
        elif how == "double":
            lines.insert(n, lines[n])
        elif how == "swap":
            m = chance.randrange(len(lines))
            lines[n], lines[m] = lines[m], lines[n]
        elif how == "cut":
            lines[n] = lines[n][: chance.randrange(len(lines[n]))]
        else:
            lines[n] = changed(lines[n], chance, remove=how == "field")
        lines = lines or ["\n"]
    return lines


def changed(line: str, chance: random.Random, remove: bool) -> str:
    try:
        data = json.loads(line)
    except ValueError:
        return line
    at: dict | list = data
    key = chance.choice(list(data)) if data else None
    while key is not None and isinstance(at[key], dict | list) and at[key] and chance.random() < 0.9:
        at = at[key]
        key = chance.choice(list(at)) if isinstance(at, dict) else chance.randrange(len(at))
    if key is None:
        return line
    if remove:
        del at[key]
    elif isinstance(at[key], int) and chance.random() < 0.8:
        at[key] += chance.choice([-1, 1, 2, -3, 100])
    else:
        at[key] = chance.choice(VALUES)
    return json.dumps(data) + "\n"


@pytest.mark.parametrize("kind", ["exact", "broken"])
def test_a_mutated_trace_is_judged_or_refused_and_never_crashes(kind: str) -> None:
    whole = lines_of(recorded(kind))
    part = [line for line in whole[1:] if '"lane":"dsd"' in line or '"lane":"bsp"' in line]
    small = [whole[0], *part] if kind == "broken" else whole
    verdicts = {"clean": 0, "violated": 0, "refused": 0}

    @settings(
        max_examples=150,
        derandomize=True,
        deadline=None,
        database=None,
        phases=[Phase.generate],
        suppress_health_check=list(HealthCheck),
    )
    @given(st.integers(0, 2**32))
    def survives(seed: int) -> None:
        try:
            lanes = inspect(mutated(small, seed))
        except TraceError as error:
            assert str(error).startswith("line "), error
            assert "\n" not in str(error)
            verdicts["refused"] += 1
            return
        verdicts["violated" if any(lane.first for lane in lanes) else "clean"] += 1
        for lane in lanes:
            report(lane)

    survives()
    assert verdicts["refused"] > 20, verdicts
    assert verdicts["violated"] > 5, verdicts
