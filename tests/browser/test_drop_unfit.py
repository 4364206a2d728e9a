"""A dropped file that is no trace, or not a whole one: what is wrong with it is said in words."""

import json
import re
from collections.abc import Callable
from pathlib import Path

import pytest

from engine.inspection import inspect
from engine.reading import Reading, open_trace
from tests.browser.check_panel import PANEL, broken_file, drop, shown, visit  # noqa: F401  the fixture `broken`
from tests.browser.hostile import HTML
from tests.engine.test_inspect import lines_of, recorded

REFUSED = {
    "empty.jsonl": (b"", "line 1: the trace is empty"),
    "words.jsonl": (b"hello\n", "line 1: not JSON"),
    "bytes.bin": (b"\x80\x00\xff", "not UTF-8"),
    "page.html": (HTML.encode(), "line 1: not JSON"),
    "header.jsonl": (lines_of(recorded("broken"))[0][:-40].encode(), "line 1: not JSON"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_is_no_trace_is_refused_in_words(open_page: Callable, static_site: str, tmp_path: Path, name: str) -> None:
    data, words = REFUSED[name]
    page = visit(open_page, f"{static_site}/?r=3")
    file = tmp_path / name
    file.write_bytes(data)
    page.set_input_files("#r-drop-file", file)
    page.wait_for_selector(f"{PANEL} .r-dropsaid.bad")
    assert words in page.inner_text(f"{PANEL} .r-dropsaid")
    assert name in page.inner_text(f"{PANEL} .r-dropsaid")
    assert shown(page)["source"]["name"] == "hero"  # the stage is not touched
    assert page.evaluate("window.hacked") is None


def test_a_file_that_is_too_large_is_refused_before_it_is_read(
    open_page: Callable, static_site: str, tmp_path: Path
) -> None:
    page = visit(open_page, static_site)
    file = tmp_path / "large.jsonl"
    with file.open("wb") as out:
        out.truncate((64 << 20) + 1)
    page.set_input_files("#r-drop-file", file)
    page.wait_for_selector(f"{PANEL} .r-dropsaid.bad")
    said = page.inner_text(f"{PANEL} .r-dropsaid")
    assert "65 MB" in said
    assert "python -m engine inspect large.jsonl" in said


def test_a_mark_in_front_of_the_text_is_none_of_the_trace(
    open_page: Callable, static_site: str, broken: Path, tmp_path: Path
) -> None:
    file = tmp_path / "marked.jsonl"
    file.write_bytes(b"\xef\xbb\xbf" + broken.read_bytes())
    page = visit(open_page, static_site)
    page.set_input_files("#r-drop-file", file)
    page.wait_for_selector(f"{PANEL} .r-checked")
    found = {lane.lane: bool(lane.first) for lane in inspect(Reading(open_trace(file)))}
    said = {lane: page.inner_text(f"{PANEL} .r-checked[data-lane={lane}] h3") for lane in found}
    assert {lane: "no invariant broken" not in text for lane, text in said.items()} == found


def test_a_cut_file_is_read_as_far_as_it_goes_and_an_empty_lane_is_not_called_clean(
    open_page: Callable, static_site: str, tmp_path: Path
) -> None:
    page = visit(open_page, static_site)
    file = tmp_path / "cut.jsonl"
    text = "".join(lines_of(recorded("broken")))
    file.write_text(text[: text.index('"lane":"dsd"', text.index("\n")) + 20])
    page.set_input_files("#r-drop-file", file)
    page.wait_for_selector(f"{PANEL} .r-checked")
    assert "last line is cut off" in page.inner_text(f"{PANEL} .r-dropsaid")
    nothing = page.locator(f"{PANEL} .r-checked[data-lane=dsd] h3")
    assert "nothing to check" in nothing.inner_text()
    assert nothing.get_attribute("class") == ""
    assert "no invariant broken" in page.inner_text(f"{PANEL} .r-checked[data-lane=good]")


def test_what_a_file_leaves_open_is_said_in_words(
    open_page: Callable, static_site: str, broken: Path, tmp_path: Path
) -> None:
    events = [json.loads(line) for line in broken.read_text().splitlines()]
    rows = len(events[0]["prompts"])
    for event in events:
        event.pop("seq", None)
        if event["event"] == "commit":
            event["kinds"] = ["z" * len(ids) for ids in event["emitted"]]
        if event["event"] == "propose":
            event["why"], event["source"] = event["why"][:1], event["source"][:1]
        if event["event"] == "compare":
            event.update(verdict="bug", index=1, expected=None, actual=None)
    sparse = tmp_path / "sparse.jsonl"
    sparse.write_text("".join(json.dumps(event) + "\n" for event in events))
    page = visit(open_page, static_site)
    drop(page, sparse)
    page.wait_for_function("window.__ragged.store.get().source.kind === 'file'")
    page.evaluate("window.__ragged.store.set({debug: true})")
    said = set()
    for row in range(rows):
        for index in page.evaluate(f"Object.keys(window.__ragged.store.get().fold.lanes.bsp.rows[{row}].ids)"):
            cell = f"{{lane: 'bsp', row: {row}, index: {index}}}"
            page.evaluate(f"window.__ragged.store.set({{row: {row}, cell: {cell}, inspect: true, step: {index} % 9}})")
            shown(page)
            said.update(page.locator("#ragged-stage").inner_text().split("\n"))
    assert [line for line in said if re.search(r"undefined|\bnull\b|NaN", line)] == []
    assert any("kind not in this trace" in line for line in said)
    assert any("a token that this trace does not name" in line for line in said)

    del events[1:]
    late = {"event": "propose", "lane": "bsp", "step": 3, "draft": 0, "tokens": [], "why": [], "source": []}
    sparse.write_text("".join(json.dumps(event) + "\n" for event in [*events, late]))
    drop(page, sparse)
    page.locator(f"{PANEL} .bad").wait_for()
    why = "propose of step 3 does not fit what came before it (propose before the first schedule of lane 'bsp')"
    assert f"line 2: {why}" in page.inner_text(f"{PANEL} .bad")
    with pytest.raises(ValueError, match=re.escape(why)):
        inspect(Reading(open_trace(sparse)))
