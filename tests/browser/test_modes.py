"""Presenter's mode and the embedded page, on the recorded hero."""

from collections.abc import Callable

import pytest

from tests.browser.screens import Screen, every_screen, looks_right

STATE = "(({fold, ...rest}) => rest)(window.__ragged.store.get())"
#: Every visible piece of text below 20 px on screen.
SMALL = """() => {
  const out = [];
  const walk = document.createTreeWalker(document.querySelector('#ragged-stage'), NodeFilter.SHOW_TEXT);
  while (walk.nextNode()) {
    const parent = walk.currentNode.parentElement;
    if (!walk.currentNode.textContent.trim() || parent.closest('.r-hidden, .rg-tn-sr, title')) continue;
    if (!parent.checkVisibility({visibilityProperty: true})) continue;
    let px = parseFloat(getComputedStyle(parent).fontSize);
    for (let node = parent; node; node = node.parentElement) px *= Number(getComputedStyle(node).zoom) || 1;
    if (px < 19.99) out.push([px, parent.className, walk.currentNode.textContent]);
  }
  return out;
}"""


def settle(page: object) -> dict:
    page.evaluate("() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))")
    return page.evaluate(STATE)


def visit(open_page: Callable, url: str, **options: object) -> object:
    page = open_page(url, **options)
    page.wait_for_selector(".r-lane .r-word")
    return page


@every_screen
def test_the_presenter_needs_keys_only_and_no_text_is_small(
    open_page: Callable, static_site: str, screen: Screen
) -> None:
    page = visit(open_page, f"{static_site}/?present=1&r=2", **screen.options)
    settle(page)
    assert (
        page.locator("#ragged-stage :is(button:not(.r-pick), a, input, select):visible").count() == 0
    )  # a row's name stays
    assert page.evaluate(SMALL) == []
    page.keyboard.press("ArrowRight")  # nothing was clicked before
    assert settle(page)["step"] == 3
    page.keyboard.press("d")
    page.keyboard.press("d")
    page.wait_for_selector("#ragged-debugger")
    page.keyboard.press("i")
    page.wait_for_selector("#ragged-inspector")
    assert page.evaluate(SMALL) == []
    looks_right(page, screen, "#ragged-debugger", "#ragged-inspector")
    page.keyboard.press("m")
    page.wait_for_selector("#ragged-microscope:not([hidden])")
    assert page.evaluate(SMALL) == []
    looks_right(page, screen, "#ragged-microscope")
    page.keyboard.press("m")
    page.keyboard.press("r")
    assert settle(page)["right"] == "bsp_repaired"
    page.mouse.click(5, 5)
    page.keyboard.press("Home")
    assert settle(page)["step"] == 0
    page.keyboard.press("2")
    assert settle(page)["tensorsOpen"]
    page.locator("#ragged-tensors").scroll_into_view_if_needed()
    page.wait_for_function("window.__ragged?.tensors?.idle()")
    assert page.evaluate(SMALL) == []
    looks_right(page, screen, "#ragged-tensors")
    page.keyboard.press("p")
    settle(page)
    assert page.locator(".r-btn.play").is_visible()
    page.wait_for_function("location.search.includes('present=1')")  # the address is the teacher's own


@pytest.mark.parametrize("width", [1440, 1024])
def test_the_ruler_s_name_and_its_0_stand_apart(open_page: Callable, static_site: str, width: int) -> None:
    page = visit(open_page, f"{static_site}/?present=1&r=2", viewport={"width": width, "height": 900})
    settle(page)
    name, zero = (page.locator(at).first.bounding_box() for at in (".r-rulername", ".r-ruler text"))
    assert name["x"] + name["width"] < zero["x"]
    legend = page.locator(".r-legend").bounding_box()
    assert legend["y"] + legend["height"] <= name["y"]


