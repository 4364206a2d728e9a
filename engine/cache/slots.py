"""A KV cache where nothing ever moves: slot = content index, every row writes at its own offset (code.md 2a ii).

Rolling a row back is setting its count; stale slots behind the count are never visible and get overwritten.
"""

import torch
from torch import Tensor
from transformers.cache_utils import Cache, CacheLayerMixin

from engine.feed import Feed

EMPTY = -1


class SlotLayer(CacheLayerMixin):
    """Keys and values of one layer, [R, S, H, D]: sequence before heads, so that a row's slots are contiguous."""

    is_croppable = True

    def __init__(self, owner: "SlotCache", first: bool) -> None:
        super().__init__()
        self.owner, self.first = owner, first

    def lazy_initialization(self, key_states: Tensor, value_states: Tensor) -> None:
        _, h, _, d = key_states.shape
        size = (self.owner.rows, self.owner.capacity, h)
        # zeros, not empty: an unwritten slot has attention weight 0, and 0 times NaN is NaN
        self.keys = key_states.new_zeros(*size, d)
        self.values = value_states.new_zeros(*size, value_states.shape[-1])
        self.is_initialized = True

    def update(
        self,
        key_states: Tensor,  # [B, H, T, D]
        value_states: Tensor,  # [B, H, T, D]
        *args: object,
        **kwargs: object,
    ) -> tuple[Tensor, Tensor]:  # [B, H, visible, D]
        if not self.is_initialized:
            self.lazy_initialization(key_states, value_states)
        rows, slots, n = self.owner.where
        self.keys[rows[:, None], slots] = key_states.transpose(1, 2)
        self.values[rows[:, None], slots] = value_states.transpose(1, 2)
        if self.first:
            self.owner.write_shadow()
        # neighbouring rows are a view; any other set of rows is a copy, and is counted
        read = rows if self.owner.span is None else self.owner.span
        keys, values = self.keys[read, :n], self.values[read, :n]
        return keys.transpose(1, 2), values.transpose(1, 2)

    def get_mask_sizes(self, query_length: int) -> tuple[int, int]:
        return self.owner.where[2], 0

    def get_seq_length(self) -> int:
        return self.owner.where[2] if self.owner.where else 0

    def get_max_length(self) -> int:
        return -1


