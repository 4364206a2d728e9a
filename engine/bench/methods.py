"""Tokens per second of every method against plain decoding at the same batch size, from alternating runs."""

import statistics
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from engine.bench.stopwatch import Stopwatch
from engine.config import RunConfig
from engine.lane import Lane
from engine.lines import dump_line
from engine.models import Pair, load_pair
from engine.stream import Session, session
from engine.trace import Commit, End, KvOp, Spans

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

#: Everything that a run does for its trace: events built from tensors, folded, checked, numbered; JSON besides.
SCRIBE = ("proposed", "verified", "kv_state", "kv_op", "kv_hidden", "kv_dropped", "_emit", "finish")
RECORDING = (*((Lane, name) for name in SCRIBE), (Session, "_number"), (Session, "_pieces"))


@dataclass(slots=True)
class Timing:
    """Wall seconds, CPU seconds (of all threads) and tokens of each repetition; the rest is of all repetitions."""

    seconds: list[float] = field(default_factory=list)
    cpu: list[float] = field(default_factory=list)
    tokens: list[int] = field(default_factory=list)
    phases: dict[str, float] = field(default_factory=dict)
    recording: float = 0.0
    copies: dict[str, int] = field(default_factory=dict)  # kv_op -> bytes
    counted: dict[str, int] = field(default_factory=dict)  # kv_op -> how often
    avoided: int = 0
    totals: dict[str, int] = field(default_factory=dict)

    @property
    def rates(self) -> list[float]:
        return [n / s for n, s in zip(self.tokens, self.seconds, strict=True)]

    def share(self, phase: str) -> float:
        return self.phases.get(phase, 0.0) / sum(self.seconds)

    def megabytes(self, *ops: str) -> float:
        """Of these kinds of copies, per repetition; of all without any named."""
        return sum(n for op, n in self.copies.items() if op in ops or not ops) / len(self.seconds) / 1e6

    def gain(self, base: "Timing") -> float:
        """Tokens per second over those of `base`: the median over the repetitions, each against its neighbour."""
        return statistics.median(a / b for a, b in zip(self.rates, base.rates, strict=True))

    def cpu_gain(self, base: "Timing") -> float:
        """The same by CPU seconds, which other programs on the machine disturb less."""
        rates = [[n / s for n, s in zip(t.tokens, t.cpu, strict=True)] for t in (self, base)]
        return statistics.median(a / b for a, b in zip(*rates, strict=True))


def measure(configs: dict[str, RunConfig], prompts: Sequence[str], repeats: int, pair: Pair) -> dict[str, Timing]:
    """Run the configurations in turn, `repeats` times round and every other time backwards, after one warm-up each."""
    timings = {name: Timing() for name in configs}
    for repeat in range(-1, repeats):
        for name in list(configs)[:: -1 if repeat % 2 else 1]:
            found = once(name, configs[name], prompts, pair, Timing() if repeat < 0 else timings[name])
            if repeat >= 0:
                timings[name] = found
    return timings


def once(name: str, config: RunConfig, prompts: Sequence[str], pair: Pair, t: Timing) -> Timing:
    """One run, recorded as into a file; its figures are added to `t`."""
    start, cpu, tokens, watch = time.perf_counter(), time.process_time(), 0, Stopwatch()
    with watch.watch(*RECORDING):
        for event in session({name: config}, list(prompts), pair=pair, certify=False):
            with watch.running():
                dump_line(event)
            if isinstance(event, Commit):
                tokens += sum(map(len, event.emitted))
            elif isinstance(event, Spans):
                for phase, t0, t1 in event.spans:
                    t.phases[phase] = t.phases.get(phase, 0.0) + t1 - t0
            elif isinstance(event, KvOp):
                t.copies[event.op] = t.copies.get(event.op, 0) + event.bytes
                t.counted[event.op] = t.counted.get(event.op, 0) + 1
                t.avoided += event.avoided
            elif isinstance(event, End) and event.lane:
                t.totals = {k: t.totals.get(k, 0) + n for k, n in event.totals.items()}
    t.seconds.append(time.perf_counter() - start)
    t.cpu.append(time.process_time() - cpu)
    t.tokens.append(tokens)
    t.recording += watch.seconds
    return t


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
        base = timings["autoregressive"]
        for name, t in timings.items():
            shares = "".join(f"{t.share(p):>{w}.1%}" for p, w in zip(PHASES, (9, 8, 9, 7), strict=True))
            yield f"{batch:>5} {name:<15}{statistics.median(t.rates):>8.1f}{t.gain(base):>8.2f}{shares}"


PHASES = ("propose", "verify", "realign", "check")
