"""README's 20 lines are pasted into an engine that knows nothing of this project; its traces are inspected."""

import json
import re
from pathlib import Path

import pytest
import torch
from transformers import DynamicCache

from engine import cli
from engine.inspection import inspect
from engine.reading import Reading, open_trace
from tests.engine import tiny

README = Path(__file__).resolve().parents[2] / "README.md"
PROMPTS = [tiny.prompt(n, 3) for n in (7, 3, 5)]


def blocks() -> list[str]:
    section = README.read_text(encoding="utf-8").split("\n## Your own engine\n")[1].split("\n## ")[0]
    return re.findall(r"```python\n(.*?)```", section, re.DOTALL)


def snippet() -> str:
    return blocks()[0]


def writer() -> type:
    names: dict = {}
    exec(snippet(), names)
    return names["Trace"]


def test_it_is_plain_python_of_at_most_20_lines() -> None:
    lines = snippet().splitlines()
    assert len(lines) <= 20
    assert max(map(len, lines)) <= 120
    assert [line for line in lines if "import" in line] == ["import json"]


def test_readme_s_example_is_clean(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    writer_code, example = blocks()
    exec(writer_code + example, {})
    (lane,) = inspect(Reading(open_trace(tmp_path / "mine.jsonl")))
    assert (lane.checked, lane.first, lane.disagreements) == (2, None, [])


@torch.inference_mode()
def engine(path: Path, wrong: tuple[int, int, int] = (0, 0, 0), *, bare: bool = False, forget: bool = False) -> None:
    """Somebody's engine: each row in a cache of its own, three drafts a round, of which the last is always wrong.

    `wrong` = (step, row, n): from that step on the row's position ids are n too large. `forget`: a rejected entry is
    not rolled back in row 1, so that everything after it lies one slot further.
    """
    model = tiny.target("gpt2")
    trace = writer()(path, "tiny", PROMPTS, positions="learned")
    caches = [DynamicCache(config=model.config) for _ in PROMPTS]
    ids = [list(p) for p in PROMPTS]
    for step in range(6):
        fed, positions, slots, owners, choices, emitted = [], [], [], [], [], []
        for row, known in enumerate(ids):
            drafts = [] if step == 0 else [*greedy(model, known, 2), 0]
            feed = known + drafts if step == 0 else [known[-1], *drafts]
            slot = caches[row].get_seq_length()
            first = len(known) + len(drafts) - len(feed)
            shift = wrong[2] if row == wrong[1] and step >= wrong[0] else 0
            at = [first + t + shift for t in range(len(feed))]
            mask = torch.ones(1, 1, len(feed), slot + len(feed), dtype=torch.bool).tril(slot)
            out = model(torch.tensor([feed]), attention_mask=mask, position_ids=torch.tensor([at]), cache=caches[row])
            choice = out.logits[0, -len(drafts) - 1 :].argmax(dim=-1).tolist()
            agreed = next((n for n, d in enumerate(drafts) if d != choice[n]), len(drafts))
            new = [*drafts[:agreed], choice[agreed]]
            extra = len(drafts) - agreed - (1 if forget and row == 1 and step else 0)
            if extra:
                caches[row].crop(-extra)
            known.extend(new)
            for into, value in zip(
                (fed, positions, slots, owners, choices, emitted), (feed, at, slot, first, choice, new), strict=True
            ):
                into.append(value)
        rows = list(range(len(ids)))
        if bare:
            trace.step(rows, emitted)
        else:
            trace.step(rows, emitted, fed, positions, owners, slots, choices)


def greedy(model: torch.nn.Module, ids: list[int], n: int) -> list[int]:
    known = list(ids)
    for _ in range(n):
        known.append(int(model(torch.tensor([known])).logits[0, -1].argmax()))
    return known[len(ids) :]


def inspected(path: Path, capsys: pytest.CaptureFixture[str]) -> tuple[int, str]:
    code = cli.main(["inspect", str(path)])
    printed = capsys.readouterr()
    assert printed.err == ""
    return code, printed.out


def test_a_clean_run_is_clean(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    engine(tmp_path / "t.jsonl")
    code, out = inspected(tmp_path / "t.jsonl", capsys)
    assert (code, out) == (0, "mine: clean (6 steps checked, the lane has no end)\n")


def test_a_position_that_is_one_off_is_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    engine(tmp_path / "t.jsonl", wrong=(3, 2, 1))
    code, out = inspected(tmp_path / "t.jsonl", capsys)
    assert code == 1
    lines = [json.loads(line) for line in (tmp_path / "t.jsonl").read_text().splitlines()]
    (fed,) = [e for e in lines if e["event"] == "verify" and e["step"] == 3]
    slot, owner = fed["slots"][2], fed["owners"][2]
    assert f"first violation: contiguity in step 3, row 2, slot {slot}\n" in out
    assert f"expected {owner}, found {owner + 1}: token {owner} is fed at position {owner + 1}" in out
    assert "rest on it: 4-5" in out


def test_an_entry_that_was_not_rolled_back_is_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    engine(tmp_path / "t.jsonl", forget=True)
    code, out = inspected(tmp_path / "t.jsonl", capsys)
    assert code == 1
    assert re.search(r"first violation: mask in step 2, row 1, slot \d+\n.*a stale entry is visible", out), out


def test_ids_alone_are_nothing_to_inspect_and_enough_to_certify(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    engine(tmp_path / "t.jsonl", bare=True)
    code, out = inspected(tmp_path / "t.jsonl", capsys)
    assert code == 2
    assert "mine: nothing to check (6 steps, none with its forward" in out
    monkeypatch.setattr("engine.models.load_pair", lambda config: tiny.pair("gpt2", stop_ids=()))
    assert cli.main(["certify", str(tmp_path / "t.jsonl")]) == 0
    assert capsys.readouterr().out.count("equal, ") == len(PROMPTS)


def test_certify_finds_the_token_that_wrong_positions_changed(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    engine(tmp_path / "t.jsonl", wrong=(1, 0, 9))
    monkeypatch.setattr("engine.models.load_pair", lambda config: tiny.pair("gpt2", stop_ids=()))
    assert cli.main(["certify", str(tmp_path / "t.jsonl")]) == 1
    assert re.search(r"row 0\tbug at token \d+", capsys.readouterr().out)


def test_a_header_alone_is_not_clean(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    writer()(tmp_path / "t.jsonl", "tiny", PROMPTS)
    code, out = inspected(tmp_path / "t.jsonl", capsys)
    assert (code, out) == (2, "mine: nothing to check (no step)\n")


def test_without_kv_what_was_fed_is_checked(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    engine(tmp_path / "clean.jsonl")
    engine(tmp_path / "torn.jsonl", wrong=(3, 2, 1))
    for name in ("clean", "torn"):
        lines = (tmp_path / f"{name}.jsonl").read_text().splitlines(keepends=True)
        (tmp_path / f"{name}.jsonl").write_text("".join(line for line in lines if '"event": "kv"' not in line))
    code, out = inspected(tmp_path / "clean.jsonl", capsys)
    assert code == 0
    assert "clean (6 steps checked, without their KV (input, positions and emission only): 0-5" in out
    code, out = inspected(tmp_path / "torn.jsonl", capsys)
    assert code == 1
    assert "first violation: contiguity in step 3, row 2" in out


def test_a_row_whose_prompt_was_not_fed_whole_is_reported(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for kv in (True, False):
        trace = writer()(tmp_path / "t.jsonl", "tiny", [[5, 6, 7, 8]])
        trace.step([0], [[9]], [[5, 6, 7]], [[0, 1, 2]], [0], [0], [[9]])
        lines = (tmp_path / "t.jsonl").read_text().splitlines(keepends=True)
        (tmp_path / "t.jsonl").write_text("".join(line for line in lines if kv or '"event": "kv"' not in line))
        code, out = inspected(tmp_path / "t.jsonl", capsys)
        assert code == 1
        assert (
            "token 3 is neither fed nor in the cache" if kv else "expected 4, found 3: 4 tokens should be fed"
        ) in out


def test_a_last_line_that_was_cut_is_told_and_the_rest_is_checked(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for wrong, code in (((0, 0, 0), 0), ((3, 2, 1), 1)):
        engine(tmp_path / "t.jsonl", wrong=wrong)
        text = (tmp_path / "t.jsonl").read_text()
        (tmp_path / "t.jsonl").write_text(text[:-40])
        found, out = inspected(tmp_path / "t.jsonl", capsys)
        assert found == code
        last = len(text.splitlines())
        assert f"line {last}, the last one, was cut short: only what comes before it was checked" in out
    (tmp_path / "t.jsonl").write_text(text.replace("\n", "", 1))
    assert cli.main(["inspect", str(tmp_path / "t.jsonl")]) == 2, "a cut in the middle is no trace"
