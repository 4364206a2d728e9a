"""`python -m engine certify`: a recorded trace is judged by teacher-forcing, even when it carries ids only."""

from pathlib import Path

import pytest

from engine import RunConfig, session
from engine.cli import main
from engine.equivalence import Witness, certify, witness_of
from engine.fold import fold
from engine.trace import dump_line
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
