"""The options that say where drafts come from and how long they are, for every command that decodes."""

import argparse
import json
from pathlib import Path

from engine.config import FLOOR, ConfigError
from engine.registry import ADAPT, PROPOSERS


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--k", type=int, default=4, help="drafts per round (default 4)")
    parser.add_argument("--proposer", default="ngram", help=f"{', '.join(PROPOSERS)} (default ngram)")
    parser.add_argument("--draft", help="folder or hub name, for --proposer draft_model")
    parser.add_argument("--match", type=int, default=2, help="hybrid: tokens that must repeat for n-gram (default 2)")
    parser.add_argument(
        "--adapt", nargs="+", default=[], metavar="WHAT", help=f"draft lengths follow these: {', '.join(ADAPT)}"
    )
    parser.add_argument(
        "--floor", type=float, default=FLOOR, help=f"chance below which a draft is left out (default {FLOOR})"
    )
    parser.add_argument("--costs", type=Path, help="the table for --adapt cost, from `bench --costs FILE`")
    parser.add_argument("--budget", type=int, help="drafts verified per round in the whole batch (TETRIS)")


def fields(args: argparse.Namespace) -> dict:
    """RunConfig's fields that these options set."""
    plain = {name: getattr(args, name) for name in ("k", "proposer", "draft", "match", "floor", "budget")}
    return {**plain, "adapt": frozenset(args.adapt), "costs": read_costs(args.costs) if args.costs else ()}


def read_costs(file: Path) -> tuple[tuple[int, int, float], ...]:
    """The cells of a cost table. Raises ConfigError for anything else."""
    try:
        cells = json.loads(file.read_text(encoding="utf-8"))
        return tuple((int(b), int(k), float(ms)) for b, k, ms in cells)
    except (OSError, ValueError, TypeError, OverflowError, RecursionError) as error:
        works = f"a JSON list of [rows, drafts per row, milliseconds] ({error}); `bench --costs FILE` writes one"
        raise ConfigError("costs", str(file), works) from None
