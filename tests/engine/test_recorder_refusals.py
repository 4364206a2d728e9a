"""What cannot be recorded is refused in words."""

from pathlib import Path

import pytest
import torch
from transformers import DynamicCache

from engine.recorder import Recorder, RecorderError
from tests.engine import tiny
from tests.engine.loops import PAD, padded


def test_a_loop_with_drafts_that_tells_nothing_and_shows_no_mask_is_refused(tmp_path: Path) -> None:
    model, (ids, mask) = tiny.target("llama"), padded("left")
    cache = DynamicCache(config=model.config)
    with torch.inference_mode(), Recorder(model, tmp_path / "t.jsonl") as recorder:
        model(ids, attention_mask=mask, cache=cache)
        model(ids[:, :2], cache=cache)
        with pytest.raises(RecorderError, match=r"row 1 sees \+6 slots .*: tell what each row got by commit\(\)"):
            model(ids[:, :2], cache=cache)
        with pytest.raises(RecorderError, match="got 1 rows; the last forward had 3"):
            recorder.commit([[1]])


def test_other_refusals(tmp_path: Path) -> None:
    model, (ids, mask) = tiny.target("llama"), padded("left")
    cache = DynamicCache(config=model.config)
    with torch.inference_mode():
        with Recorder(model, tmp_path / "t.jsonl"), pytest.raises(RecorderError, match="feed input_ids"):
            model(inputs_embeds=torch.zeros(1, 2, 32, dtype=torch.float64))
        model(ids, attention_mask=mask, cache=cache)
        with Recorder(model, tmp_path / "t.jsonl"), pytest.raises(RecorderError, match="a filled cache"):
            model(ids[:, :1], cache=cache)
        with Recorder(model, tmp_path / "t.jsonl") as recorder, pytest.raises(RecorderError, match="after a forward"):
            recorder.commit([[1]])
        with pytest.raises(RecorderError, match="beam search"), Recorder(model, tmp_path / "t.jsonl"):
            model.generate(ids, attention_mask=mask, max_new_tokens=4, num_beams=2, do_sample=False, pad_token_id=PAD)
    assert not model._forward_pre_hooks, "a hook was left behind"
