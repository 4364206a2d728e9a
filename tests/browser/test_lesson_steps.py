"""From step to step of a chapter: nothing is passed over, one wrong try allows skipping, nothing jumps."""

from collections.abc import Callable

from tests.browser.chapters import CHAPTERS, FEED, PANEL, opened, plan, stage_is
from tests.browser.exercises import answer, do, edge, rank


def test_no_double_click_and_no_held_key_passes_over_an_explanation(open_page: Callable, static_site: str) -> None:
    page = opened(open_page, static_site, 0)
    told = plan(page, 0)
    page.dblclick(f"{PANEL} [data-value='0']")
    assert page.inner_text(f"{PANEL} .r-ask").startswith(told["steps"][1]["ask"])
    do(page, told)
    page.dblclick(f"{PANEL} .next")
    answer(page, told, told["steps"][2])
    stage_is(page, {"chapter": 1})
    assert page.evaluate("document.activeElement.textContent") == told["why"]
    page.keyboard.press("Enter")  # held a little long, it must not go on
    stage_is(page, {"chapter": 1})
    page.dblclick(f"{PANEL} .next")
    stage_is(page, {"chapter": 2})
    assert page.locator(f"{PANEL} .next").is_disabled()


def test_a_double_click_on_a_bet_does_nothing_in_the_step_that_it_opens(open_page: Callable, static_site: str) -> None:
    page = opened(open_page, static_site, 2)
    page.dblclick(f"{PANEL} [data-value=same]")  # where the next step has its one button
    assert page.inner_text(FEED).startswith("Right bet.")
    assert page.locator(f"{PANEL} .next").is_disabled()
    stage_is(page, {"right": "eqspec"})


def test_what_was_said_of_the_bet_comes_back_when_a_wrong_try_is_taken_back(
    open_page: Callable, static_site: str
) -> None:
    page = opened(open_page, static_site, 1)
    told = plan(page, 1)
    page.click(f"{PANEL} [data-value='5']")
    before = page.inner_text(FEED)
    assert before == f"Right bet. {told['steps'][0]['right']}"
    edge(page, told["keep"] + 1)
    assert page.inner_text(FEED).startswith("Not so.")
    page.locator(f"{PANEL} input[type=range]").press("ArrowLeft")
    assert page.inner_text(FEED) == before


def test_another_bet_begins_the_chapter_anew(open_page: Callable, static_site: str) -> None:
    page = opened(open_page, static_site, 0)
    told = plan(page, 0)
    page.click(f"{PANEL} [data-value='0']")
    assert page.inner_text(FEED) == "Bet: “0”."
    do(page, told)
    page.keyboard.press("b")
    assert page.locator(f"{PANEL} [data-value='0']").get_attribute("aria-pressed") == "true"
    page.keyboard.press("n")  # looked at only
    assert page.inner_text(FEED).startswith("Bet “0”: wrong.")
    page.keyboard.press("b")
    page.click(f"{PANEL} [data-value='3']")
    assert page.inner_text(FEED) == "Bet: “3”."
    assert page.locator(f"{PANEL} .next").is_disabled()
    do(page, told)
    assert page.inner_text(FEED).startswith("Right bet.")


def test_one_wrong_try_allows_skipping_and_the_answer_is_said(open_page: Callable, static_site: str) -> None:
    page = opened(open_page, static_site, 3)
    page.click(f"{PANEL} [data-value=min]")
    assert page.inner_text(FEED) == "Bet: “At the smallest count”."  # what became of it would name the cut
    edge(page, 4)
    page.get_by_role("button", name="Show the answer").click()
    assert page.inner_text(FEED).startswith("The slowest row decides: row 1 loses 3")
    assert page.locator(f"{PANEL} input[type=range]").input_value() == "1"
    page.keyboard.press("n")
    page.click(f'{PANEL} [data-value="0"]')
    assert "not free" in page.inner_text(FEED)
    page.get_by_role("button", name="Show the answer").click()
    assert page.inner_text(FEED) == "The answer: 3. Beyond the smallest count, 2: 1 + 0 + 2 = 3."


def test_the_card_keeps_its_height_and_the_player_stays_on_the_screen(open_page: Callable, static_site: str) -> None:
    for n, key in enumerate(CHAPTERS):
        page = opened(open_page, static_site, n)
        told, heights = plan(page, n), set()
        low = "document.querySelector('.r-transport').getBoundingClientRect().bottom"

        def look(heights: set = heights, key: str = key, page: object = page, low: str = low) -> None:
            heights.add(page.locator(PANEL).evaluate("n => n.offsetHeight"))
            assert page.evaluate(f"scrollY + {low}") <= 900, key

        for step in told["steps"]:
            look()
            if step["kind"] == "act":
                do(page, told)
            else:
                page.click(f'{PANEL} .r-options > [data-value="{step["answer"]}"]') if step["options"] else rank(
                    page, told["items"], ("harmless", "harmful")
                )
            look()
            if step["kind"] == "act":
                page.keyboard.press("n")
        look()
        assert len(heights) == 1, (key, heights)
        page.context.close()
