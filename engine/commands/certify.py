"""Teacher-force a trace's rows through the target, each alone: from which token on is an output not the target's?

Needs nothing of the trace but prompts and ids, so it works for traces of other engines.
"""

import argparse
import sys
from pathlib import Path


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("trace", type=Path)
    parser.add_argument("--target", help="shelf name, folder or hub name (default: the trace's own)")
    parser.add_argument("--dtype", help="default: the trace's own")
    parser.add_argument("--device", default="cpu")
    parser.add_argument(
        "--processors", help="none: without the penalties that the model asks for (default: the trace's)"
    )


def main(args: argparse.Namespace) -> int:
    """0: every row is the target's own greedy output, up to rounding; 1: some row is not. One line per lane and row."""
    from engine.config import ConfigError, RunConfig
    from engine.equivalence import FLOOR, certify, witness_of
    from engine.fold import fold
    from engine.models import load_pair
    from engine.trace import TraceError, read_lines

    with args.trace.open(encoding="utf-8") as lines:
        events = list(read_lines(lines))
    try:
        state = fold(events)
        witnesses = {name: witness_of(events, name) for name in state.lanes}
    except (ValueError, LookupError, TypeError) as error:
        raise TraceError(f"{args.trace}: the events contradict each other: {error}") from None
    header = state.header
    if not args.target and "target" not in header.models:
        raise ConfigError("target", None, "this trace names no model; give --target")
    without = any(lane.config.get("processors") == "none" for lane in state.lanes.values())
    config = RunConfig(
        target=args.target or header.models["target"]["name"],
        dtype=args.dtype or header.dtype,
        device=args.device,
        processors=args.processors or ("none" if without else "refuse"),
    )
    pair, wrong = load_pair(config), False
    noise = FLOOR[pair.target.dtype]
    for name, lane in state.lanes.items():
        sampling, witness = lane.config.get("sampling", "greedy"), witnesses[name]
        if sampling != "greedy":
            print(f"{name}: not certified: it was sampled ({sampling})", file=sys.stderr)
            continue
        for row in lane.rows.values():
            ids = row.ids if row.final < 0 else row.ids[: row.prompt + row.final]
            if strange := [i for i in ids if not 0 <= i < pair.vocab]:
                raise TraceError(
                    f"{name}, row {row.row}: id {strange[0]} is not one of the target's {pair.vocab} tokens"
                )
            if len(ids) == row.prompt:
                print(f"{name}\trow {row.row}\tno output")
                continue
            found, _ = certify(pair, row.row, ids, row.prompt, witness, noise, measure=False)
            wrong |= found.verdict == "bug"
            print(f"{name}\trow {row.row}\t{in_words(found, pair)}")
    return int(wrong)


def in_words(found: object, pair: object) -> str:
    """A comparison in one line."""
    if found.verdict == "equal":
        return f"equal, {found.checked} tokens"
    expected, actual = ("end" if i < 0 else repr(pair.decode([i])) for i in (found.expected, found.actual))
    return f"{found.verdict} at token {found.index}: expected {expected}, found {actual}"
