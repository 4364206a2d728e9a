"""EXSPEC: rows of equal length are decoded together, so that most rounds need no realignment (papers.md B)."""

from collections.abc import Iterator

import torch

from engine import feed
from engine.cache.padded import PaddedCache
from engine.cache.slots import SlotCache
from engine.lane import Lane
from engine.methods.prefill import prefill_rows
from engine.methods.published import shared_draft, without_bonus
from engine.methods.realign import first_slots, realign
from engine.pool import pool_of
from engine.row import Row
from engine.trace import Event


def exspec(lane: Lane) -> Iterator[Event]:
    """The window's KV lies in a store; the batch is a rectangle joined from it and written back when it changes.

    A group whose membership stays copies nothing while its rows accept the same number (but for a rectangle that is
    full: it doubles, which is counted as "grow").

    fidelity="paper": no true bonus, one draft length, and every round joins its batch anew; row by row, as published,
    unless it is a group. Finished rows leave in the published code too.
    """
    config, paper = lane.config, lane.config.fidelity == "paper"
    pool = pool_of(config, lane.rows)
    capacity = max(r.prompt + min(config.max_new, r.context - r.prompt) for r in lane.rows) + config.k + 2
    store = Store(SlotCache(lane.layers, config.places(len(lane.rows)), capacity, config.device))
    cache, held = lane.new_cache(min(pool.batch, len(lane.rows))), []
    while True:
        if new := pool.admit(lane.step + 1):
            yield from prefill_rows(lane, store.place(new), new, "right")
            yield from lane.finish()
            store.release(new)
            continue
        if not pool.active and pool.next_arrival is not None:
            lane.wait(pool.next_arrival)
            continue
        if not pool.active:
            lane.counts |= {"grouped": pool.grouped, "fallback": pool.fallback}
            return
        rows, how = pool.pick()
        rows = [r for r in held if r in rows] + [r for r in rows if r not in held]
        yield lane.schedule(rows, group=int(how == "group"))
        yield from regroup(lane, store, cache, held, rows, by_row=paper and how != "group")
        held = rows
        draft = shared_draft(lane, rows) if paper else lane.propose(rows, [r.room - 1 for r in rows])
        yield from lane.proposed(rows, draft)
        fed = feed.round_of(rows, draft.tokens, draft.lens, cache.width)
        out = lane.verify(cache, fed)
        accepted, token = lane.choose(rows, out.logits, draft)
        yield from lane.verified(cache, fed, out.logits, accepted, "left", token=token)
        before = [len(r.ids) for r in rows]
        kept, token = without_bonus(draft, accepted, token) if paper else (accepted, token)
        yield lane.commit(rows, draft, kept, token, verified=accepted)
        pool.advance(rows, [len(r.ids) - n for r, n in zip(rows, before, strict=True)], how)
        yield from lane.finish()
        store.release(rows)


class Store:
    """Which row of the slot cache holds whose KV, and how much of it. `saved[row]`: entries that are up to date."""

    def __init__(self, cache: SlotCache) -> None:
        self.cache = cache
        self.free = list(range(cache.rows))[::-1]
        self.at: dict[int, int] = {}
        self.saved: dict[int, int] = {}

    def place(self, rows: list[Row]) -> SlotCache:
        """Give new rows their place; the cache then reads and writes these rows."""
        for r in rows:
            self.at[r.row], self.saved[r.row] = self.free.pop(), r.prompt
        self.cache.active = self.index(rows)
        self.cache.count[self.cache.active] = 0
        return self.cache

    def release(self, rows: list[Row]) -> None:
        """Free the places of rows that are done."""
        for r in rows:
            if r.done and r.row in self.at:
                self.free.append(self.at.pop(r.row))

    def index(self, rows: list[Row]) -> torch.Tensor:  # [B]
        return torch.tensor([self.at[r.row] for r in rows], device=self.cache.count.device)


def regroup(
    lane: Lane, store: Store, cache: PaddedCache, held: list[Row], rows: list[Row], by_row: bool = False
) -> Iterator[Event]:
    """From the rectangle of `held` to that of `rows`: realign what stays, or write back and join anew."""
    leaving = [r for r in held if not r.done and r not in rows]
    joins = any(r not in held for r in rows) or lane.config.fidelity == "paper"
    if going := [r for r in held if not r.done] if joins else leaving:
        yield from split(lane, store, cache, held, going, rows)
    if not joins:
        yield from realign(lane, cache, held, {r.row for r in rows})
        return
    with lane.spans.timed("join"):
        longest = max(len(r.ids) for r in rows)
        target = [longest - len(r.ids) for r in rows]
        pads = torch.tensor(target, device=cache.shadow.device)
        copied = cache.join(store.cache, store.index(rows), pads, longest - 1, by_row)
    moves = [[r.row, 0, p, len(r.ids) - 1] for r, p in zip(rows, target, strict=True)]
    yield lane.kv_op("join", cache.width, moves, copied)
    yield lane.kv_state(cache, rows)


def split(
    lane: Lane, store: Store, cache: PaddedCache, held: list[Row], going: list[Row], rows: list[Row]
) -> Iterator[Event]:
    """Write the entries that the store lacks back to it; the older ones are there already."""
    with lane.spans.timed("split"):
        moves, target, slots, source, avoided = [], [], [], [], 0
        starts = first_slots(cache)
        for i, r in enumerate(held):
            if r not in going:
                continue
            first, c = starts[i], len(r.ids) - 1
            moves.append([r.row, first, 0, c])
            new = range(store.saved[r.row], c)
            target.extend([store.at[r.row]] * len(new))
            slots.extend(new)
            source.extend(i * cache.capacity + first + n for n in new)
            avoided += store.saved[r.row] * cache.slot_bytes
            store.saved[r.row] = c
        index = [torch.tensor(x, dtype=torch.int64, device=cache.shadow.device) for x in (target, slots, source)]
        copied = store.cache.put(index[0], index[1], cache, index[2])
    others = [r.row for r in rows if r not in going]
    yield lane.kv_op("split", max(m[3] for m in moves), moves, copied, avoided, keep=others)
