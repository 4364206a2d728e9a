"""A KV cache that is one rectangle: every row writes the same columns; realigning moves rows sideways.

Beside the keys and values lies the *shadow*: int64 [B, S, 3] with (owner index, token id, position id) of each
entry, written by the same update and moved by the same index. The trace and the invariants read the shadow, so
they show what is in the cache and not what the engine believes (papers.md A.2).
"""

import torch
from torch import Tensor
from transformers.cache_utils import Cache, CacheLayerMixin

from engine.cache.slots import SlotCache
from engine.feed import Feed

EMPTY = -1


class PaddedLayer(CacheLayerMixin):
    """Keys and values of one layer, [B, capacity, H, D], of which the first `owner.width` slots are in use."""

    is_croppable = True

    def __init__(self, owner: "PaddedCache", first: bool) -> None:
        super().__init__()
        self.owner, self.first = owner, first

    def lazy_initialization(self, key_states: Tensor, value_states: Tensor) -> None:
        b, h, _, d = key_states.shape
        self.keys = key_states.new_empty(b, self.owner.capacity, h, d)
        self.values = value_states.new_empty(b, self.owner.capacity, h, value_states.shape[-1])
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

    def gather(self, flat: Tensor, rows: int, slots: int, source: CacheLayerMixin | None = None) -> None:
        """Build both tensors by one flat gather: flat [rows * slots] indexes the [B * capacity] entries of `source`."""
        for name in ("keys", "values"):
            old = getattr(source or self, name)
            new = old.view(-1, *old.shape[2:]).index_select(0, flat)
            setattr(self, name, new.view(rows, slots, *old.shape[2:]))
        self.is_initialized = True

    def copy_rows(
        self,
        rows: Tensor,  # [B'] rows of `origin`
        source: Tensor,  # [B'] first slot to keep of each
        target: Tensor,  # [B'] where that slot goes
        width: int,
        capacity: int,
        origin: CacheLayerMixin | None = None,
    ) -> None:
        """The published code's copy: row by row into zeros, with bounds read by `.item()` in every layer again."""
        old = [getattr(origin or self, name) for name in ("keys", "values")]
        new = [x.new_zeros(len(rows), capacity, *x.shape[2:]) for x in old]
        for i in range(len(rows)):
            row, start, to = rows[i].item(), source[i].item(), target[i].item()
            for a, b in zip(old, new, strict=True):
                b[i, to:width] = a[row, start : start + width - to]
        self.keys, self.values = new
        self.is_initialized = True

    def grow(self, capacity: int) -> None:
        for name in ("keys", "values"):
            old = getattr(self, name)
            new = old.new_empty(len(old), capacity, *old.shape[2:])
            new[:, : old.shape[1]] = old
            setattr(self, name, new)

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
        for layer in self.layers:
            if layer.is_initialized:
                layer.grow(grown)
        pad = grown - self.capacity
        self.shadow = torch.nn.functional.pad(self.shadow, (0, 0, 0, pad), value=EMPTY)
        self.visible = torch.nn.functional.pad(self.visible, (0, pad), value=False)
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
    ) -> int:  # bytes read
        """Move each row's slots [source, source + width - target) to [target, width): papers.md A.3 step 5, A.6.

        Rows (c=4, p=0) and (c=2, p=2), K=2, accepted 0 and 2, so L'=5, p'=(0, 0), delta=(0, -2), width 4:

            row 0  A B C | d . .   ->  A B C D      (D was re-fed, its entry is kept; drafts dropped)
            row 1  . . x | y d e   ->  x y d e      (two pads leave, everything moves left by two)

        One flat gather per tensor. Pads get a copy of a real entry: finite, and never visible. `by_row`: the copy of
        the published code instead (papers.md 0.3).
        """
        capacity = width + self.spare
        slot = torch.arange(capacity, device=rows.device) - (target - source)[:, None]  # [B', capacity]
        slot = slot.clamp_(0, self.width - 1)
        flat = (rows[:, None] * self.capacity + slot).reshape(-1)
        for layer in self.layers:
            if by_row:
                layer.copy_rows(rows, source, target, width, capacity)
            else:
                layer.gather(flat, len(rows), capacity)
        self.shadow = self.shadow.view(-1, 3).index_select(0, flat).view(len(rows), capacity, 3)
        self.visible = self.visible.view(-1).index_select(0, flat).view(len(rows), capacity)
        column = torch.arange(capacity, device=rows.device)
        outside = (column < target[:, None]) | (column >= width)
        self.shadow[outside] = EMPTY
        self.visible[outside] = False
        self.capacity, self.width = capacity, width
        slots = len(rows) * capacity if not by_row else int((width - target).sum())
        return slots * self.slot_bytes

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
        capacity = width + self.spare
        slot = (torch.arange(capacity, device=rows.device) - target[:, None]).clamp_(0, store.capacity - 1)
        flat = (rows[:, None] * store.capacity + slot).reshape(-1)
        for layer, source in zip(self.layers, store.layers, strict=True):
            if by_row:
                layer.copy_rows(rows, torch.zeros_like(rows), target, width, capacity, source)
            else:
                layer.gather(flat, len(rows), capacity, source)
        self.shadow = store.shadow.view(-1, 3).index_select(0, flat).view(len(rows), capacity, 3)
        column = torch.arange(capacity, device=rows.device)
        inside = (column >= target[:, None]) & (column < width)
        self.shadow[~inside] = EMPTY
        self.visible = inside
        self.capacity, self.width = capacity, width
        slots = len(rows) * capacity if not by_row else int((width - target).sum())
        return slots * self.slot_bytes

    def select(self, rows: Tensor) -> int:  # rows [B'] that stay; returns bytes read
        """Drop the other rows; every slot stays where it is."""
        for layer in self.layers:
            layer.keys, layer.values = layer.keys.index_select(0, rows), layer.values.index_select(0, rows)
        self.shadow, self.visible = self.shadow[rows], self.visible[rows]
        return len(rows) * self.capacity * self.slot_bytes

    def hide(self, first: int, stale: Tensor) -> None:
        """Make slots from `first` on invisible where stale [B, n] is true; they stay where they are (BSP's holes)."""
        self.visible[:, first : first + stale.shape[1]] &= ~stale
