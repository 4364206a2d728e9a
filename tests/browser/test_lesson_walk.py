"""All chapters one after the other: every wrong answer says why, the right one goes on."""

from collections.abc import Callable

from tests.browser.exercises import all_chapters
from tests.browser.screens import Screen, wide_screens


@wide_screens
def test_all_chapters_from_the_first_bet_to_the_last_explanation(
    open_page: Callable, static_site: str, screen: Screen
) -> None:
    all_chapters(open_page, static_site, screen)
