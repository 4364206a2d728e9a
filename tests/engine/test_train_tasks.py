"""Tasks: user turns with pages and a question, reports and foreign sentences; the target writes the rest."""

import random

import pytest

from engine.train import shards, tasks
from engine.train.features import answer_start
from engine.train.turns import Turns
from tests.engine.tiny import tiny_model

TURNS = Turns(opening=[4], closing=[1, 5], end=1)
TALKS = [([n], [n, n, n + 1]) for n in range(10, 40)]


@pytest.fixture(scope="module")
def model():
    return tiny_model("llama", head_dim=8).requires_grad_(False)


def test_pages_are_answers_and_the_question_is_one_of_theirs():
    text, question = tasks.pages(TALKS, [0], random.Random(1))
    assert tasks.PAGES[0] <= len(text) <= tasks.PAGES[1]
    starts = [text[i : i + 3] for i in range(0, len(text) - 2, 4)]
    assert all(page in [answer for _, answer in TALKS] for page in starts)
    assert question[0] in [page[0] for page in starts]
    assert set(text[3::4]) == {0}


def test_the_four_kinds_take_turns_and_only_some_leave_text_to_the_target():
    def encode(text: str) -> list[int]:
        return [ord(c) % 50 for c in text]

    todo = tasks.tasks(TALKS, encode, random.Random(2), 8)
    assert [task.written > 0 for task in todo] == [False, False, True, True] * 2
    assert todo[0].ids[-1] in range(10, 40)
    assert [todo[n].ids != todo[n + 4].ids for n in range(2)] == [True, True]


def test_rows_of_a_ragged_batch_are_written_on_as_if_alone(model):
    prompts, limits = [[4, 6, 7, 8, 9, 10, 11], [4, 6], [4, 30, 31, 32]], [6, 0, 4]
    together = tasks.write_on(model, prompts, limits, 1, 0.0)
    alone = [tasks.write_on(model, [p], [n], 1, 0.0)[0] for p, n in zip(prompts, limits, strict=True) if n]
    assert [together[0], together[2]] == alone
    assert together[1] == []
    assert all(1 not in text for text in together)


def test_a_conversation_has_the_task_the_turn_tokens_and_an_answer(model):
    batch = [tasks.Task([6, 7, 8], 5), tasks.Task([9, 10])]
    first, second = tasks.converse(model, TURNS, batch, random.Random(3))
    assert first[:3] == [6, 7, 8]
    assert 3 <= answer_start(first, TURNS) - len(TURNS.closing) <= 8
    assert second[:4] == [9, 10, *TURNS.closing]
    assert first[-1] == second[-1] == TURNS.end
    assert len(second) <= 4 + tasks.ANSWER + 1


def test_questions_come_from_short_turns_and_there_must_be_some(tmp_path):
    short, long = [6, 7, 1, 5, 20, 21, 22, 1], [*range(6, 60), 1, 5, 20, 1]
    shards.write(shards.path(tmp_path, 0), [short, long])
    assert tasks.material(tmp_path, TURNS) == [([6, 7], [20, 21, 22])]
    shards.write(shards.path(tmp_path, 0), [long])
    with pytest.raises(ValueError, match="train generate"):
        tasks.material(tmp_path, TURNS)
