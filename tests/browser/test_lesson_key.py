"""The answer key of the chapters, on the screen and on paper."""

from collections.abc import Callable

from tests.browser.chapters import CHAPTERS, PANEL, events, find, opened, plan


def test_the_answer_key_lists_every_question_with_its_computed_answer(open_page: Callable, static_site: str) -> None:
    page = opened(open_page, static_site, 0)
    page.get_by_role("button", name="Answer key").click()
    page.wait_for_selector(f"{PANEL} .r-answers dd")
    page.wait_for_function("at => document.querySelectorAll(at).length === 16", arg=f"{PANEL} .r-answers dd")
    said = page.locator(f"{PANEL} .r-answers dd").all_inner_texts()
    assert said == [s["words"] for n in range(len(CHAPTERS)) for s in plan(page, n)["steps"] if s["kind"] != "act"]
    page.emulate_media(media="print")
    assert page.locator(f"{PANEL} .r-answers").is_visible()
    assert not page.locator(".r-board").is_visible()
    assert not page.locator(".r-foot").is_visible()


def test_the_chapter_on_realigning_says_that_the_copy_takes_all_rows(open_page: Callable, static_site: str) -> None:
    page = opened(open_page, static_site, 6)
    page.get_by_role("button", name="Answer key").click()
    trace = events(6)
    op = find(trace, "kv_op", "eqspec", op="realign")
    target = trace[0]["models"]["target"]
    each = 2 * target["layers"] * target["kv_heads"] * target["head_dim"] * 4  # float32
    assert op["bytes"] % each == 0
    page.get_by_text(f"= {op['bytes'] // each} entries ({op['bytes'] / 1e6:.1f} MB)").wait_for()


def test_what_is_printed_from_the_dark_theme_is_dark_on_white(open_page: Callable, static_site: str) -> None:
    page = opened(open_page, static_site, 0, color_scheme="dark")
    page.get_by_role("button", name="Answer key").click()
    answer = f"{PANEL} .r-answers dd"
    page.wait_for_selector(answer)
    look = "at => { const of = (n) => getComputedStyle(n); const n = document.querySelector(at); "
    look += "return [of(n).color, of(n.closest('.r-stage')).backgroundColor]; }"
    dark = page.evaluate(look, answer)
    page.emulate_media(media="print")
    page.wait_for_function("!document.body.classList.contains('dark')")
    assert page.evaluate(look, answer) == ["rgb(23, 32, 42)", "rgb(255, 255, 255)"]
    page.emulate_media(media="screen")
    page.wait_for_function("document.body.classList.contains('dark')")
    assert page.evaluate(look, answer) == dark
    page.evaluate("window.addEventListener('beforeprint', () => { window.paper = document.body.className; })")
    page.pdf()  # the browser's own way
    assert page.evaluate("window.paper") == ""
    assert page.evaluate(look, answer) == dark
