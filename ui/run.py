"""One run, and the limits that all runs share."""

import time
from dataclasses import dataclass, field

from engine.lines import dump_line
from engine.trace import End
from ui.log import RunLog

#: Statuses of a run that is over.
OVER = ("done", "stopped", "failed", "deadline")


@dataclass(frozen=True, slots=True)
class Limits:
    """Seconds, bytes and counts that keep one server fair and its disk bounded."""

    grace: float = 20.0  # without any watcher
    deadline: float = 600.0  # of computing
    patience: float = 30.0  # between a polite stop and a kill
    queue: int = 16  # runs that wait
    bytes: int = 512 * 2**20  # of run files
    ttl: float = 7 * 86400.0  # since a run was last written or read
    held: int = 32  # finished runs kept in memory


@dataclass(eq=False)
class Run:
    """One run. `status`: queued, running, done, stopped, failed, deadline. Times are time.monotonic()."""

    id: str
    log: RunLog
    job: dict = field(default_factory=dict)
    status: str = "queued"
    error: str = ""
    watchers: int = 0
    unwatched: float = field(default_factory=time.monotonic)
    started: float = 0.0
    asked: float = 0.0  # when its stop was asked for
    why: tuple[str, str] = ("stopped", "")  # status and reason of that stop

    @property
    def over(self) -> bool:
        return self.status in OVER

    def finish(self, status: str, error: str, data: dict | None = None) -> None:
        """Append the session's end. A stop that somebody asked for keeps the reason it was asked for."""
        if self.over:
            return
        if self.asked and status == "stopped":
            status, error = self.why[0], error or self.why[1]
        totals = {"totals": data["totals"]} if data and data.get("totals") else {}
        end = End(seq=self.log.last + 1, status=status, error=error, **totals)
        self.job = {}
        self.log.finish(dump_line(end), end.seq)
        self.status, self.error = status, error
        self.log.wake()
