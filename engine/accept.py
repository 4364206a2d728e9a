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
