"""The share of attention mass that falls on pads and on dead slots at one step of a run, per layer and row.

Prints `layer<TAB>row<TAB>pads<TAB>dead`, shares of 1: means over the heads and over the queries that belong to a token.
Exit code 0: measured; 2: bad input.
"""

import argparse

from engine.commands.run import add_run_arguments, config_of, prompts_of
from engine.config import ConfigError


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add_run_arguments(parser)
    parser.add_argument("--step", type=int, default=1, help="0 is the prefill (default 1)")
    parser.add_argument("--layer", type=int, help="this layer only, from 0 (default: all)")


def main(args: argparse.Namespace) -> int:
    config, prompts = config_of(args), prompts_of(args)
    if args.step < 0:
        raise ConfigError("step", args.step, "choose a whole number from 0")
    from engine.attention import attention_mass, chosen
    from engine.models import load_pair

    found = chosen(attention_mass(load_pair(config), config, prompts, args.step), args.layer)
    print("layer\trow\tpads\tdead")
    for m in found:
        print(f"{m.layer}\t{m.row}\t{m.pads:.4f}\t{m.dead:.4f}")
    return 0
