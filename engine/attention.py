"""Attention mass: which share of a row's attention falls on pads and on dead slots, at one step (papers.md C.2).

The step's forward is run once more with eager attention, which alone gives weights, on the same ids, positions, mask
and cache; the keys that it writes are put back afterwards, so the run goes on as if nothing had been asked.
"""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

import torch
from torch import Tensor
from transformers import PreTrainedModel

from engine.cache import TargetCache
from engine.cache.slots import SlotCache
from engine.config import ConfigError, RunConfig
from engine.feed import Feed
from engine.lane import Lane
from engine.models import Pair
from engine.stream import session


@dataclass(frozen=True, slots=True)
class Mass:
    """Shares of attention mass, means over heads and over the row's real queries; the rest is on its own tokens.

    `pads`: slots that belong to no token. `dead`: entries of tokens that were rejected, replaced or doubled.
    """

    layer: int
    row: int
    pads: float
    dead: float


def attention_mass(pair: Pair, config: RunConfig, prompts: Sequence[str | list[int]], step: int) -> list[Mass]:
    """Every layer and row of one step; the run ends there. Raises ConfigError for a step that it does not have."""
    found: list[Mass] = []
    last = 0

    @torch.inference_mode()
    def observer(lane: Lane, cache: TargetCache, fed: Feed, mask: Tensor) -> None:
        nonlocal last
        last = lane.step
        if lane.step == step:
            found.extend(masses(lane, cache, fed, mask))

    for _ in session({config.method: config}, prompts, pair=pair, certify=False, observer=observer):
        if found:
            break
    if not found:
        raise ConfigError("step", step, f"this run has steps 0 to {last}")
    return found


def masses(lane: Lane, cache: TargetCache, fed: Feed, mask: Tensor) -> Iterator[Mass]:
    """Of the forward that the lane has just made, whose columns are written and not counted yet."""
    pads, dead = kinds(lane, cache, fed, mask)
    for layer, weights in enumerate(attention_weights(lane.pair.target, cache, fed, mask)):
        per_query = weights.double().mean(dim=1)  # [B, T, S]
        for i, row in enumerate(lane.batch_rows):
            real = per_query[i, fed.owners[i] >= 0]  # [queries, S]
            shares = [float(real[:, kind[i]].sum(dim=1).mean()) for kind in (pads, dead)]
            yield Mass(layer, row.row, *shares)


def kinds(lane: Lane, cache: TargetCache, fed: Feed, mask: Tensor) -> tuple[Tensor, Tensor]:  # [B, S] bool each
    """Which slots are pads and which are dead, as the shadow shows it. The columns just fed are never dead.

    content A B C, drafts once D and E, of which none was kept; the row was fed C at owner 2:

        slot    0    1   2   3   4   5
        owner   -1   0   1   2   3   2     slot 0 is a pad; 3 and 4 hold rejected drafts: dead
        token   .    A   B   D   E   C
    """
    rows = cache.active[: len(fed.lens)] if isinstance(cache, SlotCache) else torch.arange(len(fed.lens))
    shadow = cache.shadow[rows, : mask.shape[2]].tolist()
    pads = torch.tensor([[entry[0] < 0 for entry in row] for row in shadow])
    dead = torch.zeros_like(pads)
    for i, row in enumerate(lane.batch_rows):
        last, taken = mask[i, -1].tolist(), set()
        seen_first = sorted(range(fed.starts[i]), key=lambda slot: (not last[slot], slot))
        for slot in seen_first:
            owner, token, _ = shadow[i][slot]
            right = 0 <= owner < len(row.ids) - 1 and token == row.ids[owner] and owner not in taken
            taken.update([owner] if right else [])
            dead[i, slot] = owner >= 0 and not right
        beyond = fed.starts[i] + fed.tokens.shape[1]  # in a slot cache other rows may be longer
        dead[i, beyond:] |= ~pads[i, beyond:]
    return pads.to(mask.device), dead.to(mask.device)


def attention_weights(
    model: PreTrainedModel, cache: TargetCache, fed: Feed, mask: Tensor
) -> tuple[Tensor, ...]:  # per layer [B, heads, T, S]
    """The weights of one forward into a cache that stands where it stood before it; the cache is left as it was."""
    kept = [(layer.keys.clone(), layer.values.clone()) for layer in cache.layers]
    added = torch.zeros(mask.shape, dtype=model.dtype, device=mask.device)
    added = added.masked_fill(~mask, torch.finfo(model.dtype).min)[:, None]
    with eager(model):
        out = model(
            input_ids=fed.tokens,
            attention_mask=added,
            position_ids=fed.positions,
            cache=cache,
            use_cache=True,
            output_attentions=True,
            logits_to_keep=1,
        )
    for layer, (keys, values) in zip(cache.layers, kept, strict=True):
        layer.keys.copy_(keys)
        layer.values.copy_(values)
    return out.attentions


@contextmanager
def eager(model: PreTrainedModel) -> Iterator[None]:
    """Eager attention for the time being. It adds its mask to the scores, so the mask must not be boolean."""
    before = model.config._attn_implementation
    model.set_attn_implementation("eager")
    try:
        yield
    finally:
        model.set_attn_implementation(before)


def chosen(found: list[Mass], layer: int | None) -> list[Mass]:
    """Those of one layer. Raises ConfigError when the model has no such layer."""
    if layer is None:
        return found
    if not (kept := [m for m in found if m.layer == layer]):
        raise ConfigError("layer", layer, f"this model has layers 0 to {found[-1].layer}")
    return kept
