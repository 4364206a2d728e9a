"""Breaking EQSPEC one step at a time: each fault is reported by its own invariant, and changes the text."""

import random

import pytest

from engine import RunConfig, session
from engine.fold import fold
from engine.registry import FAULTS
from engine.trace import Violation
from tests.engine.pairs import pair

#: What `check` must report for each fault; nothing else may appear.
REPORTED = {
    "slot_positions": {"contiguity"},
    "kv_not_moved": {"kv", "mask", "rectangle"},
    "stale_mask": {"mask"},
    "pads_visible": {"mask"},
    "mismatch_kept": {"emission"},
    "draft_bonus": {"emission"},
}


def broken(family: str, fault: str | None, seed: int) -> tuple[set[str], list[str]]:
    """(invariants reported, verdict of every row) of one ragged batch."""
    rng = random.Random(seed)
    prompts = [[rng.randrange(3, 97) for _ in range(n)] for n in (5, 3, 9, 14)]
    faults = frozenset([fault]) if fault else None
    config = RunConfig(
        method="eqspec", proposer="draft_model", draft="tiny", max_new=24, dtype="float64", faults=faults
    )
    events = list(session({"lane": config}, prompts, pair=pair(family)))
    found = {e.invariant for e in events if isinstance(e, Violation)}
    return found, [r.compare["verdict"] for r in fold(events).lanes["lane"].rows.values()]


@pytest.mark.parametrize("fault", FAULTS["eqspec"])
def test_each_fault_is_reported_by_its_invariant_and_by_no_other(fault: str) -> None:
    seen: set[str] = set()
    for seed in range(4):
        found, _ = broken("qwen3", fault, seed)
        seen |= found
    assert seen == REPORTED[fault]


@pytest.mark.parametrize("fault", FAULTS["eqspec"])
def test_each_fault_changes_the_text_of_some_row(fault: str) -> None:
    verdicts = [v for family in ("qwen3", "gpt2") for seed in range(3) for v in broken(family, fault, seed)[1]]
    assert "bug" in verdicts


@pytest.mark.parametrize("family", ["llama", "qwen3", "gpt2"])
def test_without_a_fault_nothing_is_reported_and_every_row_is_equal(family: str) -> None:
    assert broken(family, None, 3) == (set(), ["equal"] * 4)


def test_faults_are_off_unless_asked_for_where_the_method_was_not_published_broken() -> None:
    assert RunConfig(method="eqspec").faults == frozenset()
    assert RunConfig(method="bsp").faults == frozenset(FAULTS["bsp"])
