"""MTP: one module on the target's state drafts token after token, each step fed the output of the one before."""

import torch

from engine.propose.eagle3 import Eagle3
from engine.train.mtp_head import MtpHead


class Mtp(Eagle3):
    """What is kept per row is what EAGLE-3 keeps: pairs on true states, drafted ones behind them, always rolled back.

    The module differs, not the bookkeeping: it reads one hidden state instead of three fused ones.
    """

    def __init__(self, head: MtpHead, embed: torch.nn.Module, **limits: object) -> None:
        super().__init__(head, embed, name="mtp", **limits)
