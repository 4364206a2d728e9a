"""Coming to the chapters, leaving restores, coming back: by key, by link, with what the browser kept."""

import json
import re
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.browser.chapters import FEED, PANEL, events, opened, stage_is, state


def test_the_keyboard_is_enough_and_escape_gives_the_view_back(open_page: Callable, static_site: str) -> None:
    page = open_page(f"{static_site}/?r=5&row=2&cmp=bsp_repaired&view=positions")
    why = page.get_by_role("button", name="Why? eight short chapters")
    why.focus()
    page.keyboard.press("Enter")
    page.wait_for_selector(f"{PANEL}:not([hidden]) .r-ask")
    assert page.evaluate("document.activeElement.className") == "r-ask"
    stage_is(page, {"step": 1, "row": 0, "right": "eqspec", "chapter": 1})
    page.keyboard.press("n")  # nothing yet: the bet comes first
    assert "the drafts are" in page.inner_text(f"{PANEL} .r-ask")
    page.keyboard.press("Tab")
    page.keyboard.press("Enter")
    assert page.inner_text(FEED) == "Bet: “0”."
    assert page.evaluate("document.activeElement.className") == "r-ask"
    assert "Step to round 2" in page.inner_text(f"{PANEL} .r-ask")
    page.keyboard.press("ArrowRight")
    page.wait_for_function("at => document.querySelector(at).textContent.includes('3 of 4 are accepted')", arg=FEED)
    assert page.evaluate("document.activeElement.textContent") == "Next"
    page.keyboard.press("Enter")
    assert "come out" in page.inner_text(f"{PANEL} .r-ask")
    page.keyboard.press("b")
    assert "Step to round 2" in page.inner_text(f"{PANEL} .r-ask")
    page.keyboard.press("Escape")
    page.wait_for_selector(PANEL, state="hidden")
    stage_is(page, {"step": 5, "row": 2, "right": "bsp_repaired", "view": "positions", "chapter": None})
    assert page.evaluate("document.activeElement.textContent") == "Why? eight short chapters"
    page.wait_for_function("!location.search.includes('ch=') && location.search.includes('r=5')")


def test_a_link_opens_its_chapter_and_its_own_trace_and_leaving_shows_the_hero(
    open_page: Callable, static_site: str
) -> None:
    page = opened(open_page, static_site, 2)
    assert "The rectangle" in page.inner_text(f"{PANEL} h2")
    stage_is(page, {"chapter": 3, "playing": False})
    assert state(page, "source")[0]["name"] == "faults"
    page.wait_for_function("location.search === '?ch=3'")
    page.reload()
    page.wait_for_selector(f"{PANEL}:not([hidden]) .r-ask")
    assert "The rectangle" in page.inner_text(f"{PANEL} h2")
    page.get_by_role("button", name="Leave").click()
    page.wait_for_function("document.querySelector('h1').textContent.includes('BSP: 0 of 3')")
    assert state(page, "source")[0]["name"] == "hero"


def test_progress_is_kept_and_a_browser_that_keeps_nothing_is_fine(open_page: Callable, static_site: str) -> None:
    page = opened(open_page, static_site, 1)
    assert json.loads(page.evaluate("localStorage['ragged.chapters']")) == {"done": [], "at": "cleanup"}
    page.evaluate("""localStorage['ragged.chapters'] = '{"done": ["row", "cleanup"], "at": null}'""")
    page.goto(f"{static_site}/?r=0")
    page.get_by_role("button", name="Why? eight short chapters").click()
    page.wait_for_selector(f"{PANEL}:not([hidden]) .r-ask")
    assert "The rectangle" in page.inner_text(f"{PANEL} h2")
    assert page.locator(f"{PANEL} .r-chapters .done").count() == 2
    page.wait_for_function("location.search.includes('ch=3')")
    page.evaluate("localStorage['ragged.chapters'] = 'nonsense'")
    page.reload()
    page.wait_for_selector(f"{PANEL}:not([hidden]) .r-ask")
    assert page.locator(f"{PANEL} .r-chapters .done").count() == 0


