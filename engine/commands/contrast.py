"""Record the chapters' second run, in which pads are masked, seen or counted, and check that it shows what they do."""

import argparse
from pathlib import Path


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--out", type=Path, default=Path("assets/traces/faults.jsonl"))
    parser.add_argument("--dtype", default="float32")


def main(args: argparse.Namespace) -> int:
    from engine import contrast
    from engine.commands import recording

    events = contrast.record(args.dtype)
    return recording.write(events, contrast.shortcomings(events), args.out)
