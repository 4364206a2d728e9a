"""Scribe: turns the tensors of a step into trace events. What is said of the cache is read from its shadow."""

from collections.abc import Iterator, Sequence
from dataclasses import replace

from torch import Tensor

from engine import feed, trace
from engine.best_two import best_two
from engine.cache import TargetCache
from engine.config import RunConfig
from engine.equivalence import Witness
from engine.fold import Fold
from engine.propose import Draft, Proposer
from engine.row import Row
from engine.runs import compress, kv_runs


class Scribe:
    """Writes one lane's events and folds them, so that the invariants can be checked at the end of each step."""

    name: str
    config: RunConfig
    proposer: Proposer | None
    fold: Fold
    witness: Witness
    step: int
    draft_id: int
    batch_rows: list[Row]
    counts: dict[str, int]

    def proposed(self, rows: list[Row], draft: Draft) -> Iterator[trace.Event]:
        """The drafts, and the KV entries that drafting wrote."""
        tokens = draft.listed()
        self.counts["drafted"] += sum(map(len, tokens))
        q = draft.q and [[round(x, 4) for x in row] for row in draft.q]
        yield self._emit(trace.Propose(draft=self.draft_id, tokens=tokens, why=draft.why, source=draft.source, q=q))
        yield from self._drafter_kv([r for r in rows if not r.done])

    def verified(
        self,
        cache: TargetCache,
        fed: feed.Feed,
        logits: Tensor,
        accepted: Tensor,
        layout: str,
        tail: Tensor | None = None,
        token: Tensor | None = None,
    ) -> Iterator[trace.Event]:
        """What was fed and chosen, and what the shadow shows in the columns just written.

        `tail` [B]: whole rows were fed; the logits are of the last columns, after so many drafts each.
        `token` [B]: what ends the round. Under rejection sampling the choice is drawn and not the argmax.
        """
        lens, grown = fed.lens.tolist(), getattr(cache, "grown", 0)
        if grown:
            width, rows = int(fed.first), self.batch_rows
            yield self.kv_op("grow", width, [[r.row, 0, 0, width] for r in rows], grown)
        indices, exact = best_two(logits)
        ids, values = indices.tolist(), exact.round(decimals=3).tolist()
        self.witness.saw(ids, exact.tolist())
        choice = [[c[0] for c in row[: n + 1]] for row, n in zip(ids, lens, strict=True)]
        if self.config.sampling == "rejection":
            for i, (j, last) in enumerate(zip(accepted.tolist(), token.tolist(), strict=True)):
                choice[i][: j + 1] = [*fed.tokens[i, 1 : 1 + j].tolist(), last]
        yield self._emit(
            trace.Verify(
                draft=self.draft_id,
                layout=layout,
                tokens=None if tail is not None else fed.tokens.tolist(),
                lens=lens,
                positions=[compress(p) for p in fed.positions.tolist()],
                owners=[max(0, o) for o in fed.owners[:, 0].tolist()],
                slots=fed.starts,
                choice=choice,
                top2=[
                    [[i[1], v[0], v[1]] for i, v in zip(row[: j + 1], val[: j + 1], strict=True)]
                    for row, val, j in zip(ids, values, accepted.tolist(), strict=True)
                ],
            )
        )
        yield self._emit(self._kv(cache, fed.starts, fed.tokens.shape[1]))

    def kv_dropped(self) -> trace.Event:
        """Nothing is kept for the next round."""
        return self._emit(trace.Kv(model="target", width=0))

    def kv_state(self, cache: TargetCache, rows: list[Row]) -> trace.Event:
        """The whole shadow, after a copy."""
        return self._emit(self._kv(cache, [0] * len(rows), cache.width, reset=True, rows=[r.row for r in rows]))

    def kv_hidden(self, cache: TargetCache, hide: list[list[int]]) -> trace.Event:
        """Slots that have just become invisible."""
        return self._emit(trace.Kv(model="target", width=cache.width, hide=hide))

    def kv_op(
        self, op: str, width: int, moves: list[list[int]], copied: int, avoided: int = 0, keep: Sequence[int] = ()
    ) -> trace.Event:
        """A copy (or a crop that avoided one). `moves` and `keep` name every row that stays; others have left."""
        self.counts["kv_bytes"] += copied
        self.counts["kv_avoided"] += avoided
        return self._emit(
            trace.KvOp(
                op=op,
                model="target",
                width=width,
                rows=[*(m[0] for m in moves), *keep],
                moves=moves,
                bytes=copied,
                avoided=avoided,
            )
        )

    def _emit(self, event: trace.Event) -> trace.Event:
        event = replace(event, lane=self.name, step=self.step)
        self.fold.push(event)
        return event

    def _kv(
        self, cache: TargetCache, starts: list[int], columns: int, reset: bool = False, rows: list[int] | None = None
    ) -> trace.Kv:
        """KV entries of each row in `columns` slots from its start on, read from the shadow."""
        shadow, visible = cache.entries()
        lowest, highest = min(starts), max(starts) + columns  # nothing else is read
        shadow, visible = shadow[:, lowest:highest], visible[:, lowest:highest]
        owned = shadow[..., 0] >= 0
        stale, bare = (owned & ~visible).tolist(), (~owned & visible).tolist()
        owners, positions = shadow[..., 0].tolist(), shadow[..., 2].tolist()
        runs: list[list[int]] = []
        hide: list[list[int]] = []
        show: list[list[int]] = []
        for i, row in enumerate(rows or [r.row for r in self.batch_rows]):
            part = slice(starts[i] - lowest, starts[i] - lowest + columns)
            runs.extend(kv_runs(row, starts[i], owners[i][part], positions[i][part]))
            for found, cells in ((stale, hide), (bare, show)):
                slots = [s for s, yes in enumerate(found[i][part], starts[i]) if yes]
                cells.extend([row, at, length] for at, length in compress(slots))
        return trace.Kv(model="target", width=cache.width, reset=reset, runs=runs, hide=hide, show=show)

    def _drafter_kv(self, rows: list[Row]) -> Iterator[trace.Event]:
        cache = getattr(self.proposer, "cache", None)
        if cache is None or not rows:
            return
        runs: list[list[int]] = []
        for row in rows:
            at = self.proposer.at[row.row]
            entries = cache.shadow[at, : int(cache.count[at])]
            runs.extend(kv_runs(row.row, 0, entries[:, 0].tolist(), entries[:, 2].tolist()))
        width = max((run[1] + run[4] for run in runs), default=0)
        yield self._emit(trace.Kv(model="draft", width=width, reset=True, runs=runs))
