"""competing: which outputs take part in one training step. All of them would be most of the step's work.

Those that the batch's labels name, and a sample of the others. Each sampled one stands for several: log of how many is
added to its logit, so that the sum over all outputs is right on average.

    6 outputs, labels 4 and 1, two of the other four sampled, say 0 and 5
    ids    0 1 4 5        slot   0 1 . . 2 3        shift   log 2, 0, 0, log 2
"""

import math
from dataclasses import dataclass

import torch
from torch import Tensor

OTHERS = 4096


@dataclass(frozen=True, slots=True)
class Competing:
    """`ids`: the outputs, ascending. `slot`: index of every output among them, -1: takes no part."""

    ids: Tensor  # [N] int64
    shift: Tensor  # [N]
    slot: Tensor  # [outputs] int64


def all_of(outputs: int, device: torch.device) -> Competing:
    """Every output takes part."""
    ids = torch.arange(outputs, device=device)
    return Competing(ids, torch.zeros(outputs, device=device), ids)


def sampled(labels: Tensor, outputs: int, others: int = OTHERS) -> Competing:
    """Those in `labels`, any shape, and `others` more, drawn without replacement."""
    named = torch.zeros(outputs, dtype=torch.bool, device=labels.device)
    named[labels.flatten()] = True
    rest = (~named).nonzero()[:, 0]
    drawn = rest[torch.randperm(len(rest), device=rest.device)[:others]]
    ids = torch.cat([named.nonzero()[:, 0], drawn]).sort().values
    stands_for = math.log(len(rest) / len(drawn)) if len(drawn) else 0.0
    slot = torch.full((outputs,), -1, dtype=torch.int64, device=labels.device)
    slot[ids] = torch.arange(len(ids), device=labels.device)
    return Competing(ids, (~named[ids]).float() * stands_for, slot)
