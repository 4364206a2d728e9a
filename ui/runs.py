"""RunStore: every run of this server, one engine at a time, a queue with positions.

A run belongs to the store, not to a connection. A Gradio event starts it and gives a ticket; any number of readers
follow its log, leave and come back. A run that nobody follows or asks for during `grace` seconds is stopped.
"""

import contextlib
import re
import secrets
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from engine.worker import Engine
from ui.compute import compute
from ui.disk import tidy
from ui.log import RunLog
from ui.run import Limits, Run

_ID = re.compile(r"[A-Za-z0-9_-]{16,64}")


class StoreFull(RuntimeError):
    """No more runs can wait, or the server is closing. The message is fit for a visitor."""


class RunStore:
    """Owns the runs, their files in `folder`, and the thread that feeds the engine."""

    def __init__(self, folder: Path, engine: Engine, limits: Limits | None = None) -> None:
        self.folder, self.engine, self.limits = folder, engine, limits or Limits()
        folder.mkdir(parents=True, exist_ok=True)
        self._runs: dict[str, Run] = {}
        self._queue: list[Run] = []
        self._running: Run | None = None
        self._change = threading.Condition()
        self._closed = False
        self._threads = [threading.Thread(target=t, name=t.__name__, daemon=True) for t in (self._work, self._guard)]
        for thread in self._threads:
            thread.start()

    def create(self, job: dict, held: str = "") -> Run:
        """Queue a job; the visitor's run `held` is stopped if it still goes on: replaced, not waited for.

        `job["about"]`, where there is one, is told in the trace's header (see `ui.compute`). Raises StoreFull, or
        OSError when its file cannot be made.
        """
        if before := self.get(held):
            self.stop(before, why="you started another run")
        with self._change:
            if self._closed:
                raise StoreFull("The server is closing: try again in a minute.")
            if len(self._queue) >= self.limits.queue:
                raise StoreFull(f"{len(self._queue)} runs are waiting already: try again in a few minutes.")
            run_id = secrets.token_urlsafe(16)
            run = Run(run_id, RunLog(self._path(run_id)), job)
            self._runs[run_id] = run
            self._queue.append(run)
            self._change.notify_all()
        return run

    def get(self, run_id: str) -> Run | None:
        """A run of this server or, from its file, of an earlier one; None when it is not known. Reads the disk."""
        if run := self._runs.get(run_id):
            return run
        if not _ID.fullmatch(run_id):
            return None
        path = self._path(run_id)
        try:
            log = RunLog.read(path)
            path.touch()  # last read: what `tidy` goes by
        except (OSError, ValueError, LookupError):
            return None
        end = log.end()
        self._forget()
        return self._runs.setdefault(run_id, Run(run_id, log, status=end["status"], error=end.get("error", "")))

    def position(self, run: Run) -> int:
        """Runs before this one, the computing one included; 0 when it is its turn."""
        with self._change:
            if run not in self._queue:
                return 0
            return self._queue.index(run) + (self._running is not None)

    def counts(self) -> dict[str, int]:
        return {"running": int(self._running is not None), "queued": len(self._queue)}

    @contextmanager
    def watch(self, run: Run) -> Iterator[None]:
        """Somebody follows this run."""
        with self._change:
            run.watchers += 1
        try:
            yield
        finally:
            with self._change:
                run.watchers -= 1
                run.unwatched = time.monotonic()

    def glance(self, run: Run) -> None:
        """Somebody asked for this run's status: its grace begins anew."""
        run.unwatched = time.monotonic()

    def stop(self, run: Run, status: str = "stopped", why: str = "") -> None:
        """Ask a run to end; its end event says why. A run that waits ends at once."""
        with self._change:
            if run.over or run.asked:
                return
            run.asked, run.why = time.monotonic(), (status, why)
            waiting = run in self._queue
            if waiting:
                self._queue.remove(run)
        if waiting:
            run.finish(*run.why)
        elif run is self._running:
            self.engine.stop()

    def close(self, why: str = "the server was shut down", wait: float = 3.0) -> None:
        """Stop everything; after `wait` seconds the engine is killed. Every reader gets its run's end."""
        with self._change:
            self._closed = True
            left = [*self._queue, *([self._running] if self._running else [])]
            self._change.notify_all()
        for run in left:
            self.stop(run, why=why)
        self._threads[0].join(wait)
        if self._threads[0].is_alive():
            self.engine.kill()
            self._threads[0].join(wait)

    def _path(self, run_id: str) -> Path:
        return self.folder / f"{run_id}.jsonl"

    def _work(self) -> None:
        """The engine's thread: one run after the other."""
        while True:
            with self._change:
                self._change.wait_for(lambda: self._queue or self._closed)
                if self._closed:
                    return
                run = self._running = self._queue.pop(0)
                run.status, run.started = "running", time.monotonic()
            run.log.wake()
            try:
                compute(run, self.engine)
            finally:
                with self._change:
                    self._running = None
                with contextlib.suppress(OSError):
                    tidy(self.folder, self.limits.bytes, self.limits.ttl, keep=set(self._busy()))
                self._forget()

    def _busy(self) -> list[str]:
        return [run.id for run in self._runs.values() if run.watchers or not run.over]

    def _forget(self) -> None:
        """Drop the oldest finished runs from memory; their files still tell them."""
        idle = [run for run in list(self._runs.values()) if run.over and not run.watchers]
        for run in idle[: max(0, len(idle) - self.limits.held)]:
            self._runs.pop(run.id, None)

    def _guard(self) -> None:
        """Once a second: stop what nobody watches or what takes too long; kill what does not listen."""
        while not self._closed:
            time.sleep(min(1.0, self.limits.grace / 4))
            now, running = time.monotonic(), self._running
            for run in [*self._queue, *([running] if running else [])]:
                if not run.watchers and now - run.unwatched > self.limits.grace:
                    self.stop(run, why=f"nobody watched for {self.limits.grace:.0f} seconds")
            if running and now - running.started > self.limits.deadline:
                self.stop(running, "deadline", f"the limit of {self.limits.deadline:.0f} seconds was reached")
            if running and running.asked and now - running.asked > self.limits.patience:
                self.engine.kill()
