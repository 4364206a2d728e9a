"""Bitwise mode of `slots`: fixed shapes, so that a row's numbers do not depend on its batch (code.md 2c).

Matrix kernels choose how to sum by the number of rows that they are given, attention kernels by queries and slots. So:

    every round feeds the same number of columns, a multiple of 4, whatever was drafted; the rest is filler
    every prompt is padded to one length, a multiple of 32
    every forward reads the whole capacity of the cache, which is set by the session's longest row

Then batched logits can be *equal* to those of the row alone, and any difference is a bug, not rounding. That is a
property of the machine's kernels: `self_test` tries it, and the mode is refused where it does not hold.
"""

from dataclasses import dataclass, replace

import torch
from torch import Tensor
from torch.nn.functional import pad

from engine import feed
from engine.cache.slots import SlotCache
from engine.config import RunConfig
from engine.equivalence import Witness
from engine.feed import Feed
from engine.forward import forward
from engine.frames import RowState
from engine.models import Pair
from engine.row import Row
from engine.scribe import best_two


@dataclass(frozen=True, slots=True)
class BitwiseRow:
    """A row against the same row alone: generated `tokens`, and the first whose two best logits are not the same bits.

    `index` None: there is none. `apart`: the difference there, infinite where another token is the best.
    """

    row: int
    tokens: int
    index: int | None
    apart: float


class BitwiseError(ValueError):
    """This machine gives a row other numbers in a batch: says which, by how much, and what works instead."""


@dataclass(frozen=True, slots=True)
class Shapes:
    """Columns per round, columns of a prefill, slots of the cache."""

    columns: int
    prompt: int
    capacity: int

    def fixed(self, fed: Feed, pad_id: int | None = None) -> Feed:
        """`fed` with filler columns up to the fixed number; with `pad_id` it is a prefill, padded on the right.

        columns 8, K + 1 = 5:   tokens c d e f g . . .    positions 4 5 6 7 8 8 8 8    owners 4 5 6 7 8 -1 -1 -1
        """
        more = (self.columns if pad_id is None else self.prompt) - fed.tokens.shape[1]
        last = (
            fed.positions[:, -1:].expand(-1, more) if pad_id is None else fed.positions.new_zeros(len(fed.lens), more)
        )
        return replace(
            fed,
            tokens=pad(fed.tokens, (0, more), value=pad_id or 0),
            positions=torch.cat([fed.positions, last], dim=1),
            owners=pad(fed.owners, (0, more), value=-1),
        )


def shapes_of(config: RunConfig, prompts: list[list[int]]) -> Shapes | None:
    """The shapes of a session on these prompts; None outside of the bitwise mode."""
    if config.fidelity != "bitwise":
        return None
    longest, columns = max(map(len, prompts)), multiple(config.k + 1, 4)
    return Shapes(columns, multiple(longest, 32), multiple(longest + config.max_new + 4 * columns, 32))


