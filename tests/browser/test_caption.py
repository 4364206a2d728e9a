"""The round's sentence speaks of what is on the screen."""

import re
from collections.abc import Callable

import pytest

from engine.fold import fold
from engine.lines import read_lines
from tests.browser.conftest import HERO

LAST = max(f.step for f in fold(read_lines(HERO.read_text(encoding="utf-8").split("\n"))).lanes["eqspec"].frames)


@pytest.mark.parametrize("row", [0, 1, 2])
def test_where_one_row_is_shown_the_sentence_speaks_of_no_other(
    open_page: Callable, static_site: str, row: int
) -> None:
    page = open_page(f"{static_site}/?r=0&row={row}", viewport={"width": 390, "height": 844}, has_touch=True)
    page.wait_for_selector(".r-lane .r-word")
    said = []
    for step in range(LAST + 1):
        page.wait_for_function("(step) => document.querySelector('.r-rows').dataset.step === step", arg=str(step))
        said.append(page.inner_text(".r-sentence"))
        if step < LAST:
            page.get_by_role("button", name="Next round").click()
    named = {int(n) for text in said for n in re.findall(r"\brow (\d)", text)}
    assert named == {row + 1}, said
    assert any("BSP writes" in text for text in said)  # its own wrong word, whichever row's comes first
