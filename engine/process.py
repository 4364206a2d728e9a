"""What runs inside the engine's own process: the pair, one job at a time, and words about both (`engine.worker`).

Importing this module imports no torch: the parent names its functions before it spawns the process.
"""

import contextlib
import json
import logging
import os
import signal
from collections.abc import Callable, Iterator
from multiprocessing.connection import Connection
from pathlib import Path

from engine.config import RunConfig
from engine.lines import dump_line

_LOG = logging.getLogger(__name__)

#: How a line begins that is the process's own word, not a trace event.
WORD = '{"worker":'


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


def serve(engine: RealEngine, first: RunConfig, env: dict[str, str], pipe: Connection, flag: object) -> None:
    """The engine process: load the first pair, then one job after the other until the server is gone."""
    for name, value in env.items():
        os.environ.setdefault(name, value)  # before torch is imported; what the server was started with comes first
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C in a terminal reaches both; the server decides
    with contextlib.suppress(EOFError, BrokenPipeError, ConnectionResetError):
        keeper = Keeper(engine, pipe)
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


class Keeper:
    """Keeps the loaded pair; another target, draft, kind of draft, dtype or device replaces it."""

    def __init__(self, engine: RealEngine, pipe: Connection) -> None:
        self._engine, self._pipe = engine, pipe
        self._key: tuple | None = None
        self._pair: object = None

    def pair(self, config: RunConfig) -> object:
        # n-grams need no second model, and the hybrid's is the EAGLE-3 head
        drafts = {"ngram": "", "hybrid": "eagle3"}.get(config.proposer, config.proposer)
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
            folder = getattr(getattr(self._pair, "tokenizer", None), "name_or_path", "")
            self._say("ready", f"{config.target} is loaded.", 1.0, str(folder))
        return self._pair

    def _say(self, phase: str, text: str, fraction: float, tokenizer: str = "") -> None:
        word = {"worker": phase, "text": text, "fraction": fraction, "tokenizer": tokenizer}
        self._pipe.send_bytes(json.dumps(word, separators=(",", ":")).encode())


def explain(failure: Exception) -> str:
    """What a visitor is told: the engine's own words where it has some, else only the kind; the rest is logged."""
    if isinstance(failure, MemoryError):
        return "the engine ran out of memory: use fewer or shorter prompts"
    if type(failure).__module__.startswith("engine."):  # ConfigError, ShelfError, ...: written for people
        return str(failure)
    _LOG.error("engine job failed", exc_info=failure)
    return f"the engine stopped on an internal error ({type(failure).__name__}); the server's log has the details"
