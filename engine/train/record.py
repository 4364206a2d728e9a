"""Recorder: keeps what the target saw and said while it was generating, so that features need no second pass."""

import torch
from torch import Tensor
from transformers import PreTrainedModel

from engine.forward import Output
from engine.train.features import TOP, Piece, look


class Recorder:
    """Per row and slot: tapped states and most probable next tokens. The opening's slots are filled once."""

    def __init__(
        self, model: PreTrainedModel, opening: list[int], rows: int, capacity: int, taps: tuple[int, ...], vocab: int
    ) -> None:
        self.taps, self.opening, device = taps, opening, model.device
        width = len(taps) * model.config.hidden_size
        self.states = torch.zeros(rows, capacity, width, dtype=torch.bfloat16, device=device)
        self.top = torch.zeros(rows, capacity, TOP, dtype=torch.int64, device=device)
        self.log_p = torch.zeros(rows, capacity, TOP, device=device)
        for kept, seen in zip(
            (self.states, self.top, self.log_p), next(look(model, [opening], taps, vocab)), strict=True
        ):
            kept[:, : len(opening)] = seen.to(device)

    def write(self, rows: Tensor, slots: Tensor, out: Output) -> None:  # [B], [B]; T = 1
        logits = out.logits[:, 0]
        values, top = logits.topk(TOP, dim=-1)
        self.states[rows, slots] = torch.cat([out.hidden[t][:, 0] for t in self.taps], dim=-1).bfloat16()
        self.top[rows, slots] = top
        self.log_p[rows, slots] = values.float() - logits.float().logsumexp(dim=-1, keepdim=True)

    def piece(self, row: int, ids: list[int], answer: int) -> Piece:
        """The conversation `ids` (opening left out) that this row has just finished."""
        tokens = torch.tensor(self.opening + ids)
        kept = (x[row, : len(tokens)].cpu().clone() for x in (self.states, self.top, self.log_p))
        return Piece(tokens, *kept, answer)
