"""copies: conversations whose answer repeats the user's text, `python -m engine train copies`.

Self-written text seldom repeats whole passages, yet summaries, quotes and code edits do, and a head that has not seen
it does not learn to look back. The passages are earlier answers, some with words exchanged for others that nothing
but the passage can tell; what is learned from them is what the target says there, as everywhere.
"""

import argparse
import random
from pathlib import Path

from engine import load, shelf
from engine.train import shards
from engine.train.features import answer_start
from engine.train.turns import Turns, of

LENGTH = (16, 96)  # tokens of a passage
EXCHANGED = (0.0, 0.0, 0.15, 0.5, 1.0)  # share of a passage's tokens, drawn for each


def copy_of(passage: list[int], turns: Turns) -> list[int]:
    """The conversation, opening left out: passage 5 6, closing 8 9, end 8 -> 5 6 8 9 5 6 8."""
    return [*passage, *turns.closing, *passage, turns.end]


def passage(text: list[int], ordinary: list[int], draw: random.Random) -> list[int]:
    """A piece of `text`, some of its tokens exchanged for `ordinary` ones, common ones (low ids) more often."""
    size = min(len(text), draw.randint(*LENGTH))
    start, share = draw.randint(0, len(text) - size), draw.choice(EXCHANGED)
    found = text[start : start + size]
    return [ordinary[int(len(ordinary) * draw.random() ** 2)] if draw.random() < share else t for t in found]


def write(folder: Path, turns: Turns, special: set[int], vocab: int, tokens: int, seed: int) -> int:
    """Append about `tokens` tokens of copies to the shards of `folder`; returns how many conversations."""
    talks = list(shards.conversations(folder))
    texts = [
        t for ids in talks if len(t := [i for i in ids[answer_start(ids, turns) :] if i not in special]) > LENGTH[0]
    ]
    if not texts:
        raise ValueError(f"{folder} holds no text to copy from: run `train generate` first")
    ordinary = [i for i in range(vocab) if i not in special]
    draw, writer, count = random.Random(seed * 1_000_003 + len(talks)), shards.Writer(folder), 0
    end = writer.tokens + tokens
    while writer.tokens < end:
        writer.add(copy_of(passage(draw.choice(texts), ordinary, draw), turns))
        count += 1
    writer.flush()
    return count


def main(argv: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(prog="engine train copies", description=__doc__)
    parser.add_argument("--target", default=shelf.NAME)
    parser.add_argument("--out", type=Path, default=Path("assets/training"))
    parser.add_argument("--tokens", type=int, default=100_000)
    parser.add_argument("--seed", type=int, default=0)
    args = parser.parse_args(argv)
    tokenizer = load.load_tokenizer(load.find(args.target, shelf.CACHE))
    special = set(tokenizer.all_special_ids)
    count = write(args.out, of(tokenizer), special, len(tokenizer), args.tokens, args.seed)
    print(f"{args.out}: {count} conversations more; `train generate` or `train features` records what the target says")


if __name__ == "__main__":
    main()
