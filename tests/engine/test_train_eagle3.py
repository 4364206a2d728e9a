"""Training the EAGLE-3 head: alignment, the training-time test, and runs that survive being stopped."""

from dataclasses import asdict

import pytest
import torch

from engine.train import data, head_shard, oneshot, shards
from engine.train.acceptance import Tally, beside, replay, table
from engine.train.chain_loss import Chain, score, teacher
from engine.train.eagle3_head import Eagle3Head
from engine.train.features import TOP, Piece, Store, extract
from engine.train.head_train import score_of, start
from engine.train.held_out import Script, run
from engine.train.loop import CheckpointError, Training
from engine.train.oneshot import fitted
from engine.train.recipe import Recipe
from engine.train.turns import Turns
from tests.engine.heads import TAPS, outputs_from_scratch, states_of, tiny_pair
from tests.engine.test_eagle3 import proposer_of
from tests.engine.tiny import save, tiny_model

TURNS = Turns(opening=[4], closing=[1, 5], end=1)
TALKS = [[9, 8 + n % 7, 1, 5, *range(10 + n % 5, 22 + n % 9)] for n in range(24)]


def piece_of(target, ids, answer=1):
    """A Piece in float64 states of one sequence."""
    states = states_of(target, ids)
    logits = target(torch.tensor([ids])).logits[0]
    values, top = logits.log_softmax(-1).topk(TOP)
    return Piece(torch.tensor(ids), torch.cat([states[t] for t in TAPS], -1), top, values, answer)


def slots_of(head):
    slot = torch.full((64,), -1)
    slot[head.t2d] = torch.arange(head.draft_vocab)
    return slot


def test_the_training_time_test_sees_what_drafting_sees():
    """Outputs of three steps over a whole text equal those of a proposer that starts anywhere in it."""
    target, head = tiny_pair()
    ids = [5, 9, 3, 40, 2, 8, 13, 60, 21]
    embedding = target.get_input_embeddings()(torch.tensor([ids]))
    states = states_of(target, ids)
    hidden = head.fuse(torch.cat([states[t] for t in TAPS], -1))[None]
    attend, width = Chain(), len(ids) - 3
    hidden = hidden[:, :width]
    positions = torch.arange(len(ids))[None]
    steps = []
    for s in (1, 2, 3):
        hidden = head(embedding[:, s : s + width], hidden, positions[:, s : s + width], attend)
        steps.append(hidden[0])
    for t in range(width):
        _, outputs = outputs_from_scratch(target, head, ids[: t + 2], 3, follow=[*ids[t + 2 :], 0])
        for s in range(3):
            assert torch.allclose(steps[s][t], outputs[s], atol=1e-9), (t, s)


def test_agreement_counts_drafts_that_name_the_targets_choice():
    target, head = tiny_pair(draft_vocab=64)
    ids = [5, 9, 3, 40, 2, 8, 13, 60]
    batch = data.collate([piece_of(target, ids, answer=3)])
    batch.states.data = batch.states.double()
    found = score(head.double(), target.get_input_embeddings(), batch, slots_of(head))
    choice = target(torch.tensor([ids])).logits[0].argmax(-1).tolist()
    firsts = [outputs_from_scratch(target, head, ids[:c], 1)[0][0] for c in range(3, len(ids))]
    assert found.count == [5]
    assert abs(found.agree[0] - sum(a == b for a, b in zip(firsts, choice[2:-1], strict=True))) <= 1  # bf16 states


def test_a_batch_wants_answers_only():
    target, _ = tiny_pair()
    batch = data.collate([piece_of(target, [5, 9, 3, 40], answer=2), piece_of(target, [5, 9, 3], answer=2)])
    assert batch.wanted.int().tolist() == [[0, 1, 1, 0], [0, 1, 0, 0]]
    assert batch.tokens.tolist() == [[5, 9, 3, 40], [5, 9, 3, 0]]
    everything = data.collate([piece_of(target, [5, 9, 3, 40], answer=2)], start=1)
    assert everything.wanted.int().tolist() == [[1, 1, 1, 0]]


def test_choices_outside_the_draft_vocabulary_get_no_weight():
    slot = torch.tensor([-1, 0, 1, -1])
    top = torch.tensor([[2, 0, 1], [3, 1, 2]])
    log_p = torch.tensor([[0.5, 0.25, 0.25], [0.5, 0.25, 0.25]]).log()
    index, p, known = teacher(top, log_p, slot, 1.0)
    assert index.tolist() == [[1, 0, 0], [0, 0, 1]]
    assert torch.allclose(p, torch.tensor([[2 / 3, 0, 1 / 3], [0, 0.5, 0.5]]))
    assert known.tolist() == [True, False]


