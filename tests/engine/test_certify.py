"""`python -m engine certify`: a recorded trace is judged by teacher-forcing, even when it carries ids only."""

from dataclasses import replace
from pathlib import Path

import pytest

from engine import RunConfig, session
from engine.cli import main
from engine.equivalence import Witness, certify, witness_of
from engine.fold import fold
from engine.lines import dump_line
from tests.engine.pairs import pair

PROMPTS = [[5, 6, 7, 8], [9, 4]]


def events(method: str, **config: object) -> list:
    chosen = RunConfig(method=method, max_new=12, dtype="float64", **config)
    return list(session({"lane": chosen}, PROMPTS, pair=pair("qwen3"), certify=False))


def test_an_exact_run_is_equal_and_a_broken_one_is_wrong_at_the_token_the_engine_named() -> None:
    for method, broken in (("eqspec", False), ("bsp", True)):
        found = events(method)
        lane = fold(found).lanes["lane"]
        verdicts = []
        for row in lane.rows.values():
            ids = row.ids[: row.prompt + row.final]
            verdicts.append(certify(pair("qwen3"), row.row, ids, row.prompt, witness_of(found, "lane"), 1e-6)[0])
        assert any(v.verdict == "bug" for v in verdicts) == broken


def test_a_trace_with_ids_only_is_judged_without_the_lanes_logits() -> None:
    row = fold(events("eqspec")).lanes["lane"].rows[0]
    ids = [*row.ids[:-1], (row.ids[-1] + 1) % 97]
    found, _ = certify(pair("qwen3"), 0, ids, row.prompt, Witness(), 1e-6)
    assert (found.verdict, found.index, found.expected) == ("bug", len(ids) - row.prompt - 1, row.ids[-1])
    assert set(found.logits) == {"reference"}


def test_the_command_names_row_token_and_both_words(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    trace = tmp_path / "broken.jsonl"
    trace.write_text("".join(dump_line(e) + "\n" for e in events("bsp")), encoding="utf-8")
    monkeypatch.setattr("engine.models.load_pair", lambda config: pair("qwen3"))
    assert main(["certify", str(trace)]) == 1
    assert "bug at token" in capsys.readouterr().out


def test_an_unreadable_trace_is_refused_in_one_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    trace = tmp_path / "no.jsonl"
    trace.write_text('{"event": "header", "schema": 99}\n')
    assert main(["certify", str(trace)]) == 2
    assert "schema 99" in capsys.readouterr().err


def test_a_cut_trace_is_judged_up_to_there_and_one_without_output_is_not_called_equal(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("engine.models.load_pair", lambda config: pair("qwen3"))
    lines = [dump_line(e) + "\n" for e in events("eqspec")]
    trace = tmp_path / "cut.jsonl"
    trace.write_text("".join(lines[: len(lines) // 2]) + lines[len(lines) // 2][:20], encoding="utf-8")
    assert main(["certify", str(trace)]) == 0
    out, err = capsys.readouterr()
    assert out.count("equal, ") == len(PROMPTS)
    assert f"line {len(lines) // 2 + 1}, the last one, was cut short" in err
    trace.write_text(lines[0], encoding="utf-8")
    assert main(["certify", str(trace)]) == 2
    assert "nothing to judge" in capsys.readouterr().err


@pytest.mark.parametrize("models", [{}, {"target": 3}, {"target": {}}, {"target": {"name": ""}}], ids=str)
def test_a_trace_that_names_no_model_asks_for_one(
    models: dict, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    trace = tmp_path / "t.jsonl"
    trace.write_text(dump_line(replace(events("eqspec")[0], models=models)) + "\n", encoding="utf-8")
    assert main(["certify", str(trace)]) == 2
    assert "give --target" in capsys.readouterr().err


def test_a_trace_whose_model_cannot_be_found_says_how_to_name_another(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    trace = tmp_path / "t.jsonl"
    header = replace(events("eqspec")[0], models={"target": {"name": "my-model"}})
    trace.write_text(dump_line(header) + "\n", encoding="utf-8")
    assert main(["certify", str(trace)]) == 2
    said = capsys.readouterr().err
    assert "the trace's model: there is no model 'my-model'" in said
    assert "--target names another" in said
    assert main(["certify", str(trace), "--target", "other-model"]) == 2
    assert "--target" not in capsys.readouterr().err


def test_ids_that_the_target_cannot_take_are_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("engine.models.load_pair", lambda config: pair("qwen3"))
    trace = tmp_path / "t.jsonl"
    header, *rest = events("eqspec")
    for ids, words in (([97], "id 97 is not one"), ([1] * 400, "412 tokens")):
        prompts = [{**p, "ids": ids} for p in header.prompts]
        lines = [dump_line(e) for e in (replace(header, prompts=prompts), *rest)]
        trace.write_text("\n".join(lines), encoding="utf-8")
        assert main(["certify", str(trace)]) == 2
        assert words in capsys.readouterr().err
