"""Transcript: turns an observed forward into trace events, as `engine.scribe` does for those of our own lanes."""

from dataclasses import replace
from pathlib import Path

from torch import Tensor
from transformers import PreTrainedTokenizerBase

from engine import trace
from engine.fingerprint import moves
from engine.observed import Observed
from engine.runs import compress, kv_runs
from engine.trace_file import TraceFile

Live = list[tuple[int, int]]  # (batch row, row) of those that have not ended


class Transcript(TraceFile):
    """Step by step: `cache`, `forward`, `commit`. `sampled`: tokens are drawn, so the choice is what was emitted."""

    def __init__(self, path: Path, name: str, tokenizer: PreTrainedTokenizerBase | None, sampled: bool) -> None:
        super().__init__(path, name, tokenizer)
        self.sampled = sampled
        self.drafts: dict[int, list[int]] = {}  # that each row was fed in the last forward

    def cache(self, now: Observed, live: Live, found: dict[int, list[int]]) -> None:
        """What happened to the cache since the last forward, and which of its slots are seen now.

        `found`: each row's entries now: the slots that they had then, -1 for none.
        """
        maps, held = self.lane.maps["target"], now.held
        before = max(len(maps[row].owner) if row in maps else 0 for _, row in live)
        if held == 0:
            if before:
                self.push(trace.Kv(model="target", width=0))
            return
        stayed = all(found[row] == list(range(held)) for _, row in live)
        if not stayed or held != before:
            runs = [run for _, row in live for run in moves(row, found[row])]
            kept, op = list(dict.fromkeys(run[0] for run in runs)), "crop" if stayed else "realign"
            self.push(trace.KvOp(op=op, model="target", width=held, rows=kept, moves=runs, bytes=0))
        hide, show = [], []
        for i, row in live:
            was = maps[row].visible if row in maps else []
            for slot, seen in enumerate(now.seen[i, :held].tolist()):
                if seen != (slot < len(was) and was[slot] == 1):
                    (show if seen else hide).append([row, slot, 1])
        if hide or show:
            self.push(trace.Kv(model="target", width=held, hide=hide, show=show))

    def forward(self, now: Observed, live: Live, logits: Tensor) -> None:
        """What was fed and chosen, and the entries that were written."""
        held, t = now.held, now.ids.shape[1]
        contents = [self.lane.rows[row].ids for _, row in live]
        longest = max(map(len, contents))
        owners = [now.owners(i, ids, longest) for (i, _), ids in zip(live, contents, strict=True)]
        last = [max(n for n, o in enumerate(mine) if o >= 0) for mine in owners]
        lens = [mine[n] - len(ids) + 1 for mine, n, ids in zip(owners, last, contents, strict=True)]
        fed = [now.ids[i].tolist() for i, _ in live]
        self.drafts = {row: ids[n - k + 1 : n + 1] for (_, row), ids, n, k in zip(live, fed, last, lens, strict=True)}
        chosen = [now.chosen(i, logits, range(n - k, n + 1)) for (i, _), n, k in zip(live, last, lens, strict=True)]
        left = all(now.solid(i) for i, _ in live) if held else all(n == t - 1 for n in last)
        self.push(
            trace.Verify(
                draft=self.step,
                layout="left" if left else "right",
                tokens=fed,
                lens=lens,
                positions=[compress(now.positions[i].tolist()) for i, _ in live],
                owners=[max(0, mine[0]) for mine in owners],
                slots=[held] * len(live),
                choice=[ids for ids, _ in chosen],
                top2=[top for _, top in chosen],
            )
        )
        runs, hide, show = [], [], []
        for (i, row), mine in zip(live, owners, strict=True):
            runs.extend(kv_runs(row, held, mine, now.positions[i].tolist()))
            for slot, (owner, seen) in enumerate(zip(mine, now.seen[i, held:].tolist(), strict=True), held):
                if seen != (owner >= 0):
                    (show if seen else hide).append([row, slot, 1])
        self.push(trace.Kv(model="target", width=held + t, runs=runs, hide=hide, show=show))

    def commit(self, emitted: dict[int, list[int]]) -> None:
        """Write the last forward with its commit; rows that have ended are left out."""
        at, fed = next((n, e) for n, e in enumerate(self.pending) if isinstance(e, trace.Verify))
        rows = self.lane.frames[-1].rows
        ids = [emitted.get(row, []) for row in rows]
        if self.sampled:
            drawn = [mine + choice[len(mine) :] for mine, choice in zip(ids, fed.choice, strict=True)]
            fed = self.pending[at] = replace(fed, choice=drawn)
        self.pieces(t for mine in ids for t in mine)
        accepted, kinds = [], []
        for drafts, choice, mine in zip((self.drafts[row] for row in rows), fed.choice, ids, strict=True):
            pairs = enumerate(zip(drafts, choice, strict=False))
            accepted.append(next((j for j, (draft, best) in pairs if draft != best), len(drafts)))
            end = "b" if accepted[-1] == len(drafts) else "c"
            letters = "a" * accepted[-1] + ("p" if self.step == 0 and not drafts else end)
            kinds.append(letters[: len(mine)].ljust(len(mine), "m"))
        self.push(trace.Commit(draft=self.step, accepted=accepted, emitted=ids, kinds=kinds))
        for state in (self.lane.rows[row] for row in rows):
            output, stops = state.ids[state.prompt :], self.fold.header.stop_ids
            if ended := next((n for n, t in enumerate(output, 1) if t in stops), 0):
                self.push(trace.RowDone(row=state.row, reason="stop", tokens=ended))
        self.flush()
