"""The pool: who is decoded together, and how long anyone waits."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from engine.pool import Pool
from engine.row import Row


def rows_of(lengths: list[int], max_new: int = 40) -> list[Row]:
    return [Row(n, [7] * length, length, max_new, 10**6, frozenset()) for n, length in enumerate(lengths)]


def pool_of(lengths: list[int], batch: int, grouping: str = "content", age: int = 1000, **more: int) -> Pool:
    """A pool with its window filled."""
    rows = rows_of(lengths, more.get("max_new", 40))
    pool = Pool(rows, batch, more.get("window", len(rows)), grouping, age)
    pool.admit()
    return pool


def turn(pool: Pool, emit: dict[int, int] | None = None) -> tuple[list[int], str]:
    """Pick a batch and let each of its rows emit so many tokens (one, unless `emit` says otherwise)."""
    rows, how = pool.pick()
    emitted = [len(r.commit([7] * (emit or {}).get(r.row, 1))[0]) for r in rows]
    pool.advance(rows, emitted, how)
    pool.admit()
    return [r.row for r in rows], how


# -- waiting --------------------------------------------------------------------------------------------------------


@settings(max_examples=150, derandomize=True, deadline=None, database=None)
@given(
    lengths=st.lists(st.integers(1, 9), min_size=1, max_size=24),
    batch=st.integers(1, 5),
    wider=st.integers(0, 12),
    grouping=st.sampled_from(["content", "paper", "none"]),
    slack=st.integers(0, 4),
    emitted=st.lists(st.integers(1, 5), min_size=7, max_size=7),
)
def test_no_row_of_the_window_is_passed_over_more_than_age_times(
    lengths: list[int], batch: int, wider: int, grouping: str, slack: int, emitted: list[int]
) -> None:
    window = batch + wider
    age = max(1, (window - 1) // batch + slack)
    pool = pool_of(lengths, batch, grouping, age, window=window, max_new=15)
    for n in range(10**4):
        if not pool.active:
            break
        turn(pool, {row: emitted[(n + 3 * row) % 7] for row in range(len(lengths))})
        waits = {r.row: pool.waited[r.row] for r in pool.active}
        assert max(waits.values(), default=0) <= age, f"round {n}: {waits}"
    assert len(pool.admitted) == len(lengths)
    assert all(r.done for r in pool.rows)


@pytest.mark.parametrize("age", [1, 2])
def test_an_age_below_what_is_possible_means_taking_turns(age: int) -> None:
    pool, longest = pool_of([3] * 9, batch=2, age=age), 0
    for _ in range(40):
        turn(pool)
        longest = max(longest, *pool.waited.values())
    assert longest == (9 - 1) // 2


def test_the_published_rule_starves_an_odd_length_and_the_age_limit_prevents_it() -> None:
    """Rows 0 and 1 stay of equal length and fill the batch first; row 2 has a length of its own."""

    def first_turn_of_row_2(age: int) -> int:
        pool = pool_of([5, 5, 8], batch=2, grouping="paper", age=age)
        return next(n for n in range(100) if 2 in turn(pool)[0])

    assert first_turn_of_row_2(age=1000) == 40, "it waits until the others are done"
    assert first_turn_of_row_2(age=6) == 6


# -- grouping -------------------------------------------------------------------------------------------------------


def test_the_largest_bucket_goes_first() -> None:
    assert turn(pool_of([5, 5, 9, 7, 7, 7], batch=3)) == ([3, 4, 5], "group")


def test_the_published_rule_takes_the_first_bucket_that_fills_a_batch_and_no_smaller_one() -> None:
    assert turn(pool_of([5, 7, 7, 5, 7], batch=2, grouping="paper")) == ([1, 2], "group")
    assert turn(pool_of([5, 7, 7, 5, 7], batch=4, grouping="paper")) == ([0, 1, 2, 3], "fallback")


def test_the_published_rule_counts_the_pads_that_a_fallback_leaves_behind() -> None:
    pool = pool_of([5, 7], batch=2, grouping="paper")
    assert turn(pool) == ([0, 1], "fallback")
    assert [len(r.ids) for r in pool.rows] == [6, 8]
    assert pool.stored == {0: 8, 1: 8}, "row 0 keeps its two pads"
    assert turn(pool) == ([0, 1], "group"), "equal as stored, although the contents differ"


def test_a_bucket_below_half_a_batch_is_no_group() -> None:
    assert turn(pool_of([5, 5, 7, 9, 11, 13], batch=6))[1] == "fallback"
    assert turn(pool_of([5, 5, 5, 9, 11, 13], batch=6)) == ([0, 1, 2], "group")


def test_the_tail_can_group() -> None:
    assert turn(pool_of([5, 5], batch=8)) == ([0, 1], "group")
    assert turn(pool_of([5], batch=8)) == ([0], "group")
    assert turn(pool_of([5, 5], batch=8, grouping="paper")) == ([0, 1], "fallback"), "by the published rule it cannot"


def test_plain_refill_never_groups_and_keeps_the_order_of_arrival() -> None:
    pool = pool_of([5, 5, 5, 5], batch=2, grouping="none")
    assert [turn(pool) for _ in range(3)] == [([0, 1], "fallback")] * 3


def test_a_fallback_takes_the_rows_nearest_in_length_to_the_one_that_waits_longest() -> None:
    pool = pool_of([5, 30, 6, 28, 9], batch=2)
    assert turn(pool) == ([0, 2], "fallback")
    assert turn(pool) == ([1, 3], "fallback"), "row 1 waits longest now"


def test_the_grouping_rate_counts_every_pick() -> None:
    pool, picks = pool_of([5, 5, 7, 7, 9], batch=2, age=3, max_new=6), []
    while pool.active:
        picks.append(turn(pool)[1])
    assert {"group", "fallback"} <= set(picks) <= {"group", "fallback", "aged"}
    assert pool.grouped == picks.count("group")
    assert pool.fallback == len(picks) - pool.grouped
