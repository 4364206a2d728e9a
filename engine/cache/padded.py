"""A KV cache that is one rectangle: every row writes the same columns; realigning moves rows sideways.

Beside the keys and values lies the *shadow*: int64 [B, S, 3] with (owner index, token id, position id) of each
entry, written by the same update and moved by the same index. The trace and the invariants read the shadow, so
they show what is in the cache and not what the engine believes (papers.md A.2).
"""

import torch
from torch import Tensor
from transformers.cache_utils import Cache, CacheLayerMixin

from engine.cache.by_row import copy_by_row
from engine.cache.slots import EMPTY, SlotCache
from engine.cache.stack import Run, Stack, copy_runs, runs_of, stacks_of
from engine.feed import Feed


class PaddedLayer(CacheLayerMixin):
    """Keys and values of one layer, [B, capacity, H, D], of which the first `owner.width` slots are in use."""

    is_croppable = True

    def __init__(self, owner: "PaddedCache", first: bool) -> None:
        super().__init__()
        self.owner, self.first = owner, first

    def lazy_initialization(self, key_states: Tensor, value_states: Tensor) -> None:
        b, h, _, d = key_states.shape
        # zeros, not empty: a pad may hold whatever lies there, and attention weight 0 times NaN is NaN
        self.keys = key_states.new_zeros(b, self.owner.capacity, h, d)
        self.values = value_states.new_zeros(b, self.owner.capacity, h, value_states.shape[-1])
        self.is_initialized = True

    def update(
        self,
        key_states: Tensor,  # [B, H, T, D]
        value_states: Tensor,  # [B, H, T, D]
        *args: object,
        **kwargs: object,
    ) -> tuple[Tensor, Tensor]:  # [B, H, width + T, D] views
        if not self.is_initialized:
            self.lazy_initialization(key_states, value_states)
        start = self.owner.width
        end = start + key_states.shape[2]
        self.keys[:, start:end] = key_states.transpose(1, 2)
        self.values[:, start:end] = value_states.transpose(1, 2)
        if self.first:
            self.owner.write_shadow(start, end)
        return self.keys[:, :end].transpose(1, 2), self.values[:, :end].transpose(1, 2)

    def get_mask_sizes(self, query_length: int) -> tuple[int, int]:
        return self.owner.width + query_length, 0

    def get_seq_length(self) -> int:
        return self.owner.width

    def get_max_length(self) -> int:
        return -1


