"""Latency of requests that come over time, by method; what the published grouping does to odd lengths."""

from collections.abc import Iterator, Sequence
from dataclasses import replace

from engine.arrivals import parse
from engine.config import RunConfig
from engine.fold import fold
from engine.latency import PERCENTILES, percentiles, requests
from engine.models import load_pair
from engine.stream import session


def report(
    prompts: Sequence[str], arrivals: str, batch: int, proposer: str, draft: str | None, k: int, max_new: int, seed: int
) -> Iterator[str]:
    """Lines of the table. One run of each: in steps it is deterministic, in seconds it is this one."""
    common = {"batch": batch, "proposer": proposer, "draft": draft, "k": k, "max_new": max_new, "seed": seed}
    base = RunConfig(method="exspec", arrivals=parse(arrivals), **common)
    configs = {
        "eqspec": replace(base, method="eqspec", refill=True),
        "exspec": base,
        "exspec, published rule": replace(base, grouping="paper", age=1 << 20),
        "with an age limit": replace(base, grouping="paper"),
        "slots": replace(base, method="slots", refill=True),
    }
    pair = load_pair(base)
    yield f"{len(prompts)} requests at {arrivals} (seed {seed}), batch {batch}; {proposer}, K={k}, {max_new} tokens"
    heads = "".join(f"{f'P{p}':>8}" for p in PERCENTILES)
    yield f"{'':<23}{'steps:':>8}{heads}{'longest':>9}{'seconds:':>11}{heads}{'longest':>9}"
    for name, config in configs.items():
        state = fold(session({name: config}, list(prompts), pair=pair, certify=False))
        cells = ""
        for width, unit in ((8, "steps"), (11, "seconds")):
            values = [getattr(r, unit) for r in requests(state, name)]
            cells += " " * width + "".join(f"{v:>8.1f}" for v in percentiles(values).values()) + f"{max(values):>9.1f}"
        yield f"{name:<23}{cells}"
    yield "from a request's arrival to its last token; a step is one forward of the target over the batch"