def test_a_run_that_takes_the_stage_ends_the_chapter_and_is_not_undone(open_page: Callable, static_site: str) -> None:
    page = opened(open_page, static_site, 1)
    page.evaluate("""async () => {
      const { fold, parseTrace } = await import('/viewer/fold.js');
      window.run = fold(parseTrace(document.getElementById('ragged-hero').textContent));
      window.__ragged.store.set({ fold: window.run, source: { kind: 'live', name: 'x' } });
    }""")
    page.wait_for_selector(PANEL, state="hidden")
    stage_is(page, {"chapter": None})
    assert page.evaluate("window.__ragged.store.get().fold === window.run")


@pytest.fixture
def without_faults(traces: Path) -> Iterator[None]:
    file = traces / "faults.jsonl"
    kept = file.read_bytes()
    file.unlink()
    yield
    file.write_bytes(kept)


@pytest.mark.usefixtures("without_faults")
def test_a_chapter_without_its_recorded_run_is_not_offered(open_page: Callable, static_site: str) -> None:
    page = open_page(f"{static_site}/?r=0")
    page.get_by_role("button", name="Why? seven short chapters").click()
    page.wait_for_selector(f"{PANEL}:not([hidden]) .r-ask")
    assert page.locator(f"{PANEL} .r-chapters button").count() == 7


def test_a_page_whose_run_teaches_nothing_has_no_link(open_page: Callable, static_site: str) -> None:
    healed = [e for e in events(0) if e["lane"] in ("", "eqspec")]
    healed[0]["lanes"] = [lane for lane in healed[0]["lanes"] if lane["lane"] == "eqspec"]
    page = open_page()

    def serve(route: object) -> None:
        body = route.fetch().text()
        inert = "\n".join(map(json.dumps, healed)).replace("<", "\\u003c")
        body = re.sub(r'(id="ragged-hero">).*?(</script>)', lambda m: m[1] + inert + m[2], body, flags=re.S)
        route.fulfill(body=body, content_type="text/html")

    page.route(re.compile(r"/\?r=0"), serve)
    page.goto(f"{static_site}/?r=0")
    page.get_by_role("button", name="Why? six short chapters").wait_for()  # those that need BSP are missing


def test_a_note_that_is_made_in_a_chapter_is_in_its_link_and_goes_on(open_page: Callable, static_site: str) -> None:
    page = opened(open_page, static_site, 0)
    page.locator(".r-lane .r-word").first.click()
    page.get_by_role("button", name="Add a note").click()
    page.fill(".r-pinned textarea", "Look <b>here</b>")
    page.get_by_role("button", name="Keep it").click()
    page.wait_for_function("/ch=1/.test(location.search) && /note=/.test(location.search)")
    page.locator(f"{PANEL} .r-options > button").first.click()  # the chapter's next step
    page.wait_for_selector(f"{PANEL} li[aria-current]:has-text('Do')")
    note = ".r-pinned:not([hidden]) q"
    assert page.inner_text(note) == "Look <b>here</b>"

    other = open_page(page.url)
    other.wait_for_selector(f"{PANEL}:not([hidden]) .r-ask")
    assert other.inner_text(note) == "Look <b>here</b>"
    assert state(other, "note") == state(page, "note")
    other.get_by_role("button", name="Leave").click()
    other.wait_for_function("window.__ragged.store.get().chapter === null")
    assert state(other, "note") == [None]  # as it was before the chapters

    lost = open_page(f"{static_site}/?ch=1&note=bsp.0.9999.Gone")
    lost.wait_for_selector(f"{PANEL}:not([hidden]) .r-ask")
    lost.locator(".r-status", has_text="token 9999 of row 1 in BSP").wait_for()
    lost.wait_for_function("location.search === '?ch=1'")


def test_a_run_that_cannot_be_fetched_is_told_of_in_the_panel_and_the_next_try_loads_it(
    open_page: Callable, static_site: str
) -> None:
    page = opened(open_page, static_site, 1)
    page.visit.expect("Failed to load resource")
    page.route("**/traces/faults.jsonl", lambda route: route.abort())
    page.locator(f"{PANEL} .r-chapters button").nth(2).click()
    trouble = page.locator(f"{PANEL} > [role=alert]")
    trouble.filter(has_text="could not be loaded").wait_for()
    assert trouble.bounding_box()["y"] < 900  # on the screen, near the click
    assert state(page, "chapter") == [2]
    page.unroute("**/traces/faults.jsonl")
    page.locator(f"{PANEL} .r-chapters button").nth(2).click()
    page.wait_for_function("window.__ragged.store.get().chapter === 3")
    assert not trouble.is_visible()
