"""Prompt lookup: the latest earlier occurrence of the longest matching suffix, and never more than allowed."""

import pytest
import torch

from engine.propose.ngram import NGram, lookup
from engine.row import Row


@pytest.mark.parametrize(
    ("ids", "limit", "draft"),
    [
        pytest.param([1, 2, 3, 9, 1, 2, 4, 1, 2], 3, [4, 1, 2], id="the_latest_occurrence_wins"),
        pytest.param([7, 1, 2, 5, 8, 1, 2, 6, 7, 1, 2], 1, [5], id="a_longer_match_beats_a_later_one"),
        pytest.param([1, 2, 3], 3, [], id="nothing_repeats"),
        pytest.param([4], 3, [], id="one_token"),
        pytest.param([], 3, [], id="no_token"),
        pytest.param([5, 5], 3, [5], id="a_repeat_gives_what_is_left"),
        pytest.param([5, 5, 5, 5], 2, [5], id="the_suffix_itself_is_no_earlier_occurrence"),
        pytest.param([1, 2, 1, 2, 1], 0, [], id="no_room"),
        pytest.param([1, 2, 3, 1], 1, [2], id="the_limit_cuts"),
        pytest.param([2, 8, 2, 7, 2], 2, [7, 2], id="stop_and_pad_ids_are_tokens_like_any_other"),
    ],
)
def test_lookup(ids: list[int], limit: int, draft: list[int]) -> None:
    assert lookup(ids, limit) == draft


def test_no_suffix_longer_than_asked_for_is_looked_up() -> None:
    ids = [7, 1, 2, 5, 8, 1, 2, 6, 7, 1, 2]
    assert lookup(ids, 1, longest=3) == [5]
    assert lookup(ids, 1, longest=2) == [6]


def test_no_suffix_shorter_than_asked_for_counts_as_a_match() -> None:
    ids = [1, 2, 9, 4, 1, 2]
    assert lookup(ids, 2, shortest=2) == [9, 4]
    assert lookup(ids, 2, shortest=3) == []


def test_a_ragged_batch_says_why_each_row_is_short() -> None:
    rows = [
        Row(n, ids, len(ids), 9, 99, frozenset()) for n, ids in enumerate([[1, 2, 3, 4, 1], [1, 2, 1], [3, 4], [6]])
    ]
    draft = NGram(3, "cpu").propose(rows, [3, 1, 3, 0])
    assert draft.listed() == [[2, 3, 4], [2], [], []]
    assert draft.why == ["full", "room", "empty", "room"]
    assert draft.tokens.shape == (4, 3)
    assert draft.source == ["ngram"] * 4


def test_a_batch_without_any_draft_has_no_columns() -> None:
    draft = NGram(3, "cpu").propose([Row(0, [1, 2], 2, 9, 99, frozenset())], [3])
    assert draft.tokens.shape == (1, 0)
    assert torch.equal(draft.lens, torch.tensor([0]))
