"""EXSPEC's pool in the engine: waiting, totals, refill, what is copied, and memory that follows the window."""

from itertools import pairwise

import pytest

from engine import session
from engine.config import ConfigError
from engine.fold import fold
from engine.lane import Lane
from engine.trace import Event, KvOp, RowDone, Schedule
from tests.engine import tiny
from tests.engine.watch import Watch


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
@pytest.mark.parametrize(
    ("method", "more", "places"),
    [("exspec", {"window": 10}, 10), ("eqspec", {"refill": True}, 4), ("slots", {"refill": True}, 4)],
)
def test_a_pool_of_200_short_rows_needs_memory_for_its_window_only(
    method: str, more: dict, places: int, proposer: str
) -> None:
    watch, prompts = Watch(), [tiny.prompt(2 + n % 3, n) for n in range(200)]
    lanes = {method: tiny.config(method, proposer=proposer, batch=4, k=2, max_new=3, **more)}
    pair, seen = tiny.pair("llama", 0.1, stop_ids=()), {}

    def observer(lane: Lane, *around: object) -> None:
        watch(lane, *around)
        seen["maps"] = max(seen.get("maps", 0), len(lane.fold.lanes[method].maps["target"]))
        seen["columns"] = max(seen.get("columns", 0), lane.fold.lanes[method].frames[-1].width)

    events = list(session(lanes, prompts, pair=pair, observer=observer, certify=False))
    assert sum(isinstance(e, RowDone) for e in events) == 200
    assert watch.slot_rows == places, "rows of the store"
    assert watch.padded_rows <= 4, "rows of the rectangle"
    assert seen["maps"] <= places + 4, "rows that the lane's own fold keeps, those that have just ended included"
    assert seen["columns"] <= 2 + 2 + 3 + 2 * 3, "slots: the longest row and its spare columns"
    if proposer == "draft_model":
        assert len(watch.lanes[method].proposer.cache.layers[0].keys) == places, "rows of the drafter's cache"


def test_more_prompts_than_fit_one_batch_need_a_batch_size() -> None:
    prompts = [[5]] * 65
    pair = tiny.pair("llama", 0.1)
    with pytest.raises(ConfigError, match="give 1 to 64 prompts"):
        next(session({"exspec": tiny.config("exspec")}, prompts, pair=pair))
    assert len(next(session({"exspec": tiny.config("exspec", batch=4)}, prompts, pair=pair)).prompts) == 65


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
