"""The real model, float32: eight chat prompts of different length, every row equal to the row decoded alone."""

from pathlib import Path

import pytest

from engine import session
from engine.config import RunConfig
from engine.fold import Fold, fold
from engine.models import load_pair
from engine.trace import Commit, Event, Violation

K, NEW = 5, 48
PROMPTS = [
    "Tell me a story.",
    "What is the capital of France?",
    "Count from one to twenty in words, one number on each line.",
    "Hi! Who are you, and what can you do for me today?",
    "Write a Python function that returns the n-th Fibonacci number, then show how to call it for n = 10.",
    "List the days of the week and the months of the year, each on its own line, days first, and not one word more "
    "than that.",
    "Explain to a child of six, in a few short sentences and without difficult words, why the sky is blue during the "
    "day and red in the evening, and what the clouds have to do with it.",
    "A farmer has 17 sheep, 12 goats and 5 cows. She sells 9 sheep to her neighbour, buys 4 more goats at the market, "
    "and one cow has a calf. Then her brother brings three horses that he cannot keep. How many animals of each kind "
    "are on the farm now, and how many are there in all? Show the sum for each kind before you give the total.",
]
LANES = {
    "self_skip": RunConfig(proposer="self_skip", k=K, max_new=NEW),
    "ngram": RunConfig(proposer="ngram", k=K, max_new=NEW),
}


@pytest.fixture(scope="module")
def played(real_cache: Path) -> tuple[list[Event], Fold]:
    pair = load_pair(LANES["self_skip"], cache=real_cache)
    events = list(session(LANES, PROMPTS, pair=pair))
    return events, fold(events)


def test_the_prompts_are_eight_different_lengths(played: tuple[list[Event], Fold]) -> None:
    lengths = [len(p["ids"]) for p in played[0][0].prompts]
    assert len(set(lengths)) == 8, lengths


@pytest.mark.parametrize("lane", LANES)
def test_eight_of_eight_rows_equal_the_row_decoded_alone(played: tuple[list[Event], Fold], lane: str) -> None:
    rows = played[1].lanes[lane].rows
    found = {n: r.compare["verdict"] for n, r in rows.items()}
    unequal = {n: r.compare for n, r in rows.items() if r.compare["verdict"] != "equal"}
    assert found == dict.fromkeys(range(8), "equal"), f"classed as {unequal}"
    assert all(r.compare["checked"] == r.final for r in rows.values())
    assert sorted(r.done for r in rows.values()) == ["budget"] * 7 + ["stop"], "seven rows of 48 tokens, one that stops"


@pytest.mark.parametrize("lane", LANES)
def test_every_invariant_is_silent(played: tuple[list[Event], Fold], lane: str) -> None:
    assert [e for e in played[0] if isinstance(e, Violation) and e.lane == lane] == []


def test_the_drafter_is_neither_always_right_nor_always_wrong(played: tuple[list[Event], Fold]) -> None:
    rounds = [n for e in played[0] if isinstance(e, Commit) and e.lane == "self_skip" and e.step for n in e.accepted]
    mean = sum(rounds) / len(rounds)
    assert 0.5 < mean < 4.5, f"{mean:.2f} of {K} drafts accepted per row and round"
    assert {0, K} <= set(rounds), f"accepted counts seen: {sorted(set(rounds))}"


def test_both_lanes_wrote_the_same_words(played: tuple[list[Event], Fold]) -> None:
    ids = [[r.ids for r in lane.rows.values()] for lane in played[1].lanes.values()]
    assert ids[0] == ids[1]
