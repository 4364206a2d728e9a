"""Unpad, append, repad: papers.md A.3 steps 4 and 5, with finished rows leaving the batch (A.6)."""

from collections.abc import Iterator

import torch

from engine.cache.padded import PaddedCache
from engine.lane import Lane
from engine.row import Row
from engine.trace import Event


def realign(lane: Lane, cache: PaddedCache, rows: list[Row], keep: set[int] | None = None) -> Iterator[Event]:
    """Bring the live rows (or those in `keep`) back to one rectangle of width L' - 1; the rest drops out.

    delta_i = p'_i - p_i for each row. When every delta is 0 and no row left, the rectangle is only cropped (but the
    published code copies even then).

        B=3, c=(5,3,4), L=5, p=(0,2,1), K=3, accepted (1,3,0):  c'=(7,7,5), L'=7, p'=(0,0,2), delta=(0,-2,+1)
        slots before [0,6) [2,8) [1,5)  ->  after [0,6) [0,6) [2,6), width 6
    """
    stay = [i for i, r in enumerate(rows) if (not r.done if keep is None else r.row in keep)]
    if not stay:
        return
    with lane.spans.timed("realign"):
        content = [len(rows[i].ids) for i in stay]
        longest = max(content)
        first = first_slots(cache)
        source = [first[i] for i in stay]
        target = [longest - c for c in content]
        width = longest - 1
        moves = [[rows[i].row, s, t, width - t] for i, s, t in zip(stay, source, target, strict=True)]
        paper = lane.config.fidelity == "paper"
        if not paper and len(stay) == len(rows) and source == target:
            avoided = cache.rows * width * cache.slot_bytes
            cache.crop(width)
            op, copied = "crop", 0
            moves = [[rows[i].row, 0, 0, width] for i in stay]  # nothing moved: the pads in front are still there
        else:
            device = cache.shadow.device
            index = [torch.tensor(x, device=device) for x in (stay, source, target)]
            copied, avoided = cache.realign(*index, width, by_row=paper), 0
            op = "realign" if len(stay) == len(rows) else "compact"
    yield lane.kv_op(op, cache.width, moves, copied, avoided)
    yield lane.kv_state(cache, [rows[i] for i in stay])


def first_slots(cache: PaddedCache) -> list[int]:  # [B]
    """The slot of each row's first content token, as the shadow shows it."""
    return (cache.shadow[:, :, 0] == 0).int().argmax(dim=1).tolist()
