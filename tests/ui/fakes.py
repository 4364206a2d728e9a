"""Stand-ins for the engine: the same events, no model."""

import asyncio
import threading
import time
from collections.abc import Callable, Coroutine, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from engine.config import RunConfig
from engine.lines import dump_line
from engine.trace import Commit, End, Event, Header, Schedule
from engine.worker import EngineError, EngineState

JOB = {"lanes": {"eqspec": RunConfig()}, "prompts": ["Hello"], "title": "test"}


def trace(job: dict, steps: int, pause: float = 0.0, stop: Callable[[], bool] = bool) -> Iterator[Event]:
    """A small valid trace of one lane: header, `steps` steps, both ends."""
    lanes = [{"lane": name, "config": config.to_json()} for name, config in job["lanes"].items()]
    prompts = [{"row": i, "text": text, "ids": [1, 2], "arrive": 0.0} for i, text in enumerate(job["prompts"])]
    facts = {"dtype": "float32", "device": "cpu", "versions": {}, "machine": {}, "positions": "rotary", "chat": True}
    yield Header(
        seq=0, title=job["title"], models={}, stop_ids=[2], pad_id=2, prompts=prompts, lanes=lanes, created="", **facts
    )
    lane, seq, status = lanes[0]["lane"], 1, "done"
    for step in range(steps):
        if stop():
            status = "stopped"
            break
        yield Schedule(seq=seq, lane=lane, step=step, rows=[0])
        ids = [step, 10, 2028]
        yield Commit(seq=seq + 1, lane=lane, step=step, draft=0, accepted=[0], emitted=[ids], kinds=["p"], cut=[""])
        seq += 2
        time.sleep(pause)
    yield End(seq=seq, lane=lane, status=status)
    yield End(seq=seq + 1, status=status, totals={"steps": step})


class FakeRun:
    """For `Worker(engine=...)`: lives in the engine process. The title says what happens."""

    def __init__(self, load_s: float = 0.0) -> None:
        self.load_s, self.loads = load_s, 0

    def load(self, config: RunConfig, progress: Callable[[str, float], None]) -> object:
        self.loads += 1
        progress("download", 0.5)
        time.sleep(self.load_s)
        if config.target == "nowhere":
            raise Wanted("smollm2.whl could not be fetched: put it in the cache folder")
        return (config.target, self.loads)

    def events(self, job: dict, pair: object, stop: Callable[[], bool]) -> Iterator[Event]:
        if job["title"] == "boom":
            raise RuntimeError("secret detail")
        steps, pause = (10_000, 0.02) if job["title"] == "long" else (5, 0.0)
        yield from trace({**job, "title": f"{pair}"}, steps, pause, stop)


class Wanted(ValueError):
    """An error that the engine wrote for people."""


Wanted.__module__ = "engine.tests"


class ThreadEngine:
    """An Engine for the store's tests: in this process, as fast or slow as told."""

    def __init__(self, steps: int = 5, pause: float = 0.0) -> None:
        self.steps, self.pause = steps, pause
        self.state = EngineState("ready", "ready", 1.0)
        self.gate = threading.Event()  # the job waits here after its header
        self.gate.set()
        self._stop = threading.Event()
        self._dead = threading.Event()

    def submit(self, job: dict) -> Iterator[str]:
        self._stop.clear()
        self._dead.clear()
        for event in trace(job, self.steps, self.pause, self._stop.is_set):
            yield dump_line(event)
            while not self.gate.wait(0.02):
                if self._stop.is_set() and job["title"] != "deaf":
                    break
                if self._dead.is_set():
                    raise EngineError("the engine process ended unexpectedly (signal 9)")

    def stop(self) -> None:
        self._stop.set()

    def kill(self) -> None:
        self._dead.set()


def finish(work: Coroutine) -> Any:
    """The result of a coroutine, run in a thread: Playwright keeps an event loop in the main one."""
    with ThreadPoolExecutor(1) as pool:
        return pool.submit(asyncio.run, work).result(60)


def until(what: Callable[[], object], seconds: float = 10.0) -> None:
    """Wait for something that another thread does. Raises AssertionError when it does not come."""
    end = time.monotonic() + seconds
    while not what():
        assert time.monotonic() < end, "waited in vain"
        time.sleep(0.01)
