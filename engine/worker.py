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
import multiprocessing
import queue
import threading
from collections.abc import Iterator
from dataclasses import dataclass
from multiprocessing.connection import Connection
from typing import Protocol

from engine.config import RunConfig
from engine.process import WORD, RealEngine, serve


class EngineError(RuntimeError):
    """A job that could not run to its end. The message is fit for a visitor."""


@dataclass(frozen=True, slots=True)
class EngineState:
    """What the engine is doing, for a status line. `phase`: off, loading, ready, failed; `tokenizer`: its folder."""

    phase: str
    text: str = ""
    fraction: float = 0.0
    tokenizer: str = ""


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


class Worker:
    """An Engine in a process of its own, one job at a time; `config` names the pair that it loads at once.

    A process that dies takes only its job with it: `submit` raises EngineError, the next job starts a fresh process.
    """

    def __init__(self, config: RunConfig, engine: RealEngine | None = None, env: dict[str, str] | None = None) -> None:
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
            self._process = self._context.Process(target=serve, args=args, name="ragged-engine", daemon=True)
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
                if not line.startswith(WORD):
                    lines.put(line)
                    continue
                word = json.loads(line)
                if word["worker"] == "idle":
                    lines.put(EngineError(word["error"]) if word["error"] else None)
                else:
                    self.state = EngineState(word["worker"], word["text"], word["fraction"], word["tokenizer"])
        pipe.close()
        process.join(5)
        code = process.exitcode
        how = f"signal {-code}" if code is not None and code < 0 else f"exit code {code}"
        text = f"the engine process ended unexpectedly ({how})"
        self.state = EngineState("off", text)
        lines.put(EngineError(text))
