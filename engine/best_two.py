"""The target's choice and the runner-up at every position: what a trace says of the logits."""

import torch
from torch import Tensor

CHUNK = 256


def best_two(logits: Tensor) -> tuple[Tensor, Tensor]:  # [..., V] -> ids [..., 2], float64 values [..., 2]
    """The argmax and the best of the others. In a tie topk and argmax may name different tokens: the argmax decides.

    logits (2, 5, 5): ids (1, 2), values (5, 5)
    """
    values, ids = top_two(logits)
    tied = values[..., 0] == values[..., 1]
    if tied.any():
        first = logits[tied].argmax(dim=-1)
        ids[tied] = torch.stack([first, torch.where(ids[tied][:, 0] == first, ids[tied][:, 1], ids[tied][:, 0])], -1)
    return ids, values.double()


def top_two(logits: Tensor) -> tuple[Tensor, Tensor]:  # [..., V] -> values [..., 2], ids [..., 2]
    """`topk(2)`, some twenty times faster: the two best lie in the two chunks with the largest maxima, or in the rest.

    V = 600: two chunks of 256, of which the better two are looked into, and the last 88 ids
    """
    v = logits.shape[-1]
    whole = v - v % CHUNK
    if whole < 2 * CHUNK:
        top = logits.topk(2, dim=-1)
        return top.values, top.indices
    chunks = logits[..., :whole].unflatten(-1, (-1, CHUNK))  # [..., N, C]
    best = chunks.amax(dim=-1).topk(2, dim=-1).indices  # [..., 2]
    near = chunks.gather(-2, best[..., None].expand(*best.shape, CHUNK)).flatten(-2)
    ids = (best[..., None] * CHUNK + torch.arange(CHUNK, device=best.device)).flatten(-2)
    rest = torch.arange(whole, v, device=best.device).expand(*ids.shape[:-1], -1)
    near, ids = torch.cat([near, logits[..., whole:]], dim=-1), torch.cat([ids, rest], dim=-1)
    top = near.topk(2, dim=-1)
    return top.values, ids.gather(-1, top.indices)
