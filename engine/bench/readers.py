"""Many readers of one run's event stream, each of which reconnects with Last-Event-ID until it hears `bye`."""

import threading
import time

import httpx


class Reader(threading.Thread):
    """Collects `seqs` in order of arrival. `ended` once the server said bye; `error` if it gave up."""

    def __init__(self, url: str, run: str, patience: float = 600.0) -> None:
        super().__init__(daemon=True)
        self.url, self.run_id, self.until = f"{url}runs/{run}/events", run, time.monotonic() + patience
        self.seqs: list[int] = []
        self.ended, self.error = False, ""
        self._id, self._named = -1, False

    def run(self) -> None:
        while not self.ended and time.monotonic() < self.until:
            headers = {"Last-Event-ID": f"{self.run_id}:{self.seqs[-1]}"} if self.seqs else {}
            try:
                with httpx.stream("GET", self.url, headers=headers, timeout=60) as response:
                    if response.status_code == 204:
                        self.ended = True
                    for line in response.iter_lines():
                        self._line(line)
            except httpx.HTTPError as error:
                self.error = f"{type(error).__name__}: {error}"
                time.sleep(0.5)

    def _line(self, line: str) -> None:
        if line.startswith("id: "):
            self._id = int(line.rsplit(":", 1)[1])
        elif line.startswith("event: "):
            self._named = True
            self.ended = self.ended or line == "event: bye"
        elif line.startswith("data: ") and not self._named:
            self.seqs.append(self._id)
        elif not line:
            self._named = False

    def complete(self, last: int) -> bool:
        """Whether every event came, once, in order."""
        return self.ended and self.seqs == list(range(last + 1))
