"""Latency of each request, from arrival to its last token: read from folded steps, stored nowhere.

In steps it is deterministic. In seconds it is measured: the lane's own steps from the arrival on, from the first span
of each to its last, so that neither other lanes of the session nor the reader of the events count.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass

from engine.arrivals import step_of
from engine.fold import Fold
from engine.frames import Frame

PERCENTILES = (50, 90, 99)


@dataclass(frozen=True, slots=True)
class Request:
    """One row as a request. `arrive`, `entered`, `first`, `done`: steps; `seconds`: of the steps that it was there."""

    row: int
    arrive: float
    entered: int  # the step of its prefill
    first: int  # the step of its first token
    done: int  # the step of its last token
    seconds: float

    @property
    def steps(self) -> float:
        """Steps from its arrival to the end of the step that gave its last token.

        Arrived at 2.0, done in step 4: it was there in steps 2, 3 and 4, so 3 steps.
        """
        return self.done + 1 - self.arrive


def requests(state: Fold, lane: str) -> list[Request]:
    """All requests of a lane that have a token. The fold must hold all of the lane's frames."""
    found, frames = [], state.lanes[lane].frames
    arrive = {p["row"]: p.get("arrive", 0) for p in state.header.prompts}
    for row in state.lanes[lane].rows:
        mine = [f for f in frames if row in f.rows]
        gave = [f for f in mine if f.emitted and f.emitted[f.rows.index(row)]]
        if not gave:
            continue
        first, done = gave[0].step, gave[-1].step
        there = [f for f in frames if step_of(arrive[row]) <= f.step <= done]
        found.append(Request(row, arrive[row], mine[0].step, first, done, sum(map(duration, there))))
    return found


def duration(frame: Frame) -> float:
    """Seconds of a step: from its first span to its last."""
    return max((s[2] for s in frame.spans), default=0.0) - min((s[1] for s in frame.spans), default=0.0)


def percentiles(values: Sequence[float]) -> dict[int, float]:
    """P50, P90 and P99 by nearest rank: each is a latency that a request really had.

    >>> percentiles([1, 2, 3, 4, 5, 6, 7, 8, 9, 40])
    {50: 5, 90: 9, 99: 40}
    """
    ordered = sorted(values)
    return {p: ordered[max(0, math.ceil(p / 100 * len(ordered)) - 1)] for p in PERCENTILES}
