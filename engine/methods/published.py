"""`fidelity="paper"`: EQSPEC as its authors' code runs it. Exact, and wasteful in four ways (papers.md 0.1, 0.3, A.9).

    no true bonus      the last logit is thrown away: K drafts bring at most K tokens, and K=1 accepts nothing
    one draft length   the row nearest its end shortens everybody's draft; shorter drafts are filled up and verified
    finished rows      stay in the batch until the last one ends: fed, moved and ignored
    realign by row     every round, row by row and layer by layer, its bounds read by `.item()`, also when no row shifts

Without it the published overhead can be neither shown nor explained: its realign share is largely that loop.
"""

from collections.abc import Iterator

import torch
from torch import Tensor

from engine import feed
from engine.lane import Lane
from engine.methods.prefill import prefill
from engine.methods.realign import realign
from engine.propose import Draft
from engine.row import Row
from engine.trace import Event


def published(lane: Lane) -> Iterator[Event]:
    """The static batch of the paper. What is thrown away shows in the trace: filler columns, moves, bytes."""
    cache, rows = lane.new_cache(), lane.rows
    yield from prefill(lane, cache, "left")
    while True:
        if lane.live:
            yield from realign(lane, cache, rows, keep={r.row for r in rows})
        yield from lane.finish()
        if not lane.live:
            return
        yield lane.schedule(rows)
        draft = shared_draft(lane, rows)
        yield from lane.proposed(rows, draft)
        fed = feed.round_of(rows, draft.tokens, draft.lens, cache.width)
        out = lane.verify(cache, fed)
        accepted, token = lane.choose(rows, out.logits, draft)
        yield from lane.verified(cache, fed, out.logits, accepted, "left", token=token)
        kept, token = without_bonus(draft, accepted, token)
        yield lane.commit(rows, draft, kept, token, verified=accepted)


def shared_draft(lane: Lane, rows: list[Row]) -> Draft:
    """Drafts of the live rows, all columns of one length: K, or what the row nearest its end may still emit.

    K=4, rooms (9, 2, ended), drafts (d e), (f), ():   d e     lens 2   full or room
                                                       f .          1   what the proposer says
                                                       . .          0   done
    """
    live = [i for i, r in enumerate(rows) if not r.done]
    k = min(lane.config.k, *(rows[i].room for i in live))
    found = lane.propose([rows[i] for i in live], [k] * len(live))
    tokens = torch.zeros(len(rows), k, dtype=torch.int64, device=found.tokens.device)
    tokens[live, : found.tokens.shape[1]] = found.tokens
    lens = torch.zeros(len(rows), dtype=torch.int64, device=found.lens.device)
    lens[live] = found.lens
    why, source = ["done"] * len(rows), ["none"] * len(rows)
    q = [[] for _ in rows] if found.q else None
    for n, i in enumerate(live):
        why[i], source[i] = found.why[n], found.source[n]
        if found.q:
            q[i] = found.q[n]
    return Draft(tokens, lens, why, source, q)


def without_bonus(
    draft: Draft,
    accepted: Tensor,  # [B] drafts that agreed
    token: Tensor,  # [B] the target's token behind them
) -> tuple[Tensor, Tensor]:  # drafts kept [B], the token that ends the round [B]
    """Where all K drafts agree, K - 1 are kept and the last of them passes for the target's token.

    K=3, accepted (3, 1), tokens (x, y):  kept (2, 1), tokens (d_3, y)
    """
    k = draft.tokens.shape[1]
    return accepted.clamp(max=k - 1), torch.where(accepted == k, draft.tokens[:, -1], token)
