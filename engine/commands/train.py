"""Train the drafters on text that the target writes itself; every stage can be stopped, resumed and committed."""

import argparse
import importlib

#: Module and leading options of each stage.
STAGES = {
    "generate": "engine.train.generate",
    "copies": "engine.train.copies",
    "tasks": "engine.train.tasks",
    "features": "engine.train.features",
    "eagle3": "engine.train.head_train --kind eagle3",
    "mtp": "engine.train.head_train --kind mtp",
    "draft": "engine.train.draft_train",
    "publish": "engine.train.publish",
    "acceptance": "engine.train.acceptance",
    "oneshot": "engine.train.oneshot",
}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("stage", choices=STAGES, help="generate text, train a head or a draft model, publish, measure")
    parser.add_argument("rest", nargs=argparse.REMAINDER, help="the stage's own options; --help lists them")


def main(args: argparse.Namespace) -> int:
    module, *options = STAGES[args.stage].split()
    importlib.import_module(module).main([*options, *args.rest])
    return 0
