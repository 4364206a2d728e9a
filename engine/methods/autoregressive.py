"""Plain greedy decoding: batch 1 is the reference that every method is held to, larger batches the baseline."""

from collections.abc import Iterator

from engine import feed
from engine.lane import Lane
from engine.methods.prefill import prefill
from engine.methods.realign import realign
from engine.trace import Event


def autoregressive(lane: Lane) -> Iterator[Event]:
    """One token per row and step. Rows advance together, so the rectangle moves only when a row leaves."""
    cache = lane.new_cache()
    yield from prefill(lane, cache, "left")
    while True:
        if any(r.done for r in lane.batch_rows):
            yield from realign(lane, cache, lane.batch_rows)
        yield from lane.finish()
        if not (rows := lane.live):
            return
        yield lane.schedule(rows)
        draft = lane.no_draft(rows)
        fed = feed.round_of(rows, draft.tokens, draft.lens, cache.width)
        out = lane.verify(cache, fed)
        accepted, token = lane.choose(rows, out.logits, draft)
        yield from lane.verified(cache, fed, out.logits, accepted, "left", token=token)
        yield lane.commit(rows, draft, accepted, token)
