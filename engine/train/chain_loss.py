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

from engine.train.competing import Competing, all_of, sampled
from engine.train.data import Batch
from engine.train.draft_head import DraftHead
from engine.train.loop import Score

DECAY = 0.8  # weight of each further step
LEAST = 0.01  # probability of the rarest choice that is taught


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

    A row whose first choice is outside the draft vocabulary has nothing to teach; other such choices get no weight, nor
    do those below `LEAST`.
    """
    index = slot[top]
    p = (log_p / temperature).masked_fill(index < 0, -1e4).softmax(dim=-1)
    p = p.masked_fill(p < LEAST, 0.0)
    return index.clamp(min=0), p / p.sum(dim=-1, keepdim=True), index[:, 0] >= 0


def against(logits: Tensor, index: Tensor, p: Tensor, known: Tensor, among: Competing) -> tuple[Tensor, int]:
    """Soft cross-entropy [] of logits [N, among.ids] with what `teacher` gave, and rows that name its first choice."""
    logits, place = logits.float() + among.shift, among.slot[index].clamp(min=0)
    loss = logits.logsumexp(dim=-1) - (p * logits.gather(1, place)).sum(dim=-1)
    agree = int(((logits.argmax(dim=-1) == place[:, 0]) & known).sum())
    return (loss * known).sum() / known.sum().clamp(min=1), agree


def score(
    head: DraftHead,
    embed: torch.nn.Module,
    batch: Batch,
    slot: Tensor,  # [vocab] draft output of a target id, -1: none
    steps: int = 1,
    temperature: float = 0.7,
) -> Score:
    """`against` the target over `steps` steps, on answers. Chain t at step s predicts x[t + s + 1].

    A head in training mode looks at a sample of its outputs only, see `competing`.
    """
    length = batch.tokens.shape[1]
    embedding = embed(batch.tokens).detach()
    attend = Chain()
    width = length - steps  # every chain has a label at every step
    hidden = head.fuse(batch.states.to(embedding.dtype))[:, :width].to(embedding.dtype)  # autocast: sums stay float32
    positions = torch.arange(length, device=batch.tokens.device)[None]
    index, p, known = teacher(batch.top.flatten(0, 1), batch.log_p.flatten(0, 1), slot, temperature)
    index, p, known = (x.unflatten(0, batch.wanted.shape) for x in (index, p, known))
    labels = index[(p > 0) & batch.wanted[..., None]]
    among = sampled(labels, head.draft_vocab) if head.training else all_of(head.draft_vocab, labels.device)
    total, agree, count = embedding.new_zeros(()), [], []
    for s in range(1, steps + 1):
        hidden = head(embedding[:, s : s + width], hidden, positions[:, s : s + width], attend)
        wanted = batch.wanted[:, s : s + width]
        taught = (x[:, s : s + width][wanted] for x in (index, p, known))
        loss, right = against(head.logits(hidden[wanted], among.ids), *taught, among)
        total = total + DECAY ** (s - 1) * loss
        agree.append(right)
        count.append(int(wanted.sum()))
    return Score(total, agree, count)
