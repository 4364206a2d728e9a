"""While a chapter's question is open, nothing on the page answers it: no key, no click, no mark, no height."""

import re
from collections.abc import Callable

import pytest

from tests.browser.chapters import CHAPTERS, PANEL, opened, state


def test_while_a_bet_is_open_the_stage_does_not_tell(open_page: Callable, static_site: str) -> None:
    neutral = "Same model, same prompts. What comes out is told after your answer."
    for n, right in ((5, "positions"), (7, "2"), (2, "same")):
        page = opened(open_page, static_site, n)
        page.wait_for_function("document.querySelector('#ragged-stage').classList.contains('guessing')")
        assert page.inner_text("h1").split() == neutral.split()
        assert re.fullmatch(
            r"Round \d\. What happens in it is told after your answer\.", page.inner_text(".r-sentence")
        )
        assert page.locator("#ragged-stage > [aria-live]").inner_text() in ("", page.inner_text(".r-sentence"))
        assert not page.locator(".r-verdict").first.is_visible()
        assert not re.search("equal|differs", page.locator("#ragged-stage > .r-hidden table").inner_text())
        page.click(f"{PANEL} [data-value='{right}']")
        page.keyboard.press("b")  # the bet, now that it is made
        page.wait_for_function("document.querySelector('h1').textContent.includes('EQSPEC: ')")
        assert "told after" not in page.inner_text(".r-sentence")
        assert page.locator(".r-verdict").first.is_visible()
    page.keyboard.press("n")
    page.get_by_role("button", name="Unmask the pads").click()
    page.wait_for_selector(".r-lane[data-lane=pads_seen] .r-word.wrong:not(.future)")
    assert page.locator(".r-lane[data-lane=pads_seen] .r-empty").count() == 0


def test_no_key_opens_what_answers_an_open_question(open_page: Callable, static_site: str) -> None:
    page = open_page(f"{static_site}/?ch=8", viewport={"width": 1440, "height": 1000})
    page.wait_for_selector(f"{PANEL} .r-options > button")
    page.wait_for_function("window.__ragged.store.get().guessing === 'chapter'")
    page.locator("#ragged-stage").focus()
    before = page.evaluate("({...window.__ragged.store.get()}).step")
    for key in ("d", "d", "v"):
        page.keyboard.press(key)
    page.evaluate("window.__ragged.store.set({debug: true})")  # as a link may have left it
    page.evaluate("() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))")
    assert page.locator("#ragged-debugger").is_hidden()
    assert page.evaluate("({...window.__ragged.store.get()}).step") == before
    page.locator(f"{PANEL} .r-options > button:not(.r-text)").first.click()
    page.keyboard.press("b")
    page.wait_for_function("window.__ragged.store.get().guessing === ''")
    page.wait_for_selector("#ragged-debugger", state="visible")


@pytest.mark.parametrize("n", range(len(CHAPTERS)))
def test_no_key_goes_to_what_a_chapter_asks_for(open_page: Callable, static_site: str, n: int) -> None:
    page = opened(open_page, static_site, n)
    seen = ("step", "row", "cell", "right", "view", "tensorsOpen", "debug", "broken")

    def nothing_moves() -> None:
        before = state(page, *seen)
        for key in ("v", "d", "d"):
            page.keyboard.press(key)
            page.evaluate("() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))")
        assert state(page, *seen) == before

    nothing_moves()  # the bet
    page.locator(f"{PANEL} .r-options > [data-value]").first.click()
    page.wait_for_selector(f"{PANEL} li[aria-current]:has-text('do')")
    nothing_moves()  # the exercise
    page.get_by_role("button", name="Leave").click()
    page.wait_for_function("window.__ragged.store.get().chapter === null")
    assert state(page, "asked") == [False]
    page.locator("#ragged-stage").focus()
    page.keyboard.press("v")
    assert state(page, "view") == ["positions"]


