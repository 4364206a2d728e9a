"""The pool: who is decoded together, how long anyone waits, and that memory follows the window and not the pool."""

from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from engine import session
from engine.config import ConfigError
from engine.fold import fold
from engine.pool import Pool
from engine.row import Row
from engine.trace import Event, KvOp, RowDone, Schedule
from tests.engine import tiny
from tests.engine.watch import Watch


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


def test_starvation_and_its_cure_in_a_real_run() -> None:
    # every draft is right, so rows 0 and 1 stay equally long; row 2 is never as long as they are
    prompts = [tiny.prompt(6, 1), tiny.prompt(6, 1), tiny.prompt(10, 2)]
    pair = tiny.pair("llama", 0.0, stop_ids=())
    common = {"batch": 2, "window": 3, "k": 1, "max_new": 24, "grouping": "paper"}
    lanes = {"published": tiny.config("exspec", age=1000, **common), "limited": tiny.config("exspec", age=3, **common)}
    events = list(session(lanes, prompts, pair=pair))
    waits = {name: longest_wait(events, name, row=2) for name in lanes}
    assert waits["published"] >= 11, waits
    assert waits["limited"] <= 3, waits
    verdicts = {r.compare["verdict"] for lane in fold(events).lanes.values() for r in lane.rows.values()}
    assert verdicts == {"equal"}


def longest_wait(events: list[Event], lane: str, row: int) -> int:
    """Most rounds in a row in which `row` was passed over after it had entered the window."""
    waits, now = [], 0
    for e in (e for e in events if isinstance(e, Schedule) and e.lane == lane and e.step > 0):
        now = 0 if row in e.rows else now + 1
        waits.append(now)
    last = max((n for n, e in enumerate(waits) if e == 0), default=len(waits))
    return max(waits[: last + 1], default=0)


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


# -- in the engine --------------------------------------------------------------------------------------------------


def play(prompts: list[list[int]], noise: float = 0.1, watch: Watch | None = None, **more: object) -> list[Event]:
    lanes = {"exspec": tiny.config("exspec", **more)}
    return list(session(lanes, prompts, pair=tiny.pair("llama", noise, stop_ids=()), observer=watch, certify=False))


def test_the_engines_totals_are_the_groups_that_its_events_show() -> None:
    events = play([tiny.prompt(n, v) for v, n in enumerate((4, 4, 9, 9, 9, 12))], batch=3, window=5, max_new=10)
    opened = [e for e in events if isinstance(e, Schedule)]
    prefills = {e.step for e in events if e.kind == "verify" and e.layout == "right"}
    rounds = [e for e in opened if e.step not in prefills]
    totals = fold(events).lanes["exspec"].totals
    assert totals["grouped"] == sum(e.group for e in rounds) > 0
    assert totals["fallback"] == len(rounds) - totals["grouped"] > 0
    assert not any(e.group for e in opened if e.step in prefills)


def test_the_window_admits_rows_as_others_leave() -> None:
    events = play([tiny.prompt(4 + v, v) for v in range(9)], batch=2, window=3, max_new=5)
    prefills = {e.step for e in events if e.kind == "verify" and e.layout == "right"}
    inside: set[int] = set()
    for e in events:
        if isinstance(e, Schedule) and e.step in prefills:
            inside |= set(e.rows)
            assert len(inside) <= 3, f"step {e.step}: {inside} are in a window of 3"
            assert len(inside) == 3 or max(inside) == 8, f"step {e.step}: the window was not filled: {inside}"
        elif isinstance(e, Schedule):
            assert set(e.rows) <= inside, f"step {e.step}: a row outside the window was decoded"
        elif isinstance(e, RowDone):
            inside.remove(e.row)
    assert not inside
    assert 3 <= len(prefills) <= 7, "one at the start, then one whenever some of the six rows outside can enter"


def test_a_group_whose_membership_stays_copies_nothing() -> None:
    prompts = [tiny.prompt(6, 1)] * 3 + [tiny.prompt(15, 2)] * 3
    events = play(prompts, noise=0.0, batch=3, window=6, k=3, max_new=40)
    steady, rounds = 0, [e for e in events if isinstance(e, Schedule)]
    for before, now in pairwise(rounds):
        if not (before.group and now.group and before.rows == now.rows):
            continue
        ops = [e for e in events if isinstance(e, KvOp) and e.step == now.step]
        assert [e.op for e in ops if e.op != "grow"] == ["crop"], f"step {now.step}"
        assert sum(e.bytes for e in ops if e.op != "grow") == 0, f"step {now.step}"
        steady += 1
    assert steady >= 10
    grown = [e for e in events if isinstance(e, KvOp) and e.op == "grow"]
    assert len(grown) <= 4, "a full rectangle doubles; it is not enlarged every round"


@pytest.mark.parametrize("proposer", ["ngram", "draft_model"])
def test_a_pool_of_200_short_rows_needs_memory_for_its_window_only(proposer: str) -> None:
    watch, prompts = Watch(), [tiny.prompt(2 + n % 3, n) for n in range(200)]
    events = play(prompts, watch=watch, proposer=proposer, batch=4, window=10, k=2, max_new=3)
    assert sum(isinstance(e, RowDone) for e in events) == 200
    assert watch.slot_rows == 10, "rows of the store"
    assert watch.padded_rows <= 4, "rows of the rectangle"
    if proposer == "draft_model":
        assert len(watch.lanes["exspec"].proposer.cache.layers[0].keys) == 10, "rows of the drafter's cache"


def test_more_prompts_than_fit_one_batch_need_a_batch_size() -> None:
    prompts = [[5]] * 65
    pair = tiny.pair("llama", 0.1)
    with pytest.raises(ConfigError, match="give 1 to 64 prompts"):
        next(session({"exspec": tiny.config("exspec")}, prompts, pair=pair))
    assert len(next(session({"exspec": tiny.config("exspec", batch=4)}, prompts, pair=pair)).prompts) == 65
