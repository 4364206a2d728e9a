"""Names and texts of a dropped file are shown as they are: no HTML runs, none turns our own text about."""

import json
import re
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.browser.check_panel import PANEL, broken_file, drop, shown, visit  # noqa: F401  the fixture `broken`
from tests.browser.hostile import HTML, hostile


def test_html_in_a_dropped_file_is_text_everywhere(open_page: Callable, static_site: str, tmp_path: Path) -> None:
    page = visit(open_page, static_site)
    file = tmp_path / "<b>bold.jsonl"
    file.write_text(hostile())
    page.set_input_files("#r-drop-file", file)
    page.wait_for_selector(f"{PANEL} .r-checked")
    assert page.locator(".r-lane .r-word.wrong").count() > 0  # a verdict in a word of its own is a difference
    page.locator("#ragged-stage").focus()
    for key in ("v", "d", "d", "i", "2", "3", "4", "ArrowRight", "End"):
        page.keyboard.press(key)
        shown(page)
    page.locator("#ragged-tensors").scroll_into_view_if_needed()
    page.wait_for_function("window.__ragged?.tensors?.idle()")
    assert page.locator("#ragged-stage img, #ragged-stage b:has-text('bold')").count() == 0
    assert page.evaluate("window.hacked") is None
    assert HTML in page.inner_text("h1")
    assert "<b>bold.jsonl" in page.inner_text("h1")


@pytest.mark.parametrize("name", ["constructor", "__proto__", 'a"]b', "a.b c"])
def test_a_lane_of_any_name_is_shown_by_that_name(
    open_page: Callable, static_site: str, broken: Path, tmp_path: Path, name: str
) -> None:
    file = tmp_path / "named.jsonl"
    file.write_text(broken.read_text().replace('"lane":"bsp"', f'"lane":{json.dumps(name)}'))
    page = visit(open_page, static_site)
    page.set_input_files("#r-drop-file", file)
    page.wait_for_selector(f"{PANEL} .r-checked")
    shown(page)  # the report may come a frame before the headline
    assert name in page.inner_text("h1")
    page.get_by_label("Upper lane").select_option(name)
    assert shown(page)["left"] == name
    page.locator(".r-lane.left .r-word").first.click()
    page.wait_for_selector("#ragged-inspector")
    page.keyboard.press("Escape")
    page.wait_for_timeout(600)
    query = page.evaluate("location.search")
    assert re.search("t=file", query)
    page.evaluate("dispatchEvent(new PopStateEvent('popstate'))")
    assert shown(page)["left"] == name


#: Where a control that turns text about stands beside other text: in no element of its own, or in an attribute.
TURNED = """() => [...document.querySelectorAll('#ragged-stage *')].flatMap((node) => {
  const turns = (text) => /[\\u202a-\\u202e\\u2066-\\u2069]/.test(text);
  const own = [...node.childNodes].filter((child) => child.nodeType === 3 && turns(child.data));
  const text = ({ name }) => !/^data-|^(href|value|download)$/.test(name);
  const named = [...node.attributes].filter((attribute) => text(attribute) && turns(attribute.value));
  if (node.matches('.r-prompt')) return []; // the prompt is all that is in it
  return [...own.map(({ data }) => data), ...named.map(({ value }) => value)];
})"""


def test_a_name_that_turns_text_about_turns_none_of_ours(
    open_page: Callable, static_site: str, broken: Path, tmp_path: Path
) -> None:
    turn = "abc\u202edef"
    events = [json.loads(line) for line in broken.read_text().splitlines()]
    for event in events:
        if event.get("lane") == "dsd":
            event["lane"] = turn
        if event["event"] == "header":
            event["lanes"] = [
                {**spec, "lane": turn if spec["lane"] == "dsd" else spec["lane"]} for spec in event["lanes"]
            ]
            event["prompts"] = [{**prompt, "text": turn} for prompt in event["prompts"]]
            event["models"]["target"]["name"] = turn
        if event["event"] == "pieces":
            event["pieces"] = [[token, turn if token % 2 else text, ""] for token, text, _ in event["pieces"]]
        if event["event"] == "propose":
            event["why"], event["source"] = ([turn for _ in event[name]] for name in ("why", "source"))
    file = tmp_path / f"{turn}.jsonl"
    file.write_text("".join(json.dumps(event) + "\n" for event in events))
    page = visit(open_page, static_site)
    drop(page, file)
    page.wait_for_function("window.__ragged.store.get().source.kind === 'file'")
    page.evaluate("name => window.__ragged.store.set({right: name, left: 'bsp', debug: true})", turn)
    page.locator("#ragged-stage").focus()
    for key in ("v", "d", "i", "m", "2", "1", "ArrowRight", "End"):
        page.keyboard.press(key)
        shown(page)
        assert page.evaluate(TURNED) == []
    for index in page.evaluate("name => Object.keys(window.__ragged.store.get().fold.lanes[name].rows[0].ids)", turn):
        page.evaluate(
            "([lane, index]) => window.__ragged.store.set({row: 0, cell: {lane, row: 0, index}, inspect: true})",
            [turn, int(index)],
        )
        shown(page)
        assert page.evaluate(TURNED) == []
    assert "abcU+202Edef.jsonl" in page.inner_text("h1")
    assert page.locator(".r-name", has_text="abcU+202Edef").count() > 0
    none = tmp_path / f"no{turn}.txt"
    none.write_text(turn)
    drop(page, none)
    page.locator(f"{PANEL} .bad", has_text="noabcU+202Edef.txt").wait_for()
    assert page.evaluate(TURNED) == []
