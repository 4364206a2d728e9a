"""The recorder watches plain Hugging Face loops: right ones are clean, wrong ones are reported where they go wrong."""

from collections.abc import Callable
from pathlib import Path

import pytest
import torch
from torch import Tensor
from transformers import DynamicCache, PreTrainedModel

from engine import cli
from engine.fold import fold
from engine.inspection import Inspected, inspect
from engine.lines import read_lines
from engine.reading import Reading
from engine.recorder import LANE, Recorder, RecorderError
from engine.trace import KvOp, Propose, RowDone
from tests.engine import tiny

PROMPTS = [[t for t in tiny.prompt(n, 5) if t > 2] or [7] for n in (9, 4, 6)]
PAD = 0
#: Copies: the recorded model is called by its loop only.
DRAFTERS = {family: tiny.noisy(tiny.target(family), 0.0) for family in ("llama", "gpt2")}
FAMILIES = ("llama", "qwen3", "gpt2", "neox", "opt")


def padded(side: str, prompts: list[list[int]] = PROMPTS) -> tuple[Tensor, Tensor]:
    """Ids and mask [B, P]."""
    longest = max(map(len, prompts))
    pads = [[PAD] * (longest - len(p)) for p in prompts]
    ids = [[*z, *p] if side == "left" else [*p, *z] for z, p in zip(pads, prompts, strict=True)]
    mask = [
        [0] * len(z) + [1] * len(p) if side == "left" else [1] * len(p) + [0] * len(z)
        for z, p in zip(pads, prompts, strict=True)
    ]
    return torch.tensor(ids), torch.tensor(mask)


def inspected(path: Path) -> Inspected:
    (lane,) = inspect(Reading(path.read_text().splitlines(keepends=True)))
    return lane


def greedy(model: PreTrainedModel, prompt: list[int], n: int) -> list[int]:
    """Decoded alone, everything fed again each time."""
    ids = list(prompt)
    for _ in range(n):
        ids.append(int(model(torch.tensor([ids])).logits[0, -1].argmax()))
        if ids[-1] == 1:  # the tiny models' stop id
            break
    return ids[len(prompt) :]


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


Positions = Callable[[Tensor, int, int], Tensor | None]


def right(mask: Tensor, first: int, t: int) -> Tensor:
    return (mask.cumsum(dim=1) - 1).clamp(min=0)[:, first : first + t]


def by_slot(mask: Tensor, first: int, t: int) -> Tensor:
    return torch.arange(first, first + t).expand(len(mask), -1)


def slots_after_the_prompt(mask: Tensor, first: int, t: int) -> Tensor:
    return right(mask, first, t) if first == 0 else by_slot(mask, first, t)


def nothing(mask: Tensor, first: int, t: int) -> None:
    return None


@torch.inference_mode()
def loop(
    model: PreTrainedModel, ids: Tensor, mask: Tensor, positions: Positions, steps: int = 6, masked: bool = True
) -> None:
    """Somebody's loop around `model`: greedy, one token per row and forward, no stop rule."""
    cache, fed = DynamicCache(config=model.config), ids
    for _ in range(steps):
        first, t = mask.shape[1] - fed.shape[1], fed.shape[1]
        at = positions(mask, first, t)
        out = model(fed, attention_mask=mask if masked else None, position_ids=at, cache=cache)
        last = (
            mask.shape[1] - 1 - mask.flip(1).argmax(dim=1) - first if t > 1 else torch.zeros(len(ids), dtype=torch.long)
        )
        fed = out.logits[torch.arange(len(ids)), last].argmax(dim=-1)[:, None]
        mask = torch.cat([mask, torch.ones_like(fed)], dim=1)


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


@torch.inference_mode()
def speculative(model: PreTrainedModel, recorder: Recorder, spoil: str = "", told: bool = True) -> list[list[int]]:
    """A small EQSPEC of somebody's own: two good drafts and a bad one, rows realigned by copying, all left-padded."""
    drafter = DRAFTERS[model.config.model_type]
    ids, mask = padded("left")
    rows = [list(p) for p in PROMPTS]
    cache = DynamicCache(config=model.config)
    out = model(ids, attention_mask=mask, position_ids=right(mask, 0, ids.shape[1]), cache=cache)
    first = out.logits[:, -1].argmax(dim=-1).tolist()
    if told:
        recorder.commit([[t] for t in first])
    for row, token in zip(rows, first, strict=True):
        row.append(token)
    for turn in range(4):
        good = [greedy(drafter, row, 2)[: (turn + i) % 3] for i, row in enumerate(rows)]
        drafts = [[*g, *[3, 5, 4]][:3] for g in good]
        width = cache.get_seq_length()
        fed = torch.tensor([[row[-1], *d] for row, d in zip(rows, drafts, strict=True)])
        mask = torch.tensor([[0] * (width + 1 - len(r)) + [1] * (len(r) + 3) for r in rows])
        out = model(fed, attention_mask=mask, position_ids=right(mask, width, 4), cache=cache)
        best = out.logits.argmax(dim=-1).tolist()
        emitted = []
        for d, b in zip(drafts, best, strict=True):
            n = next((n for n in range(3) if d[n] != b[n]), 3)
            emitted.append([*d[:n], d[n] if spoil == "mismatch" and n < 3 else b[n]])
        if told or turn == 3:
            recorder.commit(emitted)
        old = [width + 1 - len(r) for r in rows]
        for row, new in zip(rows, emitted, strict=True):
            row.extend(new)
        longest = max(map(len, rows))
        for layer in cache.layers:
            for name in ("keys", "values"):
                source = getattr(layer, name)
                moved = torch.zeros(*source.shape[:2], longest - 1, source.shape[3], dtype=source.dtype)
                for i, r in enumerate(rows):
                    start = longest - len(r)
                    shift = 1 if spoil == "one_off" and i == 2 and turn == 1 else 0
                    piece = source[i, :, old[i] - shift : old[i] + len(r) - 1 - shift]
                    moved[i, :, start:] = piece
                setattr(layer, name, moved)
    return rows


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


# -- what cannot be recorded is refused in words --------------------------------------------------------------------


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
