"""EQSPEC: batch speculative decoding that is exact, by realigning the rectangle every round (papers.md A).

It can be broken one step at a time; `engine.faults` says how. None of these faults is part of the method:

    slot_positions  position ids count slots          kv_not_moved  entries stay where they were
    mismatch_kept   the disagreeing draft is kept     stale_mask    the mask keeps the old pads
    draft_bonus     the bonus is an unverified draft  pads_visible  pads are attended
"""

from collections.abc import Iterator

from engine import faults, feed
from engine.lane import Lane
from engine.methods.exspec import exspec
from engine.methods.prefill import prefill
from engine.methods.published import published
from engine.trace import Event


def eqspec(lane: Lane) -> Iterator[Event]:
    """Left-padded rows; position ids follow the token, never the slot, so a realignment moves keys as they are.

    A row's draft is at most room - 1 long: the target adds one token of its own to every round (the true bonus).
    With refill it is EXSPEC's loop on a window as large as the batch, without grouping.
    """
    if lane.config.fidelity == "paper":
        yield from published(lane)
        return
    if lane.config.refill:
        yield from exspec(lane)
        return
    broken = lane.config.faults
    cache = lane.new_cache()
    yield from prefill(lane, cache, "left")
    while True:
        yield from faults.clean_up(lane, cache, lane.batch_rows)
        yield from lane.finish()
        if not (rows := lane.live):
            return
        yield lane.schedule(rows)
        draft = lane.propose(rows, [r.room - 1 for r in rows])
        yield from lane.proposed(rows, draft)
        draft, bonus = faults.unverified_last(draft, broken)
        fed = faults.fed_by_slot(feed.round_of(rows, draft.tokens, draft.lens, cache.width), broken)
        out = lane.verify(cache, fed)
        accepted, token = lane.choose(rows, out.logits, draft)
        yield from lane.verified(cache, fed, out.logits, accepted, "left", token=token)
        yield faults.commit(lane, rows, draft, accepted, token, bonus)
