"""Requests that come over time: nobody is decoded before it arrives, every row is the row alone, nobody starves."""

import statistics
from collections import Counter
from dataclasses import replace
from functools import cache

import pytest
from hypothesis import HealthCheck, Phase, given, seed, settings
from hypothesis import strategies as st

from engine import session
from engine.arrivals import arrivals_of, parse, step_of
from engine.config import ConfigError, RunConfig
from engine.fold import Fold, fold
from engine.latency import duration, percentiles, requests
from engine.registry import METHODS, REFILLING
from engine.trace import Event, KvOp, RowDone, Schedule, Spans, Violation
from tests.engine import tiny
from tests.engine.test_exact import FAMILIES, FAVOUR, STOPS, Case, alone, cases, limited
from tests.engine.watch import Watch

EXAMPLES = 16  # per family; each runs four lanes

#: What must have been seen at least 10 times before "every time" means anything.
WANTED = (
    "the clock jumps",
    "a row joins a running batch",
    "a row waits for a place",
    "slots: a row takes the place of one that left",
    "eqspec: join",
    "eqspec: split",
    "eqspec: realign",
    "exspec: grouped",
    "ended by stop",
    "a row with a one-token budget",
)


@st.composite
def runs(draw: st.DrawFn) -> tuple[Case, tuple[float, ...], dict]:
    case = draw(cases())
    gaps = draw(st.lists(st.sampled_from([0, 0, 1, 2.5, 4, 40]), min_size=len(case.rows), max_size=len(case.rows)))
    times = [sum(gaps[: n + 1]) for n in range(len(gaps))]
    order = draw(st.permutations(range(len(times))))  # the prompts need not be in order of arrival
    pool = {"grouping": draw(st.sampled_from(["paper", "content"])), "age": draw(st.sampled_from([16, 1, 3]))}
    return case, tuple(times[n] for n in order), {"batch": draw(st.sampled_from([2, 1, 3])), **pool}


@cache
def explore(family: str) -> Counter:
    """Run the generated requests of one family; what was seen in them."""
    seen: Counter = Counter()

    @seed(300 + FAMILIES.index(family))
    @settings(
        max_examples=EXAMPLES,
        derandomize=True,
        deadline=None,
        database=None,
        phases=[Phase.explicit, Phase.generate],
        suppress_health_check=list(HealthCheck),
    )
    @given(runs())
    def every_request_gets_what_its_row_gets_alone(run: tuple[Case, tuple[float, ...], dict]) -> None:
        case, arrive, pool = run
        noise = 0.0 if case.drafter == "ngram" else case.drafter
        pair = replace(tiny.pair(family, noise, eos=FAVOUR), context=case.context)
        proposer = {"ngram": "ngram", "skip": "self_skip"}.get(case.drafter, "draft_model")
        common = {"proposer": proposer, "k": case.k, "max_new": case.max_new, "arrivals": arrive}
        lanes = {m: tiny.config(m, refill=True, batch=pool["batch"], **common) for m in REFILLING}
        lanes["exspec"] = tiny.config("exspec", window=pool["batch"] + 1, **common, **pool)
        lanes["published"] = replace(lanes["exspec"], fidelity="paper")
        prompts, watch = [tiny.prompt(*row, STOPS) for row in case.rows], Watch()
        events = list(session(lanes, prompts, pair=pair, observer=watch, certify=False))
        state = fold(events)
        for name, lane in state.lanes.items():
            for n, (length, variant) in enumerate(case.rows):
                expected = limited(alone(family, length, variant), min(case.max_new, case.context - length))
                assert lane.rows[n].ids[length:] == expected, f"{family} {name} row {n}; {run}"
        broken = [e for e in events if isinstance(e, Violation)]
        assert not broken, f"{family}: {broken[0]}; {run}"
        watch.assert_equals(state)
        seen["a row with a one-token budget"] += (case.max_new == 1) * len(case.rows)
        for name in lanes:
            count(seen, name, lanes[name], arrive, [e for e in events if e.lane == name], state)

    every_request_gets_what_its_row_gets_alone()
    return seen


