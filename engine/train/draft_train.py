"""draft: train the small draft model on kept features, `python -m engine train draft`.

Goes on from its checkpoint, else from the published shard, else starts as layers of the target; a checkpoint every
two minutes.
"""

import argparse
from dataclasses import fields
from pathlib import Path

import torch
from transformers import PreTrainedModel

from engine import load, shelf
from engine.train import compact, data, draft_small, induction
from engine.train.features import Store
from engine.train.loop import Progress, Score, ScoreOf, Training
from engine.train.recipe import Recipe, arguments, recipe_of

CHECKPOINT = shelf.CACHE / "draft.pt"


def score_of(small: PreTrainedModel) -> ScoreOf:
    """The loss of this model; there is no second phase, as it never reads what it has made itself."""

    def of_batch(batch: data.Batch, steps: int, temperature: float) -> Score:
        return draft_small.score(small, batch, temperature)

    return of_batch


def start(target: PreTrainedModel, folder: Path | None) -> tuple[PreTrainedModel, Progress]:
    """A model to train: the published one of `folder`, where there is one, with what its card tells; else a new one."""
    small, progress = draft_small.from_target(target), Progress()
    if folder is not None and (file := folder / draft_small.FILE).is_file():
        about, tensors = compact.about(file), compact.read(file)
        small = draft_small.shaped(target, tensors)
        compact.fill(small, tensors, file)
        progress = Progress(**{f.name: about[f.name] for f in fields(Progress) if f.name in about})
    return small, progress


def main(argv: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(prog="engine train draft", description=__doc__)
    parser.add_argument(
        "--head", type=Path, default=draft_small.DRAFT, help="folder of a published shard to start from"
    )
    parser.add_argument("--fresh", action="store_true", help="start anew, from the target's layers")
    parser.add_argument(
        "--copies", action="store_true", help="add two layers that copy on, see `induction`; then train"
    )
    args = arguments(parser, Recipe(chain=0)).parse_args(argv)
    torch.manual_seed(args.seed)
    target = load.load_model(load.find(args.target, shelf.CACHE), "float32", args.device)
    store = Store(args.features, 3 * target.config.hidden_size).open()
    small, progress = start(target, None if args.fresh else args.head)
    if args.copies and not induction.has(small):
        small = induction.add(small.to("cpu"), induction.sample(store)).to(args.device)
    training = Training(small, score_of(small), recipe_of(args), args.checkpoint or CHECKPOINT, args.device)
    training.progress = progress
    if not args.fresh:
        training.resume()
    training.stop_on_signals()
    training.run(store)


if __name__ == "__main__":
    main()
