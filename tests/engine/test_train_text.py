"""Self-generated text: shards that survive kills, turns that are forced, features recorded while generating."""

from dataclasses import replace

import numpy as np
import pytest
import torch

from engine.train import copies, shards
from engine.train.features import Store, answer_start, extract
from engine.train.generate import Generator, Plan, generate
from engine.train.turns import Turns, of
from tests.engine.tiny import tiny_model, tiny_tokenizer

TEMPLATE = "{% for m in messages %}w1 {{ m.content }} <eos> {% endfor %}{% if add_generation_prompt %}w2{% endif %}"
TURNS = Turns(opening=[4], closing=[1, 5], end=1)
TAPS = (2, 2, 1)  # what aux_layers gives for 4 layers
PLAN = Plan(rows=6, tokens=400, user=(2, 6), quote=4, answer=7, seed=3)


@pytest.fixture
def model():
    return tiny_model("llama", head_dim=8).requires_grad_(False)


def test_a_shard_holds_what_was_written(tmp_path):
    talks = [[5, 6], [7], [60_000, 0]]
    shards.write(tmp_path / "a.u16", talks)
    assert shards.read(tmp_path / "a.u16") == talks
    assert np.fromfile(tmp_path / "a.u16", "<u2").tolist() == [5, 6, 65535, 7, 65535, 60_000, 0, 65535]


def test_a_writer_opens_new_shards_and_goes_on_where_another_stopped(tmp_path):
    talks = [[n, n + 1, n + 2] for n in range(9)]
    for part in (talks[:4], talks[4:]):
        writer = shards.Writer(tmp_path, shard_tokens=10)
        for ids in part:
            writer.add(ids)
        writer.flush()
    assert list(shards.conversations(tmp_path)) == talks
    assert [len(shards.read(f)) for f in shards.files(tmp_path)] == [3, 3, 3]
    assert shards.Writer(tmp_path, shard_tokens=10).finished == 9


def test_turns_are_the_template_taken_apart():
    assert of(tiny_tokenizer(template=TEMPLATE)) == TURNS


def test_a_tokenizer_without_a_template_is_refused():
    with pytest.raises(ValueError, match="no chat template"):
        of(tiny_tokenizer())


def test_every_conversation_has_a_user_turn_the_forced_tokens_and_an_answer(model):
    batch, done = Generator(model, TURNS, 64, PLAN), []
    while len(done) < 30:
        done += [ids for ids, _ in batch.step()]
    for ids in done:
        start = answer_start(ids, TURNS)
        assert 0 <= start - 2 < PLAN.user[1] + PLAN.quote
        assert ids[start - 2 : start] == TURNS.closing
        assert TURNS.end not in ids[: start - 2]
        assert 1 <= len(ids) - start <= PLAN.answer
        assert TURNS.end not in ids[start:-1]


