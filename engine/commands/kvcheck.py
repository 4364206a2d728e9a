"""Hold the KV cache of a run against a fresh prefill of the same content: the first layer and slot that differ.

Every forward is checked, or the one of --step. What counts as equal is measured in the run (float32 as well as
float64). Exit code 0: every entry is right; 1: some entry differs; 2: bad input.
"""

import argparse

from engine.commands.run import add_run_arguments, config_of, prompts_of
from engine.config import ConfigError


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add_run_arguments(parser)
    parser.add_argument("--step", type=int, help="check this step only (0 is the prefill; default: all)")


def main(args: argparse.Namespace) -> int:
    config, prompts = config_of(args), prompts_of(args)
    if args.step is not None and args.step < 0:
        raise ConfigError("step", args.step, "choose a whole number from 0")
    from engine.kvcheck import MARGIN, kvcheck
    from engine.models import load_pair

    pair = load_pair(config)
    found = kvcheck(pair, config, prompts, args.step)
    scale = f"tolerance {found.tolerance:.1e}, {MARGIN:g} times what batch and chunk shapes change here"
    if not found.differences:
        steps = "step" if len(found.steps) == 1 else "steps"
        print(f"clean: {len(found.steps)} {steps}, largest difference {found.largest:.1e} ({scale})")
        return 0
    for d in found.differences:
        print(f"step {d.step}, row {d.row}: {in_words(d)}")
    print(f"({scale})")
    return 1


def in_words(d: object) -> str:
    """One difference."""
    if d.layer < 0:
        return f"it sees {d.seen} slots for {d.content} tokens" + (
            f", the first too many is slot {d.slot}" * (d.slot >= 0)
        )
    apart = f"keys are {d.keys:.1e} and values {d.values:.1e} from those of token {d.token} in a fresh prefill"
    return f"layer {d.layer}, slot {d.slot}: {apart}; it sees {d.seen} slots for {d.content} tokens"