def test_the_draft_vocabulary_is_what_the_target_expects_most(tmp_path):
    target = tiny_model("llama", head_dim=8).requires_grad_(False)
    store = Store(tmp_path, 96)
    extract(target, TURNS, 64, TALKS, store, TAPS)
    ids = data.frequent(store.open(), 10, 64)
    assert ids.tolist() == sorted(ids.tolist())
    mass = torch.zeros(64)
    for n in range(len(store)):
        mass.index_add_(0, store[n].top.flatten(), store[n].log_p.exp().flatten())
    assert len(set(ids.tolist()) & set(mass.topk(10).indices.tolist())) >= 8


def test_an_epoch_shows_every_conversation_that_is_not_held_out_once(tmp_path):
    target = tiny_model("llama", head_dim=8).requires_grad_(False)
    store = Store(tmp_path, 96)
    extract(target, TURNS, 64, TALKS, store, TAPS)
    seen = [t for b in data.batches(store.open(), 4, 64, seed=0, epoch=1) for t in b.tokens.tolist()]
    stripped = sorted([x for x in row if x] for row in seen)
    assert stripped == sorted([4, *ids] for ids in TALKS[4:])


@pytest.fixture
def stored(tmp_path):
    target = tiny_model("llama", head_dim=8).requires_grad_(False)
    store = Store(tmp_path / "features", 96)
    extract(target, TURNS, 64, TALKS, store, TAPS)
    return target, store.open(), tmp_path / "eagle3.pt"


def training(target, checkpoint, **recipe):
    head = Eagle3Head.from_target(target, torch.arange(64), TAPS)
    head.requires_grad_(True).lm_head.requires_grad_(False)
    plan = Recipe(**{"tokens": 128, "held": 4, "every": 10, "warm": 2, "cool": 5, **recipe})
    return Training(head, score_of(head, target.get_input_embeddings()), plan, checkpoint, "cpu")


@pytest.mark.parametrize("optimizer", ["muon", "adamw"])
def test_training_improves_agreement_through_both_phases(stored, optimizer):
    target, store, checkpoint = stored
    run_ = training(target, checkpoint, single=40, chain=20, optimizer=optimizer, rate=1e-2)
    before = run_.agreement(store)
    run_.run(store)
    assert [point[0] for point in run_.progress.curve] == [10, 20, 30, 40, 50, 60]
    assert run_.progress.curve[-1][3] > before[0] + 0.2
    assert run_.progress.curve[-1][4] > before[1] + 0.1
    assert torch.equal(run_.model.lm_head.weight, target.get_output_embeddings().weight)


def test_a_stopped_run_goes_on_from_its_checkpoint(stored):
    target, store, checkpoint = stored
    first = training(target, checkpoint, single=10, chain=0)
    first.run(store)
    again = training(target, checkpoint, single=14, chain=6)
    assert again.resume()
    assert again.progress.step == 10
    for name, weight in first.model.state_dict().items():
        assert torch.equal(weight, again.model.state_dict()[name]), name
    again.run(store)
    assert again.progress.step == 20
    assert [p[0] for p in again.progress.curve] == [10, 20]


def test_a_checkpoint_of_another_optimizer_or_model_is_refused(stored):
    target, store, checkpoint = stored
    training(target, checkpoint, single=2, chain=0, optimizer="adamw").run(store)
    with pytest.raises(CheckpointError, match=r"eagle3.pt does not fit.*move it away"):
        training(target, checkpoint, single=4, chain=0).resume()
    wide = training(target, checkpoint, single=4, chain=0, optimizer="adamw")
    wide.model.fc = torch.nn.Linear(7, 5)
    with pytest.raises(CheckpointError, match="another model"):
        wide.resume()


def test_without_a_checkpoint_training_goes_on_from_the_published_head(stored, tmp_path):
    target, store, checkpoint = stored
    first = training(target, checkpoint, single=10, chain=0)
    first.run(store)
    head_shard.save(first.model, tmp_path / "head", asdict(first.progress))
    head, progress = start("eagle3", target, torch.arange(64), tmp_path / "head")
    assert progress == first.progress
    weight = first.model.fc.weight.detach()
    assert torch.allclose(head.fc.weight, weight, atol=float(weight.abs().max()) / 127)
    assert head.fc.weight.requires_grad
    assert not head.lm_head.weight.requires_grad
    fresh, progress = start("eagle3", target, torch.arange(64), tmp_path / "nothing here")
    assert progress.step == 0
    assert torch.equal(fresh.layers[0].mlp["up_proj"].weight, target.model.layers[-1].mlp.up_proj.weight)


def test_a_stop_signal_ends_the_run_after_its_step_and_saves(stored):
    target, store, checkpoint = stored
    run_ = training(target, checkpoint, single=10, chain=0)
    run_.stopped = True
    run_.run(store)
    assert run_.progress.step == 0
    assert checkpoint.is_file()


