"""The reference is right: plain decoding equals transformers' own generate(), and batches equal single rows."""

from dataclasses import replace

import pytest
import torch
from transformers import GenerationConfig

from engine import session
from engine.fold import fold
from engine.trace import Violation
from tests.engine import tiny

FAMILIES = ("llama", "qwen3", "gpt2", "neox", "opt")
PROMPTS = [tiny.prompt(length, 7, stop=0.1) for length in (1, 9, 4, 17, 30)]
NEW = 24
FAVOUR = 0.6


def generated(family: str, prompt: list[int], new: int) -> list[int]:
    """What transformers gives for this row alone."""
    ids = torch.tensor([prompt])
    greedy = GenerationConfig(max_new_tokens=new, do_sample=False, eos_token_id=tiny.STOP, pad_token_id=tiny.STOP)
    out = tiny.target(family, FAVOUR).generate(ids, attention_mask=torch.ones_like(ids), generation_config=greedy)
    return out[0, len(prompt) :].tolist()


def decoded(family: str, batch: int | None, new: int = NEW, context: int = tiny.CONTEXT) -> list[list[int]]:
    """What the engine gives for every row."""
    pair = replace(tiny.pair(family, 0.0, eos=FAVOUR), context=context)
    plain = tiny.config("autoregressive", batch=batch, max_new=new)
    events = list(session({"ar": plain}, PROMPTS, pair=pair))
    assert not [e for e in events if isinstance(e, Violation)]
    rows = fold(events).lanes["ar"].rows
    assert {r.compare["verdict"] for r in rows.values()} == {"equal"}
    return [rows[n].ids[rows[n].prompt :] for n in range(len(PROMPTS))]


@pytest.mark.parametrize("family", FAMILIES)
def test_rows_alone_equal_transformers_generate(family: str) -> None:
    assert decoded(family, batch=1) == [generated(family, p, NEW) for p in PROMPTS]


@pytest.mark.parametrize("batch", [None, 2])
@pytest.mark.parametrize("family", FAMILIES)
def test_a_batch_equals_transformers_generate_row_by_row(family: str, batch: int | None) -> None:
    assert decoded(family, batch=batch) == [generated(family, p, NEW) for p in PROMPTS]


def test_the_prompts_make_rows_end_both_by_a_stop_id_and_by_their_budget() -> None:
    ends = {out[-1] == tiny.STOP for family in FAMILIES for out in decoded(family, batch=None)}
    assert ends == {True, False}


def test_the_context_limit_ends_a_row_like_a_smaller_budget() -> None:
    found = decoded("gpt2", batch=None, context=34)
    assert found == [generated("gpt2", p, min(NEW, 34 - len(p))) for p in PROMPTS]
    assert min(map(len, found)) <= 4, "no row met the limit"


def test_a_budget_of_one_token_is_the_prefill_alone() -> None:
    assert decoded("llama", batch=None, new=1) == [generated("llama", p, 1) for p in PROMPTS]
