"""Batch speculative decoding, its traces and its checks. Results go to stdout, everything else to stderr."""

import argparse
import importlib
import sys
from collections.abc import Sequence

COMMANDS = {
    "run": "decode prompts; one line per row: row<TAB>JSON string",
    "hero": "record the page's first run and check that it shows what it must",
    "contrast": "record the chapters' second run: pads masked, seen, counted",
    "rounding": "record the chapters' third run: bfloat16, rounding beside bugs",
    "fetch": "fetch and convert the embedded model, with a progress bar",
    "inspect": "check a trace against the invariants: the first violation of each lane",
    "verify": "every method against plain decoding of each row alone: matches, and the class of every difference",
    "bitwise": "slots against each row alone, bit for bit, where this machine's kernels allow it",
    "certify": "teacher-force a trace's rows: from which token on is an output wrong?",
    "kvcheck": "hold a run's KV cache against a fresh prefill: the first layer and slot that differ",
    "attention": "the share of attention mass on pads and dead slots, for one step",
    "train": "generate text, train the EAGLE-3 head, the MTP module or the draft model, publish, measure",
    "export": "write a trained head as the full directory that speculators and vLLM read",
    "cuda": "compare float32 ids on a GPU with the CPU's",
    "bench": "measure this machine: methods, overhead, gains, latency, or the page in a real browser",
}


def main(argv: Sequence[str] | None = None) -> int:
    """Parse and run one command. Returns the exit code: 0, 1 (the command's own verdict), 2 (bad input)."""
    parser = argparse.ArgumentParser(prog="python -m engine", description=__doc__)
    commands = parser.add_subparsers(dest="command", required=True, metavar="COMMAND")
    modules = {}
    for name, text in COMMANDS.items():
        modules[name] = importlib.import_module(f"engine.commands.{name}")
        modules[name].add_arguments(commands.add_parser(name, help=text, description=modules[name].__doc__))
    args = parser.parse_args(argv)
    try:
        return modules[args.command].main(args)
    except KeyboardInterrupt:
        return 130
    except (ValueError, OSError, RuntimeError) as error:
        if not is_refusal(error):
            raise
        print(f"{type(error).__name__}: {error}", file=sys.stderr)
        return 2


def is_refusal(error: Exception) -> bool:
    """Whether the error is one of ours, that says what would work; anything else is a bug and keeps its traceback."""
    return type(error).__module__.startswith("engine.") or isinstance(error, OSError | UnicodeDecodeError)
