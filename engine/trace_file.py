"""TraceFile: events of one lane to a file, folded on the way; the last forward's wait until its commit is known."""

from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path

from transformers import PreTrainedTokenizerBase

from engine import trace
from engine.fold import Fold
from engine.frames import LaneState
from engine.pieces import pieces


class TraceFile:
    """`pending`: events of the step that is open, in order. `lane`: what has been pushed so far, folded."""

    def __init__(self, path: Path, name: str, tokenizer: PreTrainedTokenizerBase | None) -> None:
        self.file = path.open("w", encoding="utf-8")
        self.name, self.tokenizer = name, tokenizer
        self.fold, self.pending = Fold(), []
        self.seq, self.step, self.known = 0, -1, set()

    @property
    def lane(self) -> LaneState:
        return self.fold.lanes[self.name]

    def header(self, header: trace.Header) -> None:
        """Begin, with the words of the prompts where a tokenizer knows them."""
        text = self.tokenizer.decode if self.tokenizer else (lambda _: "")
        self.fold.push(header)
        self._write([replace(header, prompts=[{**p, "text": text(p["ids"])} for p in header.prompts])])
        self.pieces(t for p in header.prompts for t in p["ids"])

    def pieces(self, ids: Iterable[int]) -> None:
        """The texts of ids that are new to the trace."""
        if new := sorted(set(ids) - self.known):
            self.known.update(new)
            self._write([trace.Pieces(pieces=pieces(self.tokenizer, new))])

    def push(self, event: trace.Event) -> None:
        """Fold an event of the open step; `flush` writes it."""
        event = replace(event, lane=self.name, step=max(0, self.step))
        self.fold.push(event)
        self.pending.append(event)

    def flush(self) -> None:
        """Write the open step."""
        self._write(self.pending)
        self.pending = []

    def end(self, status: str, error: str) -> None:
        """The end of the lane and of the trace, if there was any."""
        self.flush()
        if self.fold.header:
            step = max(0, self.step)
            self._write([trace.End(lane=name, step=step, status=status, error=error) for name in (self.name, "")])
        self.file.close()

    def _write(self, events: list[trace.Event]) -> None:
        for event in events:
            self.file.write(trace.dump_line(replace(event, seq=self.seq)) + "\n")
            self.seq += 1
        self.file.flush()
