"""What the heads that draft on the target's hidden states have in common: sizes, decoder layer, draft vocabulary.

Pair t is (token x[t+1], states g[t]) and predicts x[t+2]. A head's output before its last norm takes the place of the
states when it continues on a draft of its own.
"""

from collections.abc import Callable
from typing import ClassVar

import torch
from torch import Tensor, nn
from transformers import LlamaConfig, PreTrainedModel
from transformers.models.llama.modeling_llama import LlamaRotaryEmbedding, apply_rotary_pos_emb

#: (queries [B, Hq, T, D], keys [B, H, T, D], values [B, H, T, D]) -> [B, Hq, T, D]; rotated, not yet repeated
Attend = Callable[[Tensor, Tensor, Tensor], Tensor]


def aux_layers(layers: int) -> tuple[int, int, int]:
    """The states that speculators taps by default, as HF numbers them: 30 -> (2, 15, 27). Features keep these."""
    return 2, layers // 2, layers - 3


class Block(nn.Module):
    """Attention and MLP of a Llama layer whose attention reads vectors of `width`; norms before it are its user's."""

    def __init__(self, config: LlamaConfig, width: int) -> None:
        super().__init__()
        h, d, wide = config.hidden_size, config.head_dim, config.intermediate_size
        q, kv = config.num_attention_heads * d, config.num_key_value_heads * d
        self.head_dim = d
        self.post_attention_layernorm = nn.RMSNorm(h, eps=config.rms_norm_eps)
        self.self_attn = nn.ModuleDict(
            {
                "q_proj": nn.Linear(width, q, bias=False),
                "k_proj": nn.Linear(width, kv, bias=False),
                "v_proj": nn.Linear(width, kv, bias=False),
                "o_proj": nn.Linear(q, h, bias=False),
            }
        )
        self.mlp = nn.ModuleDict(
            {
                "gate_proj": nn.Linear(h, wide, bias=False),
                "up_proj": nn.Linear(h, wide, bias=False),
                "down_proj": nn.Linear(wide, h, bias=False),
            }
        )

    def block(
        self,
        x: Tensor,  # [B, T, width], normed
        hidden: Tensor,  # [B, T, H], the residual
        turn: tuple[Tensor, Tensor],  # cos and sin of the positions
        attend: Attend,
    ) -> Tensor:  # [B, T, H]
        names = ("q_proj", "k_proj", "v_proj")
        q, k, v = (self.self_attn[n](x).unflatten(-1, (-1, self.head_dim)).transpose(1, 2) for n in names)
        q, k = apply_rotary_pos_emb(q, k, *turn)
        hidden = hidden + self.self_attn["o_proj"](attend(q, k, v.to(q.dtype)).transpose(1, 2).flatten(2))
        x = self.post_attention_layernorm(hidden)
        x = nn.functional.silu(self.mlp["gate_proj"](x)) * self.mlp["up_proj"](x)
        return hidden + self.mlp["down_proj"](x)

    def copy_layer(self, layer: nn.Module) -> None:
        """Take the weights of one of the target's layers; of a wider attention the last columns, the first are zero."""
        for name in ("q_proj", "k_proj", "v_proj"):
            weight = getattr(layer.self_attn, name).weight
            self.self_attn[name].weight.zero_()[:, -weight.shape[1] :] = weight
        self.self_attn["o_proj"].weight.copy_(layer.self_attn.o_proj.weight)
        for name, linear in self.mlp.items():
            linear.weight.copy_(getattr(layer.mlp, name).weight)
        self.post_attention_layernorm.weight.copy_(layer.post_attention_layernorm.weight)


