"""By row: a rectangle copied as the published code does it, row by row in every layer again (papers.md 0.3).

Our own copy is `engine.cache.stack`. This one is here because the published overhead is largely this loop, and can be
neither shown nor explained without it (see `engine.methods.published`).
"""

from collections.abc import Sequence

from torch import Tensor
from transformers.cache_utils import CacheLayerMixin


def copy_by_row(
    layers: Sequence[CacheLayerMixin],
    origins: Sequence[CacheLayerMixin],  # what is copied from: the same layers, or those of a store
    rows: Tensor,  # [B'] rows of `origins`
    source: Tensor,  # [B'] first slot to keep of each
    target: Tensor,  # [B'] where that slot goes
    width: int,
    capacity: int,
) -> None:
    """Copy into zeros, with bounds read by `.item()` in every layer again."""
    for layer, origin in zip(layers, origins, strict=True):
        old = [getattr(origin, name) for name in ("keys", "values")]
        new = [x.new_zeros(len(rows), capacity, *x.shape[2:]) for x in old]
        for i in range(len(rows)):
            row, start, to = rows[i].item(), source[i].item(), target[i].item()
            for a, b in zip(old, new, strict=True):
                b[i, to:width] = a[row, start : start + width - to]
        layer.keys, layer.values = new
        layer.is_initialized = True
