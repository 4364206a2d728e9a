"""Check a trace against the invariants, recomputed from its events: the first violation of each lane, in words.

Exit code 0: clean; 1: a violation; 2: the trace cannot be read, or holds nothing that can be checked. Needs no model
and no torch. An incomplete trace is checked for what it contains, one that was cut in a line up to there.
"""

import argparse
import sys
from pathlib import Path

from engine.inspection import Inspected, inspect
from engine.lines import TraceError
from engine.reading import Reading, open_trace


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("trace", type=Path, metavar="TRACE", help="a trace of ours or of another engine (JSON lines)")


def main(args: argparse.Namespace) -> int:
    reading = Reading(open_trace(args.trace))
    try:
        lanes = inspect(reading)
    except (TraceError, OSError, UnicodeDecodeError) as error:
        print(f"{args.trace}: {error}", file=sys.stderr)
        return 2
    for lane in lanes:
        for line in report(lane):
            print(line)
    if reading.cut:
        print(f"line {reading.number}, the last one, was cut short: only what comes before it was checked")
    if not lanes:
        print("the header names no lane: there was nothing to check")
    if any(lane.first for lane in lanes):
        return 1
    return 0 if lanes and all(lane.checked for lane in lanes) else 2


def report(lane: Inspected) -> list[str]:
    """The lines on one lane."""
    if not lane.checked:
        why = f"{lane.steps} steps, none with its forward; `certify` judges ids alone" if lane.steps else "no step"
        return [f"{lane.lane}: nothing to check ({why})"]
    checked = f"{lane.checked} steps checked"
    if lane.partial:
        checked += f", without their KV (input, positions and emission only): {steps(lane.partial)}"
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