def test_no_difference_is_marked_while_a_bet_asks_how_many_there_are(open_page: Callable, static_site: str) -> None:
    page = open_page(f"{static_site}/?ch=8", viewport={"width": 1440, "height": 1000})
    page.wait_for_function("window.__ragged.store.get().guessing === 'chapter'")
    page.locator("#ragged-stage").focus()
    page.keyboard.press("End")
    page.wait_for_selector(".r-word.wrong:not(.future)")
    look = """() => [...document.querySelectorAll('.r-word.wrong .ring')].map((ring) => [
        getComputedStyle(ring).borderTopColor, getComputedStyle(ring).fontWeight,
        getComputedStyle(ring.querySelector('.instead')).display])"""
    plain = page.evaluate("getComputedStyle(document.querySelector('.r-word:not(.wrong)')).fontWeight")
    assert page.evaluate(look)
    assert all(found == ["rgba(0, 0, 0, 0)", plain, "none"] for found in page.evaluate(look))
    later = "getComputedStyle(document.querySelector('.r-word.later')).color"
    ink = "getComputedStyle(document.querySelector('.r-word.later').parentElement).color"
    assert page.evaluate(later) == page.evaluate(ink)
    page.locator(f"{PANEL} .r-options > button:not(.r-text)").first.click()
    page.keyboard.press("b")
    page.wait_for_function("window.__ragged.store.get().guessing === ''")
    assert all(found[2] != "none" for found in page.evaluate(look))
    assert page.evaluate(later) != page.evaluate(ink)


def test_while_a_question_is_open_a_click_on_a_word_does_not_answer_it(open_page: Callable, static_site: str) -> None:
    for n in (7, 5):
        page = opened(open_page, static_site, n)
        page.wait_for_function("window.__ragged.store.get().guessing === 'chapter'")
        page.locator(".r-lane .r-word:not(.future)").first.click()
        page.locator(".r-status", has_text="after your answer").wait_for()
        assert page.locator("#ragged-inspector").is_hidden()
        page.locator(f"{PANEL} .r-options > [data-value]").first.click()
        page.keyboard.press("b")
        page.wait_for_function("!window.__ragged.store.get().guessing && !window.__ragged.store.get().message")
        page.locator(".r-lane .r-word:not(.future)").nth(1).click()
        page.wait_for_selector("#ragged-inspector", state="visible")


def test_the_exercise_that_asks_for_the_defect_does_not_name_it(open_page: Callable, static_site: str) -> None:
    page = opened(open_page, static_site, 5)
    page.locator(f"{PANEL} .r-options > [data-value]").first.click()
    page.wait_for_selector(f"{PANEL} li[aria-current]:has-text('do')")
    page.wait_for_selector(".r-lane.right .r-verdict.bug.reached")
    assert page.locator(".r-word.wrong .ring:visible").count()  # that it went wrong is no secret
    assert page.locator(".r-broken").count() == 0
    assert "told after your answer" in page.inner_text(".r-sentence")
    for suspect in ("Pads", "Masks", "Dead slots"):
        page.get_by_role("button", name=suspect, exact=True).click()
        assert page.locator(".r-broken").count() == 0
    page.locator(PANEL).get_by_role("button", name="Position ids", exact=True).click()
    page.wait_for_function("!window.__ragged.store.get().guessing")
    page.evaluate("window.__ragged.store.set({right: 'bsp'})")
    page.wait_for_selector(".r-broken")


def test_no_row_s_height_tells_what_an_open_question_asks(open_page: Callable, static_site: str) -> None:
    page = opened(open_page, static_site, 7, viewport={"width": 1024, "height": 900})
    page.wait_for_function("window.__ragged.store.get().guessing === 'chapter'")
    height = "() => [...document.querySelectorAll('.r-row')].map((row) => row.offsetHeight)"
    page.locator("#ragged-stage").focus()
    page.keyboard.press("End")
    page.wait_for_selector(".r-word.wrong:not(.future)")
    assert len(set(page.evaluate(height))) == 1
    page.locator(f"{PANEL} .r-options > [data-value]").first.click()
    seen = set()
    for n in range(3):
        page.locator(f"{PANEL} .r-rankline").nth(n).locator("button").first.click()
        page.evaluate("() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))")
        seen.update(page.evaluate(height))
    assert len(seen) == 1
