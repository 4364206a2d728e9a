"""Teacher-force a trace's rows through the target, each alone: from which token on is an output not the target's?

Needs nothing of the trace but prompts and ids, so it works for traces of other engines. Exit code 0: every row is the
target's own greedy output, up to rounding; 1: some row is not; 2: bad input, or no row has any output.
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
    """One line per lane and row."""
    from engine.config import ConfigError, RunConfig
    from engine.equivalence import FLOOR, certify, witness_of
    from engine.inspection import Inspector, pushed
    from engine.lines import TraceError
    from engine.load import ModelError
    from engine.models import load_pair
    from engine.reading import Reading, open_trace

    reading, inspector = Reading(open_trace(args.trace)), Inspector()
    try:
        events = list(
            pushed(reading, inspector)
        )  # through the inspector for its limits; its findings are not asked for
        state = inspector.fold
        witnesses = {name: witness_of(events, name) for name in state.lanes}
    except TraceError as error:
        raise TraceError(f"{args.trace}: {error}") from None
    except (ValueError, LookupError, TypeError) as error:
        raise TraceError(f"{args.trace}: the events contradict each other: {error}") from None
    if reading.cut:
        print(f"line {reading.number}, the last one, was cut short: only what comes before it counts", file=sys.stderr)
    header, known = state.header, state.header.models.get("target")
    target = args.target or (known.get("name") if isinstance(known, dict) else None)
    if not isinstance(target, str) or not target:
        raise ConfigError("target", target, "this trace names no model; give --target")
    without = any(lane.config.get("processors") == "none" for lane in state.lanes.values())
    processors = args.processors or ("none" if without else "refuse")
    config = RunConfig(target=target, dtype=args.dtype or header.dtype, device=args.device, processors=processors)
    try:
        pair, judged, wrong = load_pair(config), 0, False
    except ModelError as error:
        raise error if args.target else ModelError(f"the trace's model: {error}; --target names another") from None
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
            if len(ids) > pair.context:
                raise TraceError(f"{name}, row {row.row}: {len(ids)} tokens; the target takes {pair.context}")
            if len(ids) == row.prompt:
                print(f"{name}\trow {row.row}\tno output")
                continue
            found, _ = certify(pair, row.row, ids, row.prompt, witness, noise, measure=False)
            judged, wrong = judged + 1, wrong or found.verdict == "bug"
            print(f"{name}\trow {row.row}\t{in_words(found, pair)}")
    if not judged:
        print(f"{args.trace}: there was nothing to judge", file=sys.stderr)
        return 2
    return int(wrong)


def in_words(found: object, pair: object) -> str:
    """A comparison in one line."""
    if found.verdict == "equal":
        return f"equal, {found.checked} tokens"
    expected, actual = ("end" if i < 0 else repr(pair.decode([i])) for i in (found.expected, found.actual))
    return f"{found.verdict} at token {found.index}: expected {expected}, found {actual}"
