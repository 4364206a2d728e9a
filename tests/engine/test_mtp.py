"""The MTP module: it drafts what it was trained to draft, depends on its row alone, and survives shard and export."""

import json

import pytest
import torch
from safetensors.torch import load_file

from engine.propose.mtp import Mtp
from engine.train import compact, head_shard
from engine.train.chain_loss import Chain
from engine.train.eagle3_head import Eagle3Head
from engine.train.export import export
from engine.train.features import Store, extract
from engine.train.head_train import score_of, start
from engine.train.loop import Training
from engine.train.mtp_head import MtpHead
from engine.train.publish import restore
from engine.train.recipe import Recipe
from tests.engine.heads import TAPS, causal, outputs_from_scratch, states_of, tiny_pair
from tests.engine.test_eagle3 import PROMPTS, Decoding, row_of
from tests.engine.test_train_eagle3 import TALKS, TURNS
from tests.engine.tiny import tiny_model

LAYER = "mtp_layers.0."
TENSORS = {
    *(f"{LAYER}{n}_layernorm.weight" for n in ("token", "hidden", "input", "post_attention", "final")),
    f"{LAYER}input_proj.weight",
    *(f"{LAYER}self_attn.{n}_proj.weight" for n in "qkvo"),
    *(f"{LAYER}mlp.{n}_proj.weight" for n in ("gate", "up", "down")),
    "lm_head.weight",
    "d2t",
    "t2d",
}


def proposer_of(target, head, k=4):
    return Mtp(head, target.get_input_embeddings(), k=k, context=64, stop_ids=frozenset(), device="cpu")


def test_it_asks_for_one_state_and_is_fed_its_own_output():
    target, head = tiny_pair(kind="mtp")
    assert head.taps == proposer_of(target, head).layers == TAPS[-1:]
    states = torch.arange(6.0).repeat(16)[None]  # three states of width 32, as features keep them
    assert torch.equal(head.fuse(states), states[:, -32:])
    assert torch.equal(head.fuse(states[:, -32:]), states[:, -32:])


@pytest.mark.parametrize("limits", [[4, 4, 4, 4], [1, 4, 0, 2]], ids=["full", "ragged"])
def test_drafts_equal_those_recomputed_from_nothing_after_accepted_and_rejected_rounds(limits):
    target, head = tiny_pair(kind="mtp")
    rows = [row_of(n, ids) for n, ids in PROMPTS.items()]
    decoding = Decoding(target, proposer_of(target, head), rows)
    for _ in range(5):
        before = [list(r.ids) for r in rows]
        expected = [outputs_from_scratch(target, head, ids, n)[0] for ids, n in zip(before, limits, strict=True)]
        assert decoding.round(rows, limits) == expected


def test_the_training_time_test_sees_what_drafting_sees():
    target, head = tiny_pair(kind="mtp")
    ids = [5, 9, 3, 40, 2, 8, 13, 60, 21]
    embedding = target.get_input_embeddings()(torch.tensor([ids]))
    hidden, attend, width = states_of(target, ids)[TAPS[-1]][None], Chain(), len(ids) - 3
    hidden, positions, steps = hidden[:, :width], torch.arange(len(ids))[None], []
    for s in (1, 2, 3):
        hidden = head(embedding[:, s : s + width], hidden, positions[:, s : s + width], attend)
        steps.append(hidden[0])
    for t in range(width):
        _, outputs = outputs_from_scratch(target, head, ids[: t + 2], 3, follow=[*ids[t + 2 :], 0])
        for s in range(3):
            assert torch.allclose(steps[s][t], outputs[s], rtol=1e-4, atol=1e-6), (t, s)  # scores are float32