def test_some_user_turns_end_with_an_earlier_answer(model):
    batch, done = Generator(model, TURNS, 64, replace(PLAN, quoting=0.5, user=(9, 10), quote=3)), []
    while len(done) < 60:
        done += [ids for ids, _ in batch.step()]
    said = [(ids[: answer_start(ids, TURNS) - 2], ids[answer_start(ids, TURNS) :]) for ids in done]
    passages = [[t for t in answer[:3] if t != TURNS.end] for _, answer in said]
    quoting = [n for n, (user, _) in enumerate(said) if any(p and user[-len(p) :] == p for p in passages[:n])]
    assert 10 <= len(quoting) <= 50
    assert all(len(said[n][0]) <= 9 // 3 + 3 for n in quoting if said[n][0][-3:] in passages)


def test_rows_in_reused_slots_write_what_the_target_says(model):
    """At almost no temperature a conversation is the target's own greedy text, wherever in the batch it was written."""
    plan = Plan(rows=5, user=(2, 6), quoting=0, answer=7, user_temperature=1e-4, answer_temperature=(1e-4, 1e-4))
    batch, done = Generator(model, TURNS, 64, plan), []
    while len(done) < 15:
        done += [ids for ids, _ in batch.step()]
    for ids in done:
        logits = model(torch.tensor([TURNS.opening + ids])).logits[0]
        start = answer_start(ids, TURNS)
        free = [*range(start - 2), *range(start, len(ids))]
        assert [ids[i] for i in free] == [int(logits[i].argmax()) for i in free]


def test_a_run_is_resumed_and_does_not_repeat_itself(model, tmp_path):
    first = generate(model, TURNS, 64, PLAN, tmp_path, None)
    before = list(shards.conversations(tmp_path))
    more = replace(PLAN, tokens=800)
    assert generate(model, TURNS, 64, more, tmp_path, None) >= 800 > first
    after = list(shards.conversations(tmp_path))
    assert after[: len(before)] == before
    assert after[len(before) : 2 * len(before)] != before


def test_the_same_seed_writes_the_same_text(model, tmp_path):
    for name in ("a", "b"):
        generate(model, TURNS, 64, PLAN, tmp_path / name, None)
    assert list(shards.conversations(tmp_path / "a")) == list(shards.conversations(tmp_path / "b"))


def test_features_recorded_while_generating_are_those_of_a_second_pass(model, tmp_path):
    recorded, again = Store(tmp_path / "recorded", 96), Store(tmp_path / "again", 96)
    generate(model, TURNS, 64, PLAN, tmp_path, recorded)
    talks = list(shards.conversations(tmp_path))
    extract(model, TURNS, 64, talks, again, TAPS)
    assert len(recorded) == len(again) == len(talks)
    recorded.open(), again.open()
    for n in range(len(talks)):
        a, b = recorded[n], again[n]
        assert a.tokens.tolist() == b.tokens.tolist() == TURNS.opening + talks[n]
        assert a.answer == b.answer
        assert torch.allclose(a.states.float(), b.states.float(), atol=0.02, rtol=0.02)
        assert torch.allclose(a.log_p, b.log_p, atol=0.01)


def test_what_a_killed_run_left_behind_the_index_is_overwritten(model, tmp_path):
    talks = [[9, 8, 1, 5, 7], [6, 1, 5, 3, 2, 1], [11, 1, 5, 12]]
    store = Store(tmp_path, 96)
    extract(model, TURNS, 64, talks[:2], store, TAPS)
    with (tmp_path / "tokens.u16").open("ab") as file:
        file.write(b"left over")
    store = Store(tmp_path, 96)
    extract(model, TURNS, 64, talks, store, TAPS)
    store.open()
    assert [store[n].tokens.tolist()[1:] for n in range(3)] == talks
    assert [store[n].answer for n in range(3)] == [5, 4, 4]


def test_a_store_of_another_width_is_refused(model, tmp_path):
    extract(model, TURNS, 64, [[6, 1, 5, 3]], Store(tmp_path, 96), TAPS)
    with pytest.raises(ValueError, match="width 96, not 48"):
        Store(tmp_path, 48)


def test_copies_repeat_a_piece_of_the_text_behind_the_turn_tokens(tmp_path):
    answers = [list(range(10, 60)), list(range(20, 50))]
    for folder in ("a", "b"):
        (tmp_path / folder).mkdir()
        shards.write(shards.path(tmp_path / folder, 0), [[6, 7, 1, 5, *answer, 1] for answer in answers])
        assert copies.write(tmp_path / folder, TURNS, {0, 1, 4}, 64, tokens=4000, seed=2) > 20
    talks = list(shards.conversations(tmp_path / "a"))
    assert talks == list(shards.conversations(tmp_path / "b"))
    assert 4000 <= sum(len(ids) + 1 for ids in talks[2:]) < 4300
    whole = 0
    for ids in talks[2:]:
        half = (len(ids) - 3) // 2
        piece = ids[:half]
        assert ids == [*piece, *TURNS.closing, *piece, TURNS.end]
        assert not {0, 1, 4} & set(piece)
        assert copies.LENGTH[0] <= half <= 50
        whole += any(piece == answer[i : i + half] for answer in answers for i in range(len(answer)))
    assert 0.2 < whole / len(talks[2:]) < 0.6, "two of five pieces are left as they are"


def test_there_must_be_something_to_copy_from(tmp_path):
    with pytest.raises(ValueError, match="train generate"):
        copies.write(tmp_path, TURNS, {1}, 64, tokens=10, seed=0)