class DraftHead(nn.Module):
    """A head for one target. `taps`: the hidden states it reads, HF numbering. `config`: its layer's sizes.

    The output rows are the target's own for `draft_vocab` ids only: output i is the target's id i + d2t[i]. The
    embedding is the target's and not among the tensors.
    """

    kind: ClassVar[str]

    def __init__(self, config: LlamaConfig, taps: tuple[int, ...], draft_vocab: int) -> None:
        super().__init__()
        self.config, self.taps = config, tuple(taps)
        self.lm_head = nn.Linear(config.hidden_size, draft_vocab, bias=False)
        self.rotary = LlamaRotaryEmbedding(config)
        self.register_buffer("d2t", torch.zeros(draft_vocab, dtype=torch.int64))
        self.register_buffer("t2d", torch.zeros(config.vocab_size, dtype=torch.bool))

    @classmethod
    def from_target(cls, target: PreTrainedModel, ids: Tensor, taps: tuple[int, ...] | None = None) -> "DraftHead":
        """A head to train whose output covers `ids`, made of the target's weights. Raises like `layer_config`."""
        raise NotImplementedError

    def fuse(self, states: Tensor) -> Tensor:  # [..., taps * H] -> [..., H]
        """What stands for the target's states of a token."""
        raise NotImplementedError

    def forward(
        self,
        embedding: Tensor,  # [B, T, H] of x[t+1]
        hidden: Tensor,  # [B, T, H] fused states, or this head's output one step before
        positions: Tensor,  # [B, T]
        attend: Attend,
    ) -> Tensor:  # [B, T, H]
        raise NotImplementedError

    def final(self, hidden: Tensor) -> Tensor:  # [..., H] -> [..., H]
        """The norm before the output rows."""
        raise NotImplementedError

    def logits(self, hidden: Tensor, outputs: Tensor | None = None) -> Tensor:  # [..., H] -> [..., N]
        """Of the outputs [N] that are asked for, else of all: N = draft_vocab."""
        rows = self.lm_head.weight if outputs is None else self.lm_head.weight[outputs]
        return nn.functional.linear(self.final(hidden), rows)

    @property
    def draft_vocab(self) -> int:
        return self.lm_head.weight.shape[0]

    def to_target(self, drafted: Tensor) -> Tensor:
        """Target ids of outputs: with d2t [3, 4, 9], outputs [0, 2] are ids [3, 11]."""
        return drafted + self.d2t[drafted]

    @torch.no_grad()
    def set_vocabulary(self, ids: Tensor, unembedding: Tensor) -> None:
        """Take these target ids (ascending) as outputs, and the target's rows for them, frozen."""
        device, weight = self.t2d.device, self.lm_head.weight
        ids = ids.to(device)
        self.d2t = ids - torch.arange(len(ids), device=device)
        self.t2d.zero_()[ids] = True
        rows = unembedding[ids.to(unembedding.device)].to(device=device, dtype=weight.dtype)
        self.lm_head.weight = nn.Parameter(rows, requires_grad=False)


def kv_heads(tensors: dict[str, Tensor], target: PreTrainedModel) -> int:
    """How many KV heads a head with these tensors has."""
    return next(len(w) for name, w in tensors.items() if name.endswith("k_proj.weight")) // target.config.head_dim


def layer_config(target: PreTrainedModel, kv_heads: int | None = None) -> LlamaConfig:
    """The sizes of one of the target's layers, as a one-layer Llama, with as many KV heads or with `kv_heads`.

    Query heads come in the target's groups. Raises ValueError for other families.
    """
    c = target.config
    kv_heads = kv_heads or c.num_key_value_heads
    if c.model_type != "llama":
        raise ValueError(f"a head is built for Llama-type targets; this one is {c.model_type!r}")
    return LlamaConfig(
        vocab_size=c.vocab_size,
        hidden_size=c.hidden_size,
        intermediate_size=c.intermediate_size,
        num_hidden_layers=1,
        num_attention_heads=kv_heads * (c.num_attention_heads // c.num_key_value_heads),
        num_key_value_heads=kv_heads,
        head_dim=c.head_dim,
        max_position_embeddings=c.max_position_embeddings,
        rms_norm_eps=c.rms_norm_eps,
        rope_parameters=dict(c.rope_parameters),
        bos_token_id=c.bos_token_id,
        eos_token_id=c.eos_token_id,
        pad_token_id=c.pad_token_id,
        tie_word_embeddings=False,
    )