@torch.no_grad()
def test_at_first_it_is_the_target_s_last_layer_on_the_tapped_state():
    """With the tap below the last layer it continues the target, but for the size that the norm takes away."""
    target = tiny_model("llama", head_dim=8).double().requires_grad_(False)
    head = MtpHead.from_target(target, torch.arange(64), (3,))
    ids = [5, 9, 3, 40, 2, 8]
    state = states_of(target, ids)[3][None]
    size = state.pow(2).mean(-1, keepdim=True).sqrt()
    embedding = target.get_input_embeddings()(torch.tensor([ids]))
    own = head.mtp_layers[0].input_proj.weight[0, 32]  # what the module takes for the usual size
    assert 0.3 < float((own / size).median()) < 3
    out = head(embedding, state, torch.arange(6)[None], causal)
    layer = target.model.layers[-1]
    turn = target.model.rotary_emb(state, torch.arange(6)[None])
    expected = layer(own * state / size, position_embeddings=turn)
    assert torch.allclose(out, expected, atol=1e-4)  # the norm's eps


@pytest.fixture
def stored(tmp_path):
    target = tiny_model("llama", head_dim=8).requires_grad_(False)
    store = Store(tmp_path / "features", 96)
    extract(target, TURNS, 64, TALKS, store, TAPS)
    return target, store.open(), tmp_path / "mtp.pt"


def training(target, checkpoint, **recipe):
    head, _ = start("mtp", target, torch.arange(64), None)
    plan = Recipe(**{"tokens": 128, "held": 4, "every": 10, "warm": 2, "cool": 5, "rate": 1e-2, **recipe})
    return Training(head, score_of(head, target.get_input_embeddings()), plan, checkpoint, "cpu")


def test_training_on_the_features_of_eagle3_improves_every_step_of_the_chain(stored):
    target, store, checkpoint = stored
    run = training(target, checkpoint, single=40, chain=20)
    before = run.agreement(store)
    run.run(store)
    after = run.progress.curve[-1][3:]
    assert after[0] > before[0] + 0.2
    assert after[1] > before[1] + 0.1
    assert torch.equal(run.model.lm_head.weight, target.get_output_embeddings().weight)


def test_a_stopped_run_goes_on_and_is_published_and_gone_on_from(stored, tmp_path):
    target, store, checkpoint = stored
    first = training(target, checkpoint, single=10, chain=0)
    first.run(store)
    again = training(target, checkpoint, single=12, chain=3)
    assert again.resume()
    again.run(store)
    assert again.progress.step == 15
    head, progress = restore("mtp", checkpoint, target)
    head_shard.save(head, tmp_path / "mtp", progress)
    found, known = start("mtp", target, torch.arange(64), tmp_path / "mtp")
    assert isinstance(found, MtpHead)
    assert known.step == 15
    assert found.mtp_layers[0].input_proj.weight.requires_grad


def test_a_shard_says_what_it_is_and_gives_the_module_back(tmp_path):
    target, head = tiny_pair(kind="mtp")
    file = head_shard.save(head, tmp_path, {})
    assert compact.about(file) == {"kind": "mtp", "taps": [3]}
    again = head_shard.load(tmp_path, target)
    assert isinstance(again, MtpHead)
    assert not isinstance(again, Eagle3Head)
    for name, weight in head.state_dict().items():
        step = weight.abs().amax() / 127 if weight.is_floating_point() else 0
        assert ((again.state_dict()[name] - weight).abs() <= step).all() if step else True, name


def test_the_export_has_speculators_names_and_says_what_it_reads(tmp_path):
    _, head = tiny_pair(kind="mtp")
    export(head, tmp_path, "some/target", ["LlamaForCausalLM"])
    tensors, config = load_file(tmp_path / "model.safetensors"), json.loads((tmp_path / "config.json").read_text())
    assert set(tensors) == TENSORS
    assert tensors[f"{LAYER}input_proj.weight"].shape == (32, 64)
    assert config["speculators_model_type"] == "mtp"
    assert config["num_mtp_layers"] == 1
    assert config["hidden_state_layer_id"] == 3
    assert config["transformer_layer_config"]["num_hidden_layers"] == 1
