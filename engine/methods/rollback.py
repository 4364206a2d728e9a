"""Rollback: every row keeps what the slowest row accepted. Exact, never realigns, wastes the rest (papers.md C.3)."""

from collections.abc import Iterator

import torch

from engine import feed
from engine.choice import greedy_choice
from engine.lane import Lane
from engine.methods.prefill import prefill
from engine.methods.realign import realign
from engine.trace import Event


def rollback(lane: Lane) -> Iterator[Event]:
    """m = min over the batch of accepted drafts; each row appends its own target's first m + 1 choices.

        accepted (1, 3), K=3: m = 1, both rows append two tokens; row 1 throws two verified drafts away

    Every delta is 0, so the cache is only cropped. A row without a draft stops everybody at m = 0.
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
        accepted, _ = greedy_choice(out.logits, draft)
        yield from lane.verified(cache, fed, out.logits, accepted, "left")
        slowest = torch.full_like(accepted, int(accepted.min()))
        token = out.logits.argmax(dim=-1).gather(1, slowest[:, None])[:, 0]
        yield lane.commit(rows, draft, slowest, token, verified=accepted)
