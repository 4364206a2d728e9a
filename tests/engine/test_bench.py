"""The benches count right: whose seconds, which bytes, which gains. What they measure is asserted nowhere."""

from pathlib import Path
from types import SimpleNamespace
from unittest.mock import Mock

import pytest

from engine.bench import gains, methods, overhead, proposers, serving, stopwatch
from engine.bench.stopwatch import Stopwatch
from engine.cli import main
from tests.engine import tiny

PROMPTS = [tiny.prompt(n, n) for n in (4, 9, 6, 12, 5)]
OWN = {"k": 3, "max_new": 16}


@pytest.fixture(autouse=True)
def _tiny_pair(monkeypatch: pytest.MonkeyPatch) -> None:
    for bench in (gains, methods, overhead, proposers, serving):
        monkeypatch.setattr(bench, "load_pair", lambda config: tiny.pair("llama", 0.1))


class Worker:
    """Every read of the fake clock is one second later than the one before."""

    def plain(self) -> str:
        return self.inner()

    def inner(self) -> str:
        return "done"

    def several(self) -> object:
        yield self.inner()
        yield self.plain()


def test_a_stopwatch_counts_the_outermost_call_once_and_a_generator_only_while_it_is_asked(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    now = iter(range(1000))
    monkeypatch.setattr(stopwatch, "time", SimpleNamespace(perf_counter=lambda: next(now)))
    watch, worker = Stopwatch(), Worker()
    with watch.watch((Worker, "plain"), (Worker, "inner"), (Worker, "several")):
        assert worker.plain() == "done"
        assert watch.seconds == 2, "plain from 0 to 2; inner began at 1 and is part of it"
        items = worker.several()
        assert watch.seconds == 2, "nothing was asked yet"
        assert list(items) == ["done", "done"]
        assert watch.seconds == 2 + 2 + 3 + 1, "to the first item, to the second, to the end"
    worker.plain()
    assert watch.seconds == 8, "the watch is off"


def test_a_measurement_counts_tokens_bytes_and_rounds() -> None:
    configs = {m: tiny.config(m, **OWN) for m in ("eqspec", "slots")}
    configs["paper"] = tiny.config("eqspec", fidelity="paper", **OWN)
    timings = methods.measure(configs, PROMPTS, 2, tiny.pair("llama", 0.1, stop_ids=()))
    for name, t in timings.items():
        assert t.tokens == [16 * len(PROMPTS)] * 2, name
        assert 0 < t.recording < sum(t.seconds)
        assert t.megabytes() == pytest.approx(t.totals["kv_bytes"] / 2 / 1e6)
        assert t.avoided == t.totals["kv_avoided"]
        assert t.gain(t) == t.cpu_gain(t) == 1.0
    assert timings["eqspec"].megabytes("realign") > 0
    assert timings["slots"].megabytes("realign", "join", "split", "grow") == 0, "slots move nothing"
    assert timings["paper"].megabytes("realign") > timings["eqspec"].megabytes("realign", "compact")
    assert timings["paper"].counted["realign"] == timings["paper"].totals["rounds"] - 2, "but behind the last round"


@pytest.mark.parametrize("what", ["overhead", "gains", "serving"])
def test_every_report_has_a_line_for_each_of_its_methods(what: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(methods, "PROMPTS", PROMPTS)
    monkeypatch.setattr(overhead, "PROMPTS", PROMPTS)
    monkeypatch.setattr(overhead, "PASSES", 2)
    if what == "overhead":
        lines = list(overhead.report(3, "ngram", 2, 6, 1))
        named = ("eqspec", "eqspec, paper", "exspec", "slots", "rollback")
    elif what == "gains":
        lines = list(gains.report(PROMPTS, 2, "ngram", None, 2, 6, 1))
        named = ("eqspec, static", "eqspec, refill", "exspec", "slots, static", "slots, refill")
    else:
        lines = list(serving.report(PROMPTS, "poisson:0.4", 2, "ngram", None, 2, 6, 0))
        named = ("eqspec", "exspec", "exspec, published rule", "with an age limit", "slots")
    assert all(any(line.startswith(name) for line in lines) for name in named)
    assert max(map(len, lines)) <= 120


def test_proposers_are_compared_by_kind_alone_and_in_batches(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(proposers, "PROPOSERS", ("ngram", "self_skip"))
    monkeypatch.setattr(proposers, "FULL", 2)
    monkeypatch.setattr(proposers, "once", measured := Mock(side_effect=add_a_run))
    kinds = tmp_path / "kinds.jsonl"
    kinds.write_text("".join(f'{{"kind": "{k}", "prompt": "{k}{n}"}}\n' for k in ("chat", "maths") for n in range(3)))
    lines = list(proposers.report(kinds, 2, 3, 6, 2))
    assert [line.split("|")[1].strip() for line in lines if line.startswith("|") and "---" not in line] == [
        *("one prompt at a time", "chat", "maths", "all", "2 prompts together", "mixed")
    ]
    assert lines[5] == "| chat | 6.0 | 2.00 | 0.50 |"
    runs = [(c.args[0], c.args[2]) for c in measured.call_args_list]
    assert runs[:3] == [(name, ["chat0"]) for name in ("plain decoding", "ngram", "self_skip")], "warm"
    assert runs[3:9] == [*runs[:3], *runs[2::-1]], "back and forth"
    assert ("ngram", ["chat0", "maths0"]) in runs
    assert all("chat2" not in prompts for _, prompts in runs)


def add_a_run(name: str, config: object, prompts: list[str], pair: object, t: methods.Timing) -> methods.Timing:
    """Plain decoding takes 1 s for 6 tokens."""
    t.seconds.append({"plain decoding": 1.0, "ngram": 0.5, "self_skip": 2.0}[name])
    t.tokens.append(6)
    return t


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--overhead", "--batch", "9"], "choose from 1 to 8"),
        (["--gains", "--repeats", "0"], "whole number from 1"),
        (["--arrivals", "soon"], "poisson:0.5"),
        (["--costs", "costs.json", "--batch", "0"], "batch=0"),
        (["--proposers", "--limit", "0"], "limit=0"),
        (["--page", "--minutes", "-1"], "minutes=-1.0"),
    ],
)
def test_what_cannot_be_measured_is_refused_in_one_line(
    arguments: list[str], words: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["bench", *arguments]) == 2
    out, err = capsys.readouterr()
    assert words in err
    assert out == ""
    assert len(err.splitlines()) == 1
