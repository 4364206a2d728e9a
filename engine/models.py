"""The pairs: a target, an optional drafter and their tokenizer, loaded, placed and checked."""

from collections.abc import Iterable
from dataclasses import dataclass, replace
from pathlib import Path

from torch import nn
from transformers import PreTrainedModel, PreTrainedTokenizerBase

from engine import shelf, shipped
from engine.config import RunConfig
from engine.digest import file_sha256, weights_sha256
from engine.load import ModelError, find, load_model, load_tokenizer
from engine.pieces import pieces
from engine.probe import probe
from engine.processors import refuse_processors
from engine.propose.self_skip import layers_of, skip_layers
from engine.support import longest_exact, refuse
from engine.train import draft_small, head_shard

__all__ = ["ModelError", "Pair", "common_vocabulary", "load_pair", "pair_of"]


@dataclass(frozen=True)
class Pair:
    """What a session decodes with.

    `vocab`: logits are sliced to this width, the ids that target, drafter and tokenizer share.
    `context`: tokens per row (prompt + output) that every model of the pair computes exactly.
    `positions`: "rotary" or "learned". `info`: the trace header's `models`.
    """

    target: PreTrainedModel
    draft: PreTrainedModel | None
    tokenizer: PreTrainedTokenizerBase | None
    stop_ids: frozenset[int]
    pad_id: int
    vocab: int
    context: int
    positions: str
    info: dict
    head: nn.Module | None = None  # an EAGLE-3 head or MTP module for this target

    @property
    def templated(self) -> bool:
        """Whether `encode(chat=True)` applies a chat template; without one it gives the raw ids."""
        return getattr(self.tokenizer, "chat_template", None) is not None

    def encode(self, prompt: str, chat: bool) -> list[int]:
        """Token ids of a prompt, as the user's turn of a chat or raw. Raises ModelError when there are none."""
        if self.tokenizer is None:
            raise ModelError("this pair has no tokenizer: give token ids instead of text")
        if chat and self.templated:
            turn = [{"role": "user", "content": prompt}]
            text = self.tokenizer.apply_chat_template(turn, add_generation_prompt=True, tokenize=False)
            # The template wrote the special tokens already.
            return self.tokenizer.encode(text, add_special_tokens=False)
        if not (ids := self.tokenizer.encode(prompt)):
            raise ModelError(f"the prompt {prompt!r} has no tokens: give at least one character")
        return ids

    def pieces(self, ids: Iterable[int]) -> list[list]:
        """[id, text, hex bytes] of each token alone, see `engine.pieces`."""
        return pieces(self.tokenizer, ids)

    def decode(self, ids: Iterable[int]) -> str:
        """The text of a run of tokens, special tokens included by name."""
        if self.tokenizer is None:
            return " ".join(f"#{i}" for i in ids)
        ids = [int(i) for i in ids]
        return self.tokenizer.decode(ids, skip_special_tokens=False, clean_up_tokenization_spaces=False)


def load_pair(config: RunConfig, cache: Path = shelf.CACHE, progress: shelf.Progress | None = None) -> Pair:
    """The pair that `config` names: target and draft by shelf name, local folder or hub name.

    `progress(stage, fraction)` is called while something long happens. Raises ModelError, ShelfError (the shelf's
    model cannot be fetched), UnsupportedModel (its rows would depend on their batch mates) or UnsupportedProcessor.
    """
    report = progress or (lambda stage, fraction: None)
    place = find(config.target, cache, progress)
    report("load", 0.0)
    if reason := shipped.lacking(config.proposer, config.target):
        raise ModelError(f"proposer {config.proposer!r} cannot draft: {reason}. proposer='ngram' works with any target")
    tokenizer = load_tokenizer(place)
    target = load_model(place, config.dtype, config.device)
    refuse(target, config.max_new)
    refuse_processors(target.generation_config, config, config.target)
    names = {"target": config.target}
    draft, width, folder = None, tokens_of(tokenizer), place
    if config.proposer == "self_skip":
        draft, names["draft"] = skip_layers(target), f"{config.target}, layers skipped"
    elif config.proposer == "draft_model":  # RunConfig has checked that a draft is named
        report("load", 0.5)
        folder = find(config.draft, cache, progress)
        width = common_vocabulary(tokenizer, load_tokenizer(folder), config.target, config.draft)
        draft, names["draft"] = load_model(folder, config.dtype, config.device), config.draft
        refuse(draft, config.max_new)
    elif config.proposer == "draft_small":
        draft, names["draft"] = draft_small.load(shipped.SHARDS["draft_small"].parent, target), "draft_small"
    hashes = {"target": weights_sha256(Path(place)), "draft": weights_sha256(Path(folder))}
    if config.proposer == "draft_small":
        hashes["draft"] = file_sha256(shipped.SHARDS["draft_small"])
    pair = pair_of(target, draft, tokenizer, width=width, names=names, hashes=hashes)
    if lost := sorted(i for i in pair.stop_ids if i >= pair.vocab):
        raise ModelError(f"stop ids {lost} lie outside the {pair.vocab} tokens that the pair shares: no row could end")
    if config.proposer in ("eagle3", "hybrid", "mtp"):
        pair = replace(pair, head=head_shard.load(shipped.SHARDS[config.proposer].parent, target))
    probe(pair.target, pair.vocab)
    if config.proposer == "draft_model":
        probe(pair.draft, pair.vocab)
    report("load", 1.0)
    return pair


