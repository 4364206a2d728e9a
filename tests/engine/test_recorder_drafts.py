"""The recorder follows loops with drafts, whoever realigns, and finds what goes wrong in them."""

from pathlib import Path

import pytest
import torch

from engine.fold import fold
from engine.lines import read_lines
from engine.recorder import LANE, Recorder
from engine.trace import KvOp, Propose
from tests.engine import tiny
from tests.engine.loops import PAD, PROMPTS, greedy, inspected, speculative


@pytest.mark.parametrize("told", [True, False], ids=["told", "found_out"])
@pytest.mark.parametrize("family", ["llama", "gpt2"])
def test_a_speculative_loop_that_realigns_by_itself_is_followed(family: str, told: bool, tmp_path: Path) -> None:
    model = tiny.target(family)
    with Recorder(model, tmp_path / "t.jsonl") as recorder:
        rows = speculative(model, recorder, told=told)
    found = inspected(tmp_path / "t.jsonl")
    assert (found.first, found.steps) == (None, 5)
    events = list(read_lines((tmp_path / "t.jsonl").read_text().splitlines()))
    assert {e.op for e in events if isinstance(e, KvOp)} == {"realign"}
    assert not any(isinstance(e, Propose) for e in events)
    lane = fold(events).lanes[LANE]
    assert [lane.rows[n].ids for n in range(3)] == rows
    assert [r.kinds.count("a") for r in lane.rows.values()] != [0, 0, 0]


@pytest.mark.parametrize("how", ["assistant", "lookup"])
def test_transformers_own_assisted_generation_is_clean(how: str, tmp_path: Path) -> None:
    model, prompt = tiny.target("llama"), torch.tensor([PROMPTS[0]])
    more = {"assistant_model": tiny.noisy(model, 0.2)} if how == "assistant" else {"prompt_lookup_num_tokens": 3}
    with torch.inference_mode():
        alone = greedy(model, PROMPTS[0], 12)
    with Recorder(model, tmp_path / "t.jsonl", prompts=prompt):
        out = model.generate(prompt, max_new_tokens=12, do_sample=False, pad_token_id=PAD, **more)
    assert out[0, prompt.shape[1] :].tolist() == alone
    found = inspected(tmp_path / "t.jsonl")
    assert (found.first, found.unchecked) == (None, [])
    ids = fold(read_lines((tmp_path / "t.jsonl").read_text().splitlines())).lanes[LANE].rows[0].ids
    assert ids == [*PROMPTS[0], *alone][: len(ids)]
    assert len(ids) > prompt.shape[1] + 4


def test_an_entry_that_the_loop_copied_from_the_wrong_slot_is_found_in_the_cache_itself(tmp_path: Path) -> None:
    model = tiny.target("llama")
    with Recorder(model, tmp_path / "t.jsonl") as recorder:
        speculative(model, recorder, "one_off")
    found = inspected(tmp_path / "t.jsonl").first
    assert (found.step, found.violation.row) == (3, 2)
    assert found.violation.invariant in ("kv", "mask")


def test_a_draft_that_is_kept_although_the_target_disagreed_is_reported(tmp_path: Path) -> None:
    model = tiny.target("llama")
    with Recorder(model, tmp_path / "t.jsonl") as recorder:
        speculative(model, recorder, "mismatch")
    found = inspected(tmp_path / "t.jsonl").first
    assert (found.step, found.violation.invariant) == (1, "emission")
