"""The static rule: what is accepted, what is refused, and that the refusal names what it found."""

import pytest
import transformers
from transformers import PreTrainedModel

from engine.support import UnsupportedModel, longest_exact, refuse
from tests.engine.tiny import FAMILIES, tiny_model

SMALL = {"vocab_size": 32, "hidden_size": 32, "num_attention_heads": 4, "num_hidden_layers": 2}


def build(name: str, **fields: object) -> PreTrainedModel:
    config = getattr(transformers, f"{name}Config")(**{**SMALL, **fields})
    return transformers.AutoModelForCausalLM.from_config(config)


@pytest.mark.parametrize("family", FAMILIES)
def test_plain_full_attention_decoders_are_accepted_up_to_their_table(family: str) -> None:
    model = tiny_model(family)
    refuse(model, 64)
    with pytest.raises(UnsupportedModel, match="max_position_embeddings allows rows of 64 tokens, 65 are wanted"):
        refuse(model, 65)


REFUSED = [
    pytest.param("Bloom", {"n_head": 4}, "ALiBi", id="alibi_by_design"),
    pytest.param("Falcon", {"alibi": True}, r"config\.alibi", id="alibi_by_config"),
    pytest.param("Mamba", {}, "recurrent state|forward takes no position_ids|no sdpa", id="state_space"),
    pytest.param(
        "Gemma2", {"head_dim": 8, "num_key_value_heads": 2, "intermediate_size": 48}, "softcap|sdpa", id="softcap"
    ),
    pytest.param(
        "Lfm2",
        {"intermediate_size": 48, "num_key_value_heads": 2, "layer_types": ["conv", "full_attention"]},
        r"cache layer 0 is a LinearAttentionLayer \(from config.layer_types\)",
        id="convolution_layers",
    ),
]


@pytest.mark.parametrize(("name", "fields", "found"), REFUSED)
def test_refusals_name_what_they_found_and_what_works(name: str, fields: dict, found: str) -> None:
    with pytest.raises(UnsupportedModel, match=found) as refusal:
        refuse(build(name, **fields), 16)
    assert name in str(refusal.value)
    assert "What works:" in str(refusal.value)


def test_a_sliding_window_is_accepted_until_it_would_slide() -> None:
    model = build("Mistral", sliding_window=24, num_key_value_heads=2, intermediate_size=48)
    refuse(model, 24)
    assert longest_exact(model) == 24
    with pytest.raises(UnsupportedModel, match=r"config\.sliding_window allows rows of 24 tokens, 25 are wanted"):
        refuse(model, 25)


def test_rope_that_looks_at_the_longest_row_is_accepted_below_its_original_length() -> None:
    rope = {"rope_type": "dynamic", "rope_theta": 10000.0, "factor": 2.0}
    model = tiny_model("llama", rope_parameters=rope)
    refuse(model, 64)
    assert longest_exact(model) == 64


def test_multimodal_positions_are_refused() -> None:
    model = tiny_model("llama")
    model.config.rope_parameters["mrope_section"] = [1, 1, 2]
    with pytest.raises(UnsupportedModel, match="mrope_section"):
        refuse(model, 16)


def test_eager_attention_is_refused_because_it_adds_boolean_masks() -> None:
    model = tiny_model("llama")
    model.set_attn_implementation("eager")
    with pytest.raises(UnsupportedModel, match="attn_implementation is 'eager'"):
        refuse(model, 16)


def test_encoder_decoders_are_refused() -> None:
    config = transformers.T5Config(vocab_size=32, d_model=16, num_layers=1, num_heads=2, d_ff=16, d_kv=8)
    with pytest.raises(UnsupportedModel, match="is_encoder_decoder"):
        refuse(transformers.T5ForConditionalGeneration(config), 16)
