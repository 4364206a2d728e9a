"""Traces of the README's writer in the panel that checks them."""

import re
from collections.abc import Callable
from pathlib import Path

from tests.browser.check_panel import PANEL, shown, visit
from tests.engine.test_writer import engine, snippet


def test_a_trace_of_the_readme_s_writer_opens_and_is_checked(
    open_page: Callable, static_site: str, tmp_path: Path
) -> None:
    page = visit(open_page, static_site)
    engine(tmp_path / "mine.jsonl", (3, 1, 2))
    page.set_input_files("#r-drop-file", tmp_path / "mine.jsonl")
    page.wait_for_selector(f"{PANEL} .r-violation")
    assert page.locator(f"{PANEL} td").all_inner_texts()[:2] == ["2", "3"]  # row 2 in round 3
    assert "position gap" in page.inner_text(f"{PANEL} h3")
    assert shown(page)["step"] == 3
    # the mark stands where the gap is first drawn, a round before the check can see it: its words say so
    mark = page.locator(".r-mark.gap")
    assert mark.inner_text() == "first gap opens"
    assert re.match(r"Round 2 chooses .* \(row 2\); round 3 feeds it", mark.get_attribute("title"))
    assert [text[:5] for text in page.locator(".r-pick").all_inner_texts()] == ["Row 1", "Row 3", "Row 2"]
    assert page.get_by_text("rows: longest prompt first").is_visible()


def test_the_writer_s_fields_are_explained_beside_it(open_page: Callable, static_site: str) -> None:
    asked = re.search(r"def step\(self, rows, (.*?)\):", snippet())[1]
    page = open_page()

    def serve(route: object) -> None:
        body = route.fetch().text().replace('{"viewer"', '{"writer": "class Trace: ...", "viewer"')
        route.fulfill(body=body, content_type="text/html")

    page.route(f"{static_site}/", serve)
    page.goto(f"{static_site}/")
    page.wait_for_selector(".r-lane .r-word")
    page.get_by_role("button", name="Check a trace").click()
    page.get_by_text("From your own engine").click()
    fields = page.locator(f"{PANEL} .r-fields")
    assert fields.locator("dt").all_inner_texts() == re.findall(r"(\w+)(?:=\(\))?", asked)
    assert all(len(text) > 30 for text in fields.locator("dd").all_inner_texts())
