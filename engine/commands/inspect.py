"""Check a trace against the invariants, recomputed from its events: the first violation of each lane, in words.

Exit code 0: clean; 1: a violation; 2: the trace cannot be read. Needs no model and no torch; an incomplete trace is
checked for what it contains.
"""

import argparse
import sys
from pathlib import Path

from engine.inspection import MAX_LINE, Inspected, inspect
from engine.trace import TraceError

MAX_BYTES = 1 << 30


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("trace", type=Path, metavar="TRACE", help="a trace of ours or of another engine (JSON lines)")


def main(args: argparse.Namespace) -> int:
    try:
        if not args.trace.is_file():
            raise TraceError("not a file")
        if (size := args.trace.stat().st_size) > MAX_BYTES:
            raise TraceError(f"{size} bytes; at most {MAX_BYTES} are read")
        with args.trace.open(encoding="utf-8", errors="strict") as file:
            # readline with a limit: a file without line ends must not be read whole
            lanes = inspect(iter(lambda: file.readline(MAX_LINE + 1), ""))
    except (TraceError, OSError, UnicodeDecodeError) as error:
        print(f"{args.trace}: {error}", file=sys.stderr)
        return 2
    for lane in lanes:
        for line in report(lane):
            print(line)
    return int(any(lane.first for lane in lanes))


def report(lane: Inspected) -> list[str]:
    """The lines on one lane."""
    checked = f"{lane.steps - len(lane.unchecked)} steps checked"
    if lane.unchecked:
        checked += f", not recorded far enough to check: {steps(lane.unchecked)}"
    if not lane.ended:
        checked += ", the lane has no end"
    lines = [f"{lane.lane}: {'clean' if not lane.first else 'violated'} ({checked})"]
    if lane.first:
        v = lane.first.violation
        lines.append(f"  first violation: {v.invariant} in step {lane.first.step}, row {v.row}, slot {v.slot}")
        lines.append(f"    expected {v.expected}, found {v.actual}: {v.message}")
        later = steps(lane.first.contaminated) or "none"
        lines.append(f"    later steps of the row, which rest on it: {later}")
        lines.append("  in all, once per row: " + ", ".join(f"{name} {n}" for name, n in sorted(lane.counts.items())))
    if lane.disagreements:
        lines.append("  the trace's own violation events differ: " + "; ".join(lane.disagreements[:5]))
    return lines


def steps(numbers: list[int]) -> str:
    """Step numbers with runs shortened.

    >>> steps([3, 4, 5, 9])
    '3-5, 9'
    """
    runs: list[list[int]] = []
    for n in numbers:
        if runs and n == runs[-1][1] + 1:
            runs[-1][1] = n
        else:
            runs.append([n, n])
    return ", ".join(str(a) if a == b else f"{a}-{b}" for a, b in runs)
