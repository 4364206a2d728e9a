"""readings: what can be read off the states that a model has at some text, by least squares."""

from dataclasses import dataclass

import torch
from torch import Tensor, nn
from transformers import PreTrainedModel

ALONE = 200.0  # weight of a first token where it is told from the others


@dataclass(frozen=True, slots=True)
class Text:
    """Some conversations in a row. `inner`: tokens with two others before them. `rare`: weight of those, by root."""

    pieces: list[Tensor]  # [T] int64 each
    tokens: Tensor  # [N] int64
    first: Tensor  # [N] bool
    inner: Tensor  # [N] bool
    rare: Tensor  # [inner, 1]; frequent tokens count less than they are frequent: rare ones cannot be guessed


def arranged(pieces: list[Tensor]) -> Text:  # [T] each
    tokens, starts = torch.cat(pieces), torch.tensor([0, *map(len, pieces)]).cumsum(0)[:-1]
    first, inner = torch.zeros(len(tokens), dtype=torch.bool), torch.ones(len(tokens), dtype=torch.bool)
    first[starts], inner[starts], inner[starts + 1] = True, False, False
    rare = torch.bincount(tokens)[tokens].float().pow(-0.35)[inner, None]
    return Text(pieces, tokens, first, inner, rare)


def states(model: PreTrainedModel, norms: list[nn.Module], pieces: list[Tensor]) -> list[Tensor]:  # [N, H] each
    """What comes into each of these norms."""
    seen: list[list[Tensor]] = [[] for _ in norms]
    hooks = [
        norm.register_forward_hook(lambda _, x, y, to=to: to.append(x[0][0]))
        for norm, to in zip(norms, seen, strict=True)
    ]
    for tokens in pieces:
        model.model(input_ids=tokens[None], use_cache=False)
    for hook in hooks:
        hook.remove()
    return [torch.cat(s) for s in seen]


def fit(x: Tensor, y: Tensor, weight: Tensor | float, ridge: float) -> Tensor:  # [N, W], [N, M] -> [W, M]
    """Least squares; `weight` [N, 1] by root."""
    x, y = x * weight, y * weight
    gram = x.T @ x
    return torch.linalg.solve(gram + ridge * gram.diagonal().mean() * torch.eye(len(gram)), x.T @ y)


def told(state: Tensor, which: Tensor, text: Text) -> Tensor:  # [N, H], [N] -> [1, H]
    """Reads 1 at these tokens and 0 at the others, where first tokens are told from the rest."""
    weight = torch.where(text.first, ALONE**0.5, 1.0)[:, None]
    return fit(state, which.float()[:, None], weight, 1e-4).T
