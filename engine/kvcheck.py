"""Numeric KV check: are the keys and values that a row reads those of a fresh prefill of the same content?

The n-th slot that the row's query sees is held against token n, layer by layer. So the evidence is in the numbers and
in the mask, not in the shadow or in anybody's bookkeeping. (A cache is a set, any order of its slots would do; no
method of ours permutes them.)

What counts as equal is measured, not guessed: the same content is computed once more by transformers' own cache, with
the run's number of rows and columns per forward; how far that is from a prefill alone is what shapes change by.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field

import torch
from torch import Tensor
from transformers.cache_utils import DynamicCache

from engine.cache import TargetCache
from engine.cache.slots import SlotCache
from engine.config import ConfigError, RunConfig
from engine.feed import Feed
from engine.forward import forward
from engine.lane import Lane
from engine.models import Pair
from engine.stream import session

#: Tolerance over measured noise. All methods on five tiny families stayed below 2.1 times it, in both precisions; the
#: smallest fault lies at 1e5 times it.
MARGIN = 8.0


@dataclass(frozen=True, slots=True)
class RowEntries:
    """One row at one step: `slots` that its last committed token sees, `apart` [2, layers, n] keys then values.

    `content`: the ids that belong there. Where the row sees more or fewer slots, the common part was compared.
    """

    step: int
    row: int
    slots: list[int]
    content: list[int]
    apart: Tensor


@dataclass(frozen=True, slots=True)
class KvDifference:
    """The first entry of a row that is not a fresh prefill's: lowest layer, then lowest slot.

    `token`: index of the content token that belongs there. `keys`, `values`: largest difference of one number. `seen`,
    `content`: slots that the row sees and tokens that it should see; where only these differ, the layer is -1.
    """

    step: int
    row: int
    layer: int
    slot: int
    token: int
    keys: float
    values: float
    seen: int
    content: int


@dataclass(slots=True)
class Checked:
    """`differences`: of the first step that has any, one per row. `largest`: over everything that was compared."""

    steps: list[int]
    noise: float
    tolerance: float
    largest: float
    differences: list[KvDifference] = field(default_factory=list)


def kvcheck(pair: Pair, config: RunConfig, prompts: Sequence[str | list[int]], step: int | None = None) -> Checked:
    """Run a method and check its target cache at every forward, or at that of `step`.

    Raises ConfigError for a step that the run does not have.
    """
    readings: list[RowEntries] = []
    last = 0

    @torch.inference_mode()
    def observer(lane: Lane, cache: TargetCache, fed: Feed, mask: Tensor) -> None:
        nonlocal last
        last = lane.step
        if step in (None, lane.step):
            readings.extend(read(pair, lane, cache, fed, mask))

    for _ in session({config.method: config}, prompts, pair=pair, certify=False, observer=observer):
        pass
    if not readings:
        raise ConfigError("step", step, f"this run has steps 0 to {last}")
    noise = measured(pair, readings, config)
    tolerance = MARGIN * noise
    found = [d for r in readings if (d := difference(r, tolerance))]
    return Checked(
        steps=sorted({r.step for r in readings}),
        noise=noise,
        tolerance=tolerance,
        largest=max(float(r.apart.max()) for r in readings),
        differences=[d for d in found if d.step == found[0].step],
    )


def read(pair: Pair, lane: Lane, cache: TargetCache, fed: Feed, mask: Tensor) -> list[RowEntries]:
    """What every row of this forward reads, against a fresh prefill of what it has committed."""
    readings = []
    places = cache.active.tolist() if isinstance(cache, SlotCache) else range(len(lane.batch_rows))
    for i, (row, place) in enumerate(zip(lane.batch_rows, places, strict=False)):
        at = fed.owners[i].tolist()
        column = at.index(len(row.ids) - 1) if len(row.ids) - 1 in at else 0
        slots = mask[i, column].nonzero().flatten()
        n = min(len(slots), len(row.ids))
        fresh = prefill(pair, row.ids)
        apart = [
            [(getattr(layer, name)[place, slots[:n]] - new[:n]).abs().amax(dim=(-2, -1)) for layer, new in pairs]
            for name, pairs in (
                ("keys", zip(cache.layers, (k for k, _ in fresh), strict=True)),
                ("values", zip(cache.layers, (v for _, v in fresh), strict=True)),
            )
        ]
        stacked = torch.stack([torch.stack(layers) for layers in apart]).double().cpu()
        readings.append(RowEntries(lane.step, row.row, slots.tolist(), list(row.ids), stacked))
    return readings


def difference(reading: RowEntries, tolerance: float) -> KvDifference | None:
    """The first entry beyond the tolerance, or a number of slots that is not that of the content."""
    worst = reading.apart.amax(dim=0)  # [layers, n]
    seen, content = len(reading.slots), len(reading.content)
    beyond = (~(worst <= tolerance)).nonzero().tolist()  # NaN is beyond
    if beyond:
        layer, token = beyond[0]
        keys, values = reading.apart[:, layer, token].tolist()
        return KvDifference(reading.step, reading.row, layer, reading.slots[token], token, keys, values, seen, content)
    if seen != content:
        slot = reading.slots[content] if seen > content else -1
        return KvDifference(reading.step, reading.row, -1, slot, min(seen, content), 0.0, 0.0, seen, content)
    return None


def measured(pair: Pair, readings: list[RowEntries], config: RunConfig) -> float:
    """How much batch and chunk shapes change a key or value: the largest change in the rows' last contents.

    Never below one rounding step of the largest number.
    """
    latest = {r.row: r.content for r in readings}
    rows = min(config.batch or len(latest), len(latest))
    noise = 0.0
    for ids in latest.values():
        fresh, other = prefill(pair, ids), prefill(pair, ids, rows, config.k + 1)
        for one, two in zip(fresh, other, strict=True):
            for a, b in zip(one, two, strict=True):
                noise = max(noise, float((a - b).abs().max()), float(a.abs().max()) * torch.finfo(a.dtype).eps)
    return noise


@torch.inference_mode()
def prefill(pair: Pair, ids: list[int], rows: int = 1, columns: int | None = None) -> list[tuple[Tensor, Tensor]]:
    """Keys and values [n, H, D] of every layer, by transformers' own cache: alone and at once, or in another shape.

    `rows`: so many copies of the row beside each other. `columns`: tokens per forward.
    """
    model, device = pair.target, pair.target.device
    cache = DynamicCache(config=model.config)
    fed = torch.tensor([ids], device=device).expand(rows, -1)
    for first in range(0, len(ids), columns or len(ids)):
        part = fed[:, first : first + (columns or len(ids))]
        end = first + part.shape[1]
        at = torch.arange(first, end, device=device).expand(rows, -1)
        mask = torch.arange(end, device=device) <= at[:, :, None]
        forward(model, part, at, mask, cache, vocab=pair.vocab, keep=torch.tensor([0], device=device))
    return [(layer.keys[0].transpose(0, 1), layer.values[0].transpose(0, 1)) for layer in cache.layers]
