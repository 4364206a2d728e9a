"""oneshot: text, features, head and card in one go within a time limit, for a machine lent for minutes.

`python -m engine.train.oneshot --device cuda --minutes 11` goes on from the committed conversations and from a
checkpoint, where there is one; what it leaves in `--out` and `--talks` is what is worth keeping.
"""

import argparse
import time
from dataclasses import replace
from pathlib import Path

import torch

from engine import load, shelf
from engine.train import data, features, heads, publish, shards
from engine.train.draft_head import aux_layers
from engine.train.features import FOLDER, Store
from engine.train.generate import Plan, generate
from engine.train.head_train import DRAFT_VOCAB, score_of
from engine.train.head_train import start as begin
from engine.train.loop import Training
from engine.train.recipe import Recipe
from engine.train.turns import of

WRITING = 0.4  # share of the time for text
CHAIN = 0.4  # share of the training time for the three-step phase
LAST_S = 30.0  # for shard and card


def fitted(recipe: Recipe, seconds: float, single_s: float, chain_s: float, done: int = 0) -> Recipe:
    """The recipe whose phases fill `seconds` at these costs per step; a third of the steps cool down.

    100 s, 1 s and 4 s a step -> 60 single steps and 10 chain steps, behind those already `done`.
    """
    single, chain = int(seconds * (1 - CHAIN) / single_s), max(1, int(seconds * CHAIN / chain_s))
    return replace(recipe, single=done + single, chain=chain, cool=max(1, (single + chain) // 3))


def step_seconds(training: Training, store: Store) -> tuple[float, float]:
    """What a step of either phase costs here. The steps are real ones, and count."""
    batches, costs = data.endless(store, training.recipe.held, training.recipe.tokens, 1, 0), []
    for phase in (training.recipe, replace(training.recipe, single=0)):
        training.recipe = phase
        times = []
        for _ in range(4):
            batch = next(batches).to(training.device)
            start = time.monotonic()
            training.step(batch)
            times.append(time.monotonic() - start)
        costs.append(min(times))
    return costs[0], costs[1]


def main(argv: list[str] | None = None) -> None:
    start = time.monotonic()
    parser = argparse.ArgumentParser(prog="engine train oneshot", description=__doc__)
    parser.add_argument("--target", default=shelf.NAME)
    parser.add_argument("--device", default="cuda")
    parser.add_argument("--minutes", type=float, default=11.0)
    parser.add_argument("--rows", type=int, default=512, help="conversations written at once")
    parser.add_argument("--tokens", type=int, default=1_400_000, help="of text, in all")
    parser.add_argument("--batch", type=int, default=8192, help="tokens per training step")
    parser.add_argument("--talks", type=Path, default=Path("assets/training"))
    parser.add_argument("--features", type=Path, default=FOLDER)
    parser.add_argument("--checkpoint", type=Path, default=heads.checkpoint("eagle3"))
    parser.add_argument("--out", type=Path, default=heads.folder("eagle3"))
    args = parser.parse_args(argv)
    limit = args.minutes * 60 - LAST_S
    place = load.find(args.target, shelf.CACHE)
    tokenizer = load.load_tokenizer(place)
    writer = load.load_model(place, "bfloat16" if args.device != "cpu" else "float32", args.device)
    vocab, taps = min(len(tokenizer), writer.config.vocab_size), aux_layers(writer.config.num_hidden_layers)
    store = Store(args.features, len(taps) * writer.config.hidden_size)
    features.extract(writer, of(tokenizer), vocab, list(shards.conversations(args.talks)), store, taps)
    plan = Plan(rows=args.rows, tokens=args.tokens)
    left = limit * WRITING - (time.monotonic() - start)
    generate(writer, of(tokenizer), vocab, plan, args.talks, store, left)
    del writer

    target = load.load_model(place, "float32", args.device)
    ids = data.frequent(store.open(), DRAFT_VOCAB, vocab).to(args.device)
    head, progress = begin("eagle3", target, ids, args.out, store)
    embed = target.get_input_embeddings()
    training = Training(head, score_of(head, embed), Recipe(tokens=args.batch), args.checkpoint, args.device)
    training.progress = progress
    training.resume()
    costs = step_seconds(training, store)
    left = limit - (time.monotonic() - start)
    training.recipe = fitted(Recipe(tokens=args.batch), left, *costs, done=training.progress.step)
    training.stop_on_signals()
    training.run(store)
    device = torch.cuda.get_device_name() if args.device.startswith("cuda") else args.device
    options = ["--target", args.target, "--checkpoint", str(args.checkpoint), "--out", str(args.out)]
    publish.main([*options, "--ended", "time", "--device", device])


if __name__ == "__main__":
    main()
