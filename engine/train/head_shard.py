"""A head as a compact shard, and back: the output rows and the embedding are the target's."""

from pathlib import Path

import torch

from engine.train import compact
from engine.train.draft_head import DraftHead, kv_heads, layer_config
from engine.train.heads import HEADS

FILE = "head.safetensors"
REBUILT = ("d2t", "t2d", "lm_head.weight")  # follow from the draft vocabulary and the target


def save(head: DraftHead, folder: Path, about: dict) -> Path:
    """Write the shard into `folder`; returns the file."""
    tensors = {name: tensor for name, tensor in head.state_dict().items() if name not in REBUILT}
    tensors["draft_ids"] = head.t2d.nonzero()[:, 0].to(torch.int32)
    return compact.write(Path(folder) / FILE, tensors, {**about, "kind": head.kind, "taps": list(head.taps)})


@torch.no_grad()
def load(folder: Path, target: torch.nn.Module) -> DraftHead:
    """The head of a folder for this target, in the target's dtype and on its device, frozen.

    Raises ValueError when the shard was made for a target of other sizes.
    """
    file = Path(folder) / FILE
    tensors = compact.read(file)
    ids = tensors.pop("draft_ids").long()
    about = compact.about(file)
    kind = HEADS[about.get("kind", "eagle3")]  # the first shards did not say
    head = kind(layer_config(target, kv_heads(tensors, target)), tuple(about["taps"]), len(ids))
    compact.fill(head, tensors, file)
    head = head.to(device=target.device, dtype=target.dtype)
    head.set_vocabulary(ids.to(target.device), target.get_output_embeddings().weight)
    return head.eval().requires_grad_(False)
