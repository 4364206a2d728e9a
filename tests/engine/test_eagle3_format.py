"""The exported head has the tensors and fields that speculators and vLLM read; the compact shard gives it back."""

import json

import pytest
import torch
from safetensors.torch import load_file
from transformers import LlamaConfig

from engine.train import compact, head_shard, look_back
from engine.train.draft_head import aux_layers
from engine.train.export import export
from tests.engine.heads import TAPS, tiny_pair
from tests.engine.tiny import tiny_model

TENSORS = {
    "fc.weight",
    "norm.weight",
    "lm_head.weight",
    "layers.0.input_layernorm.weight",
    "layers.0.hidden_norm.weight",
    "layers.0.post_attention_layernorm.weight",
    *(f"layers.0.self_attn.{n}_proj.weight" for n in "qkvo"),
    *(f"layers.0.mlp.{n}_proj.weight" for n in ("gate", "up", "down")),
    "d2t",
    "t2d",
}
FIELDS = {
    "architectures",
    "speculators_model_type",
    "speculators_version",
    "speculators_config",
    "transformer_layer_config",
    "draft_vocab_size",
    "norm_before_residual",
    "norm_before_fc",
    "fc_norm",
    "norm_output",
    "target_hidden_size",
    "eagle_aux_hidden_state_layer_ids",
    "embed_requires_grad",
}


@pytest.fixture
def exported(tmp_path):
    target, head = tiny_pair()
    export(head, tmp_path, "some/target", ["LlamaForCausalLM"])
    return target, head, load_file(tmp_path / "model.safetensors"), json.loads((tmp_path / "config.json").read_text())


def test_tensors_are_those_of_the_format_and_no_others(exported):
    _, head, tensors, _ = exported
    assert set(tensors) == TENSORS
    h, q, kv = 32, 32, 16
    assert tensors["fc.weight"].shape == (h, 3 * h)
    assert tensors["layers.0.self_attn.q_proj.weight"].shape == (q, 2 * h)
    assert tensors["layers.0.self_attn.k_proj.weight"].shape == (kv, 2 * h)
    assert tensors["lm_head.weight"].shape == (40, h)
    assert head.taps == TAPS


def test_d2t_holds_offsets_and_t2d_marks_the_same_ids(exported):
    target, _, tensors, _ = exported
    ids = torch.arange(40) + tensors["d2t"]
    assert tensors["d2t"].dtype == torch.int64
    assert tensors["t2d"].dtype == torch.bool
    assert tensors["t2d"].nonzero()[:, 0].tolist() == ids.tolist()
    assert torch.equal(tensors["lm_head.weight"], target.lm_head.weight[ids].float())


def test_config_has_the_fields_of_the_format(exported):
    config = exported[3]
    assert set(config) >= FIELDS
    assert config["architectures"] == ["Eagle3DraftModel"]
    assert config["speculators_model_type"] == "eagle3"
    assert config["norm_before_residual"] is False
    assert config["eagle_aux_hidden_state_layer_ids"] == list(TAPS)
    assert config["draft_vocab_size"] == 40
    speculators = config["speculators_config"]
    assert set(speculators) == {"algorithm", "default_proposal_method", "proposal_methods", "verifier"}
    assert speculators["proposal_methods"] == [
        {"proposal_type": "greedy", "speculative_tokens": 4, "verifier_accept_k": 1, "accept_tolerance": 0.0}
    ]
    assert speculators["verifier"] == {"name_or_path": "some/target", "architectures": ["LlamaForCausalLM"]}
    layer = config["transformer_layer_config"]
    assert (layer["model_type"], layer["num_hidden_layers"], layer["hidden_size"]) == ("llama", 1, 32)
    assert layer["tie_word_embeddings"] is False


def test_a_wider_head_is_written_as_such_in_sizes_that_a_llama_can_have(tmp_path):
    _, head = tiny_pair()
    export(look_back.resized(head, 2 * head.config.num_key_value_heads), tmp_path, "some/target", ["LlamaForCausalLM"])
    tensors, config = load_file(tmp_path / "model.safetensors"), json.loads((tmp_path / "config.json").read_text())
    assert set(tensors) == TENSORS
    layer = LlamaConfig(**config["transformer_layer_config"])
    assert layer.num_key_value_heads == 2 * head.config.num_key_value_heads
    assert tensors["layers.0.self_attn.k_proj.weight"].shape == (layer.num_key_value_heads * layer.head_dim, 64)
    assert tensors["layers.0.self_attn.o_proj.weight"].shape == (32, layer.num_attention_heads * layer.head_dim)


def test_taps_are_the_defaults_of_speculators():
    assert aux_layers(30) == (2, 15, 27)


def test_a_compact_shard_gives_the_head_back_within_half_a_step(tmp_path):
    target, head = tiny_pair()
    file = head_shard.save(head, tmp_path, {"steps": 3})
    again = head_shard.load(tmp_path, target)
    assert compact.about(file) == {"steps": 3, "kind": "eagle3", "taps": list(TAPS)}
    assert again.taps == head.taps
    for name, weight in head.state_dict().items():
        found = again.state_dict()[name]
        if weight.ndim == 2 and name != "lm_head.weight":
            assert ((found - weight).abs() <= weight.abs().amax(1, keepdim=True) / 127 / 2 + 1e-6).all(), name
        else:
            assert torch.allclose(found, weight), name
    assert file.stat().st_size < 1.4 * sum(w.numel() for w in head.layers.parameters()) + 20_000


def test_a_shard_for_another_target_is_refused(tmp_path):
    _, head = tiny_pair()
    head_shard.save(head, tmp_path, {})
    other = tiny_model("llama", hidden_size=64, head_dim=16)
    with pytest.raises(ValueError, match="made for another target"):
        head_shard.load(tmp_path, other)
