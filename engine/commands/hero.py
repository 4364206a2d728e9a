"""Record the page's first run with the real model; write it only if it shows everything that stage.md asks for."""

import argparse
from pathlib import Path


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--out", type=Path, default=Path("assets/traces/hero.jsonl"))
    parser.add_argument("--dtype", default="float32", help="float64 makes the recording that the tests replay")


def main(args: argparse.Namespace) -> int:
    from engine import hero
    from engine.commands import recording

    events = hero.record(args.dtype)
    return recording.write(events, hero.shortcomings(events), args.out)
