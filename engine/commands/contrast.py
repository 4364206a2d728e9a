"""Record the lessons' second run, in which pads are masked, seen or counted, and check that it shows what they do."""

import argparse
import sys
from pathlib import Path


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--out", type=Path, default=Path("assets/traces/faults.jsonl"))
    parser.add_argument("--dtype", default="float32")


def main(args: argparse.Namespace) -> int:
    from engine import contrast
    from engine.lines import dump_line

    events = contrast.record(args.dtype)
    missing = list(contrast.shortcomings(events))
    for what in missing:
        print(f"does not teach: {what}", file=sys.stderr)
    if missing:
        return 1
    args.out.parent.mkdir(parents=True, exist_ok=True)
    args.out.write_text("".join(dump_line(e) + "\n" for e in events), encoding="utf-8")
    print(f"{args.out}: {len(events)} events, {args.out.stat().st_size / 1024:.0f} KB", file=sys.stderr)
    return 0