def multiple(n: int, of: int) -> int:
    """The smallest multiple that is not below n."""
    return -(-n // of) * of


def by_four(keep: Tensor) -> Tensor:  # [N] -> [a multiple of 4]
    """Columns whose logits are wanted, the last one repeated: the output layer too must see a multiple of 4 rows."""
    return torch.cat([keep, keep[-1:].expand(multiple(len(keep), 4) - len(keep))])


def same_bits(pair: Pair, shapes: Shapes, row: RowState, witness: Witness) -> BitwiseRow:
    """Hold the two best logits of every generated token against those that the row gets alone."""
    ids, seen = row.ids[: row.prompt + row.final], witness.seen[row.row]
    indices, values = (t.tolist() for t in best_two(alone(pair, shapes, ids, row.prompt)))
    for n, (i, v, (first, x, second, y)) in enumerate(zip(indices, values, seen, strict=False)):
        if (i, v) != ([first, second], [x, y]) or ids[row.prompt + n] != i[0]:
            apart = max(abs(v[0] - x), abs(v[1] - y)) if i == [first, second] else float("inf")
            return BitwiseRow(row.row, row.final, n, apart)
    return BitwiseRow(row.row, row.final, None, 0.0)


@torch.inference_mode()
def alone(pair: Pair, shapes: Shapes, ids: list[int], prompt: int) -> Tensor:  # [N, V], N = len(ids) - prompt
    """Plain decoding of one row, teacher-forced: one token a forward, in the mode's shapes."""
    row = Row(0, ids[:prompt], prompt, len(ids), len(ids) + 1, frozenset())
    cache = cache_of(pair, shapes, 1)
    logits = [prefill(pair, shapes, cache, [row])[0]]
    for token in ids[prompt:-1]:
        row.ids.append(token)
        logits.append(round_of(pair, shapes, cache, [row], [[]])[0, 0])
    return torch.stack(logits)


def self_test(pair: Pair, shapes: Shapes, rows: int, k: int) -> int:
    """Whether batches of 1 to `rows` rows give every row the numbers that it gets alone; returns logits compared.

    Rows of different length are prefilled, drafts are fed, of which some are then rolled back. Raises BitwiseError.
    """
    generator = torch.Generator().manual_seed(0)
    compared = 0
    for b in range(1, rows + 1):
        longest = min(shapes.prompt, shapes.capacity - 3 * shapes.columns)
        lengths = [2 + 7 * n % (longest - 2) for n in range(b)]
        ids = [torch.randint(pair.vocab, (n + 2 * k + 2,), generator=generator).tolist() for n in lengths]
        batch = [Row(n, ids[n][:at], at, len(ids[n]), len(ids[n]), frozenset()) for n, at in enumerate(lengths)]
        cache = cache_of(pair, shapes, b)
        seen = [[logits] for logits in prefill(pair, shapes, cache, batch)]
        for _ in range(2):
            drafts = []
            for n, row in enumerate(batch):
                row.ids.append(ids[n][len(row.ids)])
                drafts.append(ids[n][len(row.ids) : len(row.ids) + (k if n % 2 else k // 2)])
            logits = round_of(pair, shapes, cache, batch, drafts)
            for n, row in enumerate(batch):
                row.ids.extend(drafts[n][: k // 2])  # what lies behind is rolled back
                seen[n].extend(logits[n, : k // 2 + 1])
            cache.rollback([len(r.ids) for r in batch])
        for n, row in enumerate(batch):
            wanted = alone(pair, shapes, [*row.ids, 0], lengths[n])
            found = torch.stack(seen[n])
            if not torch.equal(found, wanted):
                apart = float((found - wanted).abs().max())
                raise BitwiseError(refusal(b, n, apart))
            compared += found.numel()
    return compared


def refusal(rows: int, row: int, apart: float) -> str:
    where = f"torch {torch.__version__}, {torch.get_num_threads()} threads"
    found = f"in a batch of {rows} rows, row {row} gets logits {apart:.1e} away from those that it gets alone ({where})"
    return f"bitwise comparison is not possible on this machine: {found}; use --dtype float64 and `verify` instead"


def cache_of(pair: Pair, shapes: Shapes, rows: int) -> SlotCache:
    """An empty cache that is always read whole."""
    layers = pair.target.config.get_text_config().num_hidden_layers
    return SlotCache(layers, rows, shapes.capacity, str(pair.target.device), whole=True)


def prefill(pair: Pair, shapes: Shapes, cache: SlotCache, rows: list[Row]) -> Tensor:  # [B, V]
    """Logits after each row's prompt."""
    fed = shapes.fixed(feed.prompts(rows, "right", pair.pad_id, str(pair.target.device)), pair.pad_id)
    last = torch.tensor([len(r.ids) - 1 for r in rows], device=fed.tokens.device)
    keep, column = last.unique(return_inverse=True)
    out = _forward(pair, cache, fed, by_four(keep))
    return out[torch.arange(len(rows), device=last.device), column]


def round_of(
    pair: Pair, shapes: Shapes, cache: SlotCache, rows: list[Row], drafts: list[list[int]]
) -> Tensor:  # [B, columns, V]
    """Logits after each row's last token and each of its drafts."""
    device, width = pair.target.device, max(map(len, drafts))
    tokens = torch.tensor([[*d, *[0] * (width - len(d))] for d in drafts], dtype=torch.int64, device=device)
    lens = torch.tensor([len(d) for d in drafts], device=device)
    return _forward(pair, cache, shapes.fixed(feed.round_of(rows, tokens, lens, cache.count.clone())))


@torch.inference_mode()
def _forward(pair: Pair, cache: SlotCache, fed: Feed, keep: Tensor | None = None) -> Tensor:
    out = forward(pair.target, fed.tokens, fed.positions, cache.feed(fed), cache, vocab=pair.vocab, keep=keep)
    cache.advance(fed)
    return out.logits
