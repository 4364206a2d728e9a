"""A tiny target, a random head on it in float64, and what both say when nothing is cached."""

import torch
from torch import Tensor
from transformers import DynamicCache

from engine.forward import forward
from engine.train.draft_head import DraftHead
from engine.train.heads import HEADS
from tests.engine.tiny import tiny_model

TAPS = (1, 2, 3)


def tiny_pair(seed: int = 0, draft_vocab: int = 40, kind: str = "eagle3") -> tuple[torch.nn.Module, DraftHead]:
    """Target and head in float64; the head's output covers a scattered part of the vocabulary."""
    target = tiny_model("llama", seed=seed, head_dim=8).double().requires_grad_(False)
    torch.manual_seed(seed + 1)
    ids = torch.randperm(64)[:draft_vocab].sort().values
    head = HEADS[kind].from_target(target, ids, TAPS)
    for weight in [w for name, w in head.named_parameters() if name not in ("lm_head.weight", "norm.weight")]:
        weight.data.add_(torch.randn_like(weight) * 0.3)
    return target, head.eval().requires_grad_(False)


def states_of(target: torch.nn.Module, ids: list[int]) -> dict[int, Tensor]:
    """{layer: [len(ids), H]} of one sequence alone."""
    n = len(ids)
    mask = torch.ones(1, n, n, dtype=torch.bool).tril()
    positions = torch.arange(n)[None]
    out = forward(target, torch.tensor([ids]), positions, mask, DynamicCache(), vocab=64, layers=TAPS)
    return {t: h[0] for t, h in out.hidden.items()}


def causal(q: Tensor, k: Tensor, v: Tensor) -> Tensor:
    groups = q.shape[1] // k.shape[1]
    k, v = (x.repeat_interleave(groups, dim=1) for x in (k, v))
    return torch.nn.functional.scaled_dot_product_attention(q, k, v, is_causal=True)


@torch.inference_mode()
def outputs_from_scratch(
    target: torch.nn.Module, head: DraftHead, ids: list[int], steps: int, follow: list[int] | None = None
) -> tuple[list[int], list[Tensor]]:
    """(drafts, head outputs [H]) behind `ids`, the last of which has no states yet; nothing cached.

    `follow`: tokens to continue with instead of the drafts.
    """
    embed, drafts, outputs = target.get_input_embeddings(), [], []
    states = states_of(target, ids[:-1])
    hidden = head.fuse(torch.cat([states[t] for t in TAPS], dim=-1))[None]
    tokens = ids[1:]
    for n in range(steps):
        positions = torch.arange(1, len(tokens) + 1)[None]
        out = head(embed(torch.tensor([tokens])), hidden, positions, causal)[:, -1:]
        outputs.append(out[0, 0])
        drafts.append(int(head.to_target(head.logits(out[0, 0]).argmax())))
        tokens = [*tokens, follow[n] if follow else drafts[-1]]
        hidden = torch.cat([hidden, out], dim=1)
    return drafts, outputs
