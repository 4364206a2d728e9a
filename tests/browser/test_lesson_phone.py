"""The chapters on a phone: all of them, and the way on where it is read next."""

from collections.abc import Callable

from tests.browser.chapters import PANEL, opened, plan
from tests.browser.exercises import all_chapters, do
from tests.browser.screens import Screen, phone_screens


@phone_screens
def test_all_chapters_from_the_first_bet_to_the_last_explanation(
    open_page: Callable, static_site: str, screen: Screen
) -> None:
    all_chapters(open_page, static_site, screen)


def test_on_a_phone_the_way_on_comes_after_the_question(open_page: Callable, static_site: str) -> None:
    page = opened(open_page, static_site, 7, viewport={"width": 390, "height": 844}, has_touch=True)
    options = page.locator(f"{PANEL} .r-options > [data-value]")
    edges = [options.last.bounding_box(), page.locator(f"{PANEL} .next").bounding_box()]
    assert edges[0]["y"] + edges[0]["height"] <= edges[1]["y"]
    page.locator(f"{PANEL} .r-ask").focus()
    names = []
    for _ in range(options.count() + 2):
        page.keyboard.press("Tab")
        names.append(page.evaluate("document.activeElement.textContent"))
    assert names == [*options.all_inner_texts(), "Back", "Answer key"]  # there is no next before an answer


def test_on_a_phone_the_next_question_is_on_the_screen(open_page: Callable, static_site: str) -> None:
    page = opened(open_page, static_site, 7, viewport={"width": 390, "height": 600}, has_touch=True)
    for _ in range(2):
        if page.locator(f"{PANEL} .r-rankline").count():
            do(page, plan(page, 7))
            page.evaluate("scrollTo(0, 10000)")
            page.locator(f"{PANEL} .next").click()
        else:
            page.locator(f"{PANEL} .r-options > [data-value]").first.click()
        page.evaluate("() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))")
        box = page.locator(f"{PANEL} .r-ask").bounding_box()
        assert 0 <= box["y"] < 600 - box["height"]
