"""KV caches with per-row rollback: `padded` (realigned rectangles) and `slots` (written in place, nothing moves)."""

from typing import Protocol

from torch import Tensor

from engine.feed import Feed


class TargetCache(Protocol):
    """What a method verifies into. `width`: slots in use."""

    width: int

    def entries(self) -> tuple[Tensor, Tensor]:
        """Shadow [B, width, 3] (owner, token, position) and visibility [B, width] of the batch rows."""
        ...

    def feed(self, fed: Feed) -> Tensor:
        """Prepare to write `fed`; returns the mask [B, T, S] of its forward."""
        ...

    def advance(self, fed: Feed) -> None:
        """The forward has written `fed`."""
        ...
