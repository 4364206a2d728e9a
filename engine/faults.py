"""Breaking EQSPEC on purpose, one step at a time: what each fault does to a round. None of them was published.

Two rows before a clean-up, K=2, row 0 accepted none, row 1 both; pads (0, 2) become (0, 0), delta (0, -2), width 4:

    right           A B C D   x y d e        every row's entries move by its delta, the mask shows the new pads
    kv_not_moved    A B C D   _ _ x y        slots are cut to the new width where they are; the mask is the new one
    stale_mask      A B C D   (x y) d e      the entries moved, but the mask still hides the old pads' slots
    pads_visible    no mask at all           pads are attended like words
"""

from collections.abc import Iterator
from dataclasses import replace

import torch

from engine.cache.padded import PaddedCache
from engine.feed import Feed
from engine.lane import Lane
from engine.methods.realign import first_slots, realign
from engine.propose import Draft
from engine.row import Row
from engine.trace import Event

CACHE_FAULTS = frozenset({"kv_not_moved", "stale_mask", "pads_visible"})


def fed_by_slot(fed: Feed, faults: frozenset[str]) -> Feed:
    """slot_positions: the position id of a column is its slot, whatever token it carries."""
    if "slot_positions" not in faults:
        return fed
    slots = fed.first + torch.arange(fed.tokens.shape[1], device=fed.tokens.device)
    return replace(fed, positions=slots.expand_as(fed.tokens).contiguous())


def clean_up(lane: Lane, cache: PaddedCache, rows: list[Row]) -> Iterator[Event]:
    """The realignment, spoiled as the lane's faults say; without such a fault the right one."""
    faults = lane.config.faults & CACHE_FAULTS
    stay = [i for i, r in enumerate(rows) if not r.done]
    if not faults or not stay:
        yield from realign(lane, cache, rows)
        return
    old = [first_slots(cache)[i] for i in stay]
    if "kv_not_moved" in faults:
        yield from _cut(lane, cache, rows, stay)
    else:
        yield from realign(lane, cache, rows)
    slot = torch.arange(cache.capacity, device=cache.shadow.device)
    used = slot < cache.width
    if "stale_mask" in faults:
        cache.visible = used & (slot >= torch.tensor(old, device=slot.device)[:, None])
    if "pads_visible" in faults:
        cache.visible = used.expand(len(stay), -1).clone()
    yield lane.kv_state(cache, [rows[i] for i in stay])


def _cut(lane: Lane, cache: PaddedCache, rows: list[Row], stay: list[int]) -> Iterator[Event]:
    longest = max(len(rows[i].ids) for i in stay)
    copied = cache.select(torch.tensor(stay, device=cache.shadow.device)) if len(stay) < len(rows) else 0
    cache.crop(longest - 1)
    slot = torch.arange(cache.capacity, device=cache.shadow.device)
    pads = torch.tensor([[longest - len(rows[i].ids)] for i in stay], device=slot.device)
    cache.visible = (slot >= pads) & (slot < cache.width)
    op = "compact" if copied else "crop"
    yield lane.kv_op(op, cache.width, [[rows[i].row, 0, 0, cache.width] for i in stay], copied)


def unverified_last(draft: Draft, faults: frozenset[str]) -> tuple[Draft, list[int]]:
    """draft_bonus: a row's last draft is not verified; where all others agree it is taken for the bonus (-1: none)."""
    if "draft_bonus" not in faults or not draft.tokens.shape[1]:
        return draft, [-1] * len(draft.why)
    bonus = [d[-1] if d else -1 for d in draft.listed()]
    lens = (draft.lens - 1).clamp(min=0)
    return replace(draft, tokens=draft.tokens[:, : int(lens.max())], lens=lens), bonus


def commit(
    lane: Lane, rows: list[Row], draft: Draft, accepted: torch.Tensor, token: torch.Tensor, bonus: list[int]
) -> Event:
    """mismatch_kept: the first draft that disagrees is appended instead of the target's token."""
    tokens, kinds = [], []
    for d, j, t, b in zip(draft.listed(), accepted.tolist(), token.tolist(), bonus, strict=True):
        mismatch = "mismatch_kept" in lane.config.faults and j < len(d)
        tokens.append([*d[:j], d[j] if mismatch else b if b >= 0 and j == len(d) else t])
        kinds.append("a" * j + ("m" if mismatch else "b" if j == len(d) else "c"))
    return lane.commit_tokens(rows, draft, accepted.tolist(), tokens, kinds)