def count(
    seen: Counter, name: str, config: RunConfig, arrive: tuple[float, ...], events: list[Event], state: Fold
) -> None:
    """Add what one lane went through; hold its steps to the clock."""
    places, step, inside, entered = config.places(len(arrive)), -1, set(), set()
    for e in events:
        if isinstance(e, Schedule):
            assert all(arrive[row] <= e.step for row in e.rows), f"{name} step {e.step}: a row had not arrived"
            if e.step > step + 1:
                assert not inside, f"{name}: the clock jumps to step {e.step} while rows are there"
                assert e.step == min(step_of(arrive[row]) for row in set(range(len(arrive))) - entered)
                seen["the clock jumps"] += 1
            new, step = set(e.rows) - entered, e.step
            seen["a row joins a running batch"] += len(new) * bool(inside)
            seen["a row waits for a place"] += sum(step_of(arrive[row]) < e.step for row in new)
            inside, entered = inside | new, entered | new
            assert len(inside) <= places
            waiting = {row for row in range(len(arrive)) if row not in entered and step_of(arrive[row]) <= e.step}
            assert not new or not waiting or len(inside) == places, f"{name} step {e.step}: {waiting} wait for nothing"
        elif isinstance(e, RowDone):
            inside.remove(e.row)
            seen[f"ended by {e.reason}"] += 1
        elif isinstance(e, KvOp):
            seen[f"{name}: {e.op}"] += 1
            seen["slots: a row takes the place of one that left"] += name == "slots" and e.op == "compact"
    assert entered == set(range(len(arrive)))
    seen[f"{name}: grouped"] += state.lanes[name].totals.get("grouped", 0)


@pytest.mark.parametrize("family", FAMILIES)
def test_every_request_gets_what_its_row_gets_alone(family: str) -> None:
    assert explore(family)["a row waits for a place"] > 0, "the examples of this family never ran"


def test_the_examples_went_through_everything_that_arrivals_bring() -> None:
    seen = sum((explore(family) for family in FAMILIES), Counter())
    rare = {what: seen[what] for what in WANTED if seen[what] < 10}
    assert not rare, f"seen fewer than 10 times: {rare}; all: {dict(seen)}"


# -- latency --------------------------------------------------------------------------------------------------------


def served(name: str, config: RunConfig, prompts: list[list[int]], noise: float = 0.0) -> tuple[list[Event], Fold]:
    events = list(session({name: config}, prompts, pair=tiny.pair("llama", noise, stop_ids=()), certify=False))
    return events, fold(events)


def odd_one(pairs: int, **more: object) -> float:
    """Latency in steps of an odd length among pairs of equal rows; every draft is right, so pairs stay equal."""
    prompts = [tiny.prompt(6, 1), tiny.prompt(6, 1), tiny.prompt(11, 2), *[tiny.prompt(6, 1)] * (2 * pairs - 2)]
    arrive = (0.0, 0.0, 0.0, *[0.0] * (2 * pairs - 2))
    own = {"batch": 2, "window": 3, "k": 1, "max_new": 24, "arrivals": arrive}
    _, state = served("x", tiny.config("exspec", **own, **more), prompts)
    assert all(len(r.ids) - r.prompt == 24 for r in state.lanes["x"].rows.values())
    return next(r.steps for r in requests(state, "x") if r.row == 2)


def test_the_published_grouping_starves_an_odd_length_and_the_age_limit_bounds_its_wait() -> None:
    published = [odd_one(pairs, grouping="paper", age=10_000) for pairs in (2, 4, 8)]
    limited_ = [odd_one(pairs, grouping="paper", age=3) for pairs in (2, 4, 8)]
    rounds = 12  # 24 tokens, of which the prefill gives one and every round two
    assert published[1] >= published[0] + 2 * rounds, "two more pairs, and it waits for all of them"
    assert published[2] >= published[1] + 4 * rounds
    bound = 1 + rounds * (3 + 1) + 8  # its prefill; each round after at most three of others; their prefills
    assert max(limited_) <= bound < published[1], f"{limited_}, {published}"
    assert limited_[1] == limited_[2], "whoever comes behind does not matter any more"


def test_latency_is_counted_from_the_arrival_in_steps_and_in_the_lanes_own_seconds() -> None:
    own = {"refill": True, "batch": 1, "k": 2, "max_new": 7, "arrivals": (0.0, 2.5, 50.0)}
    events, state = served("s", tiny.config("slots", **own), [tiny.prompt(n, n) for n in (4, 6, 3)])
    first, second, third = requests(state, "s")
    ended = {e.row: e.step for e in events if isinstance(e, RowDone)}
    assert (first.entered, first.first, first.done, first.steps) == (0, 0, 2, 3), "a prefill, then 3 and 3 tokens"
    assert (second.entered, second.done, second.steps) == (3, 5, 3.5), "it waited half a step"
    assert (third.entered, third.done, third.steps) == (50, 52, 3), "the clock jumped: nobody was there"
    assert {r.row: r.done for r in (first, second, third)} == ended
    spans = {e.step: max(s[2] for s in e.spans) - min(s[1] for s in e.spans) for e in events if isinstance(e, Spans)}
    assert second.seconds == pytest.approx(spans[3] + spans[4] + spans[5])
    assert sum(map(duration, state.lanes["s"].frames)) == pytest.approx(sum(spans.values()))


