"""The probe: does this very model give a ragged row the logits it gets alone? Signatures lie and configs mislead.

Three rows of different length go into slots, one round is drafted and thrown away, one token is fed: its logits must
be those of the row alone. About four small forwards (code.md 2b).
"""

import torch
from torch import Tensor
from transformers import PreTrainedModel
from transformers.cache_utils import DynamicCache

from engine import feed
from engine.cache.slots import SlotCache
from engine.forward import forward
from engine.row import Row
from engine.support import UnsupportedModel

LENGTHS = (3, 9, 6)
#: Largest difference of a logit that rounding explains, by dtype.
TOLERANCE = {torch.float64: 1e-8, torch.float32: 1e-3, torch.float16: 0.5, torch.bfloat16: 2.0}


@torch.inference_mode()
def probe(model: PreTrainedModel, vocab: int) -> float:
    """The largest logit difference seen. Raises UnsupportedModel when it is more than rounding."""
    generator = torch.Generator().manual_seed(0)
    ids = [torch.randint(vocab, (n,), generator=generator).tolist() for n in LENGTHS]
    rows = [Row(n, list(i), len(i), 8, 1 << 20, frozenset()) for n, i in enumerate(ids)]
    ragged = in_slots(model, rows, vocab)
    worst = max(float((ragged[r.row] - alone(model, r.ids, vocab)).abs().max()) for r in rows)
    if not worst <= TOLERANCE.get(model.dtype, 1e-3):
        found = f"a short row beside longer ones got logits {worst:.3g} away from those it gets alone"
        raise UnsupportedModel(type(model).__name__, found)
    return worst


def in_slots(model: PreTrainedModel, rows: list[Row], vocab: int) -> Tensor:  # [B, V]
    """Logits after each row's last token: prompts in one padded forward, a rejected draft of two, then the token."""
    device = str(model.device)
    layers = model.config.get_text_config().num_hidden_layers
    cache = SlotCache(layers, len(rows), max(LENGTHS) + 6, device)
    _feed(model, cache, feed.prompts(rows, "right", 0, device), vocab)
    for row in rows:
        row.ids.append(row.ids[0])
    garbage, lens = torch.ones(len(rows), 2, dtype=torch.int64, device=device), torch.tensor([2, 0, 1], device=device)
    before = cache.count[: len(rows)].tolist()
    _feed(model, cache, feed.round_of(rows, garbage, lens, cache.count.clone()), vocab)
    cache.rollback(before)
    nothing = garbage[:, :0], torch.zeros_like(lens)
    return _feed(model, cache, feed.round_of(rows, *nothing, cache.count.clone()), vocab)[:, 0]


def _feed(model: PreTrainedModel, cache: SlotCache, fed: feed.Feed, vocab: int) -> Tensor:  # [B, T, V]
    out = forward(model, fed.tokens, fed.positions, cache.feed(fed), cache, vocab=vocab)
    cache.advance(fed)
    return out.logits


def alone(model: PreTrainedModel, ids: list[int], vocab: int) -> Tensor:  # [V]
    """Logits after the last of `ids`, with nothing beside them."""
    fed = torch.tensor([ids], device=model.device)
    positions = torch.arange(len(ids), device=model.device)[None]
    mask = torch.ones(1, len(ids), len(ids), dtype=torch.bool, device=model.device).tril()
    cache = DynamicCache(config=model.config)
    return forward(model, fed, positions, mask, cache, vocab=vocab).logits[0, -1]
