"""Spans: when each phase of a lane's steps began and ended, in seconds on the session's clock."""

import time
from collections.abc import Iterator
from contextlib import contextmanager

import torch

from engine import trace


class Spans:
    """Keeps the phases of the open step. `start`: where the clock stands at 0, by time.perf_counter."""

    def __init__(self, device: str, start: float) -> None:
        self.device, self.start = device, start
        self._spans: list[list] = []

    @contextmanager
    def timed(self, phase: str) -> Iterator[None]:
        """Add a span of this phase to the step."""
        start = self._now()
        yield
        self._spans.append([phase, round(start, 5), round(self._now(), 5)])

    def event(self) -> trace.Spans:
        """The step's spans; the next step begins without any."""
        spans, self._spans = self._spans, []
        return trace.Spans(spans=spans, device=self.device, sync="none" if self.device == "cpu" else "device")

    def _now(self) -> float:
        if self.device.startswith("cuda"):  # else a phase would end before its work is done
            torch.cuda.synchronize()
        return time.perf_counter() - self.start
