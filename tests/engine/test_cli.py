"""The command line's contract: one line per row on stdout, everything else on stderr, refusals in one line."""

import json

import pytest

from engine.cli import COMMANDS, main


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_explains_itself(command: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        main([command, "--help"])
    assert ended.value.code == 0
    assert len(capsys.readouterr().out) > 60


@pytest.mark.usefixtures("real_cache")
def test_run_prints_exactly_one_line_per_row(capsys: pytest.CaptureFixture[str]) -> None:
    prompts = ["--prompt", "Please repeat: the red fox.", "--prompt", "Hi <b>there</b>"]
    assert main(["run", *prompts, "--max-new", "6", "--k", "3"]) == 0
    out, err = capsys.readouterr()
    lines = [line.split("\t") for line in out.splitlines()]
    assert [row for row, _ in lines] == ["0", "1"]
    assert all(isinstance(json.loads(text), str) for _, text in lines)
    assert "row 0" in err


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--prompt", "x", "--k", "0"], ["k=0", "1 to 16"]),
        (["--prompt", "x", "--k", "99"], ["k=99", "1 to 16"]),
        ([], ["prompts", "--prompt TEXT"]),
        (["--prompt", "x", "--method", "minedraft"], ["minedraft", "not built yet"]),
        (["--prompt", "x", "--fault", "nonsense", "--method", "bsp"], ["nonsense", "padding_gap"]),
        (["--prompt", "x", "--proposer", "draft_model"], ["draft", "directory or a hub name"]),
        (["--prompts", "/nonexistent/file"], ["/nonexistent/file"]),
        (["--prompt", "x", "--target", "/nonexistent/model"], ["/nonexistent/model"]),
        (["--prompt", "x", "--method", "bsp", "--fault", "none", "--fault", "no_stop"], ["give 'none' alone"]),
        (["--prompt", "x", "--device", "meta"], ["'meta'", "'cpu' works"]),
    ],
)
def test_a_refusal_is_one_line_on_stderr(
    arguments: list[str], words: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["run", *arguments]) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert len(err.strip().splitlines()) == 1, err
    assert all(word in err for word in words), err


def test_all_methods_and_one_of_them_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["verify", "--methods", "all", "bsp", "--prompts", "README.md"]) == 2
    assert "give 'all' alone" in capsys.readouterr().err
