"""Stack: like layers of a rectangle in one tensor [layers, B, S, H, D], so that a realignment is one copy per row.

Copying row by row *and* layer by layer (480 small copies in the embedded model) takes twice as long as cloning the
same bytes; row by row over all layers at once takes about as long. Two buffers are used in turn: nothing is allocated
or cleared in a round.
"""

from collections.abc import Sequence
from math import prod

from torch import Tensor
from transformers.cache_utils import CacheLayerMixin

Run = tuple[int, int, int, int]  # source row, first slot there, first slot in the new row, slots


class Buffers:
    """Two pieces of memory. `turn` gives a view of the one that is not in use, with the numbers that it last held."""

    def __init__(self, like: Tensor) -> None:
        # zeros, not empty: a pad may hold whatever lies there, and attention weight 0 times NaN is NaN
        self.held, self.at = [like.new_zeros(0), like.new_zeros(0)], 0

    def turn(self, shape: Sequence[int]) -> Tensor:
        self.at, need = 1 - self.at, prod(shape)
        if self.held[self.at].numel() < need:
            self.held[self.at] = self.held[self.at].new_zeros(need + need // 4)
        return self.held[self.at][:need].view(shape)


class Stack:
    """The layers `at` of a cache, of one device and shape. They own their tensors until the first copy; then these are
    views of the stack's.
    """

    def __init__(self, layers: Sequence[CacheLayerMixin], at: list[int]) -> None:
        self.layers, self.at = layers, at
        self.buffers: dict[str, Buffers] = {}
        self.stacked: dict[str, Tensor] = {}

    def copy(self, runs: list[Run], capacity: int, origins: Sequence[CacheLayerMixin] | None = None) -> None:
        """Row i of every layer becomes `runs[i]` of the same layer, or of its counterpart in another cache's `origins`.

        runs [(0, 0, 0, 4), (1, 1, 0, 4)], two rows:   row 0  A B C D . .  ->  A B C D
                                                       row 1  . x y d e .  ->  x y d e
        """
        for name in ("keys", "values"):
            old = [getattr((origins or self.layers)[n], name) for n in self.at]
            buffers = self.buffers.setdefault(name, Buffers(old[0]))
            new = buffers.turn((len(old), len(runs), capacity, *old[0].shape[2:]))
            if name in self.stacked and origins is None:
                copy_runs(self.stacked[name], new, runs)
            else:
                for n, layer in enumerate(old):
                    copy_runs(layer[None], new[n : n + 1], runs)
            self.stacked[name] = new
            for n, part in zip(self.at, new, strict=True):
                setattr(self.layers[n], name, part)
                self.layers[n].is_initialized = True


def runs_of(rows: Tensor, source: Tensor, target: Tensor, width: int) -> list[Run]:  # [B'] each
    """Rows (1, 0), sources (2, 0), targets (0, 1), width 4: [(1, 2, 0, 4), (0, 0, 1, 3)]."""
    columns = zip(rows.tolist(), source.tolist(), target.tolist(), strict=True)
    return [(row, start, to, width - to) for row, start, to in columns]


def copy_runs(old: Tensor, new: Tensor, runs: list[Run]) -> None:  # [N, B, S, ...], [N, B', S', ...]
    for i, (row, source, target, length) in enumerate(runs):
        new[:, i, target : target + length] = old[:, row, source : source + length]


def stacks_of(layers: Sequence[CacheLayerMixin], like: Sequence[CacheLayerMixin]) -> list[Stack]:
    """The layers by device and shape of the tensors of `like`, one for one (the same layers, or those of a store)."""
    groups: dict[tuple, list[int]] = {}
    for n, of in enumerate(like):
        key = (of.keys.device, of.keys.dtype, of.keys.shape[2:], of.values.shape[2:])
        groups.setdefault(key, []).append(n)
    return [Stack(layers, at) for at in groups.values()]
