"""The engine in its own process: the server outlives it, and the page stays responsive while it computes.

    server process                          engine process (spawned; the only one that imports torch)
      submit(job)  ---- job, number ---->     loads the pair once and keeps it
      lines        <--- one JSON line ----    one per trace event
      stop()       ---- number --------->     looked at before every step

Lines that begin with `{"worker":` are the process's own words (loading, ready, idle, error); all others are events.
"""

import contextlib
import itertools
import json
import logging
import multiprocessing
import os
import queue
import signal
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Protocol

from engine.config import RunConfig
from engine.trace import dump_line

_LOG = logging.getLogger(__name__)
_WORD = '{"worker":'


class EngineError(RuntimeError):
    """A job that could not run to its end. The message is fit for a visitor."""


@dataclass(frozen=True, slots=True)
class EngineState:
    """What the engine is doing, for a status line. `phase`: off, loading, ready, failed."""

    phase: str
    text: str = ""
    fraction: float = 0.0


class Engine(Protocol):
    """What the service needs of an engine; where it computes is the engine's own business."""

    @property
    def state(self) -> EngineState: ...

    def submit(self, job: dict) -> Iterator[str]:
        """Run {"lanes": {name: RunConfig}, "prompts": [str], "title": str}: one JSON line per event.

        Blocks between lines. Raises EngineError; then, or when left early, the job is over.
        """

    def stop(self) -> None:
        """Ask the running job to end at its next step; the caller keeps reading to the end."""

    def kill(self) -> None:
        """End the running job at once, whatever it is doing."""


class RealEngine:
    """What the process runs. Tests put a stand-in with the same two methods here."""

    def __init__(self, cache: Path | None = None) -> None:
        self.cache = cache

    def load(self, config: RunConfig, progress: Callable[[str, float], None]) -> object:
        import engine

        where = {} if self.cache is None else {"cache": self.cache}
        return engine.load_pair(config, progress=progress, **where)

    def events(self, job: dict, pair: object, stop: Callable[[], bool]) -> Iterator:
        import engine

        return engine.session(job["lanes"], job["prompts"], pair=pair, title=job["title"], stop=stop)


class Worker:
    """An Engine in a process of its own, one job at a time; `config` names the pair that it loads at once.

    A process that dies takes only its job with it: `submit` raises EngineError, the next job starts a fresh process.
    """

    def __init__(self, config: RunConfig, engine: object | None = None, env: dict[str, str] | None = None) -> None:
        self._config, self._engine, self._env = config, engine or RealEngine(), env or {}
        self._context = multiprocessing.get_context("spawn")
        self._numbers = itertools.count(1)
        # No lock around the flag: a killed process could die holding it.
        self._flag = self._context.RawValue("q", 0)
        self._busy, self._starting = threading.Lock(), threading.Lock()
        self._process: multiprocessing.Process | None = None
        self._pipe: Connection | None = None
        self._lines: queue.SimpleQueue = queue.SimpleQueue()
        self._number = 0
        self.state = EngineState("off", "The engine has not been started.")

    @property
    def alive(self) -> bool:
        return self._process is not None and self._process.is_alive()

    @property
    def pid(self) -> int | None:
        return self._process.pid if self._process else None

    def start(self) -> None:
        """Start the process unless it lives; it begins to load the pair. Returns at once."""
        with self._starting:
            if self.alive:
                return
            self.state = EngineState("loading", "Starting the engine.")
            self._pipe, theirs = self._context.Pipe()
            args = (self._engine, self._config, self._env, theirs, self._flag)
            self._process = self._context.Process(target=_serve, args=args, name="ragged-engine", daemon=True)
            self._process.start()
            theirs.close()  # else the pipe never reports the process's end
            # A queue per process: what a dead one left behind must not reach the next job.
            self._lines = queue.SimpleQueue()
            pump = (self._process, self._pipe, self._lines)
            threading.Thread(target=self._pump, args=pump, name="ragged-pump", daemon=True).start()

    def submit(self, job: dict) -> Iterator[str]:
        with self._busy:
            self.start()
            lines, self._number = self._lines, next(self._numbers)
            with contextlib.suppress(OSError):  # a dead process is reported by the pump
                self._pipe.send((self._number, job))
            item: object = ""
            try:
                while (item := lines.get()) is not None:
                    if isinstance(item, EngineError):
                        raise item
                    yield item
            finally:
                if isinstance(item, str):  # left early: the process must be idle again before the next job
                    self.stop()
                    while isinstance(lines.get(), str):
                        pass

    def stop(self) -> None:
        self._flag.value = self._number

    def kill(self) -> None:
        if self._process is not None:
            self._process.kill()

    def close(self) -> None:
        """End the process and wait for it."""
        if self._process is not None:
            self._process.kill()
            self._process.join(5)

    def _pump(self, process: multiprocessing.Process, pipe: Connection, lines: queue.SimpleQueue) -> None:
        """Move what the process says to the job that waits for it, until the process ends."""
        with contextlib.suppress(EOFError, OSError):
            while True:
                line = pipe.recv_bytes().decode()
                if not line.startswith(_WORD):
                    lines.put(line)
                    continue
                word = json.loads(line)
                if word["worker"] == "idle":
                    lines.put(EngineError(word["error"]) if word["error"] else None)
                else:
                    self.state = EngineState(word["worker"], word["text"], word["fraction"])
        pipe.close()
        process.join(5)
        code = process.exitcode
        how = f"signal {-code}" if code is not None and code < 0 else f"exit code {code}"
        text = f"the engine process ended unexpectedly ({how})"
        self.state = EngineState("off", text)
        lines.put(EngineError(text))


