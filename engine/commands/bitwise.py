"""Slots against each row alone, bit for bit: with fixed shapes nothing is rounded differently; a difference is a bug.

First a self-test: whether this machine gives a batched row the same bits as the row alone. If it does not, the mode is
refused with what was found. Then the run, and each row decoded once more alone, one token a forward. Exit code 0: every
row's logits are the same bits; 1: some are not; 2: refused, or bad input.
"""

import argparse
import sys
from dataclasses import replace

from engine.commands.run import add_run_arguments, config_of, prompts_of


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add_run_arguments(parser)
    parser.set_defaults(method="slots")


def main(args: argparse.Namespace) -> int:
    config, prompts = replace(config_of(args), fidelity="bitwise"), prompts_of(args)
    from engine.bitwise import same_bits, shapes_of
    from engine.models import load_pair
    from engine.report import run
    from engine.stream import encode

    pair = load_pair(config)
    states, witnesses = run({config.method: config}, pair, prompts)
    print("self-test: batched rows have the bits of the rows alone", file=sys.stderr)
    shapes = shapes_of(config, [encode(pair, p, config, n) for n, p in enumerate(prompts)])
    wrong = False
    for row in states[config.method].rows.values():
        found = same_bits(pair, shapes, row, witnesses[config.method])
        wrong |= found.index is not None
        same = f"equal, {found.tokens} tokens"
        differs = f"differs at token {found.index}, by {found.apart:.1e}"
        print(f"row {found.row}\t{same if found.index is None else differs}")
    return int(wrong)
