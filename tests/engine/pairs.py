"""Tiny random pairs in memory, 2 layers, vocabulary 97, float64: the decoding tests run on these in milliseconds."""

import copy

import torch
from transformers import (
    AutoModelForCausalLM,
    GPT2Config,
    GPTNeoXConfig,
    LlamaConfig,
    PretrainedConfig,
    PreTrainedModel,
    Qwen3Config,
)

from engine.models import Pair, pair_of

VOCAB, EOS, CONTEXT = 97, 2, 160
SIZES = {"vocab_size": VOCAB, "hidden_size": 32, "num_hidden_layers": 2, "max_position_embeddings": CONTEXT}
HEADS = {"num_attention_heads": 4, "num_key_value_heads": 2, "intermediate_size": 48}
IDS = {"eos_token_id": EOS, "pad_token_id": EOS, "bos_token_id": None}

CONFIGS: dict[str, PretrainedConfig] = {
    "llama": LlamaConfig(**SIZES, **HEADS, **IDS),
    "qwen3": Qwen3Config(**SIZES, **HEADS, **IDS, head_dim=8),
    "gpt2": GPT2Config(vocab_size=VOCAB, n_embd=32, n_layer=2, n_head=4, n_positions=CONTEXT, **IDS),
    "neox": GPTNeoXConfig(**SIZES, **IDS, num_attention_heads=4, intermediate_size=48),
}


def model(family: str, seed: int = 0) -> PreTrainedModel:
    """A random model with weights three times the usual size, so that logits are not flat."""
    torch.manual_seed(seed)
    made = AutoModelForCausalLM.from_config(
        copy.deepcopy(CONFIGS[family]), dtype=torch.float64, attn_implementation="sdpa"
    )
    with torch.no_grad():
        for p in made.parameters():
            if p.dim() > 1:
                p.mul_(3)
    return made.eval()


def noisy(target: PreTrainedModel, noise: float, seed: int = 1) -> PreTrainedModel:
    """The target with noise on its weights: a drafter whose drafts are sometimes right."""
    torch.manual_seed(seed)
    draft = copy.deepcopy(target)
    with torch.no_grad():
        for p in draft.parameters():
            p.add_(torch.randn_like(p) * noise * p.std())
    return draft


_pairs: dict[tuple[str, float], Pair] = {}


def pair(family: str, noise: float = 0.3) -> Pair:
    """Target and noisy draft of one family; pad id equal to eos id, as in the embedded model."""
    if (family, noise) not in _pairs:
        target = model(family)
        _pairs[family, noise] = pair_of(target, noisy(target, noise), None, stop_ids={EOS}, pad_id=EOS)
    return _pairs[family, noise]
