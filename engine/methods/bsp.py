"""BSP: the published batch method that only masks rejected drafts (papers.md C.1). Its defects are switches.

Faults, each removable; without any of them BSP is exact, at the price of slots that never come back:

    padding_gap      the first generated token's position counts the pads behind the prompt
    rejection_gap    positions count the dead slots of rejected drafts
    draft_positions  the drafter, where it keeps a cache, drifts by pads and dead slots, whatever the target does
    no_stop          stop ids are ignored and rows run until all have max_new tokens

With the first two, position id = slot, as when no position ids are passed.
"""

from collections.abc import Iterator

import torch

from engine import feed
from engine.cache.padded import PaddedCache
from engine.choice import greedy_choice
from engine.lane import Lane
from engine.methods.prefill import prefill
from engine.propose import Draft
from engine.registry import POSITION_FAULTS
from engine.row import Row
from engine.trace import Event


def bsp(lane: Lane) -> Iterator[Event]:
    """Right-padded prompts; every row writes the same columns; rejected drafts stay as invisible dead slots.

    P=5, c=(5,3), K=3: first token in slot 5 of both rows, positions 5 and 5 (true: 5 and 3)
    accepted (1,3): slots 7 and 8 of row 0 die; next slot 9, positions 9 and 9 (true: 7 and 7)
    """
    faults = lane.config.faults
    cache = lane.new_cache()
    yield from prefill(lane, cache, "right")
    prompt_width = cache.width
    while True:
        end_rows(lane, cache.width, prompt_width)
        yield from leave(lane, cache)
        yield from lane.finish()
        if not (rows := lane.live):
            return
        yield lane.schedule(rows)
        shift = drift(rows, cache.width, prompt_width, faults)
        if "draft_positions" in faults:
            drafter = drift(rows, cache.width, prompt_width, POSITION_FAULTS)
            lane.shift_drafter({r.row: n for r, n in zip(rows, drafter, strict=True)})
        table = [lane.pair.context - len(r.ids) - n for r, n in zip(rows, shift, strict=True)]
        room = [lane.config.k if "no_stop" in faults else r.room - 1 for r in rows]
        draft = lane.propose(rows, [min(pair) for pair in zip(room, table, strict=True)])
        yield from lane.proposed(rows, draft)
        fed = feed.round_of(rows, draft.tokens, draft.lens, cache.width, shift)
        out = lane.verify(cache, fed)
        accepted, token = greedy_choice(out.logits, draft)
        yield from lane.verified(cache, fed, out.logits, accepted, "right")
        yield lane.commit(rows, draft, accepted, token)
        if hidden := hide(cache, rows, fed, draft, accepted):
            yield lane.kv_hidden(cache, hidden)


def drift(rows: list[Row], width: int, prompt_width: int, faults: frozenset[str]) -> list[int]:
    """How far each row's next position is from its content index.

    P=5, prompts (5, 3), width 9, two tokens generated besides the one to be fed: both rows have 2 dead slots.
    padding_gap alone (0, 2); rejection_gap alone (2, 2); both (2, 4): position = slot.
    """
    shift = []
    for r in rows:
        dead = width - prompt_width - (r.generated - 1)
        pads = prompt_width - r.prompt
        shift.append(("padding_gap" in faults) * pads + ("rejection_gap" in faults) * dead)
    return shift


def hide(cache: PaddedCache, rows: list[Row], fed: feed.Feed, draft: Draft, accepted: torch.Tensor) -> list[list[int]]:
    """Mask the rejected drafts; returns [row, slot, length] of the new holes (filler was never visible)."""
    column = torch.arange(draft.tokens.shape[1], device=accepted.device)
    cache.hide(fed.first + 1, column >= accepted[:, None])
    kept, lens = accepted.tolist(), draft.lens.tolist()
    return [[r.row, fed.first + 1 + j, n - j] for r, j, n in zip(rows, kept, lens, strict=True) if n > j]


def end_rows(lane: Lane, width: int, prompt_width: int) -> None:
    """Without a stop rule all rows end together; a drifting row can run out of the position table before its budget."""
    rows = lane.batch_rows
    if "no_stop" in lane.config.faults and all(r.generated >= lane.config.max_new for r in rows):
        for r in rows:
            r.done = "budget"
    for r, shift in zip(rows, drift(rows, width, prompt_width, lane.config.faults), strict=True):
        if len(r.ids) + shift > lane.pair.context:
            r.done = r.done or "context"


def leave(lane: Lane, cache: PaddedCache) -> Iterator[Event]:
    """Finished rows leave the batch; the others keep every slot where it is, holes included."""
    rows = lane.batch_rows
    stay = [i for i, r in enumerate(rows) if not r.done]
    if not stay or len(stay) == len(rows):
        return
    with lane.spans.timed("compact"):
        copied = cache.select(torch.tensor(stay, device=cache.shadow.device))
    yield lane.kv_op("compact", cache.width, [[rows[i].row, 0, 0, cache.width] for i in stay], copied)
    yield lane.kv_state(cache, [rows[i] for i in stay])
