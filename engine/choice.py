"""Choice: which drafts a round keeps and which token ends it, as the configured kind of sampling decides.

Greedy decoding takes the argmax; so does shared noise, which has been added to the logits before. Rejection sampling
draws: its random numbers belong to (seed, row, index), so they do not depend on batch mates.
"""

import torch
from torch import Tensor

from engine import accept
from engine.config import RunConfig
from engine.propose import Draft
from engine.row import Row
from engine.sampling import SharedNoise, uniform, warp


def noise_of(config: RunConfig) -> SharedNoise | None:
    """The noise that target, drafter and reference share; None without such sampling."""
    if config.sampling != "shared_noise":
        return None
    return SharedNoise(config.seed, config.temperature, config.top_k, config.top_p)


def choose(
    config: RunConfig,
    rows: list[Row],
    logits: Tensor,  # [B, K + 1, V], or scores that carry the noise
    draft: Draft,
) -> tuple[Tensor, Tensor]:  # accepted drafts [B], the token that ends the round [B]
    """What each row keeps of its drafts, and what it adds."""
    if config.sampling != "rejection":
        return greedy_choice(logits, draft)
    p = warp(logits.double(), config.temperature, config.top_k, config.top_p).softmax(dim=-1)
    k = draft.tokens.shape[1]
    u = [[uniform(config.seed, r.row, len(r.ids) + n, "accept") for n in range(k)] for r in rows]
    v = [uniform(config.seed, r.row, len(r.ids), "emit") for r in rows]
    u, v = (torch.tensor(x, dtype=torch.float64, device=p.device) for x in (u, v))
    return accept.rejection(draft.tokens, draft.lens, p, None, u.view(len(rows), k), v)


def greedy_choice(logits: Tensor, draft: Draft) -> tuple[Tensor, Tensor]:
    """Accepted drafts [B] and the target's next token [B]; logits (or scores that carry the noise) [B, K + 1, V]."""
    return accept.greedy(draft.tokens, draft.lens, logits.argmax(dim=-1))
