"""The equivalence report: exact and prefix match of every method against plain decoding of each row alone.

Exit code 0: every difference of an exact method is rounding; 1: some is a bug, or an invariant broke; 2: bad input. BSP
and DSD are in the report as published and are not judged. `--shrink FILE` reduces the first failure to the smallest
batch that still fails and writes it there as a pytest file; of BSP and DSD only where --methods names them.
"""

import argparse
import json
import sys
from pathlib import Path

from engine.commands import drafting
from engine.commands.output import writable
from engine.commands.prompts import check, read_prompts
from engine.commands.row_bar import row_bar
from engine.config import ConfigError, RunConfig
from engine.registry import FAULTS, METHODS, PUBLISHED_BROKEN


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--methods", nargs="+", default=["all"], help=f"all (default), or of {', '.join(METHODS)}")
    parser.add_argument("--prompts", type=Path, required=True, help="JSON lines with a 'prompt' field, or plain lines")
    parser.add_argument("--limit", type=int, help="take only the first LIMIT prompts")
    parser.add_argument("--batch", type=int, nargs="+", default=[1, 4, 8], help="batch sizes (default 1 4 8)")
    parser.add_argument("--dtype", nargs="+", default=["float32"], help="float32 (default), float64, ...")
    parser.add_argument("--max-new", type=int, default=48, help="tokens per row (default 48)")
    drafting.add_arguments(parser)
    parser.add_argument("--target", default="smollm2-135m", help="shelf name, folder or hub name")
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--processors", default="refuse", help="none: leave out penalties that the model asks for")
    parser.add_argument("--raw", action="store_true", help="do not apply the chat template")
    parser.add_argument("--fault", action="append", help="a fault for the methods that know it, or 'none' (see run)")
    parser.add_argument("--shrink", type=Path, metavar="FILE", help="write the smallest failing batch here, as a test")
    parser.add_argument("--json", type=Path, help="write the report here, every difference included")


def main(args: argparse.Namespace) -> int:
    if len(args.methods) > 1 and "all" in args.methods:
        raise ConfigError("methods", args.methods, "give 'all' alone, or name the methods")
    methods = METHODS if args.methods == ["all"] else args.methods
    configs = [config_of(args, dtype, batch, m) for dtype in args.dtype for batch in args.batch for m in methods]
    faults = faults_of(args.fault, methods)
    if args.limit is not None and args.limit < 1:
        raise ConfigError("limit", args.limit, "choose a whole number from 1")
    prompts = read_prompts(args.prompts)[: args.limit]
    if not prompts:
        raise ConfigError("prompts", str(args.prompts), "the file has no prompts; write one a line")
    check(prompts)
    writable(args.shrink, "shrink", apart_from=args.prompts)
    writable(args.json, "json", apart_from=args.prompts)
    from engine.models import load_pair
    from engine.report import verify, wrong

    results, smallest = [], ""
    named = [m for m in methods if m not in PUBLISHED_BROKEN or args.methods != ["all"]]
    for base in {c.dtype: c for c in configs}.values():
        pair = load_pair(base)
        with row_bar(len(prompts)) as progress:
            for result in verify(pair, base, prompts, methods, args.batch, progress, faults):
                results.append(result)
                say(in_words(result))
                if args.shrink and not smallest and result.failed and result.method in named:
                    smallest = shrunk(pair, base, result, faults, prompts)
    print_table(results)
    if args.json:
        args.json.write_text(json.dumps(as_json(args, len(prompts), results), indent=1) + "\n", encoding="utf-8")
    for result in wrong(results):
        say(f"bug: {in_words(result)}")
    if smallest:
        args.shrink.write_text(smallest, encoding="utf-8")
        say(f"{args.shrink}: the smallest batch that still fails; run it with pytest")
    elif args.shrink:
        say("--shrink: nothing was written, as no method that counts has failed")
    return int(bool(wrong(results)))


def say(text: str) -> None:
    print(text, file=sys.stderr)


def faults_of(names: list[str] | None, methods: list[str]) -> frozenset[str] | None:
    """The faults asked for. Raises ConfigError for one that none of the methods knows."""
    if names is None:
        return None
    faults, known = frozenset(names) - {"none"}, {f for m in methods for f in FAULTS.get(m, ())}
    if strange := sorted(faults - known):
        raise ConfigError("fault", strange, f"the chosen methods know {sorted(known) or 'none'}")
    return faults


def shrunk(pair: object, base: RunConfig, result: object, faults: frozenset[str] | None, prompts: list[str]) -> str:
    """The failure of this result on the smallest batch, as a pytest file."""
    from engine.report import config_of
    from engine.shrink import ShrinkError, as_test, case_of, failures, shrink

    config = config_of(base, result.method, result.batch, faults)
    case = case_of(pair, config, prompts)
    for at in range(0, len(prompts), result.batch):  # batches are independent: begin with the first that fails
        part = case_of(pair, config, prompts[at : at + result.batch])
        if result.method != "exspec" and failures(pair, config, part.prompts):
            case = part
            break
    try:
        return as_test(pair, shrink(pair, case, lambda text: say(f"shrinking: {text}")))
    except ShrinkError as error:
        say(f"{in_words(result)}: {error}")
        return ""


def config_of(args: argparse.Namespace, dtype: str, batch: int, method: str) -> RunConfig:
    """One cell of the table; every cell is made, and so checked, before anything is loaded."""
    return RunConfig(
        method=method,
        target=args.target,
        **drafting.fields(args),
        max_new=args.max_new,
        batch=batch,
        dtype=dtype,
        device=args.device,
        chat=not args.raw,
        processors=args.processors,
    )


def as_json(args: argparse.Namespace, prompts: int, results: list) -> dict:
    settings = {n: getattr(args, n) for n in ("target", "max_new", "device")}
    lengths = {**drafting.fields(args), "adapt": sorted(args.adapt)}
    return {**settings, **lengths, "prompts": prompts, "results": [r.to_json() for r in results]}


def in_words(result: object) -> str:
    """One line on one result."""
    classes = f"{result.count('rounding')} rounding, {result.count('bug')} bug"
    if result.violations:
        classes += f", {result.violations} broken invariants"
    name = f"{result.method}, batch {result.batch}, {result.dtype}"
    return f"{name}: exact {result.exact:.1%}, prefix {result.prefix:.1%}; {classes}; noise {result.noise:.1e}"


def print_table(results: list) -> None:
    """To stdout."""
    from rich.box import SIMPLE
    from rich.console import Console
    from rich.table import Table

    title, caption = "against plain decoding of each row alone", "torn: broken invariants; * broken as published"
    table = Table(title=title, caption=caption, box=SIMPLE)
    for name in ("method", "batch", "dtype"):
        table.add_column(name)
    for name in ("rows", "exact", "prefix", "round", "bug", "torn", "noise"):
        table.add_column(name, justify="right")
    for r in results:
        classes = (r.count("rounding"), r.count("bug"), r.violations)
        cells = (r.rows, f"{r.exact:.1%}", f"{r.prefix:.1%}", *classes, f"{r.noise:.1e}")
        name = f"{r.method}*" if r.broken else r.method
        table.add_row(name, str(r.batch), r.dtype, *map(str, cells))
    console = Console()
    Console(width=max(100, console.width)).print(table)  # a cell that is cut says nothing
