"""DSD: the published batch method that repads without unpadding (papers.md C.2). Its defects are switches.

Faults, each removable; without any of them DSD is exact, at the price of recomputing every prefix every round:

    visible_pads    no attention mask: pads are attended like words (the real damage)
    slot_positions  position ids start at the first pad: a constant offset, harmless under rotary positions
    keep_mismatch   the first mismatching draft is kept; the target never contributes a token
    stale_pads      pads are put in front of the padded row every round and never removed: waste, harmless by itself
    fastest_ends    the run ends when the fastest row has max_new tokens; stop ids are ignored
"""

from collections.abc import Iterator

import torch

from engine import feed
from engine.cache.padded import PaddedCache
from engine.choice import greedy_choice
from engine.lane import Lane
from engine.methods.prefill import prefill
from engine.propose import Draft
from engine.row import Row
from engine.trace import Event


def dsd(lane: Lane) -> Iterator[Event]:
    """No KV survives a round: all rows are fed again from their first pad on.

    pads (0, 2), c = (5, 3), K=3, matched (1, 3) with both published pad faults: next pads (2, 2)
    """
    faults = lane.config.faults
    yield from prefill(lane, lane.new_cache(), "left")
    pads = [max(r.prompt for r in lane.rows) - r.prompt for r in lane.rows]
    while True:
        yield lane.kv_dropped()
        end_rows(lane, faults, pads)
        yield from lane.finish()
        if not (rows := lane.live):
            return
        yield lane.schedule(rows)
        now = pads_now(lane, rows, pads, faults)
        table = [lane.pair.context - n for n in positions_used(rows, now, faults)]
        room = [lane.config.k if "fastest_ends" in faults else r.room - 1 for r in rows]
        draft = lane.propose(rows, [max(0, min(pair)) for pair in zip(room, table, strict=True)])
        yield from lane.proposed(rows, draft)
        fed = whole(rows, now, draft, lane.pair.pad_id, faults)
        t = draft.tokens.shape[1] + 1
        keep = torch.arange(fed.tokens.shape[1] - t, fed.tokens.shape[1], device=fed.tokens.device)
        cache = PaddedCache(lane.layers, len(rows), fed.tokens.shape[1], 0, lane.config.device)
        out = lane.verify(cache, fed, keep)
        accepted, token = greedy_choice(out.logits, draft)
        yield from lane.verified(cache, fed, out.logits, accepted, "left", tail=draft.lens)
        if "keep_mismatch" in faults:
            appended = yield from keep_mismatch(lane, rows, draft, accepted, token)
        else:
            yield lane.commit(rows, draft, accepted, token)
            appended = [n + 1 for n in accepted.tolist()]
        for r, n in zip(rows, appended, strict=True):
            pads[lane.rows.index(r)] += max(appended) - n


def keep_mismatch(lane: Lane, rows: list[Row], draft: Draft, accepted: torch.Tensor, token: torch.Tensor):
    """Append the agreeing drafts and the first one that does not. A row without drafts takes the target's token."""
    tokens, kinds = [], []
    for d, j, t in zip(draft.listed(), accepted.tolist(), token.tolist(), strict=True):
        tokens.append(d[: j + 1] if d else [t])
        kinds.append("c" if not d else "a" * j + "m" * (j < len(d)))
    yield lane.commit_tokens(rows, draft, accepted.tolist(), tokens, kinds)
    return [len(t) for t in tokens]


def whole(rows: list[Row], pads: list[int], draft: Draft, pad_id: int, faults: frozenset[str]) -> feed.Feed:
    """Pads, content and drafts of every row, [B, L + K].

    pads (0, 2), c = (3, 1), drafts (d) and ():   tokens 5 6 7 d    owners 0 1 2 3     positions 0 1 2 3
                                                         _ _ 8 .          -1 -1 0 -1             0 0 0 0
    """
    device, k = draft.tokens.device, draft.tokens.shape[1]
    width = max(p + len(r.ids) for p, r in zip(pads, rows, strict=True))
    tokens = torch.full((len(rows), width + k), pad_id, dtype=torch.int64, device=device)
    real = torch.arange(k, device=device) < draft.lens[:, None]
    tokens[:, width:] = torch.where(real, draft.tokens, 0)  # the trace does not carry filler: it is always 0
    owners = torch.full_like(tokens, -1)
    for i, (row, n) in enumerate(zip(rows, draft.lens.tolist(), strict=True)):
        first, c = width - len(row.ids), len(row.ids)
        tokens[i, first:width] = torch.tensor(row.ids, device=device)
        owners[i, first : width + n] = torch.arange(c + n, device=device)
    positions = owners.cummax(dim=1).values.clamp(min=0)  # filler repeats the row's last position
    if "slot_positions" in faults:
        positions = torch.arange(width + k, device=device).expand_as(tokens).contiguous()
    seen = owners >= 0
    if "visible_pads" in faults:
        seen = seen | (torch.arange(width + k, device=device) < width)
    return feed.Feed(tokens, positions, owners, draft.lens, 0, seen)


def pads_now(lane: Lane, rows: list[Row], pads: list[int], faults: frozenset[str]) -> list[int]:
    """Pads in front of each row: those that were never removed, or what the longest row asks for."""
    if "stale_pads" in faults:
        return [pads[lane.rows.index(r)] for r in rows]
    return [max(len(r.ids) for r in rows) - len(r.ids) for r in rows]


def positions_used(rows: list[Row], pads: list[int], faults: frozenset[str]) -> list[int]:
    """Position ids that each row's content takes; where they count slots, that is the width of the batch."""
    content = [len(r.ids) for r in rows]
    width = max(p + c for p, c in zip(pads, content, strict=True))
    return [width] * len(rows) if "slot_positions" in faults else content


def end_rows(lane: Lane, faults: frozenset[str], pads: list[int]) -> None:
    """The published run ends with its fastest row; a row whose pads fill the position table ends as well."""
    rows = lane.live
    if "fastest_ends" in faults and any(r.generated >= lane.config.max_new for r in rows):
        for r in rows:
            r.done = "budget" if r.generated >= lane.config.max_new else "fastest"
    if rows := lane.live:
        used = positions_used(rows, pads_now(lane, rows, pads, faults), faults)
        for r, n in zip(rows, used, strict=True):
            if n > lane.pair.context:
                r.done = "context"
