"""Lane: what a decoding method works with: schedule, propose, verify, choose, commit, finish; `spans` times them.

A method is a generator that calls these verbs in order and yields what they return (see `engine/methods`).
"""

from collections.abc import Iterator

import torch
from torch import Tensor

from engine import check, feed, trace
from engine.arrivals import step_of
from engine.bitwise import shapes_of
from engine.cache import TargetCache
from engine.cache.padded import PaddedCache
from engine.choice import choose, noise_of
from engine.config import RunConfig
from engine.equivalence import Witness
from engine.fold import Fold
from engine.forward import Output, forward
from engine.lengths import Lengths
from engine.models import Pair
from engine.propose import Draft, Proposer, ragged
from engine.propose.states import States
from engine.row import Row
from engine.scribe import Scribe
from engine.spans import Spans


class Lane(Scribe):
    """One method on one static batch of rows. `observer(lane, cache, feed, mask)` sees every forward (for tests)."""

    def __init__(
        self,
        name: str,
        config: RunConfig,
        pair: Pair,
        rows: list[Row],
        proposer: Proposer | None,
        header: trace.Header,
        step: int = 0,
        batch: int = 0,
        observer: object = None,
        clock: float = 0.0,
        witness: Witness | None = None,
    ) -> None:
        self.name, self.config, self.pair, self.proposer = name, config, pair, proposer
        self.rows = rows
        self.batch_rows: list[Row] = []  # rows of this step, finished ones included, in batch order
        self.ended: set[int] = set()  # rows whose end is in the trace
        self.step, self.batch, self.draft_id = step - 1, batch, 0
        self.fold, self.checker = Fold(), check.Checker()
        self.fold.push(header)
        self.observer, self.witness = observer, witness or Witness()
        self.spans = Spans(config.device, clock)
        self.noise = noise_of(config)
        self.lengths = Lengths(config)
        self.shapes = shapes_of(config, [p["ids"] for p in header.prompts])
        self.states: States | None = None  # what the last forward leaves for a drafter that reads hidden states
        self.counts = {
            "rounds": 0,
            "drafted": 0,
            "accepted": 0,
            "emitted": 0,
            "discarded": 0,
            "fed": 0,
            "kv_bytes": 0,
            "kv_avoided": 0,
        }

    @property
    def live(self) -> list[Row]:
        return [r for r in self.rows if not r.done]

    @property
    def layers(self) -> int:
        return self.pair.target.config.get_text_config().num_hidden_layers

    def new_cache(self, rows: int | None = None) -> PaddedCache:
        """A rectangle for all or so many of the lane's rows with room for two rounds behind the prompts."""
        t = self.config.k + 1 if self.proposer else 1
        longest = max(len(r.ids) for r in self.rows)
        return PaddedCache(self.layers, rows or len(self.rows), longest + 2 * t, 2 * t, self.config.device)

    def fixed(self, fed: feed.Feed, prefill: bool = False) -> feed.Feed:
        """`fed` in the shape that the bitwise mode asks for; otherwise as it is."""
        return self.shapes.fixed(fed, self.pair.pad_id if prefill else None) if self.shapes else fed

    def schedule(self, rows: list[Row], group: int = 0) -> trace.Event:
        """Begin a step with these rows."""
        self.step += 1
        before, now = [r.row for r in self.batch_rows], [r.row for r in rows]
        self.batch_rows = rows
        joined, left = [r for r in now if r not in before], [r for r in before if r not in now]
        return self._emit(trace.Schedule(rows=now, group=group, batch=self.batch, joined=joined, left=left))

    def wait(self, arrive: float) -> None:
        """Nothing to decode until then: the clock jumps, so that the next step is the first one of that request."""
        self.step = max(self.step, step_of(arrive) - 1)

    def propose(self, rows: list[Row], limits: list[int]) -> Draft:
        """Ask the proposer for at most min(K, limit) drafts per row, fewer where the draft length adapts."""
        self.draft_id += 1
        with self.spans.timed("propose"):
            allowed, why = self.lengths.allowed(rows, [min(self.config.k, n) for n in limits])
            draft = self.proposer.propose(rows, allowed, self.noise)
            return self.lengths.shorten(rows, draft, why)

    def no_draft(self, rows: list[Row]) -> Draft:
        """An empty draft, for a prefill or a plain step."""
        return ragged([[] for _ in rows], [0] * len(rows), self.config.k, "none", self.config.device)

    def shift_drafter(self, shift: dict[int, int]) -> None:
        """Let a drafter with a cache of its own use positions shifted by this much per row (BSP's drift)."""
        if hasattr(self.proposer, "shift"):
            self.proposer.shift.update(shift)

    def verify(self, cache: TargetCache, fed: feed.Feed, keep: Tensor | None = None) -> Output:
        """One target forward over `fed`, written into the cache."""
        with self.spans.timed("verify"):
            mask = cache.feed(fed)
            model, vocab = self.pair.target, self.pair.vocab
            layers = self.proposer.layers if self.proposer else ()
            out = forward(model, fed.tokens, fed.positions, mask, cache, vocab=vocab, keep=keep, layers=layers)
            if self.observer:
                self.observer(self, cache, fed, mask)
            cache.advance(fed)
            self.states = States(out.hidden, fed.owners)
            if self.noise:
                index = fed.owners if keep is None else fed.owners[:, keep]
                chosen = torch.where(index >= 0, index + 1, -1).tolist()
                out.logits = self.noise.scores(out.logits, [r.row for r in self.batch_rows], chosen)
        self.counts["fed"] += out.tokens
        return out

    def choose(self, rows: list[Row], logits: Tensor, draft: Draft) -> tuple[Tensor, Tensor]:
        """Accepted drafts [B] and the token that ends the round [B], by logits (or noisy scores) [B, K + 1, V]."""
        return choose(self.config, rows, logits, draft)

    def commit(
        self, rows: list[Row], draft: Draft, accepted: Tensor, token: Tensor, verified: Tensor | None = None
    ) -> trace.Event:
        """Append accepted drafts and the target's token to the rows, as far as their limits allow.

        `verified`: drafts that agreed, where a method keeps fewer of them (rollback).
        """
        agreed = (accepted if verified is None else verified).tolist()
        tokens, kinds = [], []
        for row, d, j, n, t in zip(rows, draft.listed(), accepted.tolist(), agreed, token.tolist(), strict=True):
            # below what agreed, the target's own choice is the next draft: the target would have said the same
            last = "p" if row.generated == 0 else "a" if j < n else "b" if j == len(d) else "c"
            tokens.append([] if row.done else [*d[:j], t])
            kinds.append("" if row.done else "a" * j + last)
        return self.commit_tokens(rows, draft, agreed, tokens, kinds)

    def commit_tokens(
        self, rows: list[Row], draft: Draft, agreed: list[int], tokens: list[list[int]], kinds: list[str]
    ) -> trace.Event:
        """Append these tokens to the rows, as far as their limits allow. `agreed`: drafts the target agreed with."""
        emitted, cuts, kept = [], [], []
        drafted = [i for i, r in enumerate(rows) if not r.done]  # a row kept beyond its end has no drafter any more
        for row, new, n in zip(rows, tokens, agreed, strict=True):
            out, cut = row.commit(new)
            emitted.append(out)
            cuts.append(cut or ("rollback" if n > len(new) else ""))
        for letters in kinds:
            kept.append(sum(k in "am" for k in letters))
        self.witness.kept([r.row for r in rows], emitted)
        self.counts["rounds"] += 1
        self.counts["accepted"] += sum(agreed)
        self.counts["emitted"] += sum(map(len, emitted))
        self.counts["discarded"] += sum(max(0, n - len(new)) for n, new in zip(agreed, tokens, strict=True))
        lens = [len(d) for d in draft.listed()]
        judged, verified, right, kept = ([of[i] for i in drafted] for of in (rows, lens, agreed, kept))
        self.lengths.observe(judged, verified, right)
        if self.proposer:
            self.proposer.observe(judged, verified, kept, self.states.rows(drafted))
        kinds = [k[: len(e)] for k, e in zip(kinds, emitted, strict=True)]
        cut = cuts if any(cuts) else []
        return self._emit(trace.Commit(draft=self.draft_id, accepted=agreed, emitted=emitted, kinds=kinds, cut=cut))

    def finish(self) -> Iterator[trace.Event]:
        """End the step: first violations, rows that are done, the spans."""
        state = self.fold.lanes[self.name]
        with self.spans.timed("check"):
            found = self.checker.frame(state, self.fold.header)
        for violation in found:
            yield self._emit(violation)
        for row in self.batch_rows:
            if self.noise:
                self.noise.forget(row.row, len(row.ids))
            if row.done and row.row not in self.ended:
                self.ended.add(row.row)
                self.lengths.drop(row.row)
                if self.proposer:
                    self.proposer.drop(row.row)
                yield self._emit(trace.RowDone(row=row.row, reason=row.done, tokens=len(row.output)))
        yield self._emit(self.spans.event())
        state.frames.clear()  # checked: a long run keeps no history here
