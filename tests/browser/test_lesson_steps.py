"""From step to step of a chapter: nothing is passed over, one wrong try allows skipping, nothing jumps."""

from collections.abc import Callable

from tests.browser.chapters import CHAPTERS, FEED, PANEL, opened, plan, stage_is
from tests.browser.exercises import answer, do, edge, rank


def test_a_double_click_on_next_does_not_pass_over_the_explanation(open_page: Callable, static_site: str) -> None:
    page = opened(open_page, static_site, 0)
    told = plan(page, 0)
    page.click(f"{PANEL} [data-value='0']")
    page.dblclick(f"{PANEL} .next")
    assert page.inner_text(f"{PANEL} .r-ask").startswith(told["steps"][1]["ask"])
    do(page, told)
    page.click(f"{PANEL} .next")
    answer(page, told, told["steps"][2])
    page.dblclick(f"{PANEL} .next")
    stage_is(page, {"chapter": 1})
    assert page.locator(f"{PANEL} .r-ask.why").is_visible()
    page.keyboard.press("Enter")
    stage_is(page, {"chapter": 2})


def test_one_wrong_try_allows_skipping_and_the_answer_is_said(open_page: Callable, static_site: str) -> None:
    page = opened(open_page, static_site, 3)
    page.click(f"{PANEL} [data-value=min]")
    page.keyboard.press("n")
    assert page.inner_text(FEED) == ""  # what became of the bet would name the cut
    edge(page, 4)
    page.get_by_role("button", name="Skip").click()
    assert page.inner_text(FEED).startswith("The slowest row decides: row 1 loses 3")
    assert page.locator(f"{PANEL} input[type=range]").input_value() == "1"
    page.keyboard.press("n")
    page.click(f'{PANEL} [data-value="0"]')
    assert "not free" in page.inner_text(FEED)
    page.get_by_role("button", name="Skip").click()
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
            page.keyboard.press("n")
        look()
        assert len(heights) == 1, (key, heights)
        page.context.close()
