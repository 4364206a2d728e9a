"""canonical: the directions in which two descriptions of the same things agree best (Hotelling 1936).

Of a token, say, its embedding and the state that a model has at it: a code of the token that either can be read from.
"""

import torch
from torch import Tensor


def maps(
    left: Tensor,  # [N, H]
    right: Tensor,  # [N, W]
    weight: Tensor,  # [N] of each pair
    count: int,
) -> tuple[Tensor, Tensor, Tensor]:  # [H, count], [W, count], [count]
    """Maps whose outputs have mean zero and unit variance and are uncorrelated but for each one's partner, best first.

    The third part is those correlations. There is no constant term: the direction of each mean is left out instead.
    """
    share = (weight / weight.sum()).double()[:, None]
    (whiten_left, _), (whiten_right, _) = whitening(left.double(), share, 0.02), whitening(right.double(), share, 0.002)
    away_left, away_right = (x.double() - (share * x).sum(dim=0) for x in (left, right))
    u, agreement, v = torch.linalg.svd(whiten_left.T @ (share * away_left).T @ away_right @ whiten_right)
    found = whiten_left @ u[:, :count], whiten_right @ v.T[:, :count]
    return *(m.to(left.dtype) for m in found), agreement[:count].to(left.dtype)


def whitening(x: Tensor, share: Tensor, shrink: float) -> tuple[Tensor, Tensor]:  # [N, W], [N, 1] -> [W, W], [W]
    """A map to unit variance in all directions but the mean's, which it drops, and that direction behind the map.

    `share` of each, 1 in all. `shrink`: of the usual variance, is added to all; 0 would blow up the least ones.
    """
    mean = (share * x).sum(dim=0)
    away = x - mean
    values, axes = torch.linalg.eigh((share * away).T @ away)
    white = axes @ torch.diag((values.clamp(min=0) + shrink * values.mean()).rsqrt()) @ axes.T
    common = torch.nn.functional.normalize(white @ mean, dim=0)
    return white - white @ common[:, None] * common, common