def _serve(engine: RealEngine, first: RunConfig, env: dict[str, str], pipe: Connection, flag: object) -> None:
    """The engine process: load the first pair, then one job after the other until the server is gone."""
    os.environ.update(env)
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C in a terminal reaches both; the server decides
    with contextlib.suppress(EOFError, BrokenPipeError, ConnectionResetError):
        keeper = _Keeper(engine, pipe)
        with contextlib.suppress(Exception):  # said as state "failed"; the next job tries again
            keeper.pair(first)
        while True:
            number, job = pipe.recv()
            error = ""
            try:
                pair = keeper.pair(next(iter(job["lanes"].values())))
                for event in engine.events(job, pair, lambda n=number: flag.value == n):
                    pipe.send_bytes(dump_line(event).encode())
            except (BrokenPipeError, ConnectionResetError):
                raise
            except Exception as failure:
                error = explain(failure)
            pipe.send_bytes(json.dumps({"worker": "idle", "error": error}, separators=(",", ":")).encode())


class _Keeper:
    """Keeps the loaded pair; another target, draft, kind of draft, dtype or device replaces it."""

    def __init__(self, engine: RealEngine, pipe: Connection) -> None:
        self._engine, self._pipe = engine, pipe
        self._key: tuple | None = None
        self._pair: object = None

    def pair(self, config: RunConfig) -> object:
        drafts = config.proposer if config.proposer != "ngram" else ""  # n-grams need no second model
        key = (config.target, config.draft, drafts, config.dtype, config.device)
        if key != self._key:
            self._key = self._pair = None  # the old pair's memory is free before the new one comes
            self._say("loading", f"Loading {config.target}.", 0.0)
            try:
                self._pair = self._engine.load(config, lambda text, fraction: self._say("loading", text, fraction))
            except Exception as failure:
                self._say("failed", explain(failure), 0.0)
                raise
            self._key = key
            self._say("ready", f"{config.target} is loaded.", 1.0)
        return self._pair

    def _say(self, phase: str, text: str, fraction: float) -> None:
        word = {"worker": phase, "text": text, "fraction": fraction}
        self._pipe.send_bytes(json.dumps(word, separators=(",", ":")).encode())


def explain(failure: Exception) -> str:
    """What a visitor is told: the engine's own words where it has some, else only the kind; the rest is logged."""
    if isinstance(failure, MemoryError):
        return "the engine ran out of memory: use fewer or shorter prompts"
    if type(failure).__module__.startswith("engine."):  # ConfigError, ShelfError, ...: written for people
        return str(failure)
    _LOG.error("engine job failed", exc_info=failure)
    return f"the engine stopped on an internal error ({type(failure).__name__}); the server's log has the details"
