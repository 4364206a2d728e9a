"""The MTP module: one decoder layer that is fed its own output for every further draft (code.md 2f).

It reads the uppermost state that features keep, three layers below the target's last. Tensor names are those that
speculators uses; vLLM serves MTP only as native weights of some families, and a Llama's module not at all.
"""

import torch
from torch import Tensor, nn
from transformers import DynamicCache, LlamaConfig, PreTrainedModel

from engine.forward import forward
from engine.train.draft_head import Attend, Block, DraftHead, aux_layers, layer_config


class MtpLayer(Block):
    """input_proj joins the normed embedding and the normed hidden state; an ordinary Llama layer follows."""

    def __init__(self, config: LlamaConfig) -> None:
        h, eps = config.hidden_size, config.rms_norm_eps
        super().__init__(config, h)
        self.token_layernorm = nn.RMSNorm(h, eps=eps)
        self.hidden_layernorm = nn.RMSNorm(h, eps=eps)
        self.input_proj = nn.Linear(2 * h, h, bias=False)
        self.input_layernorm = nn.RMSNorm(h, eps=eps)
        self.final_layernorm = nn.RMSNorm(h, eps=eps)

    def forward(self, embedding: Tensor, hidden: Tensor, turn: tuple[Tensor, Tensor], attend: Attend) -> Tensor:
        joined = torch.cat([self.token_layernorm(embedding), self.hidden_layernorm(hidden)], dim=-1)
        hidden = self.input_proj(joined).to(embedding.dtype)  # autocast: sums stay float32
        return self.block(self.input_layernorm(hidden), hidden, turn, attend)


class MtpHead(DraftHead):
    """One layer for all steps: step s reads what it gave at step s - 1, before its final norm."""

    kind = "mtp"

    def __init__(self, config: LlamaConfig, taps: tuple[int, ...], draft_vocab: int) -> None:
        super().__init__(config, taps[-1:], draft_vocab)
        self.mtp_layers = nn.ModuleList([MtpLayer(config)])

    @classmethod
    @torch.no_grad()
    def from_target(cls, target: PreTrainedModel, ids: Tensor, taps: tuple[int, ...] | None = None) -> "MtpHead":
        """It starts as the target's last layer on the tapped state, brought back to its usual size behind the norm.

        The embedding's half of `input_proj` starts at zero: at first the module reads states alone.
        """
        config = layer_config(target)
        head = cls(config, taps or aux_layers(target.config.num_hidden_layers), len(ids))
        head = head.to(device=target.device, dtype=target.dtype)
        body, layer, h = target.get_decoder(), head.mtp_layers[0], config.hidden_size
        layer.copy_layer(body.layers[-1])
        layer.token_layernorm.weight.copy_(body.layers[0].input_layernorm.weight)
        layer.input_proj.weight.zero_()[:, h:] = usual_size(target, head.taps[0]) * torch.eye(h, device=target.device)
        layer.input_layernorm.weight.copy_(body.layers[-1].input_layernorm.weight)
        layer.final_layernorm.weight.copy_(body.norm.weight)
        head.set_vocabulary(ids, target.get_output_embeddings().weight)
        return head

    def fuse(self, states: Tensor) -> Tensor:  # [..., taps * H] -> [..., H]; features hold more states than this one
        return states[..., -self.config.hidden_size :]

    def forward(self, embedding: Tensor, hidden: Tensor, positions: Tensor, attend: Attend) -> Tensor:
        return self.mtp_layers[0](embedding, hidden, self.rotary(embedding, positions), attend)

    def final(self, hidden: Tensor) -> Tensor:
        return self.mtp_layers[0].final_layernorm(hidden)


def usual_size(target: PreTrainedModel, tap: int, tokens: int = 32) -> Tensor:
    """Median root mean square of the tapped state, over a text of any tokens; its first is often an outlier."""
    ids = torch.arange(tokens, device=target.device)[None] % target.config.vocab_size
    mask = torch.ones(1, tokens, tokens, dtype=torch.bool, device=target.device).tril()
    positions = torch.arange(tokens, device=target.device)[None]
    seen = forward(target, ids, positions, mask, DynamicCache(), vocab=target.config.vocab_size, layers=(tap,))
    return seen.hidden[tap].pow(2).mean(dim=-1).sqrt().median().clone()
