"""shipped: the trained drafters in assets/, and why one of them may not be there. Imports no torch."""

from pathlib import Path

from engine import shelf

HEADS = Path(__file__).resolve().parents[1] / "assets" / "heads"

#: The compact shard that a proposer needs.
SHARDS = {
    "eagle3": HEADS / "eagle3" / "head.safetensors",
    "hybrid": HEADS / "eagle3" / "head.safetensors",
    "mtp": HEADS / "mtp" / "head.safetensors",
    "draft_small": HEADS / "draft" / "draft.safetensors",
}


def lacking(proposer: str, target: str) -> str:
    """Why this proposer cannot draft for this target; "" if it can, or needs no shard."""
    if proposer not in SHARDS:
        return ""
    if target != shelf.NAME:
        return f"its weights were trained for {shelf.NAME}, not for {target}"
    if not SHARDS[proposer].is_file():
        return f"not trained yet, there is no {SHARDS[proposer].relative_to(HEADS.parents[1])}"
    return ""
