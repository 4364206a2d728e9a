"""A small draft model: a few of the target's layers between its own embedding and output rows, trained to agree.

Layers that `induction` has added are attention alone: nothing is kept of their MLP, which adds nothing.
"""

import copy
from collections.abc import Iterable
from pathlib import Path

import torch
from torch import Tensor
from transformers import PreTrainedModel

from engine.train import compact, induction
from engine.train.chain_loss import against, teacher
from engine.train.competing import all_of, sampled
from engine.train.data import Batch
from engine.train.loop import Score

DRAFT = Path("assets/heads/draft")
FILE = "draft.safetensors"
SHARED = ("model.embed_tokens.weight", "lm_head.weight")


def kept_layers(layers: int) -> tuple[int, int]:
    """The first layer turns tokens into features, the last turns features into tokens: 30 -> (0, 29)."""
    return 0, layers - 1


@torch.no_grad()
def from_target(target: PreTrainedModel, layers: tuple[int, ...] | None = None) -> PreTrainedModel:
    """A model of the target's class with copies of some of its layers; embedding and output rows are the target's."""
    layers = layers or kept_layers(target.config.num_hidden_layers)
    config = copy.deepcopy(target.config)
    config.num_hidden_layers = len(layers)
    small = type(target)(config).to(device=target.device, dtype=target.dtype)
    small.set_input_embeddings(target.get_input_embeddings())
    small.lm_head = target.get_output_embeddings()
    for mine, n in zip(small.model.layers, layers, strict=True):
        mine.load_state_dict(target.model.layers[n].state_dict())
    small.model.norm.load_state_dict(target.model.norm.state_dict())
    small.requires_grad_(True)
    small.get_input_embeddings().requires_grad_(False)
    small.lm_head.requires_grad_(False)
    return small


def shaped(target: PreTrainedModel, names: Iterable[str]) -> PreTrainedModel:
    """A model into which kept tensors of these names fit."""
    names = set(names)
    small = from_target(target, (0,) * len({name.split(".")[2] for name in names if name.startswith("model.layers.")}))
    for n, layer in enumerate(small.model.layers):
        if f"model.layers.{n}.mlp.down_proj.weight" not in names:
            induction.silence(layer)
    return small


def kept(small: PreTrainedModel) -> dict[str, Tensor]:
    """What training has made: neither the target's rows nor what silent layers lack."""
    lacking = {
        f"model.layers.{n}.{name}"
        for n, layer in enumerate(small.model.layers)
        if induction.silent(layer)
        for name, _ in layer.named_parameters()
        if name.startswith(("mlp", "post_attention"))
    }
    return {name: w for name, w in small.state_dict().items() if name not in SHARED and name not in lacking}


def score(small: PreTrainedModel, batch: Batch, temperature: float) -> Score:
    """Soft cross-entropy with the target on answers; in training mode over a sample of the tokens, see `competing`."""
    rows, wanted = small.lm_head.weight, batch.wanted
    hidden = small.model(input_ids=batch.tokens, use_cache=False).last_hidden_state[wanted]
    all_ids = all_of(len(rows), rows.device)
    index, p, known = teacher(batch.top[wanted], batch.log_p[wanted], all_ids.ids, temperature)
    among = sampled(index[p > 0], len(rows)) if small.training else all_ids
    loss, agree = against(hidden @ rows[among.ids].T.to(hidden.dtype), index, p, known, among)
    return Score(loss, [agree], [len(known)])


def save(small: PreTrainedModel, folder: Path, about: dict) -> Path:
    """Write the trained layers and the norm as a compact shard."""
    return compact.write(Path(folder) / FILE, kept(small), {**about, "layers": small.config.num_hidden_layers})


def load(folder: Path, target: PreTrainedModel) -> PreTrainedModel:
    """The draft model of a folder, sharing the target's embedding and output rows, frozen."""
    file = Path(folder) / FILE
    tensors = compact.read(file)
    small = shaped(target, tensors)
    compact.fill(small, tensors, file)
    return small.eval().requires_grad_(False)
