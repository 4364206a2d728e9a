"""Runs are lossless: compressing and expanding gives back every list, and KV runs every entry."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from engine.fold import expand
from engine.runs import compress, kv_runs

EXACT = settings(derandomize=True, deadline=None, database=None)


@pytest.mark.parametrize(
    ("values", "runs"),
    [
        ([], []),
        ([7], [[7, 1]]),
        ([3, 4, 5, 0, 0], [[3, 3], [0, -2]]),
        ([0, 0, 0, 1, 2], [[0, -3], [1, 2]]),
        ([5, 5, 6], [[5, -2], [6, 1]]),
        ([5, 6, 6], [[5, 2], [6, 1]]),
        ([9, 8, 7], [[9, 1], [8, 1], [7, 1]]),
    ],
)
def test_compress(values: list[int], runs: list[list[int]]) -> None:
    assert compress(values) == runs


@EXACT
@given(st.lists(st.integers(0, 4), max_size=12))
def test_expand_gives_back_what_was_compressed(values: list[int]) -> None:
    assert expand(compress(values)) == values


@EXACT
@given(
    st.integers(0, 3),
    st.lists(st.tuples(st.integers(-1, 3), st.integers(-1, 3)).filter(lambda e: e != (0, -1)), max_size=10),
)
def test_kv_runs_name_every_written_entry_once_and_no_empty_slot(first: int, entries: list[tuple[int, int]]) -> None:
    owners, positions = [o for o, _ in entries], [p for _, p in entries]
    found: dict[int, tuple[int, int]] = {}
    for row, slot, owner, position, length in kv_runs(4, first, owners, positions):
        assert row == 4
        assert length > 0
        for n in range(length):
            assert slot + n not in found, f"slot {slot + n} is named twice"
            found[slot + n] = (-1, position) if owner < 0 else (owner + n, position + n)
    assert found == {s: e for s, e in enumerate(entries, first) if e[1] >= 0}


def test_pads_and_content_are_one_run_each() -> None:
    assert kv_runs(7, 0, [-1, -1, 0, 1], [0, 0, 0, 1]) == [[7, 0, -1, 0, 2], [7, 2, 0, 0, 2]]


def test_a_gap_in_the_positions_splits_a_run() -> None:
    assert kv_runs(0, 5, [3, 4, 5], [3, 4, 7]) == [[0, 5, 3, 3, 2], [0, 7, 5, 7, 1]]
