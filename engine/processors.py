"""Logits processors that a model's generation config asks for: penalties and the like. None is computed here.

They change logits by what was generated so far, so they must act on target, drafter and reference alike or on none
(papers.md A.9: a baseline that applies them and a verify pass that does not differ without any bug). A model that
asks for one is refused by name; `processors="none"` decodes without them, everywhere.
"""

from transformers import GenerationConfig

from engine.config import RunConfig

#: Field -> values that change nothing. Warpers of the second group act on sampling only.
PROCESSORS = {
    **dict.fromkeys(("repetition_penalty", "encoder_repetition_penalty", "guidance_scale"), (None, 1, 1.0)),
    **dict.fromkeys(
        ("no_repeat_ngram_size", "encoder_no_repeat_ngram_size", "min_length", "min_new_tokens"), (None, 0)
    ),
    **dict.fromkeys(("bad_words_ids", "sequence_bias", "force_words_ids", "constraints"), (None, [], {})),
    **dict.fromkeys(("suppress_tokens", "begin_suppress_tokens"), (None, [])),
    **dict.fromkeys(("forced_bos_token_id", "forced_eos_token_id", "exponential_decay_length_penalty"), (None,)),
    **dict.fromkeys(("watermarking_config",), (None,)),
}
WARPERS = {"min_p": (None, 0, 0.0), "typical_p": (None, 1, 1.0), "top_h": (None, 1, 1.0)}
WARPERS |= dict.fromkeys(("epsilon_cutoff", "eta_cutoff"), (None, 0, 0.0))


class UnsupportedProcessor(ValueError):
    """A model whose own generation would process the logits: says which fields ask for it, and what would work."""


def refuse_processors(generation: GenerationConfig | None, config: RunConfig, name: str) -> None:
    """Raise UnsupportedProcessor when generating with this model's defaults would change logits before the choice."""
    if generation is None or config.processors == "none":
        return
    known = PROCESSORS if config.sampling == "greedy" else PROCESSORS | WARPERS
    asked = {field: getattr(generation, field, None) for field in known}
    if found := [f"{field}={value!r}" for field, value in asked.items() if value not in known[field]]:
        raise UnsupportedProcessor(
            f"the generation config of {name} sets {', '.join(found)}, which would have to act on target, drafter and "
            "reference alike and is not built. What works: processors='none' (--processors none) decodes without, "
            "on all sides; or a model without it."
        )