def test_leaving_the_presenter_s_mode_gives_the_focus_back(open_page: Callable, static_site: str) -> None:
    page = visit(open_page, f"{static_site}/?r=2")
    has_focus = "document.activeElement.matches"
    for chosen in (".r-btn.forward", ".r-board"):
        page.locator(chosen).focus()
        page.keyboard.press("p")
        settle(page)
        page.keyboard.press("Tab")  # a row's name: a button in this mode only
        assert page.evaluate(f"{has_focus}('.r-pick')")
        page.keyboard.press("p")
        page.wait_for_selector(".r-btn.play")
        page.wait_for_function("!window.__ragged.store.get().oneRow")
        settle(page)
        assert page.evaluate(f"{has_focus}('{chosen}')")
    page.goto(f"{static_site}/?r=2&present=1")  # nothing had it before
    page.wait_for_selector(".r-lane .r-word")
    settle(page)
    page.keyboard.press("Tab")
    page.keyboard.press("p")
    page.wait_for_function("!window.__ragged.store.get().oneRow")
    settle(page)
    assert page.evaluate(f"{has_focus}('.r-board')")
    page.keyboard.press("ArrowRight")
    assert settle(page)["step"] == 3


def test_a_presenter_s_low_screen_shows_one_row_and_needs_no_scrolling(open_page: Callable, static_site: str) -> None:
    page = visit(open_page, f"{static_site}/?present=1&r=0", viewport={"width": 1280, "height": 720})
    page.wait_for_function("document.querySelectorAll('.r-row').length === 1")
    fits = "document.documentElement.scrollHeight <= innerHeight"
    for row in ("ArrowDown", "ArrowDown", "ArrowUp"):
        page.keyboard.press("Home")
        for _ in range(8):
            page.keyboard.press("ArrowRight")
            settle(page)
            assert page.evaluate(fits)
        page.keyboard.press("r")
        settle(page)
        assert page.evaluate(fits)
        assert page.evaluate(SMALL) == []
        page.keyboard.press(row)
    page.set_viewport_size({"width": 1920, "height": 1080})
    page.wait_for_function("document.querySelectorAll('.r-row').length === 3")
    assert page.evaluate(fits)
    page.set_viewport_size({"width": 1920, "height": 800})
    page.wait_for_function("document.querySelectorAll('.r-row').length === 1")
    page.keyboard.press("p")
    page.wait_for_function("document.querySelectorAll('.r-row').length === 3")


def test_a_gap_of_one_cell_has_room_for_its_number(open_page: Callable, static_site: str) -> None:
    page = visit(open_page, f"{static_site}/?r=2")
    sizes = page.locator(".r-lane[data-lane=bsp] .r-tear text").all_text_contents()
    assert sizes == ["+1", "+3", "+2", "+7"]
    assert page.locator(".r-order").is_hidden()  # the hero's rows are in the order of its prompts


@every_screen
def test_the_embedded_page_is_the_comparison_alone(open_page: Callable, static_site: str, screen: Screen) -> None:
    page, width = open_page(**screen.options), screen.width - 40
    page.goto(f"{static_site}/blank")
    page.evaluate(
        """([url, width]) => {
      window.heights = [];
      addEventListener('message', ({data}) => { if (data?.type === 'ragged:height') heights.push(data.height); });
      const frame = Object.assign(document.createElement('iframe'), {src: url, width, height: 700});
      document.body.append(frame);
    }""",
        [f"{static_site}/?embed=1&r=3&row=1", width],
    )
    inner = page.frame_locator("iframe")
    inner.locator(".r-lane .r-word").first.wait_for()
    page.wait_for_function("heights.at(-1) > 400")
    assert not inner.locator(".r-tools").is_visible()
    assert not inner.locator("#ragged-tensors").is_visible()
    inner.get_by_role("button", name="Next round").click()
    inner.locator(".r-round:has-text('4')").wait_for()
    page.wait_for_function(
        "document.querySelector('iframe').contentDocument.querySelector('.r-whole').href.includes('r=4')"
    )
    href = inner.locator(".r-whole").get_attribute("href")
    assert "embed" not in href
    looks_right(page.frames[1], Screen(width, screen.theme), ".r-board", ".r-transport", ".r-below")