def test_a_percentile_is_a_latency_that_a_request_had() -> None:
    assert percentiles([7]) == {50: 7, 90: 7, 99: 7}
    assert percentiles(range(1, 101)) == {50: 50, 90: 90, 99: 99}
    assert percentiles([5, 1, 9]) == {50: 5, 90: 9, 99: 9}


# -- when they arrive -----------------------------------------------------------------------------------------------


def test_poisson_arrivals_belong_to_the_seed_and_have_the_rate_asked_for() -> None:
    def times(seed: int, rate: float = 0.5) -> list[float]:
        return arrivals_of(RunConfig(method="exspec", arrivals=f"poisson:{rate}", seed=seed), 2000)

    assert times(1) == times(1) != times(2)
    assert times(1)[0] == 0.0
    gaps = [b - a for a, b in zip(times(1), times(1)[1:], strict=False)]
    assert statistics.mean(gaps) == pytest.approx(2.0, rel=0.1), "one in 10 would be 4 standard deviations off"
    assert statistics.stdev(gaps) == pytest.approx(2.0, rel=0.1), "exponential gaps spread as wide as their mean"
    assert times(1, 4.0)[-1] == pytest.approx(times(1)[-1] / 8, rel=0.01)


def test_the_header_says_when_each_request_arrives() -> None:
    config = tiny.config("exspec", arrivals="poisson:0.3", seed=5, max_new=2)
    _, state = served("x", config, [[5], [6], [7]])
    assert [p["arrive"] for p in state.header.prompts] == arrivals_of(config, 3)
    assert state.lanes["x"].config["arrivals"] == "poisson:0.3"


def test_what_the_command_line_takes() -> None:
    assert parse("0, 0,3,7.5") == (0, 0, 3, 7.5)
    assert parse("poisson:2") == "poisson:2"
    with pytest.raises(ConfigError, match=r"0,0,3,7 .* or poisson:0\.5"):
        parse("soon")


def test_lanes_of_a_session_share_their_requests() -> None:
    lanes = {"a": tiny.config("exspec", arrivals=(0.0, 3.0)), "b": tiny.config("exspec")}
    with pytest.raises(ConfigError, match="lanes of a session share"):
        next(session(lanes, [[5], [6]], pair=tiny.pair("llama")))


@pytest.mark.parametrize("arrivals", [(0.0,), (0.0, 1.0, 2.0)])
def test_a_list_of_another_length_than_the_prompts_is_refused(arrivals: tuple) -> None:
    with pytest.raises(ConfigError, match="one arrival for each of the 2 prompts"):
        next(session({"a": tiny.config("exspec", arrivals=arrivals)}, [[5], [6]], pair=tiny.pair("llama")))


@pytest.mark.parametrize(
    "arrivals",
    [
        (-1.0,),
        (float("nan"),),
        (float("inf"),),
        ("3",),
        (1e9,),
        None,
        3,
        [0.0],
        "poisson:",
        "poisson:0",
        "poisson:x",
        "soon",
    ],
)
def test_impossible_arrivals_are_refused(arrivals: object) -> None:
    with pytest.raises(ConfigError, match="arrivals="):
        RunConfig(method="exspec", arrivals=arrivals)


@pytest.mark.parametrize("method", sorted(set(METHODS) - {"exspec"}))
def test_methods_that_no_row_can_join_refuse_arrivals_by_name(method: str) -> None:
    with pytest.raises(ConfigError, match="rows join a running batch in exspec, and in eqspec and slots with refill"):
        RunConfig(method=method, arrivals=(0.0,))


@pytest.mark.parametrize("method", sorted(set(METHODS) - set(REFILLING)))
def test_methods_without_refill_refuse_it(method: str) -> None:
    with pytest.raises(ConfigError, match="eqspec and slots take refill=True"):
        RunConfig(method=method, refill=True)


def test_refill_takes_no_faults_and_not_the_published_static_batch() -> None:
    for more in ({"faults": frozenset({"stale_mask"})}, {"fidelity": "paper"}):
        with pytest.raises(ConfigError, match="refill=True cannot be used"):
            RunConfig(refill=True, **more)
