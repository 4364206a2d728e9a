"""Step 0 of every method: feed the prompts, emit the first token of each row."""

from collections.abc import Iterator

import torch

from engine import feed
from engine.bitwise import by_four
from engine.cache import TargetCache
from engine.lane import Lane
from engine.row import Row
from engine.trace import Event


def prefill(lane: Lane, cache: TargetCache, side: str) -> Iterator[Event]:
    """All prompts in one rectangle padded on `side`. The cache then holds every prompt; the first token has no KV yet.

    (papers.md A.5 starts with a verify pass over prompt and drafts instead; either is exact.)
    """
    yield from prefill_rows(lane, cache, lane.live, side)


def prefill_rows(lane: Lane, cache: TargetCache, rows: list[Row], side: str) -> Iterator[Event]:
    """The same for some rows: a step of its own in which they enter the batch or the window."""
    yield lane.schedule(rows)
    fed = lane.fixed(feed.prompts(rows, side, lane.pair.pad_id, lane.config.device), prefill=True)
    width = fed.tokens.shape[1]
    last = torch.tensor([width - 1 if side == "left" else len(r.ids) - 1 for r in rows], device=fed.tokens.device)
    keep, column = last.unique(return_inverse=True)
    out = lane.verify(cache, fed, by_four(keep) if lane.shapes else keep)
    logits = out.logits[torch.arange(len(rows), device=last.device), column][:, None]  # [B, 1, V]
    if lane.proposer:
        lane.proposer.open(rows, lane.states)
    draft = lane.no_draft(rows)
    accepted, token = lane.choose(rows, logits, draft)
    yield from lane.verified(cache, fed, logits, accepted, side, tail=fed.lens, token=token)
    yield lane.commit(rows, draft, accepted, token)
