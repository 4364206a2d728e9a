"""Write a trained head or draft model as the full directory that speculators, vLLM or Transformers read."""

import argparse


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("rest", nargs=argparse.REMAINDER, help="what to export and where; --help lists the options")


def main(args: argparse.Namespace) -> int:
    from engine.train import export

    export.main(args.rest)
    return 0
