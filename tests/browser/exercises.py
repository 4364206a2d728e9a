"""A chapter's steps done: its exercise, its questions, at the first try or after every wrong one."""

import json
import re
from collections.abc import Callable

from tests.browser.chapters import CHAPTERS, FEED, PANEL, plan, stage_is
from tests.browser.screens import Screen, looks_right


def edge(page: object, n: int) -> None:
    page.evaluate(
        "([at, n]) => { const e = document.querySelector(at); e.value = n; e.dispatchEvent(new Event('input')); }",
        [f"{PANEL} input[type=range]", n],
    )
    page.click(f"{PANEL} .r-options > button:not(.r-text)")


def do(page: object, told: dict) -> None:
    """The forced action of a chapter, after a wrong try where there is one."""
    skip = page.locator(f"{PANEL} .r-skip")
    assert not skip.is_visible()
    buttons = page.locator(f"{PANEL} .r-options > button:not(.r-text)")
    match told["key"]:
        case "row":
            page.locator(".r-transport").get_by_role("button", name="Next round").click()
        case "cleanup" | "crop":
            edge(page, told["keep"] + 1)
            assert page.inner_text(FEED).startswith("Not so.")
            assert skip.is_visible()
            edge(page, told["keep"])
        case "realign":
            edge(page, told["delta"] - 1)
            assert page.inner_text(FEED).startswith("Not so. Pads and entries make")
            assert skip.is_visible()
            edge(page, told["delta"])
        case "equal":
            rank(page, told["items"], ("rounding", "bug"))
        case "rectangle":
            buttons.click()
        case "defect":
            for n, evidence in enumerate(("row 1 has no pads", "row 3 goes wrong", "EQSPEC masks pads too")):
                buttons.nth(n).click()
                assert re.match(rf"Cleared\. (BSP.s )?{evidence}", page.inner_text(FEED))
                assert skip.is_visible()
            buttons.nth(3).click()
        case "shortcut":
            row = f'.r-lane[data-row="{told["row"]}"]'
            page.evaluate("n => window.__ragged.player.go(n)", told["round"] + 1)
            page.locator(f"{row}[data-lane=bsp] .r-tear text").first.click()
            page.wait_for_function("at => document.querySelector(at).textContent.includes('pads')", arg=FEED)
            page.evaluate("n => window.__ragged.player.go(n)", told["round"])
            page.wait_for_function("at => /^(Bet: .*)?$/.test(document.querySelector(at).textContent)", arg=FEED)
            page.wait_for_selector(f'{row}[data-lane=bsp] .r-tear[data-before="{told["gap"]}"]')
            page.locator(f"{row}[data-lane=eqspec] .r-cell").last.click()
            page.wait_for_function("at => document.querySelector(at).textContent.includes('EQSPEC')", arg=FEED)
            page.locator(f'{row}[data-lane=bsp] .r-tear[data-before="{told["gap"]}"] text').click()
    page.wait_for_function("at => !document.querySelector(at).disabled", arg=f"{PANEL} .next")


def place_of_next(page: object) -> list[float]:
    place = "b => { const r = b.getBoundingClientRect(); return [r.x, r.y + scrollY, r.right, r.height]; }"
    return page.locator(f"{PANEL} .next").evaluate(place)


def rank(page: object, items: list[str], values: tuple[str, str]) -> None:
    """Statements to be judged: all wrong first, then right."""
    lines = page.locator(f"{PANEL} .r-rankline")
    for n, right in enumerate(items):
        assert not page.inner_text(FEED).startswith("Not so.")  # judged once all are
        other = values[right == values[0]]
        lines.nth(n).locator(f"[data-value={other}]").click()
    assert page.inner_text(FEED).startswith("Not so.")
    for n, right in enumerate(items):
        lines.nth(n).locator(f"[data-value={right}]").click()


def answer(page: object, told: dict, step: dict) -> None:
    """A check: every wrong answer says why, each in its own words or with its own reason; then the right one."""
    for value, _ in step["options"]:
        if value != step["answer"]:
            page.click(f'{PANEL} .r-options > [data-value="{value}"]')
            assert re.match(r"Not so\. \S.{15,}", page.inner_text(FEED)), value
            assert page.locator(f"{PANEL} .next").is_disabled()
    if step["options"]:
        page.click(f'{PANEL} .r-options > [data-value="{step["answer"]}"]')
    else:
        rank(page, told["items"], ("harmless", "harmful"))
    assert page.inner_text(FEED) == f"Right. {step['right']}"


def first_time_right(page: object, told: dict, step: dict) -> None:
    """What a step asks for, at the first try."""
    sure = page.locator(f"{PANEL} .r-options > button:not(.r-text)")
    if step["options"]:
        return page.click(f'{PANEL} .r-options > [data-value="{step["answer"]}"]')
    match told["key"]:
        case "row":
            page.locator(".r-transport").get_by_role("button", name="Next round").click()
        case "cleanup" | "crop":
            edge(page, told["keep"])
        case "realign":
            edge(page, told["delta"])
        case "rectangle":
            sure.click()
        case "shortcut":
            page.evaluate("n => window.__ragged.player.go(n)", told["round"])
            gap = f'[data-lane=bsp] .r-tear[data-before="{told["gap"]}"] text'
            page.locator(f'.r-lane[data-row="{told["row"]}"]{gap}').click()
        case "defect" if step["kind"] == "act":
            sure.nth(3).click()
        case "defect" | "equal":
            for n, right in enumerate(told["items"]):
                page.locator(f"{PANEL} .r-rankline").nth(n).locator(f"[data-value={right}]").click()
    return None


def all_chapters(open_page: Callable, static_site: str, screen: Screen) -> None:
    """Every chapter from the first bet to the last explanation, every wrong answer tried first."""
    page = open_page(f"{static_site}/?r=0", **screen.options)
    page.get_by_role("button", name="Why? eight short chapters").click()
    page.wait_for_selector(f"{PANEL}:not([hidden]) .r-ask")
    for n, key in enumerate(CHAPTERS):
        stage_is(page, {"chapter": n + 1})
        told = plan(page, n)
        assert told["key"] == key
        place = place_of_next(page)  # it never moves within a chapter; on a phone it comes after the step: within one
        for step in told["steps"]:
            place = place_of_next(page) if screen.width == 390 else place
            assert place_of_next(page) == place
            assert page.inner_text(f"{PANEL} .r-ask").startswith(step["ask"])
            assert page.locator(f"{PANEL} .next").is_disabled()
            if step["kind"] == "predict":
                looks_right(page, screen, PANEL)
                page.click(f'{PANEL} .r-options > [data-value="{step["options"][0][0]}"]')
                page.wait_for_selector(f"{PANEL} .r-stages [aria-current]:has-text('do')")  # the bet leads on
                continue
            if step["kind"] == "act":
                do(page, told)
            else:
                assert page.locator(f"{PANEL} .r-because").is_hidden()
                answer(page, told, step)
                assert page.inner_text(f"{PANEL} .r-because").startswith(told["why"])
            looks_right(page, screen, PANEL)
            assert place_of_next(page) == place
            page.click(f"{PANEL} .next")
        page.wait_for_function("n => window.__ragged.store.get().chapter !== n", arg=n + 1)
    assert page.locator(PANEL).is_hidden()
    assert json.loads(page.evaluate("localStorage['ragged.chapters']"))["done"] == CHAPTERS
