"""Acceptance: which drafts the target agrees with, and the one token it adds. Pure functions on tensors."""

import torch
from torch import Tensor


def greedy(
    draft: Tensor,  # [B, K] int64, entries beyond lens are filler
    lens: Tensor,  # [B] int64, real drafts per row, 0..K
    choice: Tensor,  # [B, K + 1] int64, the target's argmax after the last token and after each draft
) -> tuple[Tensor, Tensor]:  # accepted [B] in 0..K, next token [B]
    """Longest prefix of drafts equal to the target's choices, then the target's own next token (papers.md A.3, step 3).

    When every draft agrees the next token is the true bonus; otherwise it is the correction. K may be 0.

        draft [[4, 5, 6], [4, 5, 0]]  lens [3, 2]  choice [[4, 5, 9, 1], [4, 5, 7, 3]]
        -> accepted [2, 2], next [9, 7]    row 0: correction instead of 6; row 1: bonus after its two drafts
    """
    agree = draft == choice[:, :-1]
    agree &= torch.arange(draft.shape[1], device=draft.device) < lens[:, None]
    accepted = agree.long().cumprod(dim=1).sum(dim=1)
    return accepted, choice.gather(1, accepted[:, None])[:, 0]


def rejection(
    draft: Tensor,  # [B, K] int64, entries beyond lens are filler
    lens: Tensor,  # [B] int64, real drafts per row, 0..K
    p: Tensor,  # [B, K + 1, V] the target's distribution after the last token and after each draft
    q: Tensor | None,  # [B, K, V] the distribution each draft was really drawn from; None: it was certain (one-hot)
    u: Tensor,  # [B, K] uniform in [0, 1): one for each draft
    v: Tensor,  # [B] uniform in [0, 1): for the token that ends the round
) -> tuple[Tensor, Tensor]:  # accepted [B] in 0..K, next token [B]
    """Speculative sampling, lossless in distribution (papers.md F): accept d where u * q(d) < p(d), strictly.

    At the first draft refused the row emits from norm(max(p - q, 0)), or from p where that is zero everywhere; with
    every draft accepted it emits from p behind them. The random numbers are arguments, so a test can enumerate them.

        V=2, p=(.5, .5), certain draft 0, u=.7: refused; residual (0, .5) -> token 1
    """
    b, k = draft.shape
    if q is None:
        q = torch.zeros(b, k, p.shape[-1], dtype=p.dtype, device=p.device).scatter(2, draft[..., None], 1.0)
    qd, pd = (x.gather(2, draft[..., None])[..., 0] for x in (q, p[:, :k]))
    real = torch.arange(k, device=draft.device) < lens[:, None]
    accepted = ((u * qd < pd) & real).long().cumprod(dim=1).sum(dim=1)
    row = torch.arange(b, device=draft.device)
    here = p[row, accepted]
    drawn = torch.cat([q, torch.zeros(b, 1, p.shape[-1], dtype=p.dtype, device=p.device)], dim=1)[row, accepted]
    residual = (here - drawn).clamp(min=0)
    refused = (accepted < lens) & (residual.sum(dim=1) > 0)
    weights = torch.where(refused[:, None], residual, here)
    edges = weights.cumsum(dim=1)
    token = torch.searchsorted(edges, (v * edges[:, -1])[:, None], right=True)[:, 0]
    return accepted, token.clamp(max=p.shape[-1] - 1)
