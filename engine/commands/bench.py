"""Measure this machine: methods and proposers against plain decoding; what KV and recording cost; gains; the page."""

import argparse
from collections.abc import Iterator
from pathlib import Path

from engine.commands.prompts import read_prompts
from engine.config import ConfigError, RunConfig


def add_arguments(parser: argparse.ArgumentParser) -> None:
    what = parser.add_mutually_exclusive_group()
    what.add_argument("--page", action="store_true", help="the page: first paint, interactive, bytes, probe")
    what.add_argument("--overhead", action="store_true", help="moving KV against a plain copy; what recording takes")
    what.add_argument(
        "--proposers", action="store_true", help="every proposer against plain decoding, by kind of prompt"
    )
    what.add_argument("--gains", action="store_true", help="refill gain and grouping gain on a pool of prompts")
    what.add_argument("--costs", type=Path, help="write what a round costs, for `run --adapt cost --costs FILE`")
    what.add_argument("--arrivals", help="latency by method for requests at 0,0,3,7 (steps) or poisson:0.5")
    parser.add_argument("--minutes", type=float, default=5.0, help="length of the page's probe (default 5)")
    parser.add_argument(
        "--prompts",
        type=Path,
        help="for --gains and --arrivals: a file of prompts (default: 8 own ones); for --proposers with kinds",
    )
    parser.add_argument("--limit", type=int, help="take only the first LIMIT prompts (of each kind)")
    parser.add_argument("--batch", type=int, nargs="+", help="batch sizes (default 1 8; for a pool 4)")
    parser.add_argument("--proposer", default="ngram")
    parser.add_argument("--draft", help="folder or hub name, for --proposer draft_model")
    parser.add_argument("--k", type=int, default=4)
    parser.add_argument("--max-new", type=int, default=32)
    parser.add_argument("--seed", type=int, default=0, help="of Poisson arrivals")
    parser.add_argument("--repeats", type=int, default=3)


def main(args: argparse.Namespace) -> int:
    if args.page:
        from engine.bench import page

        if args.minutes <= 0:
            raise ConfigError("minutes", args.minutes, "choose a number above 0")
        return page.main(args.minutes)
    for field in ("repeats", "limit"):
        if (value := getattr(args, field)) is not None and value < 1:
            raise ConfigError(field, value, "choose a whole number from 1")
    for line in lines(args):
        print(line, flush=True)
    return 0


def lines(args: argparse.Namespace) -> Iterator[str]:
    """The report that was asked for."""
    from engine.bench import costs, gains, methods, overhead, proposers, serving

    if args.proposers:
        read_prompts(file := args.prompts or proposers.WORKLOAD)  # refused in words
        return proposers.report(file, args.limit, args.k, args.max_new, args.repeats)

    if args.gains or args.arrivals:
        prompts = (read_prompts(args.prompts) if args.prompts else list(methods.PROMPTS))[: args.limit]
        batch = max(args.batch or [4])
        if args.gains:
            return gains.report(prompts, batch, args.proposer, args.draft, args.k, args.max_new, args.repeats)
        return serving.report(prompts, args.arrivals, batch, args.proposer, args.draft, args.k, args.max_new, args.seed)
    batches = args.batch or [1, 8]
    if low := [b for b in batches if b < 1]:
        raise ConfigError("batch", low[0], "choose a whole number from 1")
    if args.costs:
        base = RunConfig(proposer=args.proposer, draft=args.draft, k=args.k, max_new=args.max_new)
        return costs.report(base, batches, args.repeats, args.costs)
    if over := [b for b in batches if not 1 <= b <= len(methods.PROMPTS)]:
        raise ConfigError("batch", over[0], f"choose from 1 to {len(methods.PROMPTS)}: there are so many prompts")
    if args.overhead:
        return overhead.report(max(batches), args.proposer, args.k, args.max_new, args.repeats)
    return methods.report(tuple(batches), args.proposer, args.k, args.max_new, args.repeats)
