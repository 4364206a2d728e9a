"""Slots: exact batch speculation that moves nothing: every row writes its KV in place at its own offset."""

from collections.abc import Generator, Iterator

import torch

from engine import feed
from engine.cache.slots import SlotCache
from engine.lane import Lane
from engine.methods.prefill import prefill_rows
from engine.pool import pool_of
from engine.row import Row
from engine.trace import Event


def slots(lane: Lane) -> Iterator[Event]:
    """slot = position = content index. A rejected draft is forgotten by lowering the row's count.

    c=(5,3), K=3, accepted (1,3): row 0 wrote slots 4..7 and keeps 0..5, row 1 wrote 2..5 and keeps 0..5

    With refill, a waiting row takes the place behind the rows that decode: its prefill is a step of its own.
    """
    config, pool = lane.config, pool_of(lane.config, lane.rows)
    capacity = max(r.prompt + min(config.max_new, r.context - r.prompt) for r in lane.rows) + config.k + 1
    capacity = lane.shapes.capacity if lane.shapes else capacity
    places = config.places(len(lane.rows))
    cache = SlotCache(lane.layers, places, capacity, config.device, whole=bool(lane.shapes))
    rows: list[Row] = []
    while rows or pool.next_arrival is not None:
        if new := pool.admit(lane.step + 1):
            cache.enter(len(rows), len(new))
            yield from prefill_rows(lane, cache, new, "right")
            rows = rows + new
        elif rows:
            yield from speculate(lane, cache, rows)
        else:
            lane.wait(pool.next_arrival)
            continue
        cache.active = torch.arange(len(rows), device=cache.count.device)
        yield from settle(lane, cache, rows)
        rows = yield from leave(lane, cache, rows)
        yield from lane.finish()


def speculate(lane: Lane, cache: SlotCache, rows: list[Row]) -> Iterator[Event]:
    """One round."""
    yield lane.schedule(rows)
    draft = lane.propose(rows, [r.room - 1 for r in rows])
    yield from lane.proposed(rows, draft)
    fed = lane.fixed(feed.round_of(rows, draft.tokens, draft.lens, cache.count[: len(rows)].clone()))
    logits = lane.verify(cache, fed).logits[:, : draft.tokens.shape[1] + 1]
    accepted, token = lane.choose(rows, logits, draft)
    yield from lane.verified(cache, fed, logits, accepted, "slots", token=token)
    yield lane.commit(rows, draft, accepted, token)


def settle(lane: Lane, cache: SlotCache, rows: list[Row]) -> Iterator[Event]:
    """Roll every row back to its content without the last token; name the entries that became stale."""
    before = cache.count[: len(rows)].tolist()
    kept = [min(n, len(r.ids) - 1) for n, r in zip(before, rows, strict=True)]
    cache.rollback(kept)
    hide = [[r.row, k, n - k] for r, k, n in zip(rows, kept, before, strict=True) if n > k]
    if hide:
        yield lane.kv_hidden(cache, hide)


def leave(lane: Lane, cache: SlotCache, rows: list[Row]) -> Generator[Event, None, list[Row]]:
    """Rows that are done leave; the last row takes the place of one that left, so that reads stay views."""
    rows, moved, copied = list(rows), set(), 0
    with lane.spans.timed("compact"):
        for i in reversed(range(len(rows))):
            if rows[i].done:
                last = rows.pop()
                if i < len(rows):  # rows behind i are all live by now
                    copied += cache.move_row(len(rows), i)
                    rows[i] = last
                    moved.add(last.row)
    if moved:
        length = [int(cache.count[i]) if r.row in moved else cache.width for i, r in enumerate(rows)]
        yield lane.kv_op("compact", cache.width, [[r.row, 0, 0, n] for r, n in zip(rows, length, strict=True)], copied)
    return rows
