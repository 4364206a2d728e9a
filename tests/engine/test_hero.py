"""The page's first run: what ships shows what it must, and the real model still computes it."""

from dataclasses import replace
from pathlib import Path

import pytest

from engine import hero
from engine.lines import read_lines, to_json
from engine.trace import Event, Spans

ROOT = Path(__file__).resolve().parents[2]
SHIPPED = ROOT / "assets" / "traces" / "hero.jsonl"
FLOAT64 = ROOT / "tests" / "engine" / "hero_float64.jsonl"
MACHINE = ("created", "versions", "machine")


def events_of(path: Path) -> list[Event]:
    with path.open(encoding="utf-8") as lines:
        return list(read_lines(lines))


def timeless(events: list[Event]) -> list[dict]:
    """Everything but timings and the machine: what must be the same wherever it is computed."""
    plain = [to_json(e) for e in events if not isinstance(e, Spans)]
    return [{k: v for k, v in e.items() if k not in MACHINE} for e in plain]


def near(value: object) -> object:
    """The same, with its floats within one of the last digit written: 32.8365 is rounded up here and down there."""
    if isinstance(value, dict):
        return {key: near(v) for key, v in value.items()}
    if isinstance(value, list):
        return [near(v) for v in value]
    return pytest.approx(value, rel=0, abs=1.01e-3) if isinstance(value, float) else value


def test_the_shipped_hero_shows_everything_a_stranger_must_see() -> None:
    assert hero.shortcomings(events_of(SHIPPED)) == []


def test_a_run_that_shows_too_little_is_refused() -> None:
    shipped = events_of(SHIPPED)
    healed = [e for e in shipped if e.lane != "bsp"]
    healed += [replace(e, lane="bsp") for e in shipped if e.lane == "bsp_repaired"]
    missing = hero.shortcomings([replace(e, seq=n) for n, e in enumerate(healed)])
    assert any("first wrong token" in m for m in missing)


def test_the_repaired_lane_of_the_shipped_hero_has_the_same_holes_and_equals_the_reference() -> None:
    from engine.fold import fold

    lanes = fold(events_of(SHIPPED)).lanes
    assert all(r.compare["verdict"] == "equal" for r in lanes["bsp_repaired"].rows.values())
    hidden = [[m.visible for m in frame.after.values()] for frame in lanes["bsp_repaired"].frames]
    assert any(0 in visible for maps in hidden for visible in maps), "the repaired lane has no dead slot"


@pytest.mark.usefixtures("real_cache")
def test_the_real_model_in_float64_recomputes_the_recording_event_by_event() -> None:
    """A changed event, token, slot, position, mask run or rounded logit shows up here, whatever the machine."""
    expected, found = timeless(events_of(FLOAT64)), timeless(hero.record("float64"))
    assert len(found) == len(expected)
    for want, have in zip(expected, found, strict=True):
        assert have == near(want)