def test_the_rate_rises_holds_and_falls():
    recipe = Recipe(single=80, chain=20, cool=50, warm=10, rate=1.0)
    assert [round(recipe.rate_at(s), 2) for s in (0, 4, 9, 30, 50, 75, 99)] == [0.1, 0.5, 1.0, 1.0, 1.0, 0.5, 0.02]


def test_held_out_runs_are_the_targets_greedy_text_with_its_states():
    target, _ = tiny_pair()
    prompts = [("a", [5, 9, 3]), ("b", [7, 7, 11, 40, 2])]
    for script, (kind, ids) in zip(run(target, prompts, TAPS, stop=-1, new=6), prompts, strict=True):
        assert (script.kind, script.prompt, len(script.ids)) == (kind, len(ids), len(ids) + 6)
        logits = target(torch.tensor([script.ids])).logits[0]
        assert script.ids[len(ids) :] == logits.argmax(-1)[len(ids) - 1 : -1].tolist()
        for t, states in states_of(target, script.ids[:-1]).items():
            assert torch.allclose(states, script.hidden[t], atol=1e-9)


def test_a_replay_emits_every_text_once_and_counts_its_rounds():
    target, head = tiny_pair(draft_vocab=64)
    prompts = [("a", [5, 9, 3]), ("b", [7, 7, 11, 40, 2]), ("a", [8, 2])]
    scripts = run(target, prompts, TAPS, stop=-1, new=9)
    tallies = replay(scripts, lambda: proposer_of(target, head), k=4, batch=2, context=64)
    assert {k: t.emitted for k, t in tallies.items()} == {"a": 16, "b": 8}
    assert "| all |" in table(tallies, 4)
    assert beside({"x": tallies, "y": tallies}).splitlines()[0] == "| kind | x | y |"
    assert beside({"x": tallies}).splitlines()[-1] == f"| all | {24 / sum(t.rounds for t in tallies.values()):.2f} |"


def test_a_perfect_drafter_is_accepted_everywhere():
    """A script made of the head's own drafts: every round takes all of them."""
    target, head = tiny_pair()
    ids = [5, 9, 3, 11]
    drafts = outputs_from_scratch(target, head, ids, 4)[0]
    hidden = states_of(target, (ids + drafts + [7])[:-1])
    script = Script("a", 3, [*ids, *drafts, 7], hidden)
    (tally,) = replay([script], lambda: proposer_of(target, head), 4, 1, 64).values()
    assert (tally.rounds, tally.emitted) == (1, 5)
    assert tally.by_position(4) == [1.0] * 4


def test_a_tally_counts_positions_whose_predecessors_were_right():
    tally = Tally()
    tally.add(drafted=4, accepted=2, emitted=3)
    tally.add(drafted=2, accepted=2, emitted=3)
    tally.add(drafted=0, accepted=0, emitted=1)
    assert tally.reached[:4] == [2, 2, 1, 0]
    assert tally.right[:4] == [2, 2, 0, 0]
    assert tally.per_round == pytest.approx(7 / 3)


def test_too_few_conversations_are_refused(stored):
    _, store, _ = stored
    with pytest.raises(ValueError, match="too few"):
        next(data.endless(store, 24, 128, 0, 0))


def test_a_time_limit_becomes_steps_of_both_phases():
    recipe = fitted(Recipe(), seconds=100, single_s=1.0, chain_s=4.0, done=8)
    assert (recipe.single, recipe.chain, recipe.cool) == (68, 10, 23)


def test_oneshot_leaves_text_a_shard_and_a_card(tmp_path):
    template = "{% for m in messages %}w1 {{ m.content }} <eos> {% endfor %}{% if add_generation_prompt %}w2{% endif %}"
    save(tmp_path / "target", tiny_model("llama", layers=6, head_dim=8, max_position_embeddings=512), template=template)
    (tmp_path / "talks").mkdir()
    places = ("talks", "features", "checkpoint", "out")
    shards.write(shards.path(tmp_path / "talks", 0), [[9, 8 + n % 7, 1, 5, *range(10, 22 + n % 9)] for n in range(60)])
    options = [x for name in places for x in (f"--{name}", str(tmp_path / name))]
    sizes = ["--rows", "2", "--tokens", "900", "--batch", "256", "--minutes", "0.55"]
    oneshot.main(["--target", str(tmp_path / "target"), "--device", "cpu", *options, *sizes])
    assert len(list(shards.conversations(tmp_path / "talks"))) == 60
    card = (tmp_path / "out" / "README.md").read_text()
    assert "because the time was spent" in card
    assert (tmp_path / "out" / "head.safetensors").is_file()
