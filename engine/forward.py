"""The only caller of a model: ids, positions, mask and cache in; logits and chosen hidden states out."""

from dataclasses import dataclass, field

import torch
from torch import Tensor


@dataclass(slots=True)
class Output:
    """`logits` [B, N, V] of the kept columns, `hidden` {layer: [B, T, width]}, `tokens` fed, filler included."""

    logits: Tensor
    hidden: dict[int, Tensor] = field(default_factory=dict)
    tokens: int = 0


@torch.inference_mode()
def forward(
    model: torch.nn.Module,
    ids: Tensor,  # [B, T]
    positions: Tensor,  # [B, T]
    mask: Tensor,  # [B, T, S] bool: True where a query may look
    cache: object,
    *,
    vocab: int,
    keep: Tensor | None = None,  # [N] columns whose logits are wanted; None: all
    layers: tuple[int, ...] = (),  # hidden states wanted, as HF numbers them
) -> Output:
    """One forward. Logits are sliced to the `vocab` ids that target and draft share.

    The mask is always given, boolean and 4-D: without one, jumping position ids are read as packed sequences
    (code.md 2i), and an eager model would add a boolean mask to its scores (2b).
    """
    out = model(
        input_ids=ids,
        attention_mask=mask[:, None],
        position_ids=positions,
        cache=cache,
        use_cache=True,
        output_hidden_states=list(layers) if layers else None,
        logits_to_keep=0 if keep is None else keep,
    )
    hidden = {n: out.hidden_states[n] for n in layers} if layers else {}
    return Output(out.logits[..., :vocab], hidden, ids.numel())
