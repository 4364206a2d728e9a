"""The chapters' second run: what ships shows what chapter 3 says of pads."""

from dataclasses import replace

from engine import contrast
from engine.trace import Header
from tests.engine.test_hero import ROOT, events_of

SHIPPED = ROOT / "assets" / "traces" / "faults.jsonl"


def test_the_shipped_run_shows_masked_seen_and_counted_pads() -> None:
    assert list(contrast.shortcomings(events_of(SHIPPED))) == []


def test_the_shipped_run_was_made_by_these_lanes() -> None:
    header = next(e for e in events_of(SHIPPED) if isinstance(e, Header))
    recorded = {spec["lane"]: spec["config"]["faults"] for spec in header.lanes}
    assert recorded == {name: sorted(config.faults) for name, config in contrast.lanes().items()}
    assert [p["text"] for p in header.prompts] == [contrast.LONG, *contrast.PROMPTS[1:]]


def test_a_run_in_which_seen_pads_do_no_harm_is_refused() -> None:
    shipped = events_of(SHIPPED)
    tame = [e for e in shipped if e.lane != "pads_seen"]
    tame += [replace(e, lane="pads_seen") for e in shipped if e.lane == "eqspec"]
    missing = list(contrast.shortcomings([replace(e, seq=n) for n, e in enumerate(tame)]))
    assert missing == ["pads_seen: every row survived"]
