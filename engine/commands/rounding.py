"""Record the chapters' third run, in bfloat16, and check that it shows rounding beside bugs."""

import argparse
from pathlib import Path


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--out", type=Path, default=Path("assets/traces/rounding.jsonl"))
    parser.add_argument("--dtype", default="bfloat16")


def main(args: argparse.Namespace) -> int:
    from engine import rounding
    from engine.commands import recording

    events = rounding.record(args.dtype)
    return recording.write(events, rounding.shortcomings(events), args.out)
