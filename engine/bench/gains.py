"""Refill gain and grouping gain, apart (papers.md 0.4): most of the published gain of grouping is refill.

refill gain    tokens per second of EQSPEC with refill over EQSPEC in static batches
grouping gain  tokens per second of EXSPEC over EQSPEC with refill; same prompts, batch and proposer
Either may be below 1. Behind each stands the same ratio by CPU seconds, for machines that do other work as well.
"""

import statistics
from collections.abc import Iterator, Sequence

from engine.bench.methods import Timing, measure
from engine.config import RunConfig
from engine.models import load_pair


def report(
    prompts: Sequence[str], batch: int, proposer: str, draft: str | None, k: int, max_new: int, repeats: int
) -> Iterator[str]:
    """Lines of the table: every method on the same pool of prompts."""
    common = {"proposer": proposer, "draft": draft, "k": k, "max_new": max_new, "batch": batch}
    configs = {
        "eqspec, static": RunConfig(method="eqspec", **common),
        "eqspec, refill": RunConfig(method="eqspec", refill=True, **common),
        "exspec": RunConfig(method="exspec", **common),
        "exspec, published rule": RunConfig(method="exspec", grouping="paper", age=1 << 20, **common),
        "slots, static": RunConfig(method="slots", **common),
        "slots, refill": RunConfig(method="slots", refill=True, **common),
    }
    pair = load_pair(configs["eqspec, static"])
    yield (
        f"{len(prompts)} prompts, batch {batch}, window {4 * batch}, {proposer}, K={k}, {max_new} tokens, "
        f"{repeats} alternating runs, medians"
    )
    timings = measure(configs, prompts, repeats, pair)
    yield (
        f"{'':<23}{'tok/s':>7}{'refill gain':>14}{'grouping gain':>15}{'grouped':>9}{'rounds':>8}"
        f"{'realigns':>10}{'joins':>7}{'MB done':>9}{'avoided':>9}"
    )
    for name, t in timings.items():
        refill = gained(t, timings, name.replace("refill", "static")) if name.endswith("refill") else ""
        grouping = gained(t, timings, "eqspec, refill") if name.startswith("exspec") else ""
        grouped, picks = t.totals.get("grouped", 0), t.totals.get("grouped", 0) + t.totals.get("fallback", 0)
        rate = f"{grouped / picks:.0%}" if name.startswith("exspec") else ""
        yield (
            f"{name:<23}{statistics.median(t.rates):>7.1f}{refill:>14}{grouping:>15}{rate:>9}"
            f"{t.totals['rounds'] // repeats:>8}{t.counted.get('realign', 0) // repeats:>10}"
            f"{t.counted.get('join', 0) // repeats:>7}{t.megabytes():>9.1f}{t.avoided / repeats / 1e6:>9.1f}"
        )
    yield "gains: by wall seconds (by CPU seconds). rounds: forwards of the target, prefills included."
    yield "avoided: bytes that copying everything would have read besides."


def gained(t: Timing, timings: dict[str, Timing], base: str) -> str:
    """Both gains, as wall (CPU)."""
    return f"{t.gain(timings[base]):.2f} ({t.cpu_gain(timings[base]):.2f})"
