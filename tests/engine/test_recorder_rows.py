"""The recorder knows which row is which: one that leaves, one that ends, two with the same prompt."""

from pathlib import Path

import torch
from transformers import DynamicCache

from engine.lines import read_lines
from engine.recorder import Recorder
from engine.trace import RowDone
from tests.engine import tiny
from tests.engine.loops import PAD, PROMPTS, greedy, inspected, padded, right


def test_rows_that_leave_the_batch_are_known_by_their_cache(tmp_path: Path) -> None:
    model, (ids, mask) = tiny.target("llama"), padded("left")
    with torch.inference_mode(), Recorder(model, tmp_path / "t.jsonl"):
        cache, fed, stay = DynamicCache(config=model.config), ids, [2, 0]
        for step in range(5):
            at = right(mask, mask.shape[1] - fed.shape[1], fed.shape[1])
            out = model(fed, attention_mask=mask, position_ids=at, cache=cache)
            fed = out.logits[:, -1].argmax(dim=-1)[:, None]
            mask = torch.cat([mask, torch.ones_like(fed)], dim=1)
            if step == 2:
                cache.batch_select_indices(torch.tensor(stay))
                fed, mask = fed[stay], mask[stay]
    found = inspected(tmp_path / "t.jsonl")
    assert (found.first, found.steps) == (None, 5)
    events = list(read_lines((tmp_path / "t.jsonl").read_text().splitlines()))
    assert [e.rows for e in events if e.kind == "schedule"] == [[0, 1, 2]] * 3 + [[2, 0]] * 2


def test_two_rows_with_the_same_prompt_are_kept_apart(tmp_path: Path) -> None:
    model, (ids, mask) = tiny.target("llama"), padded("left", [PROMPTS[0], PROMPTS[1], PROMPTS[1]])
    with Recorder(model, tmp_path / "t.jsonl"):
        model.generate(ids, attention_mask=mask, max_new_tokens=5, do_sample=False, pad_token_id=PAD)
    assert inspected(tmp_path / "t.jsonl").first is None
    events = read_lines((tmp_path / "t.jsonl").read_text().splitlines())
    assert {tuple(e.rows) for e in events if e.kind == "schedule"} == {(0, 1, 2)}


def test_a_row_that_has_ended_is_not_followed_any_more(tmp_path: Path) -> None:
    model = tiny.target("llama")
    ids, mask = padded("left")
    with torch.inference_mode():
        second = greedy(model, PROMPTS[1], 2)[1]
    old = model.generation_config.eos_token_id
    model.generation_config.eos_token_id = second
    try:
        with Recorder(model, tmp_path / "t.jsonl"):
            model.generate(ids, attention_mask=mask, max_new_tokens=7, do_sample=False, pad_token_id=PAD)
    finally:
        model.generation_config.eos_token_id = old
    events = list(read_lines((tmp_path / "t.jsonl").read_text().splitlines()))
    done = [e for e in events if isinstance(e, RowDone)]
    assert any(e.row == 1 and e.tokens <= 2 for e in done)
    found = inspected(tmp_path / "t.jsonl")
    assert (found.first, found.unchecked) == (None, [])
