"""Observed: one forward of somebody else's loop, as the model received it: ids, mask, positions, cache."""

from dataclasses import dataclass

import torch
from torch import Tensor, nn
from transformers import Cache
from transformers.cache_utils import DynamicLayer

from engine.scribe import best_two


class RecorderError(ValueError):
    """A loop that cannot be recorded: says what it did and what would work."""


@dataclass(slots=True)
class Observed:
    """`seen` [B, S + T]: slots that the row's last query was shown (all, without a mask), `held` = S: slots in the
    cache before.
    """

    ids: Tensor  # [B, T] int64
    seen: Tensor  # [B, S + T] bool
    held: int
    cache: Cache | None
    masked: bool  # the loop gave a mask
    positions: Tensor | None = None  # [B, T] int64

    def owners(self, i: int, ids: list[int], longest: int) -> list[int]:  # [T]
        """The content index of each column of batch row i whose committed ids are `ids`; -1 for pads and filler.

        Behind a cache: the last committed token, then drafts as far as the mask shows columns. Without one the ids
        lie at the end of the row, or at its start: then drafts follow where a mask shows them, or, as without a mask
        pads look the same, where this row is the `longest`; failing both, the ids are what the mask shows.
        """
        t = self.ids.shape[1]
        shown = [n for n, yes in enumerate(self.seen[i, self.held :].tolist()) if yes]
        if self.held:
            return [len(ids) - 1 + n if n < max(1, len(shown)) else -1 for n in range(t)]
        fed = self.ids[i].tolist()
        first = next((at for at in (t - len(ids), 0) if at >= 0 and fed[at : at + len(ids)] == ids), None)
        if first is None:
            return [shown.index(n) if n in shown else -1 for n in range(t)]
        end = first + len(ids)
        end += sum(n >= end for n in shown) if self.masked or len(ids) == longest else 0
        return [n - first if first <= n < end else -1 for n in range(t)]

    def solid(self, i: int) -> bool:
        """Whether the slots that batch row i sees lie together, up to the new ones: no hole, pads in front only."""
        old = self.seen[i, : self.held].tolist()
        return old == sorted(old)

    def chosen(self, i: int, logits: Tensor, columns: range) -> tuple[list[int], list[list[float]]]:
        """The argmax after each of these columns of batch row i, and [second id, first logit, second logit].

        `logits` [B, N, V] are those of the last N columns, as the loop has asked for.
        """
        skipped = self.ids.shape[1] - logits.shape[1]
        if columns.start < skipped:
            works = "ask for all, or pad the prompts on the left"
            raise RecorderError(f"the loop takes logits of the last {logits.shape[1]} columns only: {works}")
        ids, values = best_two(logits[i, columns.start - skipped : columns.stop - skipped])
        top2 = [[n[1], *v] for n, v in zip(ids.tolist(), values.round(decimals=4).tolist(), strict=True)]
        return ids[:, 0].tolist(), top2


def observe(args: tuple, kwargs: dict) -> Observed:
    """What a model's forward was called with. Raises RecorderError where that cannot be told."""
    ids = kwargs.get("input_ids", args[0] if args else None)
    if ids is None:
        raise RecorderError("the loop feeds embeddings (inputs_embeds); feed input_ids")
    mask = kwargs.get("attention_mask", args[1] if len(args) > 1 else None)
    cache = kwargs.get("cache", kwargs.get("past_key_values"))
    held = width(cache)
    return Observed(ids, shown(mask, held, ids), held, cache, mask is not None)


def width(cache: Cache | None) -> int:
    """Slots in use. Raises RecorderError for a cache whose slots do not simply follow each other."""
    if cache is None:
        return 0
    if wrong := next((type(n).__name__ for n in getattr(cache, "layers", [cache]) if type(n) is not DynamicLayer), ""):
        raise RecorderError(f"the cache has a {wrong}; a DynamicCache of full-attention layers works")
    layers = [n for n in cache.layers if n.is_initialized and n.keys.numel()]
    return layers[-1].keys.shape[2] if layers else 0


def shown(mask: Tensor | None, held: int, ids: Tensor) -> Tensor:  # [B, S + T] bool
    """The slots that each row's last query sees: by a mask [B, S + T], or [B, 1, T, S + T] boolean or additive."""
    b, total = ids.shape[0], held + ids.shape[1]
    if mask is None:
        return torch.ones(b, total, dtype=torch.bool)
    if mask.dim() == 4:
        last = mask[:, 0, -1]
        last = last if mask.dtype == torch.bool else last > -1
        return last.expand(b, -1)[:, :total].cpu()
    out = torch.zeros(b, total, dtype=torch.bool)  # what a mask leaves out is hidden: transformers fills up with zeros
    given = mask[:, :total] > 0
    out[:, : given.shape[1]] = given
    return out


class PositionHooks:
    """The position ids that reach the model's position embedding, whoever made them."""

    def __init__(self, model: nn.Module) -> None:
        self.last: Tensor | None = None
        found = [m for name, m in model.named_modules() if is_position_embedding(name, m)]
        if not found:
            raise RecorderError(f"{type(model).__name__} has no position embedding that can be watched")
        self.handles = [m.register_forward_pre_hook(self._saw, with_kwargs=True) for m in found]

    def _saw(self, module: nn.Module, args: tuple, kwargs: dict) -> None:
        given = kwargs.get("position_ids", args[-1] if args else None)
        if isinstance(given, Tensor) and not given.is_floating_point():
            self.last = given.detach()

    def take(self, ids: Tensor) -> Tensor:  # [B, T] int64
        """The position ids of the forward that has just run."""
        if self.last is None:
            raise RecorderError("the model's position ids could not be seen: pass position_ids")
        found, self.last = self.last, None
        return found.reshape(-1, found.shape[-1]).expand(ids.shape[0], -1).cpu()


def is_position_embedding(name: str, module: nn.Module) -> bool:
    """The part that turns position ids into angles (rotary) or looks them up (learned)."""
    return "rotary" in type(module).__name__.lower() or name.rsplit(".", 1)[-1] in ("wpe", "embed_positions")
