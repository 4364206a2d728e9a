"""The EAGLE-3 head: one decoder layer on three of the target's hidden states, with speculators' names (code.md 2f)."""

import torch
from torch import Tensor, nn
from transformers import LlamaConfig, PreTrainedModel

from engine.train.draft_head import Attend, Block, DraftHead, aux_layers, layer_config


class Layer(Block):
    """A Llama layer whose attention reads [embedding | hidden]; the residual is the hidden state before its norm."""

    def __init__(self, config: LlamaConfig) -> None:
        super().__init__(config, 2 * config.hidden_size)
        self.input_layernorm = nn.RMSNorm(config.hidden_size, eps=config.rms_norm_eps)
        self.hidden_norm = nn.RMSNorm(config.hidden_size, eps=config.rms_norm_eps)

    def forward(self, embedding: Tensor, hidden: Tensor, turn: tuple[Tensor, Tensor], attend: Attend) -> Tensor:
        x = torch.cat([self.input_layernorm(embedding), self.hidden_norm(hidden)], dim=-1)
        return self.block(x, hidden, turn, attend)


class Eagle3Head(DraftHead):
    """`state_dict` has exactly the tensors of an exported head."""

    kind = "eagle3"

    def __init__(self, config: LlamaConfig, taps: tuple[int, ...], draft_vocab: int) -> None:
        super().__init__(config, taps, draft_vocab)
        self.fc = nn.Linear(len(taps) * config.hidden_size, config.hidden_size, bias=False)
        self.layers = nn.ModuleList([Layer(config)])
        self.norm = nn.RMSNorm(config.hidden_size, eps=config.rms_norm_eps)

    @classmethod
    @torch.no_grad()
    def from_target(cls, target: PreTrainedModel, ids: Tensor, taps: tuple[int, ...] | None = None) -> "Eagle3Head":
        """It starts as the target's last layer on the uppermost tapped state.

        The embedding's half of the attention starts at zero: at first the head reads states alone.
        """
        config = layer_config(target)
        head = cls(config, taps or aux_layers(target.config.num_hidden_layers), len(ids))
        head = head.to(device=target.device, dtype=target.dtype)
        body, layer = target.get_decoder(), head.layers[0]
        head.fc.weight.zero_()[:, -config.hidden_size :] = torch.eye(config.hidden_size, device=target.device)
        layer.copy_layer(body.layers[-1])
        layer.input_layernorm.weight.copy_(body.layers[0].input_layernorm.weight)
        layer.hidden_norm.weight.copy_(body.layers[-1].input_layernorm.weight)
        head.norm.weight.copy_(body.norm.weight)
        head.set_vocabulary(ids, target.get_output_embeddings().weight)
        return head

    def fuse(self, states: Tensor) -> Tensor:  # [..., taps * H] -> [..., H]
        return self.fc(states)

    def forward(self, embedding: Tensor, hidden: Tensor, positions: Tensor, attend: Attend) -> Tensor:
        return self.layers[0](embedding, hidden, self.rotary(embedding, positions), attend)

    def final(self, hidden: Tensor) -> Tensor:
        return self.norm(hidden)
