"""Record the lessons' third run, in bfloat16, and check that it shows rounding beside bugs."""

import argparse
import sys
from pathlib import Path


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--out", type=Path, default=Path("assets/traces/rounding.jsonl"))
    parser.add_argument("--dtype", default="bfloat16")


def main(args: argparse.Namespace) -> int:
    from engine import rounding
    from engine.lines import dump_line

    events = rounding.record(args.dtype)
    missing = list(rounding.shortcomings(events))
    for what in missing:
        print(f"does not teach: {what}", file=sys.stderr)
    if missing:
        return 1
    args.out.parent.mkdir(parents=True, exist_ok=True)
    args.out.write_text("".join(dump_line(e) + "\n" for e in events), encoding="utf-8")
    print(f"{args.out}: {len(events)} events, {args.out.stat().st_size / 1024:.0f} KB", file=sys.stderr)
    return 0
