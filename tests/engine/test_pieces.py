"""Pieces: what a realignment copies is what an index_select of every entry would give."""

import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from engine.cache.pieces import pieces_of, take


@settings(max_examples=200, derandomize=True, deadline=None, database=None)
@given(
    capacity=st.integers(1, 9),
    rows=st.integers(1, 4),
    length=st.integers(1, 24),
    moves=st.lists(st.tuples(st.integers(0, 3), st.integers(0, 8), st.integers(0, 8)), min_size=1, max_size=5),
)
def test_runs_give_what_every_entry_alone_would_give(
    capacity: int, rows: int, length: int, moves: list[tuple[int, int, int]]
) -> None:
    total = rows * capacity
    old = torch.arange(total * 2).view(rows, capacity, 2)
    starts = [(row % rows) * capacity + source % capacity - min(target, length - 1) for row, source, target in moves]
    new = take(old, pieces_of(starts, length, total), len(starts))
    assert new.shape == (len(starts), length, 2)
    for row, start in zip(new, starts, strict=True):
        for slot, entry in enumerate(row, start):
            if 0 <= slot < total:
                assert entry.tolist() == old.flatten(0, 1)[slot].tolist()


def test_rows_that_stay_side_by_side_are_one_piece() -> None:
    assert pieces_of([0, 6, 12], 6, 18) == [(0, 18)]
    assert pieces_of([2, 7, 12], 5, 18) == [(2, 17)], "every row loses its first two slots and keeps its neighbour"
    assert pieces_of([-1, 4], 5, 10) == [(0, 1), (0, 9)], "the pad in front of row 0 is any entry"
    assert pieces_of([0], 7, 3) == [(0, 3), (0, 3), (0, 1)], "more spare columns than entries"
