"""The options that say where drafts come from and how long they are, for every command that decodes."""

import argparse

from engine.config import PROPOSERS


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--k", type=int, default=4, help="drafts per round (default 4)")
    parser.add_argument("--proposer", default="ngram", help=f"{', '.join(PROPOSERS)} (default ngram)")
    parser.add_argument("--draft", help="folder or hub name, for --proposer draft_model")
    parser.add_argument("--match", type=int, default=2, help="hybrid: tokens that must repeat for n-gram (default 2)")


def fields(args: argparse.Namespace) -> dict:
    """RunConfig's fields that these options set."""
    return {name: getattr(args, name) for name in ("k", "proposer", "draft", "match")}
