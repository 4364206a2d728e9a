"""What a round costs on this machine, by rows and drafts: medians over the rounds of real runs (see `engine.costs`)."""

import json
import statistics
from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import replace
from pathlib import Path

from engine.bench.methods import PROMPTS
from engine.config import RunConfig
from engine.costs import Cell
from engine.models import Pair, load_pair
from engine.stream import session
from engine.trace import Event, Spans, Verify

PHASES = ("propose", "verify", "realign", "join", "split", "compact")


def rounds(events: Iterable[Event]) -> Iterator[Cell]:
    """(rows, drafts per row, ms) of every round of a run; the prefill is none."""
    shape = None
    for event in events:
        if isinstance(event, Verify):
            shape = (len(event.lens), len(event.tokens[0]) - 1) if event.step and event.tokens else None
        elif isinstance(event, Spans) and shape:
            yield *shape, 1000 * sum(t1 - t0 for phase, t0, t1 in event.spans if phase in PHASES)


def measure(pair: Pair, base: RunConfig, batches: Iterable[int], repeats: int) -> list[Cell]:
    """The table for 0..k drafts at these batch sizes. Lengths take turns, so that a slow spell hits all of them.

    Rounds in which the proposer found less than it was asked for count for what they are.
    """
    seen: dict[tuple[int, int], list[float]] = defaultdict(list)
    for _ in range(repeats):
        for batch in batches:
            prompts = [PROMPTS[n % len(PROMPTS)] for n in range(batch)]
            for k in range(base.k + 1):
                config = replace(base, k=k) if k else replace(base, method="autoregressive")
                for rows, drafts, ms in rounds(session({"lane": config}, prompts, pair=pair, certify=False)):
                    seen[rows, drafts].append(ms)
    return [(b, k, round(statistics.median(ms), 2)) for (b, k), ms in sorted(seen.items()) if b in batches]


def report(base: RunConfig, batches: Iterable[int], repeats: int, out: Path) -> Iterator[str]:
    """Measure (one unmeasured run first), write the table to `out`, and say what it holds."""
    pair = load_pair(base)
    list(session({"lane": base}, list(PROMPTS[:1]), pair=pair, certify=False))
    cells = measure(pair, base, batches, repeats)
    out.write_text("[\n" + ",\n".join(map(json.dumps, cells)) + "\n]\n", encoding="utf-8")
    for rows, drafts, ms in cells:
        yield f"{rows} rows, {drafts} drafts: {ms:.1f} ms"
