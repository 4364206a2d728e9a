"""Tokens per second of every method against plain decoding at the same batch size, from alternating runs."""

import statistics
import time
from collections.abc import Iterator
from dataclasses import dataclass, field

from engine.config import RunConfig
from engine.models import Pair, load_pair
from engine.stream import session
from engine.trace import Commit, Spans

PROMPTS = (
    "Repeat this sentence exactly: The train leaves the station at nine and arrives in the city before noon.",
    "Explain in two sentences why leaves are green.",
    "Fix the spelling: The cat sat on teh mat and looked at the birds in the garden.",
    "Write a short note to a friend about a rainy day at the sea.",
    "Change the name Peter to Paul: Peter went to the market and bought apples, bread and cheese.",
    "List five things that one can find in a kitchen.",
    "What is seven times eight?",
    "Please repeat: The small brown dog chased the red ball across the green field.",
)


@dataclass(slots=True)
class Timing:
    """Wall seconds and tokens of each repetition, and seconds by phase."""

    seconds: list[float] = field(default_factory=list)
    tokens: list[int] = field(default_factory=list)
    phases: dict[str, float] = field(default_factory=dict)

    @property
    def rates(self) -> list[float]:
        return [n / s for n, s in zip(self.tokens, self.seconds, strict=True)]

    def share(self, phase: str) -> float:
        return self.phases.get(phase, 0.0) / sum(self.seconds)


def measure(configs: dict[str, RunConfig], prompts: list[str], repeats: int, pair: Pair) -> dict[str, Timing]:
    """Run the configurations in turn, `repeats` times round, after one warm-up each."""
    timings = {name: Timing() for name in configs}
    for repeat in range(-1, repeats):
        for name, config in configs.items():
            start, tokens = time.perf_counter(), 0
            for event in session({name: config}, prompts, pair=pair, certify=False):
                if isinstance(event, Commit):
                    tokens += sum(map(len, event.emitted))
                elif isinstance(event, Spans) and repeat >= 0:
                    for phase, t0, t1 in event.spans:
                        timings[name].phases[phase] = timings[name].phases.get(phase, 0.0) + t1 - t0
            if repeat >= 0:
                timings[name].seconds.append(time.perf_counter() - start)
                timings[name].tokens.append(tokens)
    return timings


def report(batches: tuple[int, ...], proposer: str, k: int, max_new: int, repeats: int) -> Iterator[str]:
    """Lines of the table, one batch size after the other."""
    common = {"proposer": proposer, "k": k, "max_new": max_new}
    pair = load_pair(RunConfig(**common))
    yield f"{proposer}, K={k}, {max_new} tokens, {repeats} alternating runs, medians; float32 on the CPU"
    yield f"{'batch':>5} {'method':<15}{'tok/s':>8}{'of AR':>8}{'propose':>9}{'verify':>8}{'realign':>9}{'check':>7}"
    for batch in batches:
        configs = {
            "autoregressive": RunConfig(method="autoregressive", max_new=max_new),
            "eqspec": RunConfig(method="eqspec", **common),
            "bsp": RunConfig(method="bsp", faults=frozenset(), **common),
        }
        timings = measure(configs, list(PROMPTS[:batch]), repeats, pair)
        base = timings["autoregressive"].rates
        for name, t in timings.items():
            ratio = statistics.median(a / b for a, b in zip(t.rates, base, strict=True))
            shares = "".join(f"{t.share(p):>{w}.1%}" for p, w in zip(PHASES, (9, 8, 9, 7), strict=True))
            yield f"{batch:>5} {name:<15}{statistics.median(t.rates):>8.1f}{ratio:>8.2f}{shares}"


PHASES = ("propose", "verify", "realign", "check")
