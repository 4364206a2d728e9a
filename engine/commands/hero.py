"""Record the page's first run with the real model; write it only if it shows everything that stage.md asks for."""

import argparse
import sys
from pathlib import Path


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--out", type=Path, default=Path("assets/traces/hero.jsonl"))
    parser.add_argument("--dtype", default="float32", help="float64 makes the recording that the tests replay")


def main(args: argparse.Namespace) -> int:
    from engine import hero
    from engine.lines import dump_line

    events = hero.record(args.dtype)
    missing = hero.shortcomings(events)
    for what in missing:
        print(f"not a hero: {what}", file=sys.stderr)
    if missing:
        return 1
    args.out.parent.mkdir(parents=True, exist_ok=True)
    args.out.write_text("".join(dump_line(e) + "\n" for e in events), encoding="utf-8")
    print(f"{args.out}: {len(events)} events, {args.out.stat().st_size / 1024:.0f} KB", file=sys.stderr)
    return 0
