"""A tape of what the engine itself held at every verified forward, recorded beside the events and not from them."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

import pytest
import torch
from torch import Tensor

from engine.cache.padded import PaddedCache
from engine.feed import Feed
from engine.lane import Lane
from engine.trace import Event, Kv, Spans


@dataclass(frozen=True)
class Shot:
    """The tensors around one forward, cloned. `before` = slots that were in use, T columns follow them."""

    lane: str
    step: int
    rows: list[int]
    before: int
    fed: Feed
    mask: Tensor  # [B, T, before + T]
    shadow: Tensor  # [B, before + T, 3]
    visible: Tensor  # [B, before + T]


@dataclass
class Tape:
    """Give it to a session as `observer`; `after` and `drafter` follow the events through `beside`."""

    shots: dict[tuple[str, int], Shot] = field(default_factory=dict)
    lanes: dict[str, list[Lane]] = field(default_factory=dict)
    after: dict[tuple[str, int], dict[int, tuple[Tensor, Tensor]]] = field(default_factory=dict)
    drafter: dict[tuple[str, int], dict[int, Tensor]] = field(default_factory=dict)
    _caches: dict[str, PaddedCache] = field(default_factory=dict)

    def __call__(self, lane: Lane, cache: PaddedCache, fed: Feed, mask: Tensor) -> None:
        width = cache.width + fed.tokens.shape[1]
        shot = Shot(
            lane.name,
            lane.step,
            [r.row for r in lane.batch_rows],
            cache.width,
            fed,
            mask.clone(),
            cache.shadow[:, :width].clone(),
            cache.visible[:, :width].clone(),
        )
        self.shots[lane.name, lane.step] = shot
        self._caches[lane.name] = cache
        if lane not in self.lanes.setdefault(lane.name, []):
            self.lanes[lane.name].append(lane)

    def beside(self, events: Iterable[Event]) -> Iterator[Event]:
        """The events, and with each the tensors that it tells of: the drafter's cache, the cache after a step."""
        for event in events:
            if isinstance(event, Kv) and event.model == "draft":
                lane = self.lanes[event.lane][-1]
                cache, at = lane.proposer.cache, lane.proposer.at
                rows = [r.row for r in lane.batch_rows]
                kept = {row: cache.shadow[at[row], : int(cache.count[at[row]])].clone() for row in rows}
                self.drafter[event.lane, event.step] = kept
            elif isinstance(event, Spans):
                lane, cache = self.lanes[event.lane][-1], self._caches[event.lane]
                rows = [r.row for r in lane.batch_rows if not r.done] or [r.row for r in lane.batch_rows]
                shadow, visible = cache.shadow[:, : cache.width], cache.visible[:, : cache.width]
                kept = {row: (shadow[i].clone(), visible[i].clone()) for i, row in enumerate(rows)}
                assert cache.rows == len(rows), f"{cache.rows} cache rows for rows {rows}"
                self.after[event.lane, event.step] = kept
            yield event


@pytest.fixture
def tape() -> Tape:
    return Tape()


@pytest.fixture(autouse=True, scope="session")
def _one_thread() -> None:
    torch.set_num_threads(1)
