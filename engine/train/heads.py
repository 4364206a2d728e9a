"""heads: the kinds of head that can be trained, and where each is kept."""

from pathlib import Path

from engine import shelf
from engine.train.draft_head import DraftHead
from engine.train.eagle3_head import Eagle3Head
from engine.train.mtp_head import MtpHead

HEADS: dict[str, type[DraftHead]] = {head.kind: head for head in (Eagle3Head, MtpHead)}


def folder(kind: str) -> Path:
    """Where the published shard and its card are."""
    return Path("assets/heads") / kind


def checkpoint(kind: str) -> Path:
    """Where training goes on."""
    return shelf.CACHE / f"{kind}.pt"
