"""Tiny models: folders as a user would have them, and pairs in memory whose drafter agrees as often as a test wants."""

import copy
import random
from functools import cache
from pathlib import Path

import torch
from tokenizers import Tokenizer, models, pre_tokenizers
from transformers import (
    GenerationConfig,
    GPT2Config,
    GPT2LMHeadModel,
    GPTNeoXConfig,
    GPTNeoXForCausalLM,
    LlamaConfig,
    LlamaForCausalLM,
    OPTConfig,
    OPTForCausalLM,
    PreTrainedModel,
    PreTrainedTokenizerFast,
    Qwen3Config,
    Qwen3ForCausalLM,
)

from engine.config import RunConfig
from engine.models import Pair, pair_of
from engine.propose.self_skip import skip_layers

torch.set_num_threads(1)  # faster than two for models of this size, and one order of summation

WORDS = ["<pad>", "<eos>", "<unk>", *(f"w{n}" for n in range(61))]
SIZES = {"hidden_size": 32, "num_hidden_layers": 4, "num_attention_heads": 4, "max_position_embeddings": 64}
IDS = {"bos_token_id": None, "eos_token_id": 1, "pad_token_id": 0}
FAMILIES = ("llama", "qwen3", "gpt2", "neox", "opt")


def tiny_model(family: str, vocab: int = 64, layers: int = 4, seed: int = 0, **more: object) -> PreTrainedModel:
    """A random model of a family; weights are large enough for logits that are not flat."""
    torch.manual_seed(seed)
    sizes = {**SIZES, "num_hidden_layers": layers, "vocab_size": vocab, **IDS, **more}
    if family == "llama":
        model = LlamaForCausalLM(LlamaConfig(**sizes, intermediate_size=48, num_key_value_heads=2))
    elif family == "qwen3":
        model = Qwen3ForCausalLM(Qwen3Config(**sizes, intermediate_size=48, num_key_value_heads=2, head_dim=16))
    elif family == "neox":
        model = GPTNeoXForCausalLM(GPTNeoXConfig(**sizes, intermediate_size=48))
    elif family == "opt":
        model = OPTForCausalLM(OPTConfig(**sizes, ffn_dim=48, word_embed_proj_dim=32))
    else:
        sizes["n_embd"], sizes["n_layer"] = sizes.pop("hidden_size"), sizes.pop("num_hidden_layers")
        sizes["n_head"], sizes["n_positions"] = sizes.pop("num_attention_heads"), sizes.pop("max_position_embeddings")
        model = GPT2LMHeadModel(GPT2Config(**sizes))
    with torch.no_grad():
        for weight in model.parameters():
            weight.mul_(3.0)
    return model.eval()


def tiny_tokenizer(words: list[str] = WORDS, template: str | None = None) -> PreTrainedTokenizerFast:
    vocabulary = Tokenizer(models.WordLevel({word: i for i, word in enumerate(words)}, unk_token="<unk>"))
    vocabulary.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    tokenizer = PreTrainedTokenizerFast(tokenizer_object=vocabulary, pad_token="<pad>", eos_token="<eos>")
    tokenizer.chat_template = template
    return tokenizer


def save(folder: Path, model: PreTrainedModel, words: list[str] | None = WORDS, template: str | None = None) -> str:
    """Write model and tokenizer (none for `words=None`) to a folder; its name as RunConfig takes it."""
    model.generation_config = GenerationConfig(eos_token_id=[1, 2], pad_token_id=0)
    model.save_pretrained(folder)
    if words is not None:
        tiny_tokenizer(words, template).save_pretrained(folder)
    return str(folder)


VOCAB = 97
CONTEXT = 160
STOP = 2  # also the pad id, as in SmolLM2


@cache
def target(family: str, eos: float = 0.0) -> PreTrainedModel:
    """A float64 target of two layers. `eos`: how much is added to the logit of the stop id, so that rows do end."""
    model = tiny_model(family, VOCAB, layers=2, max_position_embeddings=CONTEXT).double()
    if eos:
        model.get_output_embeddings().register_forward_hook(_favour(eos))
    return model


def noisy(model: PreTrainedModel, noise: float, seed: int = 1) -> PreTrainedModel:
    """A copy whose weights are off by `noise` standard deviations: 0.0 always agrees, 3.0 hardly ever."""
    draft = copy.deepcopy(model)
    generator = torch.Generator().manual_seed(seed)
    with torch.no_grad():
        for weight in draft.parameters():
            spread = weight.std() if weight.numel() > 1 else 1.0
            weight.add_(torch.randn(weight.shape, generator=generator, dtype=weight.dtype) * spread * noise)
    return draft


@cache
def pair(
    family: str = "llama",
    noise: float | str = 0.2,
    *,
    eos: float = 0.0,
    stop_ids: tuple[int, ...] = (STOP,),
    pad_id: int = STOP,
) -> Pair:
    """A float64 pair; `noise`: see `noisy`, or "skip" for the target with layers left out. Pad id equals stop id."""
    model = target(family, eos)
    draft = skip_layers(model) if noise == "skip" else noisy(model, noise)
    return pair_of(model, draft, stop_ids=stop_ids, pad_id=pad_id)


def config(method: str = "eqspec", **more: object) -> RunConfig:
    """A float64 configuration with the pair's drafter, K=4 and 24 tokens, unless `more` says otherwise."""
    drafter = {} if method == "autoregressive" else {"proposer": "draft_model", "draft": "tiny", "k": 4}
    return RunConfig(**{"method": method, "max_new": 24, "dtype": "float64", **drafter, **more})


@cache
def prompt(length: int, seed: int, stop: float = 0.0) -> list[int]:
    """Random ids that repeat themselves a little (so n-grams match); `stop`: the share of them that are stop ids."""
    chance = random.Random(f"{length} {seed}")
    alphabet = [chance.randrange(VOCAB) for _ in range(12)]
    return [STOP if chance.random() < stop else chance.choice(alphabet) for _ in range(length)]


def _favour(eos: float):
    def hook(module: torch.nn.Module, args: tuple, logits: torch.Tensor) -> torch.Tensor:
        logits = logits.clone()
        logits[..., STOP] += eos
        return logits

    return hook
