"""The gap and owner layers of the slot grid equal what Python computes from the folded trace, cell by cell."""

from collections.abc import Callable

import pytest

from engine.config import RunConfig
from engine.fold import fold
from engine.frames import Frame, LaneState
from engine.lines import dump_line, read_lines
from engine.stream import session
from tests.browser.conftest import HERO
from tests.browser.screens import Screen, every_screen, looks_right
from tests.engine.pairs import pair

PAD, RIGHT, HIDDEN, WRONG, PAD_SEEN = range(5)
PROMPTS = [[5, 9, 7, 3, 5, 9, 7], [11, 12], [2, 30, 31, 32, 30], [8]]
OWN = {"method": "eqspec", "proposer": "draft_model", "draft": "tiny", "k": 3, "max_new": 14, "dtype": "float64"}
LAYERS = """async ([text, view]) => {
  const { tensorOf } = await import('/viewer/tensor_data.js');
  const { fold, parseTrace } = await import('/viewer/fold.js');
  const state = fold(parseTrace(text));
  return Object.fromEntries(Object.values(state.lanes).map((lane) => [
    lane.name, lane.frames.map((frame) => tensorOf(state, lane, frame, view)),
  ]));
}"""


def hero() -> str:
    return HERO.read_text(encoding="utf-8")


def broken() -> str:
    """EQSPEC with entries that stay where they are, and with the mask of the round before."""
    lanes = {fault: RunConfig(**OWN, faults=frozenset({fault})) for fault in ("kv_not_moved", "stale_mask")}
    return "".join(dump_line(e) + "\n" for e in session(lanes, PROMPTS, pair=pair("llama")))


def gaps(frame: Frame, row: int) -> list[int | None]:
    kv, last, out = frame.fed[row], None, []
    for owner, position, seen in zip(kv.owner, kv.position, kv.visible, strict=True):
        out.append(None if owner < 0 or not seen else 0 if last is None else position - last - 1)
        last = position if owner >= 0 and seen else last
    return out


def owners(lane: LaneState, frame: Frame, row: int) -> list[int]:
    kv, i = frame.fed[row], frame.rows.index(row)
    known = lane.rows[row].ids[: frame.length[row] - len(frame.emitted[i])] + (frame.draft[i] if frame.draft else [])
    out, taken = [], set()
    for owner, token, seen in zip(kv.owner, kv.token, kv.visible, strict=True):
        right = 0 <= owner < len(known) and known[owner] == token and owner not in taken
        out.append((PAD_SEEN if seen else PAD) if owner < 0 else HIDDEN if not seen else RIGHT if right else WRONG)
        if out[-1] == RIGHT:
            taken.add(owner)
    return out


@pytest.mark.parametrize("text", [hero, broken], ids=["hero", "broken"])
def test_every_cell_of_both_layers(open_page: Callable, static_site: str, text: Callable[[], str]) -> None:
    trace = text()
    state = fold(read_lines(trace.splitlines()))
    page = open_page(f"{static_site}/blank")
    told = {view: page.evaluate(LAYERS, [trace, view]) for view in ("gaps", "owners")}
    seen = set()
    for name, lane in state.lanes.items():
        for n, frame in enumerate(lane.frames):
            rows = told["gaps"][name][n]["rows"]
            assert told["gaps"][name][n]["z"] == [gaps(frame, row) for row in rows], f"{name}, step {frame.step}"
            expected = [owners(lane, frame, row) for row in rows]
            assert told["owners"][name][n]["z"] == expected, f"{name}, step {frame.step}"
            seen |= {code for line in expected for code in line}
            for row, line in zip(rows, expected, strict=True):
                assert told["owners"][name][n]["own"][str(row)][0] == line.count(RIGHT)
    assert seen == ({PAD, RIGHT, HIDDEN} if text is hero else {PAD, RIGHT, HIDDEN, WRONG, PAD_SEEN})


@pytest.mark.parametrize(("key", "view", "name"), [("5", "gaps", "Gaps"), ("6", "owners", "KV owner")])
def test_their_keys_and_links(open_page: Callable, static_site: str, key: str, view: str, name: str) -> None:
    page = open_page(f"{static_site}/?r=4")
    page.wait_for_selector(".r-lane .r-word")
    page.locator("#ragged-stage").focus()
    page.keyboard.press(key)
    page.locator("#ragged-tensors").scroll_into_view_if_needed()
    page.wait_for_function("window.__ragged.tensors?.idle()")
    pressed = page.locator("#ragged-tensors [aria-pressed=true]")
    assert pressed.inner_text() == name
    page.wait_for_function("view => location.search.includes(`view=${view}`)", arg=view)
    label = page.locator("#ragged-tensors [role=img]:visible").nth(1).get_attribute("aria-label")
    assert name in label
    assert "row 2" in label


@every_screen
def test_all_layers_one_after_another_and_a_slot_opens_the_inspector(
    open_page: Callable, static_site: str, screen: Screen
) -> None:
    page = open_page(f"{static_site}/?r=4&row=1", **screen.options)
    page.wait_for_selector(".r-lane .r-word")
    page.locator("#ragged-tensors").scroll_into_view_if_needed()
    if screen.width == 390:
        page.get_by_role("button", name="Show the tensors").click()
    buttons = page.locator("#ragged-tensors [data-view]:not([data-view=all])")
    buttons.first.wait_for()  # the tensors are drawn when they come into sight
    assert buttons.count() == 6
    for n in range(6):
        buttons.nth(n).click()
        page.wait_for_function("window.__ragged.tensors?.idle()")
        shown = page.locator(".rg-tn-block:visible")
        assert shown.locator(".rg-tn-why b").inner_text() == buttons.nth(n).inner_text()
        assert shown.locator(".rg-tn-plot [role=img], [role=img].rg-tn-plot").count() == 2
        looks_right(page, screen, "#ragged-tensors", ".rg-tn-block:not([hidden]) .rg-tn-why")
    slot = page.locator(".rg-tn-wrap:visible").last
    slot.focus()
    for key in ("ArrowLeft", "ArrowLeft", "Enter"):
        page.keyboard.press(key)
    page.wait_for_selector("#ragged-inspector:not([hidden])")
    assert page.evaluate("window.__ragged.store.get().cell.lane") == "bsp"
    looks_right(page, screen, "#ragged-inspector")


@pytest.mark.parametrize("seen", [True, False])
def test_what_is_printed_from_the_dark_theme_has_light_plots(open_page: Callable, static_site: str, seen: bool) -> None:
    page = open_page(
        f"{static_site}/?t=hero&r=3", viewport={"width": 1440, "height": 900 if seen else 400}, color_scheme="dark"
    )
    page.locator("#ragged-tensors").scroll_into_view_if_needed()
    page.wait_for_function("document.querySelectorAll('.rg-tn-plot .heatmaplayer image').length === 4")
    if not seen:
        page.evaluate("scrollTo(0, 0)")
    fills = """() => [...document.querySelectorAll('.rg-tn-plot')].flatMap((plot) => plot.data ?? [])
      .filter(({type}) => type === 'heatmap').map(({colorscale}) => colorscale[0][1])"""
    dark = page.evaluate(fills)
    page.evaluate(f"""() => matchMedia('print').addEventListener('change', ({{matches}}) => {{
      if (matches) window.printed = ({fills})();
    }})""")
    page.pdf()
    assert page.evaluate("window.printed") == ["#f1f1ef"] * 4
    assert dark == ["#2a2f36"] * 4
    page.locator("#ragged-tensors").scroll_into_view_if_needed()
    page.wait_for_function(f"({fills})().every((fill) => fill === '#2a2f36')")