class SlotCache(Cache):
    """R rows of `capacity` slots. `count[r]`: valid entries of row r, which are its content 0..count-1.

    `width`: slots ever used. `copied`: bytes gathered because the rows of a forward were no neighbours.
    `whole`: every forward reads all slots, used or not, so that its shape does not depend on what they hold.
    """

    def __init__(self, layers: int, rows: int, capacity: int, device: str = "cpu", whole: bool = False) -> None:
        super().__init__(layers=[SlotLayer(self, first=n == 0) for n in range(layers)])
        self.rows, self.capacity, self.copied, self.width = rows, capacity, 0, 0
        self.whole = whole
        self.shadow = torch.full((rows, capacity, 3), EMPTY, dtype=torch.int64, device=device)
        self.count = torch.zeros(rows, dtype=torch.int64, device=device)
        self.where: tuple[Tensor, Tensor, int] | None = None
        self.span: slice | None = None  # the rows of the forward, where they are neighbours
        self.active = torch.arange(rows, device=device)  # rows of a batch, where `feed` is used
        self._feed: Tensor | None = None

    def entries(self) -> tuple[Tensor, Tensor]:
        visible = torch.arange(self.width, device=self.count.device) < self.count[self.active, None]
        return self.shadow[self.active, : self.width], visible

    def feed(self, fed: Feed) -> Tensor:  # [B, T, S] bool
        """Write `fed` into the first B active rows, each at its own offset; gives the mask of its forward.

        Two rows with 2 and 1 entries, T=2, row 1 without a draft:   1 1 1 0   1 1 0
                                                                     1 1 1 1   1 1 1
        """
        device = fed.tokens.device
        first = torch.tensor(fed.starts, device=device)
        slots = first[:, None] + torch.arange(fed.tokens.shape[1], device=device)
        mask = self.plan(self.active[: len(first)], slots, fed.owners, fed.tokens, fed.positions)
        where = self.where[1][:, None, :].expand_as(fed.new)
        return mask.scatter(2, where, fed.new & mask.gather(2, where))

    def advance(self, fed: Feed) -> None:
        """The real columns of `fed` are in: they count until `rollback` says how many are kept."""
        self.count[self.active[: len(fed.lens)]] = fed.owners.amax(dim=1) + 1

    def enter(self, first: int, rows: int) -> None:
        """The next forward is of so many new rows, in empty places behind the first ones."""
        self.active = torch.arange(first, first + rows, device=self.count.device)
        self.shadow[self.active], self.count[self.active] = EMPTY, 0

    def rollback(self, counts: list[int]) -> None:
        """Keep so many entries of each of the first rows; the rest is stale. Nothing is written."""
        self.count[: len(counts)] = torch.tensor(counts, device=self.count.device)

    @torch.inference_mode()  # the tensors were made by a forward
    def move_row(self, source: int, target: int) -> int:  # bytes read
        """Copy one row's entries over another's, so that the active rows stay the first ones."""
        n = int(self.count[source])
        for layer in self.layers:
            if layer.is_initialized:
                layer.keys[target, :n] = layer.keys[source, :n]
                layer.values[target, :n] = layer.values[source, :n]
        self.shadow[target] = EMPTY
        self.shadow[target, :n] = self.shadow[source, :n]
        self.count[target] = n
        k = self.layers[0].keys
        return 2 * len(self.layers) * n * k.shape[2] * k.shape[3] * k.element_size()

    @torch.inference_mode()
    def put(
        self,
        rows: Tensor,  # [N] store row of each entry
        slots: Tensor,  # [N] its slot
        source: Cache,  # a rectangle of the same layers
        at: Tensor,  # [N] index of the entry among the rectangle's [B * capacity]
    ) -> int:  # bytes read
        """Write entries of a rectangle back: only those that the store does not hold yet."""
        for layer, other in zip(self.layers, source.layers, strict=True):
            layer.keys[rows, slots] = other.keys.flatten(0, 1).index_select(0, at)
            layer.values[rows, slots] = other.values.flatten(0, 1).index_select(0, at)
        self.shadow[rows, slots] = source.shadow.flatten(0, 1).index_select(0, at)
        k = self.layers[0].keys
        return 2 * len(self.layers) * len(at) * k.shape[2] * k.shape[3] * k.element_size()

    def plan(
        self,
        rows: Tensor,  # [B] cache rows
        slots: Tensor,  # [B, T] where each fed token goes; filler goes past the row's content
        owners: Tensor,  # [B, T] content index, -1 for filler
        tokens: Tensor,  # [B, T]
        positions: Tensor,  # [B, T]
    ) -> Tensor:  # [B, T, n] bool mask
        """Say what the next forward writes; returns its mask: a query sees the slots up to its own.

        Two rows with counts 2 and 1, T=2:   row 0: 1 1 1 0 | 1 1 1 1    row 1: 1 1 0 0 | 1 1 1 0
        """
        used = int(slots.max()) + 1
        n = self.capacity if self.whole else used
        self.where, self.width = (rows, slots, n), max(self.width, used)
        first, b = int(rows[0]), len(rows)
        neighbours = bool((rows == torch.arange(first, first + b, device=rows.device)).all())
        self.span = slice(first, first + b) if neighbours else None
        self._feed = torch.stack([owners, tokens, positions], dim=-1)
        if not neighbours and self.layers[0].is_initialized:
            k = self.layers[0].keys
            self.copied += 2 * len(self.layers) * len(rows) * n * k.shape[2] * k.shape[3] * k.element_size()
        return torch.arange(n, device=rows.device) <= slots[:, :, None]

    def write_shadow(self) -> None:
        rows, slots, _ = self.where
        self.shadow[rows[:, None], slots] = self._feed
