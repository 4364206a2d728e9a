"""EQSPEC is exact: every row of any ragged batch gets the ids that plain decoding of that row alone gives."""

from collections import Counter
from dataclasses import dataclass, replace
from functools import cache

import pytest
from hypothesis import HealthCheck, given, seed, settings
from hypothesis import strategies as st

from engine import session
from engine.fold import fold
from engine.trace import Commit, Event, KvOp, Propose, RowDone, Schedule, Violation
from tests.engine import tiny

FAMILIES = ("llama", "qwen3", "gpt2", "neox")
EXAMPLES = 60
LONGEST = 18  # largest max_new drawn
STOPS = 0.15  # share of stop ids inside the prompts
FAVOUR = 0.8  # added to the stop id's logit, so that about half of the rows end by it

#: What must have been seen at least 20 times before "every time" means anything.
WANTED = (
    "nothing accepted",
    "something accepted",
    "everything accepted",
    "shift left",
    "shift right",
    "L shrinks",
    "cut by stop id",
    "draft shortened by the budget",
    "no draft at all",
    "ended by stop",
    "ended by budget",
    "ended by context",
    "stop id in the prompt",
    "one-token budget",
    "several batches",
)


@dataclass(frozen=True)
class Case:
    """A ragged batch: rows as (length, variant), who drafts ("ngram", "skip" or a noise), and the limits."""

    rows: tuple[tuple[int, int], ...]
    drafter: str | float
    k: int
    max_new: int
    context: int
    batch: int | None


@st.composite
def cases(draw: st.DrawFn) -> Case:
    count = draw(st.sampled_from([4, 6, 5, 3, 2, 1]))
    rows = tuple(draw(st.tuples(st.integers(1, 40), st.integers(0, 3))) for _ in range(count))
    longest = max(length for length, _ in rows)
    tight = draw(st.sampled_from([False, False, True]))
    return Case(
        rows=rows,
        drafter=draw(st.sampled_from([0.1, 0.05, 0.2, "skip", "ngram", 0.0, 3.0])),
        k=draw(st.sampled_from([4, 6, 5, 3, 2, 1])),
        max_new=draw(st.sampled_from([LONGEST, 13, 9, 6, 4, 3, 2, 1, 1])),
        context=draw(st.integers(longest + 1, longest + 12)) if tight else tiny.CONTEXT,
        batch=draw(st.sampled_from([None, None, 3, 2, 1])),
    )


@cache
def alone(family: str, length: int, variant: int) -> list[int]:
    """What plain decoding gives for this row alone, limits aside."""
    pair = tiny.pair(family, 0.0, eos=FAVOUR, stop_ids=())
    row = tiny.prompt(length, variant, STOPS)
    plain = tiny.config("autoregressive", batch=1, max_new=LONGEST)
    return fold(session({"ar": plain}, [row], pair=pair, certify=False)).lanes["ar"].rows[0].ids[length:]


def limited(ids: list[int], room: int) -> list[int]:
    """Up to the first stop id, and at most `room` tokens."""
    ids = ids[:room]
    return ids[: ids.index(tiny.STOP) + 1] if tiny.STOP in ids else ids


@cache
def explore(family: str) -> Counter:
    """Run the generated batches of one family; what was seen in them."""
    seen: Counter = Counter()

    @seed(FAMILIES.index(family))  # other examples for every family, the same ones in every run
    @settings(
        max_examples=EXAMPLES,
        derandomize=True,
        deadline=None,
        database=None,
        suppress_health_check=list(HealthCheck),
    )
    @given(cases())
    def every_row_equals_the_row_alone(case: Case) -> None:
        noise = 0.0 if case.drafter == "ngram" else case.drafter
        pair = replace(tiny.pair(family, noise, eos=FAVOUR), context=case.context)
        proposer = {"ngram": "ngram", "skip": "self_skip"}.get(case.drafter, "draft_model")
        config = tiny.config(proposer=proposer, k=case.k, max_new=case.max_new, batch=case.batch)
        prompts = [tiny.prompt(*row, STOPS) for row in case.rows]
        events = list(session({"eqspec": config}, prompts, pair=pair))
        lane = fold(events).lanes["eqspec"]
        for n, (length, variant) in enumerate(case.rows):
            expected = limited(alone(family, length, variant), min(case.max_new, case.context - length))
            found = lane.rows[n].ids[length:]
            assert found == expected, f"{family} row {n} (length {length}): {found} instead of {expected}"
            assert lane.rows[n].compare["verdict"] == "equal", f"{family} row {n}: {lane.rows[n].compare}"
        broken = [e for e in events if isinstance(e, Violation)]
        assert not broken, f"{family}: {broken[0]}"
        count(seen, case, events)

    every_row_equals_the_row_alone()
    return seen


def count(seen: Counter, case: Case, events: list[Event]) -> None:
    """Add what one run went through: per row and round, or per round where the batch is meant."""
    seen["one-token budget"] += case.max_new == 1
    seen["several batches"] += case.batch is not None and case.batch < len(case.rows)
    seen["stop id in the prompt"] += any(tiny.STOP in tiny.prompt(*row, STOPS) for row in case.rows)
    width = 0
    for event in events:
        if isinstance(event, Schedule):
            drafts = [[]] * len(event.rows)
            width = 0 if event.joined else width
        elif isinstance(event, Propose):
            drafts = event.tokens
            seen["draft shortened by the budget"] += event.why.count("room")
            seen["no draft at all"] += sum(not d for d in drafts)
        elif isinstance(event, Commit):
            cuts = event.cut or [""] * len(event.accepted)  # left out when no row was cut
            for draft, accepted, cut in zip(drafts, event.accepted, cuts, strict=True):
                if draft:
                    how = "nothing" if accepted == 0 else "everything" if accepted == len(draft) else "something"
                    seen[f"{how} accepted"] += 1
                seen["cut by stop id"] += cut == "stop"
                assert cut in ("", "stop"), f"step {event.step}: a row drafted more than it may emit ({cut})"
        elif isinstance(event, KvOp):
            seen["shift left"] += sum(to < source for _, source, to, _ in event.moves)
            seen["shift right"] += sum(to > source for _, source, to, _ in event.moves)
            seen["L shrinks"] += event.width < width
            width = event.width
        elif isinstance(event, RowDone):
            seen[f"ended by {event.reason}"] += 1


@pytest.mark.parametrize("family", FAMILIES)
def test_every_row_of_a_ragged_batch_equals_the_row_run_alone(family: str) -> None:
    assert explore(family)["everything accepted"] > 0, "the examples of this family never ran"


def test_the_examples_went_through_everything_that_could_go_wrong() -> None:
    seen = sum((explore(family) for family in FAMILIES), Counter())
    rare = {what: seen[what] for what in WANTED if seen[what] < 20}
    assert not rare, f"seen fewer than 20 times: {rare}; all: {dict(seen)}"
