"""Decode prompts with one method. Prints one line per row, `row<TAB>JSON string`; notes and errors go to stderr.

Exit code 0: every row was decoded; 2: bad input.
"""

import argparse
import json
import sys
from contextlib import ExitStack
from pathlib import Path

from engine.arrivals import parse
from engine.commands import drafting
from engine.commands.output import writable
from engine.commands.prompts import check, read_prompts
from engine.config import ConfigError, RunConfig
from engine.registry import FAULTS, METHODS, REFILLING


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add_run_arguments(parser)
    parser.add_argument("--out", type=Path, help="write the trace here")


def add_run_arguments(parser: argparse.ArgumentParser) -> None:
    """What every command that decodes takes: a method, its settings, prompts."""
    parser.add_argument("--method", default="eqspec", help=f"{', '.join(METHODS)} (default eqspec)")
    parser.add_argument("--prompt", action="append", default=[], help="a prompt; repeat for more rows")
    parser.add_argument("--prompts", type=Path, help="a file: JSON lines with a 'prompt' field, or one prompt per line")
    parser.add_argument("--limit", type=int, help="take only the first LIMIT prompts")
    parser.add_argument("--max-new", type=int, default=48, help="tokens per row (default 48)")
    drafting.add_arguments(parser)
    parser.add_argument("--target", default="smollm2-135m", help="shelf name, folder or hub name")
    parser.add_argument("--batch", type=int, help="rows decoded together (default: all)")
    parser.add_argument("--dtype", default="float32")
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--sampling", default="greedy", help="greedy (default), shared_noise or rejection")
    parser.add_argument("--temperature", type=float, help="when sampling (default 1.0)")
    parser.add_argument("--top-k", type=int, default=0)
    parser.add_argument("--top-p", type=float, default=1.0)
    parser.add_argument("--processors", default="refuse", help="none: leave out penalties that the model asks for")
    parser.add_argument("--raw", action="store_true", help="do not apply the chat template")
    parser.add_argument("--refill", action="store_true", help="eqspec, slots: waiting rows replace those that end")
    parser.add_argument("--window", type=int, help="exspec: rows to choose from (default 4 times the batch)")
    parser.add_argument("--grouping", default="content", help="exspec: content (default), paper or none")
    parser.add_argument(
        "--age", type=int, default=16, help="exspec: most rounds that a row is passed over (default 16)"
    )
    arrivals = "steps at which the prompts arrive, like 0,0,3,7, or poisson:0.5 (requests per step); implies --refill"
    parser.add_argument("--arrivals", help=arrivals)
    parser.add_argument("--fidelity", default="exact", help="exact, paper (eqspec, exspec) or bitwise (slots)")
    faults = "; ".join(f"{method}: {', '.join(known)}" for method, known in FAULTS.items())
    parser.add_argument("--fault", action="append", help=f"keep only these faults, or 'none' ({faults})")


def config_of(args: argparse.Namespace) -> RunConfig:
    """The configuration that the arguments name. Raises ConfigError."""
    if args.fault and len(args.fault) > 1 and "none" in args.fault:
        raise ConfigError("fault", args.fault, "give 'none' alone, or name the faults to keep")
    faults = None if args.fault is None else frozenset(args.fault) - {"none"}
    return RunConfig(
        method=args.method,
        target=args.target,
        **drafting.fields(args),
        max_new=args.max_new,
        batch=args.batch,
        dtype=args.dtype,
        device=args.device,
        seed=args.seed,
        sampling=args.sampling,
        temperature=(0.0 if args.sampling == "greedy" else 1.0) if args.temperature is None else args.temperature,
        top_k=args.top_k,
        top_p=args.top_p,
        chat=not args.raw,
        processors=args.processors,
        refill=args.refill or (bool(args.arrivals) and args.method in REFILLING),
        window=args.window,
        grouping=args.grouping,
        age=args.age,
        arrivals=parse(args.arrivals) if args.arrivals else (),
        fidelity=args.fidelity,
        faults=faults,
    )


def prompts_of(args: argparse.Namespace) -> list[str]:
    """The prompts that the arguments give. Raises ConfigError when there are none."""
    prompts = args.prompt + (read_prompts(args.prompts) if args.prompts else [])
    if args.limit is not None and args.limit < 1:
        raise ConfigError("limit", args.limit, "choose a whole number from 1")
    prompts = prompts[: args.limit]
    if not prompts:
        raise ConfigError("prompts", prompts, "give --prompt TEXT or --prompts FILE")
    check(prompts)
    return prompts


def main(args: argparse.Namespace) -> int:
    config, prompts = config_of(args), prompts_of(args)
    writable(args.out, "out", apart_from=args.prompts)
    from engine.fold import Fold
    from engine.latency import percentiles, requests
    from engine.lines import dump_line
    from engine.models import load_pair
    from engine.stream import run

    pair, fold = load_pair(config), Fold()
    with ExitStack() as files:
        out = None
        for event in run(config, prompts, pair):
            fold.push(event)
            if args.out:  # opened with the first event: a run that is refused leaves an older file as it is
                out = out or files.enter_context(args.out.open("w", encoding="utf-8"))
                out.write(dump_line(event) + "\n")
    for row, state in fold.lanes[config.method].rows.items():
        ids = state.ids[state.prompt : state.prompt + state.final]
        ids = ids[:-1] if ids and ids[-1] in pair.stop_ids else ids
        print(f"{row}\t{json.dumps(pair.decode(ids), ensure_ascii=False)}")
        verdict = state.compare["verdict"] if state.compare else "not compared"
        print(f"row {row}: {state.done} after {state.final} tokens, {verdict}", file=sys.stderr)
    if config.arrivals:
        served = requests(fold, config.method)
        for unit, values in (("steps", [r.steps for r in served]), ("seconds", [r.seconds for r in served])):
            found = ", ".join(f"P{p} {value:.2f}" for p, value in percentiles(values).items())
            print(f"latency in {unit}: {found}", file=sys.stderr)
    return 0
