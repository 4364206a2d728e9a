"""EAGLE-3: one layer on the target's hidden states drafts greedily, with its own KV per row (code.md 2f).

Pair t is (token t + 1, target states of token t); it is cached in slot t and says what token t + 2 will be. After the
target has verified a round, the states of what it kept are known: pairs drafted on the head's own output are rolled
back always, accepted or not, and fed again with the target's states.
"""

import torch
from torch import Tensor

from engine.cache.slots import SlotCache
from engine.propose import Draft, doubtful
from engine.propose.states import States
from engine.row import Row
from engine.sampling import SharedNoise
from engine.train.draft_head import DraftHead


class Eagle3:
    """Needs the target's hidden states of `layers`, of the prompts when it opens and of every round it observes.

    Row with c = 5 tokens: states of tokens 0..3 are known (token 4 is new), so pairs 0..3 are true and say d1.
    K = 3: pairs 4 (d1) and 5 (d2) are fed on the head's own output; d3 is never fed. Rollback: count 6 -> 4.
    """

    def __init__(
        self,
        head: DraftHead,
        embed: torch.nn.Module,  # the target's input embedding
        *,
        k: int,
        context: int,
        stop_ids: frozenset[int],
        device: str,
        floor: float = 0.0,  # see `doubtful`
        name: str = "eagle3",
    ) -> None:
        self.head, self.embed, self.k, self.context = head, embed, k, context
        self.stop_ids, self.device, self.floor, self.name = stop_ids, device, floor, name
        self.layers: tuple[int, ...] = head.taps
        self.cache: SlotCache | None = None
        self.at: dict[int, int] = {}  # row id -> cache row
        self.true: dict[int, int] = {}  # row id -> pairs in the cache that rest on the target's states
        self.known: dict[int, Tensor] = {}  # row id -> fused states [M, H] of the tokens from `true` on

    def open(self, rows: list[Row], hidden: States | None = None) -> None:
        """Take these rows in, beside those still open, with the states of their prompts."""
        fused = self._fuse(hidden)
        self._make_room(rows)
        free = [n for n in range(self.cache.rows) if n not in self.at.values()]
        for i, row in enumerate(rows):
            self.at[row.row], self.true[row.row] = free[i], 0
            self.known[row.row] = fused[i, hidden.columns(i, 0, len(row.ids))]
            self.cache.count[free[i]] = 0

    @torch.inference_mode()
    def propose(self, rows: list[Row], limits: list[int], noise: SharedNoise | None = None) -> Draft:
        at = torch.tensor([self.at[r.row] for r in rows], device=self.device)
        steps = max(limits)
        tokens = torch.zeros(len(rows), steps, dtype=torch.int64, device=self.device)
        q = torch.zeros(len(rows), steps, dtype=torch.float64, device=self.device)
        hidden = self._catch_up(rows, at) if steps else None  # [B, 1, H]
        drafted = 0
        while drafted < steps:
            n, drafted = drafted, drafted + 1
            logits = self.head.logits(hidden[:, 0])
            best = logits.max(dim=-1)
            tokens[:, n] = self.head.to_target(best.indices)
            q[:, n] = (best.values - logits.logsumexp(dim=-1)).exp()
            if drafted == steps or doubtful(q[:, :drafted], self.floor):
                break
            hidden = self._feed(at, tokens[:, n : n + 1], hidden)
            self.cache.count[at] += 1
        lens, why = zip(
            *(self._length(t, min(n, drafted)) for t, n in zip(tokens.tolist(), limits, strict=True)), strict=True
        )
        width = max(lens)
        chances = [p[:n] for p, n in zip(q.tolist(), lens, strict=True)]
        return Draft(
            tokens[:, :width], torch.tensor(lens, device=self.device), list(why), [self.name] * len(rows), chances
        )

    def observe(self, rows: list[Row], verified: list[int], kept: list[int], hidden: States | None = None) -> None:
        """Roll back what was drafted and keep the states of the tokens that the rows have gained.

        A row's newest token has no states yet. Behind a prefill nothing is lacking: its states came with `open`.
        """
        had = [self.true[r.row] + len(self.known[r.row]) for r in rows]
        lacking = [len(r.ids) - 1 - n for r, n in zip(rows, had, strict=True)]
        fused = self._fuse(hidden) if any(lacking) else None
        for i, (row, first, count) in enumerate(zip(rows, had, lacking, strict=True)):
            self.cache.count[self.at[row.row]] = self.true[row.row]
            if count:
                new = fused[i, hidden.columns(i, first, count)]
                self.known[row.row] = torch.cat([self.known[row.row], new])

    def drop(self, row: int) -> None:
        for state in (self.at, self.true, self.known):
            state.pop(row, None)

    def _make_room(self, rows: list[Row]) -> None:
        """A cache for the open rows and these; the entries of open rows move to its first rows."""
        # a row without a stop rule runs until the slowest row of its batch is done
        longest = [r.prompt + r.max_new * (self.k + 1 if r.endless else 1) for r in rows]
        need = max(min(n, r.context) for n, r in zip(longest, rows, strict=True)) + self.k + 2
        total = len(self.at) + len(rows)
        old = self.cache if self.at else None
        if old and total <= old.rows and need <= old.capacity:
            return
        self.cache = SlotCache(1, total, max(need, old.capacity if old else 0), self.device)
        if old and old.layers[0].is_initialized:
            kept, layer = torch.tensor(list(self.at.values()), device=self.device), old.layers[0]
            self.cache.layers[0].lazy_initialization(layer.keys.transpose(1, 2), layer.values.transpose(1, 2))
            for new, store in ((self.cache.layers[0].keys, layer.keys), (self.cache.layers[0].values, layer.values)):
                new[: len(kept), : old.capacity] = store[kept]
            self.cache.shadow[: len(kept), : old.capacity] = old.shadow[kept]
            self.cache.count[: len(kept)] = old.count[kept]
        self.at = {row: n for n, row in enumerate(self.at)}

    @torch.inference_mode()
    def _fuse(self, hidden: States | None) -> Tensor:  # [B, T, H]
        if hidden is None:
            raise ValueError(f"{self.name} needs the target's hidden states {self.layers}")
        states = torch.cat([hidden.layers[n] for n in self.layers], dim=-1)
        return self.head.fuse(states.to(self.head.lm_head.weight.dtype))

    def _catch_up(self, rows: list[Row], at: Tensor) -> Tensor:  # [B, 1, H]
        """Feed every pair whose states are known by now; the head's output at each row's last pair.

        c = 6 and 7, true pairs 3 and 5:   tokens  x4 x5    states  g3 g4    filler goes behind the row's pairs
                                                   x6 _             g5 _
        """
        known = [self.known[r.row] for r in rows]
        width = max(len(k) for k in known)
        tokens = torch.zeros(len(rows), width, dtype=torch.int64)
        states = known[0].new_zeros(len(rows), width, known[0].shape[-1])
        for i, (row, k) in enumerate(zip(rows, known, strict=True)):
            first = self.true[row.row] + 1
            tokens[i, : len(k)] = torch.tensor(row.ids[first : first + len(k)])
            states[i, : len(k)] = k
            self.true[row.row] += len(k)
            self.known[row.row] = k[:0]
        last = torch.tensor([len(k) - 1 for k in known], device=self.device)
        hidden = self._feed(at, tokens.to(self.device), states, last)
        self.cache.count[at] += last + 1
        return hidden[torch.arange(len(rows), device=self.device), last][:, None]

    def _feed(self, at: Tensor, tokens: Tensor, hidden: Tensor, last: Tensor | None = None) -> Tensor:
        """One forward of the head over pairs [B, T] behind those cached. `last` [B]: last real column, None: all."""
        column = torch.arange(tokens.shape[1], device=self.device)[None, :]
        slots = (self.cache.count[at][:, None] + column).clamp(max=self.cache.capacity - 1)
        positions = (slots + 1).clamp(max=self.context - 1)  # of the pair's token
        owners = positions if last is None else torch.where(column <= last[:, None], positions, -1)
        mask = self.cache.plan(at, slots, owners, tokens, positions)[:, None]

        def attend(q: Tensor, k: Tensor, v: Tensor) -> Tensor:
            keys, values = self.cache.layers[0].update(k, v)
            groups = q.shape[1] // keys.shape[1]
            keys, values = (x.repeat_interleave(groups, dim=1) for x in (keys, values))
            return torch.nn.functional.scaled_dot_product_attention(q, keys, values, attn_mask=mask)

        return self.head(self.embed(tokens), hidden, positions, attend)

    def _length(self, drafted: list[int], limit: int) -> tuple[int, str]:
        """A row stops drafting behind a stop id and at its own limit."""
        for n, token in enumerate(drafted[:limit], 1):
            if token in self.stop_ids:
                return n, "eos" if n < self.k else "full"
        return limit, "full" if limit == self.k else "room"
