"""The chapters' third run: what ships shows rounding beside bugs."""

from dataclasses import replace

from engine import rounding
from engine.trace import Compare, Header
from tests.engine.test_hero import ROOT, events_of

SHIPPED = ROOT / "assets" / "traces" / "rounding.jsonl"


def test_the_shipped_run_shows_ties_and_bugs() -> None:
    assert list(rounding.shortcomings(events_of(SHIPPED))) == []


def test_the_shipped_run_was_made_by_these_lanes() -> None:
    header = next(e for e in events_of(SHIPPED) if isinstance(e, Header))
    recorded = {spec["lane"]: (spec["config"]["faults"], spec["config"]["dtype"]) for spec in header.lanes}
    assert recorded == {name: (sorted(c.faults), "bfloat16") for name, c in rounding.lanes().items()}
    assert [p["text"] for p in header.prompts] == rounding.prompts()


def test_a_run_without_a_tie_is_refused() -> None:
    exact = [
        replace(e, verdict="equal") if isinstance(e, Compare) and e.lane == "eqspec" else e for e in events_of(SHIPPED)
    ]
    assert list(rounding.shortcomings(exact)) == ["eqspec: no row ends in an exact tie"]
