"""A dropped trace: read and checked in the browser, its first violation on screen, taken along as link and JSON."""

import json
from collections.abc import Callable
from pathlib import Path

from engine.config import RunConfig
from engine.fold import fold
from engine.inspection import inspect
from engine.lines import dump_line, read_lines
from engine.reading import Reading
from engine.stream import session
from tests.browser.check_panel import PANEL, broken_file, drop, shown, visit  # noqa: F401  the fixture `broken`
from tests.browser.screens import Screen, every_screen, looks_right
from tests.engine.pairs import pair
from tests.engine.test_inspect import lines_of, recorded


@every_screen
def test_the_first_violation_is_on_screen_with_row_round_slot_expected_actual(
    open_page: Callable, static_site: str, broken: Path, screen: Screen
) -> None:
    lanes = {lane.lane: lane.first for lane in inspect(Reading(broken.read_text().splitlines(keepends=True)))}
    page = visit(open_page, static_site, **screen.options)
    drop(page, broken)
    page.wait_for_selector(f"{PANEL} .r-checked")
    for lane, first in lanes.items():
        block = page.locator(f"{PANEL} .r-checked[data-lane={lane}]")
        if not first:
            assert "no invariant broken" in block.inner_text()
            continue
        v = first.violation
        cells = [str(n) for n in (v.row + 1, first.step, v.slot, v.expected, v.actual)]
        assert block.locator("thead th").all_inner_texts() == ["Row", "Round", "Slot", "Expected", "Actual"]
        assert block.locator("td").all_inner_texts() == cells
        assert v.message in block.inner_text()
    assert "mine.jsonl, checked here." in page.inner_text("h1")
    state = shown(page)
    first = lanes["bsp"]
    assert (state["right"], state["step"], state["row"]) == ("bsp", first.step, first.violation.row)
    assert page.locator(f"{PANEL} .r-violation").first.is_visible()
    looks_right(page, screen, PANEL, f"{PANEL} td", f"{PANEL} .r-found")
    page.locator(f"{PANEL} .r-checked[data-lane=dsd]").get_by_role("button", name="Show it").click()
    state = shown(page)
    assert (state["right"], state["step"], state["row"]) == ("dsd", lanes["dsd"].step, lanes["dsd"].violation.row)


def test_show_it_leads_to_the_slot_in_the_view_that_shows_it_and_the_caption_says_why(
    open_page: Callable, static_site: str, tmp_path: Path
) -> None:
    config = {"proposer": "draft_model", "draft": "tiny", "k": 3, "max_new": 14, "dtype": "float64"}
    lanes = {"eqspec": RunConfig(method="eqspec", **config)}
    lanes["eqspec_kv_not_moved"] = RunConfig(method="eqspec", **config, faults=frozenset({"kv_not_moved"}))
    file = tmp_path / "cut.jsonl"
    events = session(lanes, [[5, 9, 7, 3, 5, 9, 7] * 2, [5, 9, 7, 3, 5, 9, 7]], pair=pair("qwen3"))
    file.write_text("".join(dump_line(e) + "\n" for e in events))
    frames = fold(read_lines(file.read_text().splitlines())).lanes["eqspec_kv_not_moved"].frames
    frame = next(f for f in frames if f.violations)
    row = frame.violations[0]["row"]
    page = visit(open_page, static_site)
    drop(page, file)
    page.locator(f"{PANEL} .r-checked[data-lane=eqspec_kv_not_moved]").get_by_role("button", name="Show it").click()
    state = shown(page)
    assert (state["right"], state["step"], state["row"]) == ("eqspec_kv_not_moved", frame.step, row)
    assert (frame.violations[0]["invariant"], state["view"]) == ("mask", "mask")
    page.wait_for_function(
        """() => {
          const boxes = [...document.querySelectorAll('.rg-tn-block:not([hidden]) .rg-tn-broken')];
          return window.__ragged.tensors.idle() && boxes.length === 2
            && boxes.map((box) => box.getBoundingClientRect()).every((r) => r.top >= 0 && r.bottom <= innerHeight);
        }"""
    )
    said = page.locator(".r-sentence")
    assert 0 <= said.bounding_box()["y"] < 900
    kv, held = frame.before[row], frame.length[row] - len(frame.emitted[frame.rows.index(row)]) - 1
    pads = sum(owner < 0 and seen for owner, seen in zip(kv.owner, kv.visible, strict=True))
    gone = sum(owner not in kv.owner for owner in range(held))
    assert min(pads, gone) > 1
    words = f"In round {frame.step - 1} the mask moved {pads} slots to the left, the entries did not."
    assert (
        f"{words} So the model reads {pads} pads as words and misses {gone} entries that are gone." in said.inner_text()
    )
    assert page.locator(".rg-tn-fact:visible", has_text=f"{pads} pads are seen as words").count() == 1


def test_the_link_asks_for_the_file_and_then_leads_to_the_violation(
    open_page: Callable, static_site: str, broken: Path, tmp_path: Path
) -> None:
    page = visit(open_page, static_site, permissions=["clipboard-read", "clipboard-write"])
    page.set_input_files("#r-drop-file", broken)
    block = page.locator(f"{PANEL} .r-checked[data-lane=dsd]")
    block.get_by_role("button", name="Copy link").click()
    page.wait_for_selector(f"{PANEL} [role=status]:has-text('Link copied')")
    link = page.evaluate("navigator.clipboard.readText()")
    block.get_by_role("button", name="Copy as JSON").click()
    page.wait_for_selector(f"{PANEL} [role=status]:has-text('JSON copied')")
    told = json.loads(page.evaluate("navigator.clipboard.readText()"))
    first = next(
        lane.first for lane in inspect(Reading(broken.read_text().splitlines(keepends=True))) if lane.lane == "dsd"
    )
    v = first.violation
    expected = {"lane": "dsd", "step": first.step, "invariant": v.invariant, "row": v.row, "slot": v.slot}
    expected |= {"expected": v.expected, "actual": v.actual, "message": v.message, "later_steps": first.contaminated}
    assert expected.items() <= told.items()
    assert told["link"] == link

    other = open_page(link)
    other.wait_for_selector(PANEL)
    assert "mine.jsonl" in other.inner_text(f"{PANEL} .r-dropsaid")
    wrong = tmp_path / "other.jsonl"
    wrong.write_text("".join(lines_of(recorded("exact"))))
    other.set_input_files("#r-drop-file", wrong)
    other.wait_for_selector(f"{PANEL} .r-dropsaid:has-text('not the file')")
    other.set_input_files("#r-drop-file", broken)
    other.wait_for_selector(f"{PANEL} .r-checked.r-checked[data-lane=dsd]")
    state = shown(other)
    assert (state["right"], state["step"], state["row"]) == ("dsd", first.step, v.row)
