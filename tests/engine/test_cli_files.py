"""Files that commands read and write: refused in words before the work, and never emptied by a refusal."""

import json
from pathlib import Path

import pytest

from engine import cli
from engine.commands.drafting import read_costs
from engine.commands.output import writable
from engine.commands.prompts import check, read_prompts
from engine.config import ConfigError, RunConfig


def test_prompts_are_lines_whatever_else_they_hold(tmp_path: Path) -> None:
    file = tmp_path / "prompts"
    odd = "one\u2028two\x0bthree\x85four"
    file.write_bytes(b"\xef\xbb\xbf" + json.dumps({"prompt": "first"}).encode() + b"\r\n")
    with file.open("a", encoding="utf-8", newline="") as out:
        out.write(f"{odd}\n\n" + json.dumps({"prompt": odd}, ensure_ascii=False) + "\n")
    assert read_prompts(file) == ["first", odd, odd]


@pytest.mark.parametrize("line", ['{"prompt": 5}', '{"prompt": null}', '{"prompt": ["a"]}', '{"a":' * 100_000, "{}"])
def test_what_is_no_prompt_is_refused_with_its_line(line: str, tmp_path: Path) -> None:
    file = tmp_path / "prompts"
    file.write_text(f"fine\n{line}\n")
    with pytest.raises(ConfigError, match=r"prompts:2=.*write \{"):
        read_prompts(file)


def test_files_that_are_no_prompts_and_halves_of_characters(tmp_path: Path) -> None:
    (tmp_path / "binary").write_bytes(b"\xff\xfe\x00")
    for name in ("missing", "binary", "."):
        with pytest.raises(ConfigError, match="one prompt per line"):
            read_prompts(tmp_path / name)
    with pytest.raises(ConfigError, match=r"prompts\[1\].*surrogate"):
        check(["fine", "half \udcff"])


def test_what_cannot_be_written_is_refused_and_what_is_there_stays(tmp_path: Path) -> None:
    old, new = tmp_path / "old", tmp_path / "new"
    old.write_text("kept")
    writable(old, "out")
    writable(new, "out")
    writable(None, "out")
    assert old.read_text() == "kept"
    assert not new.exists()
    for path, read in ((tmp_path, None), (tmp_path / "no" / "file", None), (old, old)):
        with pytest.raises(ConfigError, match="choose a"):
            writable(path, "out", apart_from=read)


def test_a_refused_run_leaves_an_older_trace_as_it_is(tmp_path: Path, capsys: pytest.CaptureFixture) -> None:
    old = tmp_path / "trace.jsonl"
    old.write_text("kept")
    assert cli.main(["run", "--prompt", "Hi", "--target", str(tmp_path / "no model"), "--out", str(old)]) == 2
    assert old.read_text() == "kept"
    prompts = tmp_path / "prompts"
    prompts.write_text("Hi\n")
    assert cli.main(["run", "--prompts", str(prompts), "--out", str(prompts)]) == 2
    assert "choose another one" in capsys.readouterr().err
    assert prompts.read_text() == "Hi\n"


@pytest.mark.parametrize("text", ["[[Infinity, 0, 1]]", "[[1, 0, 1" + "0" * 400 + "]]", "[" * 100_000, "{}", "[[1]]"])
def test_a_cost_table_that_is_none_is_refused(text: str, tmp_path: Path) -> None:
    file = tmp_path / "costs"
    file.write_text(text)
    with pytest.raises(ConfigError):
        RunConfig(adapt=frozenset({"cost"}), costs=read_costs(file))
    file.write_text("[[1, 0, Infinity], [1, 4, Infinity]]")
    with pytest.raises(ConfigError, match="is no cell"):
        RunConfig(adapt=frozenset({"cost"}), costs=read_costs(file))
