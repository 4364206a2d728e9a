"""The recorder watches plain Hugging Face loops: right ones are clean, wrong ones are reported where they go wrong."""

from pathlib import Path

import pytest
import torch
from torch import Tensor

from engine import cli
from engine.fold import fold
from engine.lines import read_lines
from engine.recorder import LANE, Recorder
from tests.engine import tiny
from tests.engine.loops import PAD, PROMPTS, greedy, inspected, loop, padded, right

FAMILIES = ("llama", "qwen3", "gpt2", "neox", "opt")


@pytest.mark.parametrize("family", FAMILIES)
def test_plain_batched_generation_with_left_padding_is_clean(
    family: str, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    model = tiny.target(family)
    ids, mask = padded("left")
    with Recorder(model, tmp_path / "t.jsonl") as recorder:
        out = model.generate(ids, attention_mask=mask, max_new_tokens=8, do_sample=False, pad_token_id=PAD)
        recorder.commit([[int(row[-1])] for row in out])
    found = inspected(tmp_path / "t.jsonl")
    assert (found.first, found.unchecked, found.partial, found.ended) == (None, [], [], True)
    assert found.steps == out.shape[1] - ids.shape[1]
    lane = fold(read_lines((tmp_path / "t.jsonl").read_text().splitlines())).lanes[LANE]
    with torch.inference_mode():
        for row, prompt in enumerate(PROMPTS):
            ids = lane.rows[row].ids
            assert ids[: len(prompt)] == prompt
            assert ids[len(prompt) :] == greedy(model, prompt, 8)
    monkeypatch.setattr("engine.models.load_pair", lambda config: tiny.pair(family, stop_ids=(1,)))
    assert cli.main(["certify", str(tmp_path / "t.jsonl"), "--target", "tiny"]) == 0
    assert capsys.readouterr().out.count("equal, ") == len(PROMPTS)


def by_slot(mask: Tensor, first: int, t: int) -> Tensor:
    return torch.arange(first, first + t).expand(len(mask), -1)


def slots_after_the_prompt(mask: Tensor, first: int, t: int) -> Tensor:
    return right(mask, first, t) if first == 0 else by_slot(mask, first, t)


def nothing(mask: Tensor, first: int, t: int) -> None:
    return None


#: model, padding side, position ids -> the invariant that breaks, and the step
LOOPS = {
    "left": ("llama", "left", right, None),
    "right": ("llama", "right", right, None),
    "right_gpt2": ("gpt2", "right", right, None),
    "left_by_slot_is_a_constant_offset": ("llama", "left", by_slot, None),
    "left_without_position_ids": ("llama", "left", nothing, None),
    "left_without_position_ids_gpt2": ("gpt2", "left", nothing, ("contiguity", 0)),
    "left_without_position_ids_opt": ("opt", "left", nothing, None),
    "left_then_by_slot": ("llama", "left", slots_after_the_prompt, ("contiguity", 1)),
    "right_by_slot": ("qwen3", "right", by_slot, ("contiguity", 1)),
    "right_without_position_ids": ("neox", "right", nothing, ("contiguity", 1)),
}


@pytest.mark.parametrize("name", LOOPS)
def test_a_loop_is_clean_or_its_position_ids_are_reported(name: str, tmp_path: Path) -> None:
    family, side, positions, expected = LOOPS[name]
    model = tiny.target(family)
    with Recorder(model, tmp_path / "t.jsonl"):
        loop(model, *padded(side), positions)
    found = inspected(tmp_path / "t.jsonl")
    assert found.steps == 6
    assert (found.first and (found.first.violation.invariant, found.first.step)) == expected
    if expected:
        assert found.first.violation.row == 1, "the first row with pads"
        assert set(found.counts) == {"contiguity"}


def test_pads_that_are_attended_are_reported_where_the_prompts_are_known(tmp_path: Path) -> None:
    model, (ids, mask) = tiny.target("llama"), padded("left")
    with Recorder(model, tmp_path / "t.jsonl", prompts=PROMPTS):
        loop(model, ids, mask, by_slot, masked=False)
    found = inspected(tmp_path / "t.jsonl").first
    assert (found.violation.invariant, found.step, found.violation.row) == ("mask", 0, 1)
    assert found.violation.message == "a pad is visible"


def test_a_loop_without_a_cache_is_followed(tmp_path: Path) -> None:
    model, (ids, mask) = tiny.target("gpt2"), padded("left")
    words = tiny.tiny_tokenizer()
    with torch.inference_mode(), Recorder(model, tmp_path / "t.jsonl", tokenizer=words):
        for _ in range(4):
            out = model(ids, attention_mask=mask, position_ids=right(mask, 0, ids.shape[1]), use_cache=False)
            new = out.logits[:, -1].argmax(dim=-1)[:, None]
            ids, mask = torch.cat([ids, new], dim=1), torch.cat([mask, torch.ones_like(new)], dim=1)
    found = inspected(tmp_path / "t.jsonl")
    assert (found.first, found.steps) == (None, 4)
    state = fold(read_lines((tmp_path / "t.jsonl").read_text().splitlines()))
    lane = state.lanes[LANE]
    assert {t for r in lane.rows.values() for t in r.ids} == state.pieces.keys()
    assert [p["text"] for p in state.header.prompts] == [words.decode(p) for p in PROMPTS]
    with torch.inference_mode():
        assert [r.ids[r.prompt :] for r in lane.rows.values()] == [greedy(model, p, 3) for p in PROMPTS]


def test_sampled_tokens_are_not_held_against_the_argmax(tmp_path: Path) -> None:
    model, (ids, mask) = tiny.target("llama"), padded("left")
    firsts = []
    for sampled in (True, False):
        torch.manual_seed(3)
        with Recorder(model, tmp_path / "t.jsonl", sampled=sampled):
            model.generate(
                ids, attention_mask=mask, max_new_tokens=8, do_sample=True, temperature=3.0, pad_token_id=PAD
            )
        firsts.append(inspected(tmp_path / "t.jsonl").first)
    assert firsts[0] is None
    assert firsts[1].violation.invariant == "emission"
