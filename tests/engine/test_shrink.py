"""`verify --shrink`: a failure is reduced as far as it goes, and comes out as a test that fails for the same reason."""

import subprocess
import sys
from pathlib import Path

import pytest

from engine import cli
from engine.cache.stack import Stack
from engine.shrink import Case, ShrinkError, as_test, candidates, case_of, failures, shrink, smaller
from tests.engine import tiny

ROOT = Path(__file__).resolve().parents[2]
PROMPTS = [tiny.prompt(n, 6) for n in (9, 3, 14, 6, 11)]


def case(method: str = "eqspec", family: str = "llama", **more: object) -> Case:
    return case_of(tiny.pair(family, 0.3), tiny.config(method, **more), PROMPTS)


def kinds(found: list[str]) -> set[str]:
    return {line.split(":")[0] for line in found}


@pytest.mark.parametrize("fault", ["kv_not_moved", "slot_positions", "mismatch_kept"])
def test_a_fault_is_reduced_until_nothing_more_can_go(fault: str) -> None:
    pair, big = tiny.pair("llama", 0.3), case(faults=frozenset([fault]))
    assert "output" in kinds(failures(pair, big.config, big.prompts))
    told: list[str] = []
    small = shrink(pair, big, told.append)
    assert "output" in kinds(failures(pair, small.config, small.prompts))
    for other in candidates(small):
        assert "output" not in kinds(failures(pair, other.config, other.prompts)), "it could have been smaller"
    assert len(small.prompts) == (1 if fault == "mismatch_kept" else 2), (
        "a shift needs a second row, a mismatch does not"
    )
    assert sum(map(len, small.prompts)) < sum(map(len, big.prompts)) / 3
    assert small.config.max_new < big.config.max_new
    assert small.config.k < big.config.k
    assert len(told) > 3


def test_a_violation_without_a_wrong_output_is_kept_as_that_violation() -> None:
    pair, big = tiny.pair("llama", 0.3), case("dsd", faults=frozenset(["slot_positions", "visible_pads"]), max_new=1)
    assert failures(pair, big.config, big.prompts) == []
    with pytest.raises(ShrinkError, match="nothing to shrink"):
        shrink(pair, big)
    gpt = tiny.pair("gpt2", 0.0)
    learned = case("dsd", "gpt2", faults=frozenset(["slot_positions"]), max_new=2)
    found = kinds(failures(gpt, learned.config, learned.prompts))
    assert "contiguity" in found
    small = shrink(gpt, learned)
    first = "output" if "output" in found else "contiguity"
    assert first in kinds(failures(gpt, small.config, small.prompts))
    assert len(small.prompts) == 2


def test_a_bug_in_the_code_is_found_and_reduced(monkeypatch: pytest.MonkeyPatch) -> None:
    real = Stack.copy

    def one_off(self: Stack, *args: object) -> None:
        real(self, *args)
        for stacked in self.stacked.values():
            stacked.copy_(stacked.roll(1, dims=2))  # keys and values move, their shadow does not

    monkeypatch.setattr(Stack, "copy", one_off)
    pair, big = tiny.pair("llama", 0.3), case()
    assert kinds(failures(pair, big.config, big.prompts)) == {"output"}
    small = shrink(pair, big)
    assert len(small.prompts) == 2
    assert small.config.max_new <= 4
    monkeypatch.undo()
    assert failures(pair, small.config, small.prompts) == []


def test_batch_and_window_shrink_with_the_rows() -> None:
    pair, big = tiny.pair("llama", 0.3), case(faults=frozenset(["kv_not_moved"]), batch=3)
    small = shrink(pair, big)
    assert small.config.batch is None
    assert len(small.prompts) == 2


def test_numbers_to_try() -> None:
    assert smaller(1) == []
    assert smaller(2) == [1]
    assert smaller(3) == [1, 2]
    assert smaller(8) == [1, 4, 6, 7]
    assert smaller(9) == [1, 5, 7, 8]


# -- the command ----------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def line(tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    folder = tmp_path_factory.mktemp("shrink")
    target = tiny.save(folder / "model", tiny.tiny_model("llama", layers=6))
    prompts = folder / "prompts.txt"
    prompts.write_text("w1 w2 w3 w1 w2\nw9 w8\nw4 w5 w6 w7 w4 w5 w6 w7 w4\nw1 w1 w1\n", encoding="utf-8")
    verify = f"verify --prompts {prompts} --target {target} --batch 4 --dtype float64 --max-new 12 --proposer self_skip"
    return verify.split()


def test_the_written_file_fails_under_pytest_and_passes_once_the_fault_is_gone(
    line: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "test_smallest.py"
    arguments = ["--methods", "slots", "eqspec", "--fault", "kv_not_moved", "--shrink", str(out)]
    assert cli.main([*line, *arguments]) == 1
    err = capsys.readouterr().err
    assert f"{out}: the smallest batch that still fails" in err
    assert "bug: eqspec, batch 4, float64" in err
    text = out.read_text(encoding="utf-8")
    assert "frozenset(['kv_not_moved'])" in text
    (tmp_path / "test_repaired.py").write_text(text.replace("['kv_not_moved']", "[]"), encoding="utf-8")
    command = [
        sys.executable,
        "-m",
        "pytest",
        "-q",
        "-p",
        "no:cacheprovider",
        "--rootdir",
        str(tmp_path),
        str(tmp_path),
    ]
    ran = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=300, check=False)
    assert ran.returncode == 1, ran.stdout
    assert "1 failed, 1 passed" in ran.stdout
    assert "FAILED" in ran.stdout
    assert "test_smallest.py::test_eqspec_gives_every_row_what_it_gives_it_alone" in ran.stdout
    assert "output: row" in ran.stdout


def test_broken_methods_are_shrunk_only_where_they_are_named(
    line: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "test_smallest.py"
    assert cli.main([*line, "--methods", "all", "--shrink", str(out)]) == 0
    assert not out.exists()
    assert "nothing was written" in capsys.readouterr().err
    assert cli.main([*line, "--methods", "dsd", "--limit", "2", "--shrink", str(out)]) == 0
    assert "dsd on the smallest batch on which it failed" in out.read_text(encoding="utf-8")


def test_without_its_faults_a_broken_method_is_judged_like_any_other(
    line: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert cli.main([*line, "--methods", "bsp", "dsd", "--fault", "none"]) == 0
    assert "bsp, batch 4, float64: exact 100.0%, prefix 100.0%" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("change", "words"),
    [
        pytest.param(["--methods", "slots", "--fault", "kv_not_moved"], "fault=['kv_not_moved']", id="fault"),
        pytest.param(["--shrink", "/nowhere/test_x.py"], "a file that can be written", id="folder"),
    ],
)
def test_bad_input_is_refused(
    line: list[str], change: list[str], words: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert cli.main([*line, *change]) == 2
    assert words in capsys.readouterr().err


def test_the_text_of_a_test_names_what_was_found() -> None:
    pair, small = tiny.pair("llama", 0.3), case(faults=frozenset(["mismatch_kept"]), max_new=4)
    text = as_test(pair, small)
    compile(text, "test_smallest.py", "exec")
    for found in failures(pair, small.config, small.prompts):
        assert found in text
