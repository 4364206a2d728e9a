"""Training-time test: the head runs on its own output for some steps, as it will when it drafts.

Step 1 reads the target's states; step s reads its own output of step s - 1, one token further. A query of chain t
at step s sees the first step's keys up to pair t and, of the later steps, those of its own chain:

    keys       step 1       step 2     step 3 (own)
    chain 0    1 0 0 0      1 . . .    1 . . .
    chain 1    1 1 0 0      . 1 . .    . 1 . .        dots: other chains' drafts, never visible
"""

import math

import torch
from torch import Tensor

from engine.train.data import Batch
from engine.train.draft_head import DraftHead
from engine.train.loop import Score

DECAY = 0.8  # weight of each further step


class Chain:
    """The attention of one step after the other. Keys are [B, H, T, D] per step; queries are grouped over them."""

    def __init__(self) -> None:
        self.keys: list[Tensor] = []
        self.values: list[Tensor] = []

    def __call__(self, q: Tensor, k: Tensor, v: Tensor) -> Tensor:
        groups = q.shape[1] // k.shape[1]
        k, v = (x.repeat_interleave(groups, dim=1) for x in (k, v))
        self.keys.append(k)
        self.values.append(v)
        if len(self.keys) == 1:
            return torch.nn.functional.scaled_dot_product_attention(q, k, v, is_causal=True)
        t, scale = q.shape[2], 1 / math.sqrt(q.shape[3])
        first = (q @ self.keys[0].transpose(-1, -2)).float() * scale
        ahead = torch.ones(t, t, dtype=torch.bool, device=q.device).triu(1)
        own = [(q * key).sum(-1, keepdim=True).float() * scale for key in self.keys[1:]]
        weights = torch.cat([first.masked_fill(ahead, -torch.inf), *own], dim=-1).softmax(dim=-1).to(v.dtype)
        out = weights[..., :t] @ self.values[0]
        for n, value in enumerate(self.values[1:]):
            out = out + weights[..., t + n, None] * value
        return out


def teacher(top: Tensor, log_p: Tensor, slot: Tensor, temperature: float) -> tuple[Tensor, Tensor, Tensor]:
    """The target's choices as draft outputs [N, TOP], their probabilities [N, TOP], and which rows can be learned.

    A row whose first choice is outside the draft vocabulary has nothing to teach; other such choices get no weight.
    """
    index = slot[top]
    inside = index >= 0
    p = (log_p / temperature).masked_fill(~inside, -1e4).softmax(dim=-1)
    return index.clamp(min=0), p, inside[:, 0]


def score(
    head: DraftHead,
    embed: torch.nn.Module,
    batch: Batch,
    slot: Tensor,  # [vocab] draft output of a target id, -1: none
    steps: int = 1,
    temperature: float = 0.7,
) -> Score:
    """Soft cross-entropy with the target over `steps` steps, on answers. Chain t at step s predicts x[t + s + 1]."""
    length = batch.tokens.shape[1]
    embedding = embed(batch.tokens).detach()
    attend = Chain()
    width = length - steps  # every chain has a label at every step
    hidden = head.fuse(batch.states.to(embedding.dtype))[:, :width].to(embedding.dtype)  # autocast: sums stay float32
    positions = torch.arange(length, device=batch.tokens.device)[None]
    total, agree, count = embedding.new_zeros(()), [], []
    for s in range(1, steps + 1):
        hidden = head(embedding[:, s : s + width], hidden, positions[:, s : s + width], attend)
        wanted = batch.wanted[:, s : s + width]
        top, log_p = (x[:, s : s + width][wanted] for x in (batch.top, batch.log_p))
        index, p, known = teacher(top, log_p, slot, temperature)
        logits = head.logits(hidden[wanted]).float()
        loss = logits.logsumexp(dim=-1) - (p * logits.gather(1, index)).sum(dim=-1)
        total = total + DECAY ** (s - 1) * (loss * known).sum() / known.sum().clamp(min=1)
        agree.append(int(((logits.argmax(dim=-1) == index[:, 0]) & known).sum()))
        count.append(len(known))
    return Score(total, agree, count)
