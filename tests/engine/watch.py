"""An observer for any cache: what the engine itself held at every forward, and the fold held against it."""

from dataclasses import dataclass, field

import torch
from torch import Tensor

from engine.cache.slots import SlotCache
from engine.feed import Feed
from engine.fold import Fold
from engine.lane import Lane


@dataclass(frozen=True)
class Seen:
    """One forward: its rows, what it was fed, its mask [B, T, S] and the shadow [B, S, 3] with the new columns in."""

    rows: list[int]
    fed: Feed
    mask: Tensor
    shadow: Tensor
    place: list[int]  # the row of the cache that each batch row occupies


@dataclass
class Watch:
    """Give it to a session as `observer`. `store`: (rows of the largest slot cache, rows of the largest rectangle)."""

    seen: dict[tuple[str, int], Seen] = field(default_factory=dict)
    lanes: dict[str, Lane] = field(default_factory=dict)
    slot_rows: int = 0
    padded_rows: int = 0

    def __call__(self, lane: Lane, cache: object, fed: Feed, mask: Tensor) -> None:
        rows = [r.row for r in lane.batch_rows]
        if isinstance(cache, SlotCache):
            place = cache.active[: len(rows)]
            self.slot_rows = max(self.slot_rows, len(cache.layers[0].keys))
        else:
            place = torch.arange(len(rows))
            self.padded_rows = max(self.padded_rows, len(cache.layers[0].keys))
        shadow = cache.shadow[place, : mask.shape[2]].clone()
        self.seen[lane.name, lane.step] = Seen(rows, fed, mask.clone(), shadow, place.tolist())
        self.lanes[lane.name] = lane

    def assert_equals(self, state: Fold) -> int:
        """Every frame of every lane is what the engine held; returns how many frames were compared."""
        frames = {(lane.name, f.step): f for lane in state.lanes.values() for f in lane.frames}
        assert frames.keys() == self.seen.keys()
        for at, frame in frames.items():
            seen = self.seen[at]
            assert frame.rows == seen.rows, at
            assert frame.tokens == seen.fed.tokens.tolist(), at
            assert frame.positions == seen.fed.positions.tolist(), at
            assert frame.slots == seen.fed.starts, at
            for i, row in enumerate(frame.rows):
                n, kv = seen.mask.shape[2], frame.fed[row]
                held = [list(cells) for cells in zip(kv.owner[:n], kv.token[:n], kv.position[:n], strict=True)]
                assert held == seen.shadow[i].tolist(), f"{at}: entries of row {row}"
                masked = [line[:n] for line in frame.mask(i)]
                assert masked == seen.mask[i].int().tolist(), f"{at}: mask of row {row}"
                assert not any(kv.visible[n:]), f"{at}: row {row} shows slots behind the forward's"
        return len(frames)
