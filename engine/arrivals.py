"""Arrivals: requests that come over time. The clock is the step: a request that arrives at 2.5 can enter in step 3.

Steps are the deterministic clock: one step is one round or one prefill of the lane; where nothing is left to decode,
the clock jumps to the next arrival. Seconds are measured beside it, see `engine.latency`.
"""

import math
import random

from engine.config import POISSON, ConfigError, RunConfig


def parse(text: str) -> tuple[float, ...] | str:
    """What the command line takes: steps separated by commas, or poisson:RATE (requests per step).

    >>> parse("0,0,3,7.5"), parse("poisson:0.5")
    ((0.0, 0.0, 3.0, 7.5), 'poisson:0.5')
    """
    if text.startswith(POISSON):
        return text
    try:
        return tuple(float(part) for part in text.split(","))
    except ValueError:
        works = "give steps like 0,0,3,7 (one for each prompt) or poisson:0.5 (requests per step)"
        raise ConfigError("arrivals", text, works) from None


def arrivals_of(config: RunConfig, count: int) -> list[float]:
    """The step at which each of `count` requests arrives; all at 0 where none are configured. First request: 0.

    Poisson: exponential gaps of mean 1 / rate, drawn from the run's seed.
    Raises ConfigError when a fixed list has another length than the prompts.
    """
    if not config.arrivals:
        return [0.0] * count
    if isinstance(config.arrivals, str):
        rate, chance = float(config.arrivals.removeprefix(POISSON)), random.Random(f"arrivals {config.seed}")
        times = [0.0]
        while len(times) < count:
            times.append(round(times[-1] + chance.expovariate(rate), 3))
        return times
    if len(config.arrivals) != count:
        raise ConfigError("arrivals", config.arrivals, f"give one arrival for each of the {count} prompts")
    return list(config.arrivals)


def step_of(arrive: float) -> int:
    """The first step that a request can be in; a step begins when its number is reached.

    >>> step_of(2.0), step_of(2.1)
    (2, 3)
    """
    return math.ceil(arrive)
