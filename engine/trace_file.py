"""TraceFile: events of one lane to a file, folded on the way; the last forward's wait until its commit is known."""

from collections.abc import Iterable
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import torch
import transformers
from transformers import PreTrainedModel, PreTrainedTokenizerBase

from engine import trace
from engine.fold import Fold
from engine.frames import LaneState
from engine.lines import dump_line
from engine.models import describe, pad_id_of, position_scheme, stop_ids_of
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

    def begin(self, model: PreTrainedModel, name: str, prompts: list[list[int]], config: dict) -> None:
        """Write the header: these prompts, in words where a tokenizer knows them, decoded by this model."""
        text = self.tokenizer.decode if self.tokenizer else (lambda _: "")
        header = trace.Header(
            title="recorded from a Hugging Face loop",
            created=datetime.now(UTC).isoformat(timespec="seconds"),
            models={"target": describe(model, name, "")},
            dtype=str(model.dtype).removeprefix("torch."),
            device=str(model.device),
            versions={"torch": torch.__version__, "transformers": transformers.__version__},
            machine={},
            stop_ids=sorted(stop_ids_of(model)),
            pad_id=pad_id_of(model, self.tokenizer),
            positions=position_scheme(model),
            chat=False,
            prompts=[{"row": n, "text": text(ids), "ids": ids, "arrive": 0} for n, ids in enumerate(prompts)],
            lanes=[{"lane": self.name, "config": config}],
        )
        self.fold.push(header)
        self._write([header])
        self.pieces(t for ids in prompts for t in ids)

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
            self.file.write(dump_line(replace(event, seq=self.seq)) + "\n")
            self.seq += 1
        self.file.flush()
