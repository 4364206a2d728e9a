"""tasks: conversations about a long or a foreign text, `python -m engine train tasks`.

Self-written user turns are short and English. What a drafter is used for is not: questions about some pages, reports to
sum up, sentences in another language. Pages are answers written earlier, each question is one that the target asked
itself before one of them was its answer; reports and foreign sentences are written by the target behind a few words.
"""

import argparse
import random
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import torch
from tqdm import tqdm
from transformers import PreTrainedModel

from engine import load, shelf
from engine.train import shards
from engine.train.features import answer_start
from engine.train.turns import Turns, of

BATCH = 12
ANSWER = 64  # tokens
QUESTION = 40  # tokens of the longest user turn that counts as a question
PAGES = (200, 560)  # tokens of the pages of one turn
REPORT, SENTENCE = (80, 240), (16, 64)  # tokens that the target writes
WARM = (0.0, 0.0, 0.3, 0.6)  # temperature of the answers, drawn for each batch
USER_WARM = 0.8
NEWS = ("LONDON -", "NEW YORK (AP) -", "By our correspondent in Rome:", "The police of", "Last Sunday,", "The club")
FOREIGN = {
    "German": ("Der", "Die", "Das", "Ein", "Eine", "Nach", "In", "Am", "Zum", "Für", "Wie", "Als", "Im", "Auf", "Es"),
    "French": ("Le", "La", "Les", "Un", "Une", "Dans", "Pour", "Après", "Il", "Elle", "Nous", "Depuis"),
    "Spanish": ("El", "La", "Los", "Un", "Una", "En", "Para", "Desde", "Según", "Con", "Cuando"),
}
ASK_FOREIGN = ("How would one say this in English? ", "What does this {} sentence mean: ", "In English, please: ")
ASK_SHORT = ("Tell me in short what this says:\n", "What are the main points here?\n", "Give the gist of it.\n\n")

#: User's and answer's tokens, without those of the turns.
Talk = tuple[list[int], list[int]]


@dataclass(frozen=True, slots=True)
class Task:
    """A user turn: `ids` are given, then the target writes up to `written` tokens."""

    ids: list[int]
    written: int = 0


def pages(talks: list[Talk], gap: list[int], draw: random.Random) -> Talk:
    """Some answers with `gap` between them, and the question of one: answers 5 6 and 7, gap 0 -> 5 6 0 7."""
    most, text, questions = draw.randint(*PAGES), [], []
    while len(text) < most:
        question, answer = draw.choice(talks)
        text += [*gap, *answer] if text else answer
        questions.append(question)
    return text[:most], draw.choice(questions)


def tasks(talks: list[Talk], encode: Callable[[str], list[int]], draw: random.Random, count: int) -> list[Task]:
    """A quarter each of questions about pages, pages to sum up, reports to sum up, foreign sentences."""
    gap, found = encode("\n\n"), []
    for n in range(count):
        text, question = pages(talks, gap, draw)
        short, language = draw.choice(ASK_SHORT), draw.choice(("German", *FOREIGN))
        foreign = draw.choice(ASK_FOREIGN).format(language) + draw.choice(FOREIGN[language])
        found.append(
            [
                Task([*text, *gap, *question]),
                Task([*encode(short), *text]),
                Task(encode(short + draw.choice(NEWS)), draw.randint(*REPORT)),
                Task(encode(foreign), draw.randint(*SENTENCE)),
            ][n % 4]
        )
    return found


@torch.inference_mode()
def write_on(
    model: PreTrainedModel, prompts: list[list[int]], limits: list[int], stop: int, warm: float
) -> list[list[int]]:
    """What the target writes behind each prompt, at most as many tokens as its limit, `stop` not included."""
    longest = max(map(len, prompts))
    ids = torch.tensor([[stop] * (longest - len(p)) + p for p in prompts])
    mask = torch.tensor([[0] * (longest - len(p)) + [1] * len(p) for p in prompts])
    how = {"do_sample": True, "temperature": warm, "top_k": 0} if warm else {"do_sample": False}
    out = model.generate(
        input_ids=ids, attention_mask=mask, max_new_tokens=max(limits), eos_token_id=stop, pad_token_id=stop, **how
    )
    texts = [row[longest:][:limit] for row, limit in zip(out.tolist(), limits, strict=True)]
    return [text[: text.index(stop)] if stop in text else text for text in texts]


def converse(model: PreTrainedModel, turns: Turns, batch: list[Task], draw: random.Random) -> list[list[int]]:
    """The conversations of some tasks, the opening left out."""
    users = [task.ids for task in batch]
    if any(task.written for task in batch):
        limits = [task.written for task in batch]
        further = write_on(model, [turns.opening + u for u in users], limits, turns.end, USER_WARM)
        users = [u + text for u, text in zip(users, further, strict=True)]
    prompts = [turns.opening + u + turns.closing for u in users]
    answers = write_on(model, prompts, [ANSWER] * len(batch), turns.end, draw.choice(WARM))
    return [[*u, *turns.closing, *answer, turns.end] for u, answer in zip(users, answers, strict=True)]


def material(folder: Path, turns: Turns) -> list[Talk]:
    """(user's turn, answer) of the folder's conversations whose user's turn is short enough for a question."""
    found = []
    for ids in shards.conversations(folder):
        at = answer_start(ids, turns)
        user, answer = ids[: at - len(turns.closing)], [t for t in ids[at:] if t != turns.end]
        if len(user) <= QUESTION and len(answer) > len(user):
            found.append((user, answer))
    if not found:
        raise ValueError(f"{folder} holds no question with an answer: run `train generate` first")
    return found


def main(argv: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(prog="engine train tasks", description=__doc__)
    parser.add_argument("--target", default=shelf.NAME)
    parser.add_argument("--out", type=Path, default=Path("assets/training"))
    parser.add_argument("--count", type=int, default=480, help="conversations")
    parser.add_argument("--seed", type=int, default=0)
    args = parser.parse_args(argv)
    place = load.find(args.target, shelf.CACHE)
    tokenizer, model = load.load_tokenizer(place), load.load_model(place, "float32", "cpu")
    turns, writer = of(tokenizer), shards.Writer(args.out)
    seed = args.seed * 1_000_003 + writer.finished  # a resumed run draws other numbers
    draw = random.Random(seed)
    torch.manual_seed(seed)
    encode = partial(tokenizer.encode, add_special_tokens=False)
    todo = tasks(material(args.out, turns), encode, draw, args.count)
    with tqdm(total=len(todo), unit="talk", mininterval=10) as bar:
        for first in range(0, len(todo), 4 * BATCH):
            alike = sorted(todo[first : first + 4 * BATCH], key=lambda t: (t.written, len(t.ids)))
            for n in range(0, len(alike), BATCH):
                for ids in converse(model, turns, alike[n : n + BATCH], draw):
                    writer.add(ids)
                    bar.update(1)
                writer.flush()


if __name__ == "__main__":
    main()
