"""build: from the configuration's name of a proposer to one that is ready for these rows."""

from engine.config import ConfigError, RunConfig
from engine.models import Pair
from engine.propose import Proposer
from engine.propose.draft_model import DraftModel
from engine.propose.eagle3 import Eagle3
from engine.propose.hybrid import Hybrid
from engine.propose.mtp import Mtp
from engine.propose.ngram import NGram
from engine.row import Row


def proposer_of(config: RunConfig, pair: Pair, rows: list[Row]) -> Proposer | None:
    """The configured proposer for these rows, fresh; none for autoregressive decoding."""
    if config.method == "autoregressive":
        return None
    if config.proposer == "ngram":
        return NGram(config.k, config.device)
    limits = {"k": config.k, "context": pair.context, "stop_ids": pair.stop_ids, "device": config.device}
    limits["floor"] = config.floor if "confidence" in config.adapt else 0.0
    if config.proposer in ("eagle3", "hybrid", "mtp"):
        made = Mtp if config.proposer == "mtp" else Eagle3
        head = made(pair.head, pair.target.get_input_embeddings(), **limits)
        return Hybrid(head, config.match) if config.proposer == "hybrid" else head
    if config.proposer not in ("draft_model", "draft_small", "self_skip"):
        raise ConfigError("proposer", config.proposer, "it has a name in engine.registry and no line here yet: add one")
    # a row without a stop rule runs until the slowest row of its batch is done
    longest = [r.prompt + config.max_new * (config.k + 1 if r.endless else 1) for r in rows]
    return DraftModel(
        pair.draft,
        vocab=pair.vocab,
        capacity=max(min(n, r.context) for n, r in zip(longest, rows, strict=True)),
        places=config.places(len(rows)),
        name=config.proposer,
        **limits,
    )
