"""Measure this machine: the methods against plain decoding, or the page in a real Chromium."""

import argparse
import json
from pathlib import Path


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--page", action="store_true", help="the page: first paint, interactive, bytes, probe")
    parser.add_argument("--overhead", action="store_true", help="realigning against a plain copy; cost of recording")
    parser.add_argument("--costs", type=Path, help="write what a round costs, for `run --adapt cost --costs FILE`")
    parser.add_argument("--minutes", type=float, default=5.0, help="length of the page's probe (default 5)")
    parser.add_argument("--batch", type=int, nargs="+", default=[1, 8], help="batch sizes (default 1 8; at most 8)")
    parser.add_argument("--proposer", default="ngram")
    parser.add_argument("--k", type=int, default=4)
    parser.add_argument("--max-new", type=int, default=32)
    parser.add_argument("--repeats", type=int, default=3)


def main(args: argparse.Namespace) -> int:
    if args.page:
        from engine.bench import page

        return page.main(args.minutes)
    if args.costs:
        from engine.bench import costs
        from engine.config import RunConfig

        base = RunConfig(proposer=args.proposer, k=args.k, max_new=args.max_new)
        cells = costs.table(base, args.batch, args.repeats)
        args.costs.write_text("[\n" + ",\n".join(map(json.dumps, cells)) + "\n]\n", encoding="utf-8")
        for rows, drafts, ms in cells:
            print(f"{rows} rows, {drafts} drafts: {ms:.1f} ms")
        return 0
    from engine.bench import methods, overhead

    if args.overhead:
        for line in overhead.report(max(args.batch), 256, args.max_new, 30):
            print(line, flush=True)
        return 0
    for line in methods.report(tuple(args.batch), args.proposer, args.k, args.max_new, args.repeats):
        print(line, flush=True)
    return 0
