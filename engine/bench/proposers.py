"""Where each proposer pays: tokens per second over plain decoding, by kind of prompt alone and in full batches.

All of them take turns on the same prompts in one run; a ratio is the median over the repetitions, each against the
plain run next to it.
"""

import json
import statistics
from collections import defaultdict
from collections.abc import Iterator
from itertools import zip_longest
from pathlib import Path

from engine import shelf, shipped
from engine.bench.methods import Timing, once
from engine.config import ConfigError, RunConfig
from engine.models import Pair, load_pair

WORKLOAD = Path("assets/workloads/mixed.jsonl")
PLAIN = "plain decoding"
PROPOSERS = ("ngram", "hybrid", "eagle3", "mtp", "draft_small", "self_skip")
FULL = 8  # rows of a full batch

Run = tuple[RunConfig, Pair]


def prompts_by_kind(file: Path, each: int | None) -> dict[str, list[str]]:
    """The first `each` prompts of every kind in a file of JSON lines. Raises ConfigError."""
    found: dict[str, list[str]] = defaultdict(list)
    for number, line in enumerate(file.read_text(encoding="utf-8").split("\n"), 1):
        if not line.strip():
            continue
        try:
            entry = json.loads(line)
            kind, prompt = str(entry["kind"]), str(entry["prompt"])
        except (ValueError, KeyError, TypeError):
            raise ConfigError(f"{file}:{number}", line[:60], 'write {"kind": "...", "prompt": "..."}') from None
        found[kind].append(prompt)
    return {kind: prompts[:each] for kind, prompts in found.items()}


def measure(runs: dict[str, Run], prompts: list[str], repeats: int) -> dict[str, Timing]:
    """All of them on these prompts together, in turn and every other time backwards."""
    timings = {name: Timing() for name in runs}
    for repeat in range(repeats):
        for name in list(runs)[:: -1 if repeat % 2 else 1]:
            config, pair = runs[name]
            timings[name] = once(name, config, prompts, pair, timings[name])
    return timings


def pooled(parts: list[Timing]) -> Timing:
    """Several groups of prompts as if they were one: seconds and tokens of each repetition added up."""
    seconds = [sum(each) for each in zip(*(t.seconds for t in parts), strict=True)]
    return Timing(seconds=seconds, tokens=[sum(each) for each in zip(*(t.tokens for t in parts), strict=True)])


def row(kind: str, timings: dict[str, Timing]) -> str:
    """Markdown: tokens per second of plain decoding, then what each proposer is times that."""
    base = timings[PLAIN]
    gains = " | ".join(f"{t.gain(base):.2f}" for name, t in timings.items() if name != PLAIN)
    return f"| {kind} | {statistics.median(base.rates):.1f} | {gains} |"


def table(label: str, runs: dict[str, Run], groups: dict[str, list[list[str]]], repeats: int) -> Iterator[str]:
    """Markdown, a line as soon as it is measured: one per kind and one for all together."""
    yield f"| {label} | {' | '.join(runs)} |"
    yield "|---" * (1 + len(runs)) + "|"
    every: dict[str, list[Timing]] = {name: [] for name in runs}
    for kind, batches in groups.items():
        found = [measure(runs, prompts, repeats) for prompts in batches]
        yield row(kind, {name: pooled([f[name] for f in found]) for name in runs})
        for name in runs:
            every[name] += [f[name] for f in found]
    if len(groups) > 1:
        yield row("all", {name: pooled(parts) for name, parts in every.items()})


def report(file: Path, each: int | None, k: int, max_new: int, repeats: int) -> Iterator[str]:
    """Lines of two tables: `each` prompts of every kind (default: all) one by one, and in batches of mixed kinds."""
    kinds = prompts_by_kind(file, each)
    plain = RunConfig(method="autoregressive", max_new=max_new)
    configs = {PLAIN: plain}
    for name in PROPOSERS:
        if not shipped.lacking(name, shelf.NAME):
            configs[name] = RunConfig(method="slots", proposer=name, k=k, max_new=max_new)
    runs = {name: (config, load_pair(config)) for name, config in configs.items()}
    every = [prompt for prompts in zip_longest(*kinds.values()) for prompt in prompts if prompt is not None]
    measure(runs, every[:1], 1)  # warm
    yield f"{len(every)} prompts of {file.name}, K = {k}, {max_new} tokens, {repeats} alternating runs, medians;"
    yield "float32 on the CPU, slot cache. Plain decoding: tokens per second; the others times that, below 1 is slower."
    yield ""
    yield from table(
        "one prompt at a time", runs, {kind: [[p] for p in prompts] for kind, prompts in kinds.items()}, repeats
    )
    yield ""
    batches = [every[n : n + FULL] for n in range(0, len(every), FULL)]
    yield from table(f"{FULL} prompts together", runs, {"mixed": batches}, repeats)
