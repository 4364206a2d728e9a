"""EXSPEC, slots, rollback and the repaired DSD are exact: every row gets the ids that it gets alone."""

from collections import Counter
from dataclasses import replace
from functools import cache

import pytest
from hypothesis import HealthCheck, Phase, example, given, seed, settings
from hypothesis import strategies as st

from engine import session
from engine.config import RunConfig
from engine.fold import Fold, fold
from engine.trace import Commit, Event, KvOp, Propose, RowDone, Schedule, Violation
from tests.engine import tiny
from tests.engine.test_exact import FAMILIES, FAVOUR, STOPS, Case, alone, cases, limited
from tests.engine.watch import Watch

EXAMPLES = 24  # per family; each runs four lanes

#: What must have been seen at least 10 times before "every time" means anything.
WANTED = (
    "nothing accepted",
    "something accepted",
    "everything accepted",
    "cut by stop id",
    "no draft at all",
    "ended by stop",
    "ended by budget",
    "ended by context",
    "one-token budget",
    "exspec: batch < window < rows",
    "exspec: rows wait outside the window",
    "exspec: grouped",
    "exspec: fallback",
    "exspec: join",
    "exspec: split",
    "exspec: crop",
    "exspec: realign",
    "exspec: content",
    "exspec: paper",
    "exspec: none",
    "exspec: one row is due every round",
    "slots: a row takes the place of one that left",
    "rollback: drafts thrown away",
    "dsd: rows left",
)


@st.composite
def pools(draw: st.DrawFn, count: int) -> dict:
    """EXSPEC's own choices for `count` rows; in most of them batch < window < rows."""
    batch = min(draw(st.sampled_from([2, 3, 2, 1])), max(1, count - 1))
    return {
        "batch": batch,
        "window": draw(st.sampled_from([batch, batch + 1, batch + 1, batch + 2, None])),
        "grouping": draw(st.sampled_from(["none", "content", "paper"])),
        "age": draw(st.sampled_from([16, 1, 2, 5])),
    }


@st.composite
def runs(draw: st.DrawFn) -> tuple[Case, dict]:
    case = draw(cases())
    return case, draw(pools(len(case.rows)))


#: Plain refill: the window is the batch, rows accept different numbers, so nearly every round realigns.
REFILL = (
    Case(rows=((6, 0), (19, 1), (11, 2), (3, 3), (8, 1)), drafter=0.1, k=3, max_new=18, context=tiny.CONTEXT, batch=2),
    {"batch": 3, "window": 3, "grouping": "none", "age": 16},
)


def lanes_of(case: Case, pool: dict) -> dict[str, RunConfig]:
    """The four exact methods on one batch."""
    proposer = {"ngram": "ngram", "skip": "self_skip"}.get(case.drafter, "draft_model")
    common = {"proposer": proposer, "k": case.k, "max_new": case.max_new}
    return {
        "exspec": tiny.config("exspec", **common, **pool),
        "slots": tiny.config("slots", batch=case.batch, **common),
        "rollback": tiny.config("rollback", batch=case.batch, **common),
        "dsd": tiny.config("dsd", faults=frozenset(), batch=case.batch, **common),
    }


@cache
def explore(family: str) -> Counter:
    """Run the generated batches of one family; what was seen in them."""
    seen: Counter = Counter()

    @seed(100 + FAMILIES.index(family))
    @settings(
        max_examples=EXAMPLES,
        derandomize=True,
        deadline=None,
        database=None,
        phases=[Phase.explicit, Phase.generate],  # shrinking takes minutes; the message names the case
        suppress_health_check=list(HealthCheck),
    )
    @example(REFILL)
    @given(runs())
    def every_row_equals_the_row_alone(run: tuple[Case, dict]) -> None:
        case, pool = run
        noise = 0.0 if case.drafter == "ngram" else case.drafter
        pair = replace(tiny.pair(family, noise, eos=FAVOUR), context=case.context)
        prompts, watch = [tiny.prompt(*row, STOPS) for row in case.rows], Watch()
        events = list(session(lanes_of(case, pool), prompts, pair=pair, observer=watch, certify=False))
        state = fold(events)
        for name, lane in state.lanes.items():
            for n, (length, variant) in enumerate(case.rows):
                expected = limited(alone(family, length, variant), min(case.max_new, case.context - length))
                found = lane.rows[n].ids[length:]
                assert found == expected, f"{family} {name} row {n}: {found} instead of {expected}; {run}"
        broken = [e for e in events if isinstance(e, Violation)]
        assert not broken, f"{family}: {broken[0]}; {run}"
        watch.assert_equals(state)
        count(seen, case, pool, events, state)

    every_row_equals_the_row_alone()
    return seen


def count(seen: Counter, case: Case, pool: dict, events: list[Event], state: Fold) -> None:
    """Add what one run went through."""
    rows, window = len(case.rows), pool["window"] or 4 * pool["batch"]
    seen["one-token budget"] += case.max_new == 1
    seen["exspec: batch < window < rows"] += pool["batch"] < window < rows
    seen[f"exspec: {pool['grouping']}"] += 1
    seen["exspec: one row is due every round"] += pool["age"] == 1
    seen["exspec: grouped"] += state.lanes["exspec"].totals["grouped"]
    seen["exspec: fallback"] += state.lanes["exspec"].totals["fallback"]
    seen["rollback: drafts thrown away"] += state.lanes["rollback"].totals["discarded"]
    drafts: dict[str, list] = {}
    for e in events:
        if isinstance(e, Schedule):
            drafts[e.lane] = [[]] * len(e.rows)
            seen["exspec: rows wait outside the window"] += e.lane == "exspec" and e.step > 0 and bool(e.joined)
            seen["dsd: rows left"] += e.lane == "dsd" and bool(e.left)
        elif isinstance(e, Propose):
            drafts[e.lane] = e.tokens
            seen["no draft at all"] += sum(not d for d in e.tokens)
        elif isinstance(e, Commit):
            cuts = e.cut or [""] * len(e.accepted)
            for draft, accepted, cut in zip(drafts[e.lane], e.accepted, cuts, strict=True):
                if draft:
                    how = "nothing" if accepted == 0 else "everything" if accepted == len(draft) else "something"
                    seen[f"{how} accepted"] += 1
                seen["cut by stop id"] += cut == "stop"
        elif isinstance(e, KvOp):
            seen[f"{e.lane}: {e.op}"] += 1
            seen["slots: a row takes the place of one that left"] += e.lane == "slots" and e.op == "compact"
        elif isinstance(e, RowDone):
            seen[f"ended by {e.reason}"] += 1


@pytest.mark.parametrize("family", FAMILIES)
def test_every_row_of_every_exact_method_equals_the_row_run_alone(family: str) -> None:
    assert explore(family)["something accepted"] > 0, "the examples of this family never ran"


def test_the_examples_went_through_everything_that_could_go_wrong() -> None:
    seen = sum((explore(family) for family in FAMILIES), Counter())
    rare = {what: seen[what] for what in WANTED if seen[what] < 10}
    assert not rare, f"seen fewer than 10 times: {rare}; all: {dict(seen)}"
