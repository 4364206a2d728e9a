"""Fetch and convert the embedded model, with a progress bar; says where to put the file by hand if it cannot."""

import argparse
from pathlib import Path


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--cache", type=Path, help="folder for the model (default ~/.cache/ragged)")


def main(args: argparse.Namespace) -> int:
    from engine import fetch, shelf

    return fetch.main(args.cache or shelf.CACHE) or 0
