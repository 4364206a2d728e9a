"""The EAGLE-3 head: one decoder layer on the target's hidden states, tensor names as speculators has them (code.md 2f).

Pair t is (token x[t+1], states g[t]) and predicts x[t+2]. The layer's output before the norm takes the place of
the fused states when the head continues on a draft of its own.
"""

from collections.abc import Callable

import torch
from torch import Tensor, nn
from transformers import LlamaConfig, PreTrainedModel
from transformers.models.llama.modeling_llama import LlamaRotaryEmbedding, apply_rotary_pos_emb

#: (queries [B, Hq, T, D], keys [B, H, T, D], values [B, H, T, D]) -> [B, Hq, T, D]; rotated, not yet repeated
Attend = Callable[[Tensor, Tensor, Tensor], Tensor]


def aux_layers(layers: int) -> tuple[int, int, int]:
    """The states that speculators taps by default, as HF numbers them: 30 -> (2, 15, 27)."""
    return 2, layers // 2, layers - 3


class Layer(nn.Module):
    """A Llama layer whose attention reads [embedding | hidden]; the residual is the hidden state before its norm."""

    def __init__(self, config: LlamaConfig) -> None:
        super().__init__()
        h, d, wide = config.hidden_size, config.head_dim, config.intermediate_size
        q, kv = config.num_attention_heads * d, config.num_key_value_heads * d
        self.head_dim = d
        self.input_layernorm = nn.RMSNorm(h, eps=config.rms_norm_eps)
        self.hidden_norm = nn.RMSNorm(h, eps=config.rms_norm_eps)
        self.post_attention_layernorm = nn.RMSNorm(h, eps=config.rms_norm_eps)
        self.self_attn = nn.ModuleDict(
            {
                "q_proj": nn.Linear(2 * h, q, bias=False),
                "k_proj": nn.Linear(2 * h, kv, bias=False),
                "v_proj": nn.Linear(2 * h, kv, bias=False),
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

    def forward(self, embedding: Tensor, hidden: Tensor, turn: tuple[Tensor, Tensor], attend: Attend) -> Tensor:
        x = torch.cat([self.input_layernorm(embedding), self.hidden_norm(hidden)], dim=-1)
        names = ("q_proj", "k_proj", "v_proj")
        q, k, v = (self.self_attn[n](x).unflatten(-1, (-1, self.head_dim)).transpose(1, 2) for n in names)
        q, k = apply_rotary_pos_emb(q, k, *turn)
        hidden = hidden + self.self_attn["o_proj"](attend(q, k, v.to(q.dtype)).transpose(1, 2).flatten(2))
        x = self.post_attention_layernorm(hidden)
        x = nn.functional.silu(self.mlp["gate_proj"](x)) * self.mlp["up_proj"](x)
        return hidden + self.mlp["down_proj"](x)


class Eagle3Head(nn.Module):
    """`state_dict` has exactly the tensors of an exported head; the embedding is the target's and not among them.

    `taps`: the target's hidden states to fuse, HF numbering. `config`: the layer's sizes. The output rows cover
    `draft_vocab` ids only: output i is the target's id i + d2t[i].
    """

    def __init__(self, config: LlamaConfig, taps: tuple[int, ...], draft_vocab: int) -> None:
        super().__init__()
        self.config, self.taps = config, tuple(taps)
        h = config.hidden_size
        self.fc = nn.Linear(len(taps) * h, h, bias=False)
        self.layers = nn.ModuleList([Layer(config)])
        self.norm = nn.RMSNorm(h, eps=config.rms_norm_eps)
        self.lm_head = nn.Linear(h, draft_vocab, bias=False)
        self.rotary = LlamaRotaryEmbedding(config)
        self.register_buffer("d2t", torch.zeros(draft_vocab, dtype=torch.int64))
        self.register_buffer("t2d", torch.zeros(config.vocab_size, dtype=torch.bool))

    @property
    def draft_vocab(self) -> int:
        return self.lm_head.weight.shape[0]

    def fuse(self, states: Tensor) -> Tensor:  # [..., taps * H] -> [..., H]
        return self.fc(states)

    def forward(
        self,
        embedding: Tensor,  # [B, T, H] of x[t+1]
        hidden: Tensor,  # [B, T, H] fused states, or this head's output one step before
        positions: Tensor,  # [B, T]
        attend: Attend,
    ) -> Tensor:  # [B, T, H]
        return self.layers[0](embedding, hidden, self.rotary(embedding, positions), attend)

    def logits(self, hidden: Tensor) -> Tensor:  # [..., H] -> [..., draft_vocab]
        return self.lm_head(self.norm(hidden))

    def to_target(self, drafted: Tensor) -> Tensor:
        """Target ids of outputs: with d2t [3, 4, 9], outputs [0, 2] are ids [3, 11]."""
        return drafted + self.d2t[drafted]

    def set_vocabulary(self, ids: Tensor, unembedding: Tensor) -> None:
        """Take these target ids (ascending) as outputs, and the target's rows for them, frozen."""
        index = torch.arange(len(ids), device=ids.device)
        self.d2t.copy_(ids - index)
        self.t2d.zero_()[ids.to(self.t2d.device)] = True
        self.lm_head.weight.requires_grad_(False).copy_(unembedding[ids.to(unembedding.device)])


def layer_config(target: PreTrainedModel) -> LlamaConfig:
    """The sizes of one of the target's layers, as a one-layer Llama. Raises ValueError for other families."""
    c = target.config
    if c.model_type != "llama":
        raise ValueError(f"an EAGLE-3 head is built for Llama-type targets; this one is {c.model_type!r}")
    return LlamaConfig(
        vocab_size=c.vocab_size,
        hidden_size=c.hidden_size,
        intermediate_size=c.intermediate_size,
        num_hidden_layers=1,
        num_attention_heads=c.num_attention_heads,
        num_key_value_heads=c.num_key_value_heads,
        head_dim=c.head_dim,
        max_position_embeddings=c.max_position_embeddings,
        rms_norm_eps=c.rms_norm_eps,
        rope_parameters=dict(c.rope_parameters),
        bos_token_id=c.bos_token_id,
        eos_token_id=c.eos_token_id,
        pad_token_id=c.pad_token_id,
        tie_word_embeddings=False,
    )


@torch.no_grad()
def from_target(target: PreTrainedModel, ids: Tensor, taps: tuple[int, ...] | None = None) -> Eagle3Head:
    """A head that starts as the target's last layer on the uppermost tapped state.

    The embedding's half of the attention starts at zero: at first the head reads states alone.
    """
    config = layer_config(target)
    head = Eagle3Head(config, taps or aux_layers(target.config.num_hidden_layers), len(ids))
    head = head.to(device=target.device, dtype=target.dtype)
    body = target.get_decoder()
    h, last, layer = config.hidden_size, body.layers[-1], head.layers[0]
    head.fc.weight.zero_()[:, -h:] = torch.eye(h, device=target.device)
    for name in ("q_proj", "k_proj", "v_proj"):
        layer.self_attn[name].weight.zero_()[:, h:] = getattr(last.self_attn, name).weight
    layer.self_attn["o_proj"].weight.copy_(last.self_attn.o_proj.weight)
    for name, linear in layer.mlp.items():
        linear.weight.copy_(getattr(last.mlp, name).weight)
    layer.input_layernorm.weight.copy_(body.layers[0].input_layernorm.weight)
    layer.hidden_norm.weight.copy_(last.input_layernorm.weight)
    layer.post_attention_layernorm.weight.copy_(last.post_attention_layernorm.weight)
    head.norm.weight.copy_(body.norm.weight)
    head.set_vocabulary(ids, target.get_output_embeddings().weight)
    return head
