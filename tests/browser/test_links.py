"""Links that lead where the trace has nothing: to rounds and cells outside it."""

import json
import re
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.browser.conftest import HERO

FIRST = 7


@pytest.fixture
def later(traces: Path) -> str:
    """The recorded run as if its recorder had begun in round 7; gives its name in addresses."""
    lines = [json.loads(line) for line in HERO.read_text().splitlines()]
    for event in lines:
        if "step" in event and event.get("lane"):
            event["step"] += FIRST
    (traces / "later.jsonl").write_text("".join(json.dumps(event) + "\n" for event in lines))
    return "later"


def opened(open_page: Callable, url: str, **options: object) -> object:
    page = open_page(url, **options)
    page.wait_for_selector(".r-lane .r-word")
    return page


def state(page: object, what: str) -> object:
    page.evaluate("() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))")
    return page.evaluate(f"(s => {what})(window.__ragged.store.get())")


def test_a_trace_that_begins_later_opens_at_its_first_round(open_page: Callable, static_site: str, later: str) -> None:
    page = open_page(f"{static_site}/?t={later}&r=0")
    page.wait_for_selector(".r-lane .r-word")
    assert state(page, "s.step") == FIRST
    assert re.match(rf"round {FIRST} of \d+", page.inner_text(".r-round"))
    assert page.get_by_role("button", name="Previous round").is_disabled()
    slider = page.get_by_role("slider", name="Round")
    assert slider.get_attribute("min") == str(FIRST)
    page.get_by_role("button", name="Next round").click()
    assert state(page, "s.step") == FIRST + 1
    page.locator(".r-board").focus()
    page.keyboard.press("ArrowLeft")
    page.keyboard.press("ArrowLeft")
    assert state(page, "s.step") == FIRST
    page.keyboard.press("End")
    page.keyboard.press("Home")
    assert state(page, "s.step") == FIRST
    for mark in page.locator(".r-mark").all():  # on the track, not beyond its end
        assert 0 <= float(mark.evaluate("node => node.style.getPropertyValue('--at')")) <= 1
    page.keyboard.press("End")
    page.get_by_role("button", name="Play again").click()
    assert state(page, "s.step") in (FIRST, FIRST + 1)


@pytest.mark.parametrize(("r", "step"), [("-3", 0), ("-0", 0), ("99999999999999999999", "last"), ("2", 2)])
def test_a_round_outside_the_trace_leads_to_the_nearest(
    open_page: Callable, static_site: str, r: str, step: int | str
) -> None:
    page = opened(open_page, f"{static_site}/?r={r}")
    last = state(page, "Math.max(...Object.values(s.fold.lanes).map((lane) => lane.frames.at(-1).step))")
    assert state(page, "s.step") == (last if step == "last" else step)
    page.wait_for_timeout(1500)  # a named round stands still
    assert state(page, "[s.playing, s.step]") == [False, last if step == "last" else step]


@pytest.mark.parametrize("cell", ["bsp.0.9999", "bsp.77.3", "nobody.0.3", "eqspec.1.99999999999999999999"])
def test_a_cell_that_is_not_there_is_dropped_and_said(open_page: Callable, static_site: str, cell: str) -> None:
    page = opened(open_page, f"{static_site}/?r=3&row=0&cell={cell}&open=cell")
    assert state(page, "[s.cell, s.inspect, s.step]") == [None, False, 3]
    assert page.locator("#ragged-inspector").is_hidden()
    lane, row, _ = cell.split(".")
    said = page.inner_text(".r-status")
    assert f"row {int(row) + 1} in {lane.upper() if lane != 'nobody' else lane}" in said
    assert "this trace has none there" in said
    page.wait_for_function("!location.search.includes('cell')")


def test_a_cell_that_is_there_stays_and_a_note_that_is_nowhere_is_said(open_page: Callable, static_site: str) -> None:
    page = opened(open_page, f"{static_site}/?r=3&row=0&cell=bsp.0.3&open=cell&note=bsp.0.9999.Look")
    assert state(page, "[s.cell, s.inspect, s.note]") == [{"lane": "bsp", "row": 0, "index": 3}, True, None]
    assert "token 9999 of row 1 in BSP" in page.inner_text(".r-status")
    page.wait_for_function("!location.search.includes('note') && location.search.includes('cell=bsp.0.3')")
