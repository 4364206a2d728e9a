"""What stands below a thing that changes stays where it is, while a run plays and is repaired."""

from collections.abc import Callable

import pytest

#: Notes in every frame where the rows, the buttons and the tensors begin, on the page rather than on the screen.
WATCH = """() => {
  window.tops = new Set();
  const note = () => {
    const top = (node) => Math.round(node.getBoundingClientRect().top + scrollY);
    tops.add(JSON.stringify([...document.querySelectorAll('.r-row, .r-transport, #ragged-tensors')].map(top)));
    requestAnimationFrame(note);
  };
  note();
}"""
CLICK = "document.querySelector('.r-repair').click()"


def settle(page: object) -> None:
    page.evaluate("() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))")


def scrub(page: object) -> None:
    """Every round by the slider, forwards."""
    for step in range(int(page.get_attribute(".r-scrub input", "max")) + 1):
        page.locator(".r-scrub input").fill(str(step))
        settle(page)


@pytest.mark.parametrize("width", [900, 1024, 1280, 1440, 1920])
@pytest.mark.parametrize("theme", ["light", "dark"])
def test_nothing_moves_while_the_run_plays_and_is_repaired(
    open_page: Callable, static_site: str, width: int, theme: str
) -> None:
    page = open_page(f"{static_site}/", viewport={"width": width, "height": 900}, color_scheme=theme)
    page.wait_for_function("window.__ragged?.store.get().playing")
    page.evaluate(WATCH)
    page.evaluate("window.__ragged.store.set({speed: 4})")
    page.wait_for_function("!window.__ragged.store.get().playing")
    opened = page.evaluate("window.__ragged.store.get().step")
    assert opened > 0
    for right in ("bsp_repaired", "bsp"):
        page.evaluate(CLICK)
        page.wait_for_function("(right) => window.__ragged.store.get().right === right", arg=right)
        scrub(page)
    assert page.evaluate("[...tops]") == [page.evaluate("[...tops].at(-1)")]
    assert page.locator(".r-broken:visible").count() == 3  # what needs the room has been there


@pytest.mark.parametrize("trace", ["rounding", "faults"])
def test_nothing_moves_in_another_run(open_page: Callable, static_site: str, trace: str) -> None:
    page = open_page(f"{static_site}/?t={trace}&r=0", viewport={"width": 1024, "height": 900})
    page.wait_for_selector(".r-why")
    page.wait_for_function("(name) => window.__ragged.store.get().source.name === name", arg=trace)
    settle(page)
    page.evaluate(WATCH)
    scrub(page)
    assert page.evaluate("[...tops]") == [page.evaluate("[...tops].at(-1)")]


def test_on_a_phone_the_buttons_stay_under_the_finger(open_page: Callable, static_site: str) -> None:
    page = open_page(f"{static_site}/?r=0", viewport={"width": 390, "height": 844}, has_touch=True)
    page.wait_for_selector(".r-why")
    top = "(at) => Math.round(document.querySelector(at).getBoundingClientRect().top + scrollY)"
    buttons, seen = set(), []
    for _ in range(2):
        for step in range(int(page.get_attribute(".r-scrub input", "max")) + 1):
            page.locator(".r-scrub input").fill(str(step))
            settle(page)
            buttons.add(page.evaluate(top, ".r-transport"))
            before = page.evaluate(top, ".r-repair")
            page.evaluate(CLICK)
            settle(page)
            buttons.add(page.evaluate(top, ".r-transport"))
            seen.append(page.evaluate(top, ".r-repair") - before)
        page.evaluate(CLICK)
        settle(page)
    assert len(buttons) == 1
    assert set(seen) == {0}


def test_the_repair_keeps_its_width(open_page: Callable, static_site: str) -> None:
    page = open_page(f"{static_site}/?r=2")
    button = page.locator(".r-repair")
    before = button.bounding_box()
    button.click()
    page.get_by_role("button", name="Undo repair", exact=True).wait_for()
    assert button.bounding_box() == before


def test_rows_that_scroll_apart_keep_the_place_of_their_ruler(open_page: Callable, static_site: str) -> None:
    page = open_page(f"{static_site}/?r=0")
    page.wait_for_selector(".r-ruler svg")
    before = page.locator(".r-row").first.bounding_box()["y"]
    page.evaluate("window.__ragged.store.set({unfolded: true})")  # at this width longer than the window
    page.evaluate("document.querySelector('.r-board').style.width = '700px'")
    page.locator(".r-scrub input").fill("7")
    page.wait_for_selector(".r-ruler svg", state="hidden")
    assert page.locator(".r-row").first.bounding_box()["y"] == before
