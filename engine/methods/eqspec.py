"""EQSPEC: batch speculative decoding that is exact, by realigning the rectangle every round (papers.md A)."""

from collections.abc import Iterator

from engine import feed
from engine.lane import Lane, greedy_choice
from engine.methods.prefill import prefill
from engine.methods.realign import realign
from engine.trace import Event


def eqspec(lane: Lane) -> Iterator[Event]:
    """Left-padded rows; position ids follow the token, never the slot, so a realignment moves keys as they are.

    A row's draft is at most room - 1 long: the target adds one token of its own to every round (the true bonus).
    """
    cache = lane.new_cache()
    yield from prefill(lane, cache, "left")
    while True:
        yield from realign(lane, cache, lane.batch_rows)
        yield from lane.finish()
        if not (rows := lane.live):
            return
        yield lane.schedule(rows)
        draft = lane.propose(rows, [r.room - 1 for r in rows])
        yield from lane.proposed(rows, draft)
        fed = feed.round_of(rows, draft.tokens, draft.lens, cache.width)
        out = lane.verify(cache, fed)
        accepted, token = greedy_choice(out.logits, draft)
        yield from lane.verified(cache, fed, out.logits, accepted, "left")
        yield lane.commit(rows, draft, accepted, token)