def pair_of(
    target: PreTrainedModel,
    draft: PreTrainedModel | None = None,
    tokenizer: PreTrainedTokenizerBase | None = None,
    *,
    stop_ids: Iterable[int] | None = None,
    pad_id: int | None = None,
    width: int | None = None,
    names: dict[str, str] | None = None,
    hashes: dict[str, str] | None = None,
) -> Pair:
    """A Pair from models in memory. `width`: shared ids of the tokenizers, where they are known."""
    models = {"target": target} | ({"draft": draft} if draft is not None else {})
    for model in models.values():
        model.eval().requires_grad_(False)
    contexts = [longest_exact(model) for model in models.values()]
    widths = [logits_width(model) for model in models.values()]
    info = {
        role: describe(model, (names or {}).get(role) or type(model).__name__, (hashes or {}).get(role, ""))
        for role, model in models.items()
    }
    return Pair(
        target=target,
        draft=draft,
        tokenizer=tokenizer,
        stop_ids=stop_ids_of(target) if stop_ids is None else frozenset(stop_ids),
        pad_id=pad_id_of(target, tokenizer) if pad_id is None else pad_id,
        vocab=min(widths + [w for w in (width, tokens_of(tokenizer)) if w]),
        context=min(contexts),
        positions=position_scheme(target),
        info=info,
    )


def common_vocabulary(target: object, draft: object, target_name: str, draft_name: str) -> int:
    """Ids 0..n-1 that mean the same token in both tokenizers. Raises ModelError naming the first that differs.

    The smaller vocabulary decides: ids that only the larger one has are never proposed nor chosen.
    """
    left, right = ({i: token for token, i in tokenizer.get_vocab().items()} for tokenizer in (target, draft))
    width = min(max(left), max(right)) + 1
    for i in range(width):
        if left.get(i) != right.get(i):
            raise ModelError(
                f"{target_name} and {draft_name} have different vocabularies: id {i} is {left.get(i)!r} in the first "
                f"and {right.get(i)!r} in the second. Choose a draft of the target's family, or proposer='ngram'."
            )
    return width


def tokens_of(tokenizer: PreTrainedTokenizerBase | None) -> int:
    """Highest token id + 1; models often have more logits than that. 0 without a tokenizer."""
    return 0 if tokenizer is None else max(tokenizer.get_vocab().values()) + 1


def logits_width(model: PreTrainedModel) -> int:
    """V of the model's logits."""
    head = model.get_output_embeddings()
    return model.config.vocab_size if head is None else head.weight.shape[0]


def stop_ids_of(model: PreTrainedModel) -> frozenset[int]:
    """The generation config's end-of-sequence ids, else the config's: one id, a list, or nothing."""
    generation = getattr(model, "generation_config", None)
    found = getattr(generation, "eos_token_id", None)
    found = getattr(model.config, "eos_token_id", None) if found is None else found
    if found is None:
        return frozenset()
    return frozenset([found] if isinstance(found, int) else found)


def pad_id_of(model: PreTrainedModel, tokenizer: PreTrainedTokenizerBase | None) -> int:
    """What pads are filled with: they are never attended, so any id will do."""
    known = (getattr(tokenizer, "pad_token_id", None), getattr(tokenizer, "eos_token_id", None))
    return next((i for i in (*known, *sorted(stop_ids_of(model))) if i is not None), 0)


def position_scheme(model: nn.Module) -> str:
    """learned: the model looks positions up in a trained table (GPT-2, OPT); rotary: it turns keys by them."""
    tables = ("wpe", "embed_positions", "position_embeddings")
    named = (name.rsplit(".", 1)[-1] for name, part in model.named_modules() if isinstance(part, nn.Embedding))
    return "learned" if any(name in tables for name in named) else "rotary"


def describe(model: PreTrainedModel, name: str, sha256: str) -> dict:
    """One entry of the trace header's `models`. `layers` counts those that run."""
    config = model.config
    heads = config.num_attention_heads
    return {
        "name": name,
        "sha256": sha256,
        "layers": next(map(len, layers_of(model).values()), config.num_hidden_layers),
        "kv_heads": getattr(config, "num_key_value_heads", None) or heads,
        "head_dim": getattr(config, "head_dim", None) or config.hidden_size // heads,
        "vocab": logits_width(model),
        "context": longest_exact(model),
    }
