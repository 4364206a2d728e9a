"""What moving KV costs beside a plain copy of the same bytes, and what moving and recording take of a whole run."""

import statistics
import time
from collections.abc import Callable, Iterator

import torch

from engine.bench.methods import PROMPTS, measure
from engine.cache.padded import PaddedCache
from engine.config import RunConfig
from engine.models import load_pair

SLOTS = (128, 256, 512)
PASSES = 30  # of a realignment and of a clone


def report(batch: int, proposer: str, k: int, max_new: int, repeats: int) -> Iterator[str]:
    """Lines of the report; every ratio comes from one process in which its two sides alternate."""
    pair = load_pair(RunConfig(proposer=proposer))
    config = pair.target.config
    sizes = (config.num_hidden_layers, batch, config.num_key_value_heads, pair.info["target"]["head_dim"])
    yield f"realigning {sizes[0]} layers of B={batch}, times a clone of the same bytes ({PASSES} passes)"
    yield f"{'slots':>7}{'MB':>7}{'one copy':>10}{'row by row, as published':>26}"
    for slots in SLOTS:
        megabytes, fast, slow = realign_ratios(*sizes, slots, PASSES)
        yield f"{slots:>7}{megabytes:>7.0f}{fast:>10.2f}{slow:>26.2f}"
    common = {"proposer": proposer, "k": k, "max_new": max_new}
    configs = {
        "eqspec": RunConfig(method="eqspec", **common),
        "eqspec, paper": RunConfig(method="eqspec", fidelity="paper", **common),
        "exspec": RunConfig(method="exspec", **common),
        "slots": RunConfig(method="slots", **common),
        "rollback": RunConfig(method="rollback", **common),
    }
    yield f"{proposer}, K={k}, B={batch}, {max_new} tokens, {repeats} alternating runs; shares of the run's seconds"
    timings = measure(configs, PROMPTS[:batch], repeats, pair)
    yield (
        f"{'method':<15}{'of eqspec':>13}{'verify':>8}{'moving KV':>11}{'recording':>11}{'ms a round':>12}"
        f"{'moved MB':>10}{'compacted':>11}{'fed':>7}{'rounds':>8}"
    )
    for name, t in timings.items():
        moving = sum(map(t.share, MOVING))
        rounds = t.totals["rounds"]
        gained = f"{t.gain(timings['eqspec']):.2f} ({t.cpu_gain(timings['eqspec']):.2f})"
        yield (
            f"{name:<15}{gained:>13}{t.share('verify'):>8.1%}{moving:>11.2%}"
            f"{t.recording / sum(t.seconds):>11.2%}{1e3 * t.recording / rounds:>12.2f}"
            f"{t.megabytes('realign', 'join', 'split', 'grow'):>10.1f}{t.megabytes('compact'):>11.1f}"
            f"{t.totals['fed'] // repeats:>7}{rounds // repeats:>8}"
        )
    yield "of eqspec: tokens per second, by wall seconds (by CPU seconds)."
    yield "recording: the trace's events built, folded, checked and written as JSON."
    yield "moved: realign, join, split, grow. compacted: rows that take the place of one that left the batch."


MOVING = ("realign", "join", "split", "compact")


def realign_ratios(layers: int, batch: int, heads: int, dim: int, slots: int, passes: int) -> tuple[float, ...]:
    """MB of a rectangle; seconds of realigning it over those of cloning it: all layers at once, and row by row."""
    fast, by_row = (filled(layers, batch, heads, dim, slots) for _ in range(2))
    rows, source = torch.arange(batch), torch.arange(batch) % 4
    clones: list[tuple | None] = [None] * layers

    def clone() -> None:
        for n, layer in enumerate(fast.layers):
            clones[n] = layer.keys.clone(), layer.values.clone()

    def realign(cache: PaddedCache) -> None:
        cache.width = slots
        cache.realign(rows, source, torch.zeros_like(rows), slots - cache.spare, by_row=cache is by_row)

    works = [clone, lambda: realign(fast), lambda: realign(by_row)]
    times: list[list[float]] = [[], [], []]
    for n in range(passes):
        for i in ((0, 1, 2), (2, 1, 0))[n % 2]:
            times[i].append(seconds(works[i]))
    ratios = (statistics.median(a / b for a, b in zip(t, times[0], strict=True)) for t in times[1:])
    return batch * slots * fast.slot_bytes / 1e6, *ratios


def filled(layers: int, batch: int, heads: int, dim: int, slots: int) -> PaddedCache:
    """A rectangle full of random keys and values."""
    cache = PaddedCache(layers, batch, slots, 5)
    for layer in cache.layers:
        layer.keys, layer.values = torch.randn(batch, slots, heads, dim), torch.randn(batch, slots, heads, dim)
        layer.is_initialized = True
    return cache


def seconds(work: Callable[[], object]) -> float:
    start = time.perf_counter()
    work()
    return time.perf_counter() - start