class PaddedCache(Cache):
    """All layers of one rectangle, its shadow and which slots are visible. `width` slots are in use.

    `spare` columns are kept free behind the content so that a verify pass finds its room in the copy that a
    realignment makes anyway (code.md 2i).
    """

    def __init__(self, layers: int, rows: int, capacity: int, spare: int, device: str = "cpu") -> None:
        super().__init__(layers=[PaddedLayer(self, first=n == 0) for n in range(layers)])
        self.width, self.capacity, self.spare = 0, capacity, spare
        self.shadow = torch.full((rows, capacity, 3), EMPTY, dtype=torch.int64, device=device)
        self.visible = torch.zeros(rows, capacity, dtype=torch.bool, device=device)
        self.stacks: list[Stack] = []
        self.grown = 0  # bytes copied by the last feed because it had to enlarge the rectangle
        self._feed: Tensor | None = None
        self._shown: Tensor | None = None

    @property
    def rows(self) -> int:
        return self.shadow.shape[0]

    @property
    def slot_bytes(self) -> int:
        """Bytes of one slot of one row over all layers, keys and values."""
        k = self.layers[0].keys
        return 2 * len(self.layers) * k.shape[2] * k.shape[3] * k.element_size()

    def plan(
        self,
        owners: Tensor,  # [B, T] content index of each fed token, -1 for pads and filler
        tokens: Tensor,  # [B, T]
        positions: Tensor,  # [B, T]
        shown: Tensor | None = None,  # [B, T] bool; None: entries that belong to a token
    ) -> int:
        """Say what the next forward writes; returns bytes copied to make room (0 nearly always)."""
        self._feed = torch.stack([owners, tokens, positions], dim=-1)
        self._shown = owners >= 0 if shown is None else shown
        need = self.width + tokens.shape[1]
        if need <= self.capacity:
            return 0
        moved = self.rows * self.width * self.slot_bytes if self.width else 0
        grown = max(need, 2 * self.capacity)
        if self.layers[0].is_initialized:
            self._copy([(row, 0, 0, self.width) for row in range(self.rows)], grown)
        else:
            self.shadow = torch.nn.functional.pad(self.shadow, (0, 0, 0, grown - self.capacity), value=EMPTY)
            self.visible = torch.nn.functional.pad(self.visible, (0, grown - self.capacity), value=False)
        self.capacity = grown
        return moved

    def write_shadow(self, start: int, end: int) -> None:
        """Called by the first layer's update, so the shadow is written exactly when the keys are."""
        self.shadow[:, start:end] = self._feed
        self.visible[:, start:end] = self._shown

    def feed(self, fed: Feed) -> Tensor:  # [B, T, S] bool
        """Make room for `fed` and give the mask of its forward."""
        self.grown = self.plan(fed.owners, fed.tokens, fed.positions, fed.shown)
        return fed.mask(self.visible[:, : self.width])

    def entries(self) -> tuple[Tensor, Tensor]:
        return self.shadow[:, : self.width], self.visible[:, : self.width]

    def advance(self, fed: Feed) -> None:
        """Count the columns that the forward has just written."""
        self.width += fed.tokens.shape[1]

    def crop(self, width: int) -> None:
        """Forget the slots from `width` on; nothing is copied."""
        self.shadow[:, width : self.width] = EMPTY
        self.visible[:, width : self.width] = False
        self.width = width

    def realign(
        self,
        rows: Tensor,  # [B'] batch rows that stay, in order
        source: Tensor,  # [B'] first slot to keep of each
        target: Tensor,  # [B'] where that slot goes
        width: int,
        by_row: bool = False,
        store: SlotCache | None = None,
    ) -> int:  # bytes read
        """Move each row's slots [source, source + width - target) to [target, width): papers.md A.3 step 5, A.6.

        Rows (c=4, p=0) and (c=2, p=2), K=2, accepted 0 and 2, so L'=5, p'=(0, 0), delta=(0, -2), width 4:

            row 0  A B C | d . .   ->  A B C D      (D was re-fed, its entry is kept; drafts dropped)
            row 1  . . x | y d e   ->  x y d e      (two pads leave, everything moves left by two)

        One copy per row over all layers. Pads hold anything finite and are never visible. `by_row`: the copy of the
        published code instead, row by row in every layer (papers.md 0.3). `store`: see `join`.
        """
        capacity, runs = width + self.spare, runs_of(rows, source, target, width)
        if by_row:
            copy_by_row(self.layers, (store or self).layers, rows, source, target, width, capacity)
        self._copy(runs, capacity, keys=not by_row, store=store)
        self.width = width
        return sum(length for *_, length in runs) * self.slot_bytes

    def join(
        self,
        store: SlotCache,
        rows: Tensor,  # [B] rows of the store
        target: Tensor,  # [B] pads in front of each row
        width: int,
        by_row: bool = False,
    ) -> int:  # bytes read
        """Become a left-padded rectangle of rows that lie in a store at slots 0, 1, ...: papers.md B.2.

        stored (A B C) and (x y), width 3:   A B C
                                             _ x y

        `by_row`: see `realign`.
        """
        return self.realign(rows, torch.zeros_like(rows), target, width, by_row, store)

    def select(self, rows: Tensor) -> int:  # rows [B'] that stay; returns bytes read
        """Drop the other rows; every slot stays where it is."""
        self._copy([(row, 0, 0, self.width) for row in rows.tolist()], self.capacity)
        return len(rows) * self.width * self.slot_bytes

    def _copy(self, runs: list[Run], capacity: int, keys: bool = True, store: SlotCache | None = None) -> None:
        """Make keys, values, shadow and visibility these runs of what they are, or of a store's rows."""
        if not keys:
            self.stacks = []  # the layers have been given tensors of their own
        else:
            origins = store.layers if store else None
            self.stacks = self.stacks or stacks_of(self.layers, origins or self.layers)
            for stack in self.stacks:
                stack.copy(runs, capacity, origins)
        shadow = self.shadow.new_full((1, len(runs), capacity, 3), EMPTY)
        copy_runs((store or self).shadow[None], shadow, runs)
        visible = self.visible.new_zeros((1, len(runs), capacity))
        seen = self.visible if store is None else torch.ones_like(store.shadow[..., 0], dtype=torch.bool)
        copy_runs(seen[None], visible, runs)
        self.shadow, self.visible, self.capacity = shadow[0], visible[0], capacity

    def hide(self, first: int, stale: Tensor) -> None:
        """Make slots from `first` on invisible where stale [B, n] is true; they stay where they are (BSP's holes)."""
        self.visible[:, first : first + stale.shape[1]] &= ~stale
