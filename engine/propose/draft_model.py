"""A smaller causal model drafts greedily and keeps its own KV cache between rounds (papers.md A.7)."""

import torch
from torch import Tensor

from engine.cache.slots import SlotCache
from engine.forward import forward
from engine.propose import Draft, doubtful
from engine.row import Row
from engine.sampling import SharedNoise


class DraftModel:
    """Slots of the draft cache are content indices, so a rejected draft is rolled back by lowering a count.

    Row with c = 5 content tokens, K = 3: fed (last), d1, d2 -> cached 0..6; d3 was never fed.
    Accepted j = 1: valid entries are 0..5, the correction at index 6 will be fed next round with d1's successor.
    """

    layers: tuple[int, ...] = ()

    def __init__(
        self,
        model: torch.nn.Module,
        *,
        k: int,
        vocab: int,
        context: int,
        stop_ids: frozenset[int],
        device: str,
        capacity: int,
        places: int = 0,
        floor: float = 0.0,  # see `doubtful`
        name: str = "draft_model",
    ) -> None:
        self.model, self.k, self.vocab, self.context = model, k, vocab, context
        self.stop_ids, self.device, self.floor, self.name = stop_ids, device, floor, name
        self.capacity, self.places = capacity + k + 2, places  # tokens a row may reach; rows at a time, if known
        self.cache: SlotCache | None = None
        self.free: list[int] = []
        self.at: dict[int, int] = {}  # row id -> cache row
        self.fed: dict[int, int] = {}  # row id -> tokens of this round's draft that were fed
        self.prompt: dict[int, int] = {}
        self.shift: dict[int, int] = {}  # row id -> added to the positions of generated tokens: BSP's drift (C.1, 4)

    def open(self, rows: list[Row], hidden: dict | None = None) -> None:
        """Give these rows a place; their prompts are fed with the first `propose`."""
        if self.cache is None:
            self._allocate(max(len(rows), self.places))
        for r in rows:
            self.at[r.row], self.prompt[r.row], self.shift[r.row] = self.free.pop(), r.prompt, 0
            self.cache.count[self.at[r.row]] = 0

    def _allocate(self, places: int) -> None:
        layers = (
            max(m.layer_idx for m in self.model.modules() if hasattr(m, "layer_idx") and m.layer_idx is not None) + 1
        )
        self.cache = SlotCache(layers, places, self.capacity, self.device)
        self.free = list(range(places))[::-1]

    def propose(self, rows: list[Row], limits: list[int], noise: SharedNoise | None = None) -> Draft:
        at = self._cache_rows(rows)
        steps = max(limits)
        tokens = torch.zeros(len(rows), steps, dtype=torch.int64, device=self.device)
        q = torch.zeros(len(rows), steps, dtype=torch.float64, device=self.device)
        logits = self._catch_up(rows, at) if steps else None
        drafted = 0
        while drafted < steps:
            n, drafted = drafted, drafted + 1
            scores = logits
            if noise:
                index = [[len(r.ids) + n] if len(r.ids) + n < self.context else [-1] for r in rows]
                scores = noise.scores(logits[:, None], [r.row for r in rows], index)[:, 0]
            tokens[:, n] = scores.argmax(dim=-1)
            mine = logits.gather(1, tokens[:, n : n + 1])[:, 0]
            q[:, n] = (mine - logits.logsumexp(dim=-1)).exp()
            if drafted == steps or doubtful(q[:, :drafted], self.floor):
                break
            logits = self._feed(rows, at, tokens[:, n : n + 1])[:, 0]
            self.cache.count[at] += 1
        lens, why = zip(
            *(self._length(t, min(n, drafted)) for t, n in zip(tokens.tolist(), limits, strict=True)), strict=True
        )
        width = max(lens)
        fed = [min(n, max(0, drafted - 1)) for n in lens]
        self.fed = {r.row: n for r, n in zip(rows, fed, strict=True)}
        # a row that stopped drafting early was fed on with its batch: those entries are no draft of its own
        self.cache.count[at] -= max(0, drafted - 1) - torch.tensor(fed, device=self.device)
        probabilities = [p[:n] for p, n in zip(q.tolist(), lens, strict=True)]
        lengths = torch.tensor(lens, device=self.device)
        return Draft(tokens[:, :width], lengths, list(why), [self.name] * len(rows), probabilities)

    def observe(self, rows: list[Row], verified: list[int], kept: list[int], hidden: dict | None = None) -> None:
        """Rows now hold their new content: entries past the accepted drafts that were fed become stale."""
        for row, j in zip(rows, kept, strict=True):
            at = self.at[row.row]
            valid = int(self.cache.count[at]) - max(0, self.fed.pop(row.row, 0) - j)
            self.cache.count[at] = min(valid, len(row.ids) - 1)  # the last token is fed again, for its logits

    def drop(self, row: int) -> None:
        if row in self.at:
            self.free.append(self.at.pop(row))

    def _cache_rows(self, rows: list[Row]) -> Tensor:
        return torch.tensor([self.at[r.row] for r in rows], device=self.device)

    def _length(self, drafted: list[int], limit: int) -> tuple[int, str]:
        """A row stops drafting behind a stop id and at its own limit."""
        for n, token in enumerate(drafted[:limit], 1):
            if token in self.stop_ids:
                return n, "eos" if n < self.k else "full"
        return limit, "full" if limit == self.k else "room"

    def _catch_up(self, rows: list[Row], at: Tensor) -> Tensor:
        """Feed every row's content that has no draft KV yet (the prompt at first); logits after its last token [B, V].

        cached 4 and 6 of c = 6 and 7:   feed  t4 t5      filler goes behind the row's content
                                               t6 _
        """
        counts = self.cache.count[at].tolist()
        tails = [r.ids[n:] for r, n in zip(rows, counts, strict=True)]
        width = max(len(t) for t in tails)
        tokens = torch.tensor([t + [0] * (width - len(t)) for t in tails], device=self.device)
        last = torch.tensor([len(t) - 1 for t in tails], device=self.device)
        keep = last.unique()
        logits = self._feed(rows, at, tokens, last, keep)
        self.cache.count[at] += last + 1
        column = torch.searchsorted(keep, last)
        return logits[torch.arange(len(rows), device=self.device), column]

    def _feed(
        self,
        rows: list[Row],
        at: Tensor,  # [B] cache rows
        tokens: Tensor,  # [B, T]
        last: Tensor | None = None,  # [B] last real column; None: all are real
        keep: Tensor | None = None,
    ) -> Tensor:  # logits [B, N, V]
        column = torch.arange(tokens.shape[1], device=self.device)[None, :]
        slots = (self.cache.count[at][:, None] + column).clamp(max=self.cache.capacity - 1)
        owners = slots if last is None else torch.where(column <= last[:, None], slots, -1)
        shift = torch.tensor([[self.shift[r.row]] for r in rows], device=self.device)
        prompt = torch.tensor([[self.prompt[r.row]] for r in rows], device=self.device)
        positions = torch.where(slots >= prompt, slots + shift, slots).clamp(max=self.context - 1)
        mask = self.cache.plan(at, slots, owners, tokens, positions)
        out = forward(self.model, tokens, positions, mask, self.cache, vocab=self.vocab, keep=keep)
        return out.logits
