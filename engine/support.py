"""Which models are refused, and why: the static rule, read from the class and the configuration.

Ragged rows need three things of a model: explicit position ids that it obeys, boolean 4-D masks (so: sdpa),
and a cache in which every entry belongs to one token (so that entries can be dropped and moved).
"""

import inspect

from torch.nn import Module
from transformers import DynamicCache
from transformers.cache_utils import DynamicLayer, DynamicSlidingWindowLayer

WORKS = "a plain full-attention decoder works: Llama, Qwen2, Qwen3, GPT-2, GPT-NeoX, OPT, Phi3, Granite, Glm4"

#: RoPE types whose frequencies do not depend on the longest row of the batch.
FIXED_ROPE = (None, "default", "linear", "llama3", "yarn")


class UnsupportedModel(ValueError):
    """A model whose rows could depend on their batch mates: says what was found and what would work."""

    def __init__(self, model_class: str, found: str, works: str = WORKS) -> None:
        self.model_class, self.found, self.works = model_class, found, works
        super().__init__(f"{self.model_class} cannot decode ragged batches exactly: {found}. What works: {works}.")


def refuse(model: Module, max_total: int) -> None:
    """Raise UnsupportedModel unless `model` is exact for rows of up to `max_total` tokens (prompt + output)."""
    config = model.config
    if config.is_encoder_decoder:
        raise UnsupportedModel(type(model).__name__, "config.is_encoder_decoder is True: it is no decoder-only model")
    if config.get_text_config(decoder=True) is not config:
        raise UnsupportedModel(
            type(model).__name__, "its config nests a text config: it is a multimodal model", "its text-only form"
        )
    if getattr(config, "alibi", False) or getattr(config, "model_type", "") in ("bloom", "mpt"):
        raise UnsupportedModel(
            type(model).__name__, "ALiBi biases follow columns, not position ids (config.alibi or model_type)"
        )
    if not getattr(model, "_supports_sdpa", False):
        raise UnsupportedModel(type(model).__name__, "the class has no sdpa attention (_supports_sdpa is False)")
    if getattr(config, "_attn_implementation", "sdpa") != "sdpa":
        found = f"attn_implementation is {config._attn_implementation!r}: it adds boolean masks to the scores"
        raise UnsupportedModel(type(model).__name__, found, "the same model loaded with attn_implementation='sdpa'")
    if getattr(config, "attn_logit_softcapping", None) is not None:
        raise UnsupportedModel(type(model).__name__, "config.attn_logit_softcapping is set: sdpa leaves the cap out")
    if "position_ids" not in inspect.signature(type(model).forward).parameters:
        raise UnsupportedModel(type(model).__name__, "its forward takes no position_ids")
    if getattr(config, "attention_chunk_size", None) is not None:
        raise UnsupportedModel(
            type(model).__name__, f"config.attention_chunk_size={config.attention_chunk_size}: chunked attention"
        )
    _refuse_layers(model)
    _refuse_rope(model)
    if max_total > (longest := longest_exact(model)):
        field = min(_limits(model), key=lambda pair: pair[1])[0]
        found = f"{field} allows rows of {longest} tokens, {max_total} are wanted"
        raise UnsupportedModel(type(model).__name__, found, f"prompt and output of at most {longest} tokens together")


def longest_exact(model: Module) -> int:
    """The longest row (tokens, prompt + output) that the model computes exactly in any batch."""
    limits = _limits(model)
    if not limits:
        raise UnsupportedModel(type(model).__name__, "its config names no longest length (max_position_embeddings)")
    return min(value for _, value in limits)


def _limits(model: Module) -> list[tuple[str, int]]:
    """Every (config field, tokens) that bounds a row: position table, attention window, RoPE that changes beyond."""
    config = model.config
    table = getattr(config, "max_position_embeddings", None)
    limits = [("config.max_position_embeddings", table)] if table else []
    for layer in DynamicCache(config=config).layers:
        if isinstance(layer, DynamicSlidingWindowLayer):
            # A 4-D mask replaces the window, so it must never be needed.
            limits.append(("config.sliding_window", layer.sliding_window))
            break
    for rope in _ropes(config):
        if rope.get("rope_type") in ("dynamic", "longrope"):
            original = rope.get("original_max_position_embeddings")
            original = original or getattr(config, "original_max_position_embeddings", None) or table
            if original:
                limits.append((f"config.rope_parameters (rope_type {rope['rope_type']!r})", original))
    return limits


def _refuse_layers(model: Module) -> None:
    """Each cache layer must hold one entry per token; recurrent state cannot be rolled back."""
    if getattr(model, "_is_stateful", False):
        raise UnsupportedModel(type(model).__name__, "it keeps a recurrent state, which cannot forget a rejected token")
    try:
        layers = DynamicCache(config=model.config).layers
    except Exception as error:  # configs without attention fail here in many ways
        raise UnsupportedModel(
            type(model).__name__, f"no key-value cache can be built from its config ({error})"
        ) from error
    for index, layer in enumerate(layers):
        if type(layer) not in (DynamicLayer, DynamicSlidingWindowLayer):
            field = "config.layer_types" if getattr(model.config, "layer_types", None) else "config"
            raise UnsupportedModel(
                type(model).__name__, f"cache layer {index} is a {type(layer).__name__} (from {field})"
            )


def _refuse_rope(model: Module) -> None:
    for rope in _ropes(model.config):
        kind = rope.get("rope_type")
        if "mrope_section" in rope:
            raise UnsupportedModel(
                type(model).__name__, "config.rope_parameters has mrope_section: three-dimensional positions"
            )
        if kind not in (*FIXED_ROPE, "dynamic", "longrope"):
            known = ", ".join(filter(None, FIXED_ROPE))
            raise UnsupportedModel(
                type(model).__name__, f"config.rope_parameters has rope_type {kind!r}", f"rope_type {known}"
            )


def _ropes(config: object) -> list[dict]:
    """The RoPE settings: one dict, or one per layer type where the config nests them."""
    rope = getattr(config, "rope_parameters", None) or {}
    nested = [value for value in rope.values() if isinstance(value, dict)]
    return nested or [rope]
