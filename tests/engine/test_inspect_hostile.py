"""Whatever `inspect` is given, it judges it or refuses it in one clear line."""

import json
import random
from pathlib import Path

import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from engine import cli
from engine.commands.inspect import report
from engine.inspection import Inspected, inspect
from engine.lines import TraceError
from engine.reading import Reading
from tests.engine.test_inspect import inspected, lines_of, recorded

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
    "a_slot_in_front_of_those_fed": after_header(
        OPEN, {**VERIFY, "slots": [2]}, {**KV, "width": 9, "runs": [[0, 1, 0, 0, 1]]}
    ),
    "verify_of_too_few_rows": after_header({**OPEN, "rows": [0, 1]}, VERIFY),
    "runs_of_row_minus_one": after_header(OPEN, VERIFY, {**KV, "width": 9, "runs": [[-1, 0, 0, 0, 3]]}),
    "hides_row_minus_one": after_header(OPEN, VERIFY, {**KV, "width": 9, "hide": [[-1, 0, 3]]}),
    "a_comparison_of_row_minus_one": after_header(
        OPEN, {**OPEN, "event": "compare", "row": -1, "verdict": "bug", "checked": 1}
    ),
    "the_end_of_row_minus_one": after_header(
        OPEN, {**OPEN, "event": "row_done", "row": -1, "reason": "stop", "tokens": 1}
    ),
    "no_positions": after_header(OPEN, {**VERIFY, "positions": []}),
    "empty_positions": after_header(OPEN, {**VERIFY, "positions": [[]]}),
    "no_choice": after_header(OPEN, {**VERIFY, "choice": []}),
    "no_slots": after_header(OPEN, {**VERIFY, "slots": []}, {**KV, "width": 9, "runs": [[0, 0, 0, 0, 3]]}),
    "another_model": after_header(OPEN, {**KV, "model": "other", "width": 9}),
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


@pytest.mark.parametrize("text", HOSTILE.values(), ids=HOSTILE.keys())
def test_certify_refuses_it_too_before_any_model_is_loaded(
    text: str | bytes, tmp_path: Path, capsys: pytest.CaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("engine.models.load_pair", lambda config: pytest.fail("a model was loaded"))
    path = tmp_path / "trace.jsonl"
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    assert cli.main(["certify", str(path)]) == 2
    out, err = capsys.readouterr()
    assert (out, err.count("\n")) == ("", 1), err
    assert len(err) < 500


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
    elif isinstance(at[key], int) and chance.random() < 0.95:
        at[key] += chance.choice([-1, 1, 2])
    else:
        at[key] = chance.choice(VALUES)
    return json.dumps(data) + "\n"


def judged(lines: list[str]) -> tuple[list[Inspected], str]:
    """What was found, or why nothing could be."""
    try:
        return inspect(Reading(lines)), ""
    except TraceError as error:
        return [], str(error)


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
        lanes, message = judged(mutated(small, seed))
        if message:
            assert message.startswith("line "), message
            assert "\n" not in message
            verdicts["refused"] += 1
            return
        verdicts["violated" if any(lane.first for lane in lanes) else "clean"] += 1
        for lane in lanes:
            report(lane)

    survives()
    assert verdicts["refused"] > 20, verdicts
    assert verdicts["violated"] > 0, verdicts
