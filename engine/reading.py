"""Reading a trace file of unknown origin: within limits, event by event, up to a last line that was cut short.

A recorder that was killed leaves half a line at the end. What comes before it is whole and is read; that the last
line was cut is told, never hidden.
"""

import json
from collections.abc import Iterable, Iterator
from pathlib import Path

from engine.lines import TraceError, read_lines
from engine.trace import Event

MAX_LINE = 16 << 20  # characters
MAX_BYTES = 1 << 30


class Reading:
    """The events of a trace, each with the number of its line. After the last one, `cut` tells of half a line."""

    def __init__(self, lines: Iterable[str]) -> None:
        self.lines, self.number, self.cut = lines, 0, False

    def __iter__(self) -> Iterator[tuple[int, Event]]:
        """Raises TraceError, whose message names the line."""
        for event in read_lines(self._whole()):
            yield self.number, event

    def _whole(self) -> Iterator[str]:
        for line in self.lines:
            self.number += 1
            if len(line) > MAX_LINE:
                raise TraceError(f"line {self.number}: longer than {MAX_LINE} characters")
            if self.number > 1 and not line.endswith("\n") and not is_json(line):
                self.cut = True  # only the last line of a file can lack its end
                return
            yield line


def is_json(line: str) -> bool:
    """Whether a line that lacks its end is a whole one all the same."""
    try:
        json.loads(line)
    except (ValueError, RecursionError):
        return False
    return True


def open_trace(path: Path) -> Iterator[str]:
    """Lines of a file. Raises TraceError for what is no file or too large, and for bytes that are not UTF-8.

    A byte order mark in front of them is none of the trace.
    """
    if not path.is_file():
        raise TraceError("not a file")
    if (size := path.stat().st_size) > MAX_BYTES:
        raise TraceError(f"{size} bytes; at most {MAX_BYTES} are read")
    with path.open(encoding="utf-8-sig", errors="strict") as file:
        # readline with a limit: a file without line ends must not be read whole
        yield from iter(lambda: file.readline(MAX_LINE + 1), "")
