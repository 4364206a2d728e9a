"""What realigning costs beside a plain copy of the same bytes, and what recording a trace costs beside the run."""

import statistics
import time
from collections.abc import Callable, Iterator

import torch

from engine.bench.methods import PROMPTS, Timing, measure
from engine.cache.padded import PaddedCache
from engine.config import RunConfig
from engine.models import load_pair


def report(batch: int, slots: int, max_new: int, repeats: int) -> Iterator[str]:
    """Lines of the report; every ratio is a median over alternating runs in this process."""
    pair = load_pair(RunConfig(proposer="self_skip"))
    config = pair.target.config
    heads, dim = config.num_key_value_heads, config.hidden_size // config.num_attention_heads
    yield f"realign, {config.num_hidden_layers} layers, B={batch}, S={slots}, against clone() of the same tensors"
    ratio = realign_ratio(config.num_hidden_layers, batch, slots, heads, dim, repeats)
    yield f"  ratio {ratio:.2f} (median of {repeats})"
    common = {"proposer": "self_skip", "k": 4, "max_new": max_new}
    configs = {m: RunConfig(method=m, **common) for m in ("eqspec", "slots", "exspec", "rollback")}
    timings = measure(configs, list(PROMPTS[:batch]), max(1, repeats // 10), pair)
    yield f"{'method':<10}{'realign':>9}{'join+split':>12}{'check':>8}{'record and rest':>17}   share of the run"
    for name, t in timings.items():
        moving = t.share("join") + t.share("split")
        yield f"{name:<10}{t.share('realign'):>9.1%}{moving:>12.1%}{t.share('check'):>8.1%}{rest(t):>17.1%}"


def rest(t: Timing) -> float:
    """Everything outside the timed phases: building and folding the events, and the method's own Python."""
    return 1.0 - sum(t.phases.values()) / sum(t.seconds)


def realign_ratio(layers: int, batch: int, slots: int, heads: int, dim: int, repeats: int) -> float:
    """Seconds of one realignment of a full rectangle over seconds of cloning it, alternating."""
    cache = PaddedCache(layers, batch, slots, 5)
    for layer in cache.layers:
        layer.keys, layer.values = torch.randn(batch, slots, heads, dim), torch.randn(batch, slots, heads, dim)
        layer.is_initialized = True
    cache.width = slots
    rows, source = torch.arange(batch), torch.arange(batch) % 4
    ratios = []
    for _ in range(repeats):
        copies: list[torch.Tensor] = []
        clone = seconds(lambda kept=copies: kept.extend(x.clone() for la in cache.layers for x in (la.keys, la.values)))
        before = [(la.keys, la.values) for la in cache.layers]
        moved = seconds(lambda: cache.realign(rows, source, torch.zeros_like(rows), slots - 5))
        ratios.append(moved / clone)
        for layer, (keys, values) in zip(cache.layers, before, strict=True):
            layer.keys, layer.values = keys, values
        cache.width = cache.capacity = slots
        cache.shadow = torch.full((batch, slots, 3), -1)
        cache.visible = torch.zeros(batch, slots, dtype=torch.bool)
    return statistics.median(ratios)


def seconds(work: Callable[[], object]) -> float:
    start = time.perf_counter()
    work()
    return time.perf_counter() - start
