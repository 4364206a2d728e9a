"""The equivalence report: exact methods match everywhere, broken ones are shown and not judged, bugs are named."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from engine import cli, report
from engine.models import Pair
from engine.registry import METHODS
from engine.report import Result, leading, verify, wrong
from tests.engine import tiny

PROMPTS = [tiny.prompt(n, v, stop=0.1) for v, n in enumerate((5, 14, 9, 3, 11))]


def pair_of(family: str = "llama") -> Pair:
    return tiny.pair(family, 0.2, eos=0.5)


@pytest.fixture(scope="module")
def results() -> dict[tuple[str, int], Result]:
    base = tiny.config(max_new=14, k=3)
    return {(r.method, r.batch): r for r in verify(pair_of(), base, PROMPTS, METHODS, (1, 4))}


def test_every_method_is_reported_at_every_batch_size(results: dict) -> None:
    assert set(results) == {(m, b) for m in METHODS for b in (1, 4)}
    assert {r.rows for r in results.values()} == {len(PROMPTS)}


def test_exact_methods_match_in_every_row(results: dict) -> None:
    for at, r in results.items():
        if not r.broken:
            assert (r.exact, r.prefix, r.differences) == (1.0, 1.0, []), at
    assert wrong(list(results.values())) == []


def test_broken_methods_are_in_the_report_with_their_differences(results: dict) -> None:
    for at in (("dsd", 1), ("dsd", 4), ("bsp", 4)):
        r = results[at]
        assert r.broken
        assert r.exact < 1
        assert r.exact <= r.prefix < 1
        assert len(r.differences) == round((1 - r.exact) * r.rows)
        assert {d.verdict for d in r.differences} == {"bug"}, "what is torn is not rounding"


def test_the_noise_is_measured_and_a_broken_method_does_not_raise_it(results: dict) -> None:
    assert {r.noise for r in results.values()} == {1e-9}, "float64 stays below the floor, whatever BSP's logits say"


def test_a_difference_names_its_token_and_both_candidates(results: dict) -> None:
    d = next(d for d in results["dsd", 4].differences if d.logits)
    assert d.expected != d.actual
    assert set(d.logits) == {"reference", "lane"}
    assert json.loads(json.dumps(results["dsd", 4].to_json()))["bug"] == results["dsd", 4].count("bug") > 0


def spoiled(monkeypatch: pytest.MonkeyPatch, name: str, off: int) -> None:
    """The reported output of one method gets a wrong token."""
    real = report.run

    def run(lanes: dict, pair: Pair, prompts: list, told: Callable) -> tuple:
        states, witnesses = real(lanes, pair, prompts, told)
        if name in states:
            row = states[name].rows[1]
            row.ids[row.prompt + 1] = (row.ids[row.prompt + 1] + off) % tiny.VOCAB
        return states, witnesses

    monkeypatch.setattr(report, "run", run)


def test_a_bug_of_an_exact_method_fails_the_report(monkeypatch: pytest.MonkeyPatch) -> None:
    spoiled(monkeypatch, "slots", 5)
    found = list(verify(pair_of(), tiny.config(max_new=8), PROMPTS, ("slots", "rollback"), (4,)))
    assert [r.method for r in wrong(found)] == ["slots"]
    (d,) = found[0].differences
    assert (d.row, d.index, d.verdict) == (1, 1, "bug")


def test_a_difference_that_no_forward_explains_is_a_bug_even_if_the_row_certifies(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The reference itself is wrong: its own forward does not confirm it, and not by rounding."""
    spoiled(monkeypatch, report.REFERENCE, 5)
    found = list(verify(pair_of(), tiny.config(max_new=8), PROMPTS, ("slots",), (4,)))
    assert [d.verdict for d in found[0].differences] == ["bug"]


def test_prefix_match_counts_the_reference_tokens_in_agreement() -> None:
    assert leading([], []) == 1.0
    assert leading([1, 2], [1, 2]) == 1.0
    assert leading([1, 2, 3], [1, 2]) == 1.0, "all of the reference is there, but it is no exact match"
    assert leading([1], [1, 2, 3, 4]) == 0.25
    assert leading([9], [1, 2]) == 0.0


# -- the command ----------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def shelf(tmp_path_factory: pytest.TempPathFactory) -> tuple[str, Path]:
    """A model in a folder and a file of prompts."""
    folder = tmp_path_factory.mktemp("verify")
    model = tiny.tiny_model("llama", layers=2)
    prompts = folder / "prompts.jsonl"
    lines = ['{"prompt": "w1 w2 w3 w1 w2"}', "w9 w8", "w4 w5 w6 w7 w4 w5 w6 w7 w4", "w1 w1 w1 w1"]
    prompts.write_text("\n".join(lines), encoding="utf-8")
    return tiny.save(folder / "model", model), prompts


def test_the_command_prints_a_table_writes_json_and_exits_0(
    shelf: tuple[str, Path], tmp_path: Path, capsys: pytest.CaptureFixture
) -> None:
    target, prompts = shelf
    out = tmp_path / "report.json"
    line = f"verify --methods all --prompts {prompts} --batch 1 3 --dtype float32 float64 --limit 3 --max-new 6"
    assert cli.main([*line.split(), "--target", target, "--json", str(out)]) == 0
    data = json.loads(out.read_text(encoding="utf-8"))
    assert data["prompts"] == 3
    cells = {(r["method"], r["batch"], r["dtype"]) for r in data["results"]}
    assert cells == {(m, b, d) for m in METHODS for b in (1, 3) for d in ("float32", "float64")}
    assert all(r["exact"] == 1.0 for r in data["results"] if not r["broken"])
    printed = capsys.readouterr()
    assert "exspec" in printed.out
    assert "bug: " not in printed.err


def test_the_command_exits_1_on_a_bug_of_an_exact_method_only(
    shelf: tuple[str, Path], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture
) -> None:
    target, prompts = shelf
    line = f"verify --prompts {prompts} --batch 2 --max-new 4 --target {target} --methods"
    assert cli.main([*line.split(), "dsd"]) == 0
    assert ", 0 bug" not in capsys.readouterr().err, "DSD got everything right: nothing was shown"
    spoiled(monkeypatch, "eqspec", 1)
    assert cli.main([*line.split(), "eqspec", "dsd"]) == 1
    assert "bug: eqspec, batch 2, float32" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("change", "words"),
    [
        pytest.param(["--methods", "eqspec", "telepathy"], "method='telepathy'", id="method"),
        pytest.param(["--dtype", "float8"], "dtype='float8'", id="dtype"),
        pytest.param(["--batch", "0"], "batch=0", id="batch"),
        pytest.param(["--limit", "0"], "limit=0", id="limit"),
        pytest.param(["--prompts", "nowhere.txt"], "nowhere.txt", id="no_file"),
    ],
)
def test_bad_input_is_refused_before_anything_is_loaded(
    change: list[str], words: str, shelf: tuple[str, Path], capsys: pytest.CaptureFixture
) -> None:
    line = ["verify", "--prompts", str(shelf[1]), "--target", "/nowhere", *change]
    assert cli.main(line) == 2
    assert words in capsys.readouterr().err


def test_progress_counts_the_rows_of_each_run_the_reference_s_too() -> None:
    told: dict[str, list[int]] = {}
    base = tiny.config(max_new=8)
    list(verify(pair_of(), base, PROMPTS, ("slots",), (4,), lambda text, done: told.setdefault(text, []).append(done)))
    assert list(told) == [f"{base.dtype}: the reference, each row alone", f"{base.dtype}, batch 4: slots"]
    assert all(counts == list(range(len(PROMPTS) + 1)) for counts in told.values())
