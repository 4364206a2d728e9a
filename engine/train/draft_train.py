"""draft: train the small draft model on kept features, `python -m engine.train.draft_train`."""

import argparse

import torch
from transformers import PreTrainedModel

from engine import load, shelf
from engine.train import data, draft_small
from engine.train.features import Store
from engine.train.loop import Recipe, Score, ScoreOf, Training, arguments, recipe_of

CHECKPOINT = shelf.CACHE / "draft.pt"
FREQUENT = 8192


def score_of(small: PreTrainedModel, ids: torch.Tensor) -> ScoreOf:
    """The loss of this model; there is no second phase, as it never reads what it has made itself."""
    slot = torch.full((small.lm_head.weight.shape[0],), -1, dtype=torch.int64, device=ids.device)
    slot[ids] = torch.arange(len(ids), device=ids.device)

    def of_batch(batch: data.Batch, steps: int, temperature: float) -> Score:
        return draft_small.score(small, batch, ids, slot, temperature)

    return of_batch


def main(argv: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(prog="engine train draft", description=__doc__)
    args = arguments(parser, CHECKPOINT, Recipe(chain=0)).parse_args(argv)
    torch.manual_seed(args.seed)
    target = load.load_model(load.find(args.target, shelf.CACHE), "float32", args.device)
    store = Store(args.features, 3 * target.config.hidden_size).open()
    ids = data.frequent(store, FREQUENT, target.config.vocab_size).to(args.device)
    small = draft_small.from_target(target)
    training = Training(small, score_of(small, ids), recipe_of(args), args.checkpoint, args.device)
    training.resume()
    training.stop_on_signals()
    training.run(store)


if __name__ == "__main__":
    main()
