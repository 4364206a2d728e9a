"""Recorder: a trace of somebody else's decoding loop around a Hugging Face causal LM, seen from the model's side.

    with Recorder(model, "mine.jsonl", tokenizer=tokenizer):
        model.generate(**tokenizer(texts, padding=True, return_tensors="pt"), do_sample=False)

Observed: ids, mask and cache of every forward, the position ids that reach the model's position embedding, and where
each cache entry has gone since, found by its key (`engine.fingerprint`). So what a loop does to the cache between two
forwards is in the trace, whoever did it.

What it cannot know: which tokens were committed, before the next forward feeds the last of them; so the end of a run
must be told by `commit`. In between it goes by what is fed, and drafts count as accepted where the row goes on to see
their entries, unless `commit` says otherwise. Without a mask or `prompts`, pads pass for words. How a copy was made is
not seen: its bytes are 0 in the trace. Every call of the model counts as a step, so a drafter must be another one.
Refused: beam search, prompts in several chunks, caches other than DynamicCache.
"""

from collections.abc import Sequence
from pathlib import Path

from torch import nn
from transformers import PreTrainedModel, PreTrainedTokenizerBase

from engine import trace
from engine.fingerprint import fingerprints, owner_of, sources
from engine.observed import Observed, PositionHooks, RecorderError, observe
from engine.support import refuse
from engine.transcript import Transcript

LANE = "recorded"


class Recorder:
    """Hooks into `model` until `close`. `prompts`: ids per row, where the loop gives no mask that tells pads.

    `sampled`: the loop draws its tokens, so they are not held against the argmax. Raises UnsupportedModel at once,
    RecorderError from within the loop when it does what cannot be recorded.
    """

    def __init__(
        self,
        model: PreTrainedModel,
        path: str | Path,
        *,
        prompts: Sequence[Sequence[int]] | None = None,
        tokenizer: PreTrainedTokenizerBase | None = None,
        sampled: bool = False,
        name: str = "",
    ) -> None:
        refuse(model, 1)
        self.model, self.prompts = model, prompts
        self.name = name or model.config.name_or_path
        self.positions = PositionHooks(model)
        self.out = Transcript(Path(path), LANE, tokenizer, sampled)
        self.rows: list[int] = []  # of the last forward, in batch order
        self.marks: dict[int, list[bytes]] = {}  # each row's entries after the last forward
        self.found: dict[int, list[int]] = {}  # each row's entries now: the slots that they had then, -1 for none
        self.now: Observed | None = None
        self.handles = [
            *self.positions.handles,
            model.register_forward_pre_hook(self._before, with_kwargs=True),
            model.register_forward_hook(self._after, with_kwargs=True),
        ]

    def __enter__(self) -> "Recorder":
        return self

    def __exit__(self, kind: type | None, error: BaseException | None, where: object) -> None:
        self.close("failed" if kind else "done", str(error or ""))

    def commit(self, emitted: Sequence[Sequence[int]]) -> None:
        """What the loop takes from the last forward: the ids that each of its batch rows got, [] for none."""
        if not self.out.pending:
            raise RecorderError("commit() belongs after a forward, once")
        if len(emitted) != len(self.rows):
            raise RecorderError(f"commit() got {len(emitted)} rows; the last forward had {len(self.rows)}")
        self.out.commit({row: [int(t) for t in ids] for row, ids in zip(self.rows, emitted, strict=True)})

    def close(self, status: str = "done", error: str = "") -> None:
        """Unhook and end the trace. The last forward stays without a commit unless `commit` told it."""
        for handle in self.handles:
            handle.remove()
        self.out.end(status, error)

    def _before(self, model: nn.Module, args: tuple, kwargs: dict) -> None:
        now = self.now = observe(args, kwargs)
        if not self.rows:
            if now.held:
                raise RecorderError("the first forward finds a filled cache; record from the prompts on")
            self._open(now)
            return
        if now.held == 0 and len(now.ids) != len(self.rows):
            raise RecorderError("without a cache, rows that leave the batch cannot be told apart")
        marks = fingerprints(now.cache.layers[-1].keys) if now.held else [[]] * len(now.ids)
        rows = [owner_of(m, self.marks, i) for i, m in enumerate(marks)] if now.held else self.rows
        if len(set(rows)) < len(rows):
            raise RecorderError("two batch rows hold the cache of one prompt; beam search cannot be recorded")
        if self.out.pending:
            self.out.commit(self._fed_next(now, rows))
        self.found = {row: sources(self.marks[row], m) for row, m in zip(rows, marks, strict=True)}
        self.rows = rows

    def _after(self, model: nn.Module, args: tuple, kwargs: dict, out: object) -> None:
        now = self.now
        if not hasattr(out, "logits"):
            raise RecorderError("the model returns a tuple: leave return_dict as it is")
        now.positions = self.positions.take(now.ids)
        live = [(i, row) for i, row in enumerate(self.rows) if not self.out.lane.rows[row].done]
        self.out.step += 1
        if live:
            self.out.lane.frames.clear()  # written: a long run keeps no history here
            self.out.push(trace.Schedule(rows=[row for _, row in live]))
            self.out.cache(now, live, self.found)
            self.out.forward(now, live, out.logits)
        cache = getattr(out, "cache", None) if now.cache is None else now.cache
        marks = fingerprints(cache.layers[-1].keys) if cache is not None else [[]] * len(self.rows)
        self.marks = dict(zip(self.rows, marks, strict=True))

    def _open(self, now: Observed) -> None:
        ids = [ids[shown].tolist() for ids, shown in zip(now.ids, now.seen, strict=True)]
        if self.prompts is not None:
            ids = [[int(t) for t in p] for p in self.prompts]
        if len(ids) != len(now.ids) or not all(ids):
            raise RecorderError(f"{len(ids)} prompts for {len(now.ids)} batch rows; none may be missing or empty")
        self.rows = list(range(len(ids)))
        self.out.begin(self.model, self.name, ids, {"sampling": "sampled" if self.out.sampled else "greedy"})

    def _fed_next(self, now: Observed, rows: list[int]) -> dict[int, list[int]]:
        """What the last forward must have committed, as this one feeds it."""
        if now.held == 0:  # everything is fed again
            known = {row: len(self.out.lane.rows[row].ids) for row in rows}
            new = {row: now.ids[i][now.seen[i]].tolist()[known[row] :] for i, row in enumerate(rows)}
            if any(len(ids) > 1 for ids in new.values()):
                raise RecorderError("rows are fed again with several new tokens: tell which were committed by commit()")
            return new
        found = {}
        for i, row in enumerate(rows):
            drafts = self.out.drafts.get(row, [])
            kept = int(now.seen[i, : now.held].sum()) - len(self.out.lane.rows[row].ids) if drafts else 0
            if not 0 <= kept <= len(drafts):
                seen = f"row {row} sees {kept:+d} slots besides what it had committed, after {len(drafts)} drafts"
                works = "tell what each row got by commit(), or give `prompts` if the first forward fed drafts"
                raise RecorderError(f"{seen}: {works}")
            found[row] = [*drafts[:kept], int(now.ids[i, 0])]
        return found
