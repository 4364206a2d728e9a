"""The lines of one run: on disk first, then to every reader.

A line is acknowledged only after it has been written and flushed to the run's file, so what a browser has seen
survives the server. Readers live on any event loop; the writer is one thread.
"""

import asyncio
import json
import threading
from bisect import bisect_right
from collections.abc import AsyncIterator, Iterator
from contextlib import contextmanager
from pathlib import Path

from engine.lines import dump_line
from engine.trace import End

RESTARTED = "the server restarted while this run was going on; start it again"


class RunLog:
    """Append-only JSON lines with their seq, readable from any point by any number of readers.

    `RunLog(path)` begins a new file (FileExistsError when there is one); `RunLog.read(path)` opens a finished one.
    """

    def __init__(self, path: Path, *, new: bool = True) -> None:
        self.path, self.closed = path, False
        self._lines: list[str] = []
        self._seqs: list[int] = []
        self._wakers: set[tuple[asyncio.AbstractEventLoop, asyncio.Event]] = set()
        self._lock = threading.Lock()
        self._file = path.open("xb") if new else None

    @classmethod
    def read(cls, path: Path) -> "RunLog":
        """A run from its file. A torn last line was never acknowledged and is left out; a missing end is added.

        Raises FileNotFoundError, or ValueError for a file that is not a run's.
        """
        log = cls(path, new=False)
        *lines, _torn = path.read_bytes().split(b"\n")
        for line in lines:
            log._keep(line.decode(), json.loads(line)["seq"])
        if not log.end():
            log._keep(dump_line(End(seq=log.last + 1, status="failed", error=RESTARTED)), log.last + 1)
        log.closed = True
        return log

    @property
    def last(self) -> int:
        """Seq of the last line, -1 before the first."""
        return self._seqs[-1] if self._seqs else -1

    def end(self) -> dict | None:
        """The session's own end event, if it is there."""
        data = json.loads(self._lines[-1]) if self._lines else {}
        return data if data.get("event") == "end" and not data.get("lane") else None

    def append(self, line: str, seq: int) -> None:
        """Write one line, then show it. Raises OSError when the disk does not take it: then no reader sees it."""
        self._file.write(line.encode() + b"\n")
        self._file.flush()
        self._keep(line, seq)
        self.wake()

    def finish(self, line: str, seq: int) -> None:
        """Append the end event; readers get it even when the disk no longer takes it."""
        try:
            self.append(line, seq)
        except OSError:
            self._keep(line, seq)
        finally:
            self.close()

    def close(self) -> None:
        self.closed = True
        if self._file is not None:
            self._file.close()
        self.wake()

    def wake(self) -> None:
        """Let every reader look again."""
        with self._lock:
            wakers = list(self._wakers)
        for loop, event in wakers:
            try:
                loop.call_soon_threadsafe(event.set)
            except RuntimeError:  # the reader's event loop is closed: it is gone
                with self._lock:
                    self._wakers.discard((loop, event))

    def text(self) -> str:
        """Everything acknowledged so far, as a trace file."""
        return "".join(f"{line}\n" for line in self._lines)

    async def follow(self, after: int = -1) -> AsyncIterator[tuple[int, str]]:
        """Every (seq, line) with a seq greater than `after`, as they come, until the log is closed."""
        index = bisect_right(self._seqs, after)
        with self._waker() as event:
            while True:
                event.clear()
                closed = self.closed  # looked at first: nothing is added after it
                fresh = self._lines[index:]
                for seq, line in zip(self._seqs[index:], fresh, strict=False):
                    if seq > after:  # a reader may know of lines that have not come yet
                        yield seq, line
                    index += 1
                if closed and index == len(self._lines):
                    return
                if index == len(self._lines):
                    await event.wait()

    @contextmanager
    def _waker(self) -> Iterator[asyncio.Event]:
        waker = (asyncio.get_running_loop(), asyncio.Event())
        with self._lock:
            self._wakers.add(waker)
        try:
            yield waker[1]
        finally:
            with self._lock:
                self._wakers.discard(waker)

    def _keep(self, line: str, seq: int) -> None:
        # Seq first: a reader takes as many lines as it sees, and every line it sees has its seq.
        self._seqs.append(seq)
        self._lines.append(line)
