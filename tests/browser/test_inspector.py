"""The inspector on the recorded hero: every number equals the trace and stands in the field named beside it."""

import json
import re
from collections.abc import Callable

import pytest

from engine.fold import Fold, fold
from engine.lines import read_lines
from tests.browser.conftest import HERO
from tests.browser.screens import Screen, every_screen, looks_right

PANEL = "#ragged-inspector"
STATE = "(({fold, ...rest}) => rest)(window.__ragged.store.get())"


@pytest.fixture(scope="module")
def events() -> list[dict]:
    return [json.loads(line) for line in HERO.read_text(encoding="utf-8").splitlines()]


@pytest.fixture(scope="module")
def hero(events: list[dict]) -> Fold:
    return fold(read_lines(map(json.dumps, events)))


def visit(open_page: Callable, url: str, **options: object) -> object:
    page = open_page(url, **options)
    page.wait_for_selector(".r-lane .r-word")
    return page


def settle(page: object) -> dict:
    page.evaluate("() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))")
    return page.evaluate(STATE)


def inspect(page: object, lane: str, row: int, index: int) -> None:
    cell = {"lane": lane, "row": row, "index": index}
    page.evaluate("(cell) => window.__ragged.store.set({cell, inspect: true})", cell)


def facts(page: object) -> dict[str, dict]:
    """{fact: {value, source}} of the open inspector."""
    settle(page)
    read = """(nodes) => Object.fromEntries(nodes.map((node) => [node.dataset.fact, {
        value: (node.querySelector('.value') ?? node.querySelector('dd')).textContent,
        source: node.querySelector('code')?.textContent ?? '',
    }]))"""
    return page.eval_on_selector_all(f"{PANEL} .r-fact", read)


def at_path(event: dict, path: str) -> object:
    """The value at "emitted[1][0]" of an event."""
    value: object = event
    for name, index in re.findall(r"(\w+)|\[(\d+)\]", path):
        value = value[int(index)] if index else value[name]
    return value


def word(lane: str, row: int, n: int) -> str:
    return f'.r-lane[data-lane={lane}][data-row="{row}"] .r-word >> nth={n}'


def first_wrong(hero: Fold) -> tuple[int, int, int]:
    """(row, generated token, step) of the first row that BSP gets wrong."""
    row = next(r for r, s in hero.lanes["bsp"].rows.items() if s.compare["verdict"] == "bug")
    n, count = hero.lanes["bsp"].rows[row].compare["index"], 0
    for frame in hero.lanes["bsp"].frames:
        count += len(frame.emitted[frame.rows.index(row)]) if row in frame.rows else 0
        if count > n:
            return row, n, frame.step
    raise AssertionError


def test_the_first_click_opens_it_in_place_and_escape_closes_it(
    open_page: Callable, static_site: str, hero: Fold
) -> None:
    row, _, step = first_wrong(hero)
    page = visit(open_page, f"{static_site}/?r={step}&row={row}")
    assert not page.locator(PANEL).is_visible()
    target = page.locator(word("bsp", row, 1))
    before = target.bounding_box()
    target.click()
    page.wait_for_selector(PANEL)
    assert target.bounding_box() == before
    assert page.evaluate("document.querySelectorAll('dialog[open]').length") == 0
    page.wait_for_function("location.search.includes('open=cell')")
    link = page.url
    page.keyboard.press("Escape")
    page.wait_for_selector(PANEL, state="hidden")
    assert settle(page)["cell"] is None
    page.goto(link)
    page.wait_for_selector(PANEL)
    target.click()  # the pinned cell once more
    page.wait_for_selector(PANEL, state="hidden")
    page.focus(".r-board")
    page.keyboard.press("d")  # a jump pins a cell; only a choice opens the panel
    assert settle(page)["cell"] is not None
    assert not page.locator(PANEL).is_visible()


def test_every_named_field_holds_the_number_beside_it(
    open_page: Callable, static_site: str, hero: Fold, events: list[dict]
) -> None:
    row, n, step = first_wrong(hero)
    page = visit(open_page, f"{static_site}/?r={step}&row={row}")
    prompt = hero.lanes["bsp"].rows[row].prompt
    checked = 0
    for index in (prompt, prompt + n - 1, prompt + n):
        inspect(page, "bsp", row, index)
        shown = facts(page)
        for name in ("id", "first", "second", "choice"):
            path, at = re.fullmatch(r"(.+), step (\d+)", shown[name]["source"]).groups()
            kind, field = path.split(",")[0].split(".", 1)
            event = next(e for e in events if (e["event"], e["lane"], e["step"]) == (kind, "bsp", int(at)))
            value = at_path(event, field)
            text = f"{value:.3f}" if isinstance(value, float) else str(value)
            assert text in shown[name]["value"], name
            checked += 1
        assert int(shown["id"]["value"]) == hero.lanes["bsp"].rows[row].ids[index]
    assert checked == 12


def test_position_slot_and_gap_are_those_of_the_tensors(open_page: Callable, static_site: str, hero: Fold) -> None:
    row, n, step = first_wrong(hero)
    page = visit(open_page, f"{static_site}/?r={step}&row={row}")
    for lane in ("bsp", "eqspec"):
        frame = next(f for f in hero.lanes[lane].frames if f.step == step)
        kv, prompt = frame.after[row], hero.lanes[lane].rows[row].prompt
        for index in (prompt - 1, prompt, prompt + n - 1):
            inspect(page, lane, row, index)
            shown = facts(page)
            slot = next(s for s, owner in enumerate(kv.owner) if owner == index and kv.visible[s])
            left = next(s for s, owner in enumerate(kv.owner) if owner == index - 1 and kv.visible[s])
            assert shown["slot"]["value"] == str(slot)
            assert shown["position"]["value"] == str(kv.position[slot])
            base = kv.position[next(s for s, owner in enumerate(kv.owner) if owner == 0)]
            assert shown["expected"]["value"] == str(index + base)
            gap = kv.position[slot] - kv.position[left] - 1
            assert (f"a gap of +{gap}" in shown["neighbour"]["value"]) == (gap > 0)
            assert shown["visible"]["value"].startswith("yes")


def test_who_drafted_it_and_what_was_wasted(open_page: Callable, static_site: str, hero: Fold) -> None:
    lane = hero.lanes["eqspec"]
    frame = next(f for f in lane.frames if any(0 < a < k for a, k in zip(f.accepted, f.lens, strict=True)))
    i = next(i for i, (a, k) in enumerate(zip(frame.accepted, frame.lens, strict=True)) if 0 < a < k)
    row, kept, drafts = frame.rows[i], frame.accepted[i], frame.lens[i]
    start = frame.length[row] - len(frame.emitted[i])
    page = visit(open_page, f"{static_site}/?r={frame.step}&row={row}&cell=eqspec.{row}.{start}&open=cell")
    shown = facts(page)
    assert shown["drafted"]["value"] == f"by n-gram lookup, draft 1 of {drafts}"
    assert f"the row kept {kept} of {drafts}" in shown["accepted"]["value"]
    assert f"{drafts - kept} rejected draft" in shown["wasted"]["value"]
    assert "propose.q" in shown["q"]["value"]  # absent: n-grams have none, and the field is named
    page.get_by_role("button", name="Token after").click()
    assert settle(page)["cell"]["index"] == start + 1


def test_a_tensor_cell_opens_it_below_the_tensors(open_page: Callable, static_site: str, hero: Fold) -> None:
    row, _, step = first_wrong(hero)
    page = visit(open_page, f"{static_site}/?r={step}&row={row}", viewport={"width": 1440, "height": 1000})
    page.locator(word("bsp", row, 0)).click()  # open above them first
    page.wait_for_selector(PANEL)
    page.wait_for_function(
        """() => {
          const tensors = document.querySelector('#ragged-tensors');
          tensors.scrollIntoView({block: 'start', behavior: 'instant'}); // again: what is above them may still grow
          return tensors.querySelector('.js-plotly-plot .plot-container');
        }"""
    )
    wrap = page.locator(".rg-tn-block:not([hidden]) .rg-tn-wrap").nth(1)
    wrap.evaluate("(node) => node.scrollIntoView({block: 'center', behavior: 'instant'})")
    page.wait_for_function("window.__ragged.tensors?.idle()")
    box = wrap.bounding_box()
    page.mouse.click(box["x"] + box["width"] * 0.4, box["y"] + 40)
    settle(page)
    page.wait_for_timeout(300)
    cell = settle(page)["cell"]
    assert cell["lane"] == "bsp"
    assert cell["index"] < hero.lanes["bsp"].rows[cell["row"]].prompt  # not the word any more
    after = wrap.bounding_box()
    assert abs(after["y"] - box["y"]) <= 2
    assert page.locator(PANEL).bounding_box()["y"] > after["y"]


def test_with_the_keyboard_alone(open_page: Callable, static_site: str, hero: Fold) -> None:
    row, _, step = first_wrong(hero)
    page = visit(open_page, f"{static_site}/?r={step}&row={row}")
    page.focus(".r-board")
    for _ in range(20):
        page.keyboard.press("Tab")
        if page.evaluate("document.activeElement.matches('.r-word')"):
            break
    page.keyboard.press("ArrowRight")
    page.keyboard.press("Enter")
    page.wait_for_selector(PANEL)
    chosen = settle(page)["cell"]
    assert page.evaluate("document.activeElement.matches('.r-word')")  # reading on needs no way back
    page.keyboard.press("i")
    page.wait_for_function("document.activeElement.id === 'r-inspect-title'")
    page.keyboard.press("Tab")
    page.keyboard.press("Enter")  # token before
    assert settle(page)["cell"] == {**chosen, "index": chosen["index"] - 1}
    assert page.evaluate("document.activeElement.dataset.key") == "inspect/previous"
    page.keyboard.press("Escape")
    page.wait_for_selector(PANEL, state="hidden")
    page.wait_for_function("document.activeElement.matches('.r-word')")


def test_on_a_phone_it_stands_below_the_row_and_the_buttons_stay_under_the_finger(
    open_page: Callable, static_site: str, hero: Fold
) -> None:
    row, _, step = first_wrong(hero)
    page = visit(
        open_page, f"{static_site}/?r={step}&row={row}", viewport={"width": 390, "height": 844}, has_touch=True
    )
    page.locator(word("bsp", row, 1)).tap()
    page.wait_for_selector(PANEL)
    tops = [page.locator(place).bounding_box()["y"] for place in (".r-board", PANEL, ".r-transport")]
    assert tops == sorted(tops)
    back = page.locator(".r-btn.back")
    back.evaluate("(node) => node.scrollIntoView({block: 'end', behavior: 'instant'})")  # not at the page's end
    before = back.bounding_box()["y"]
    for _ in range(step):
        back.tap()
        settle(page)
        assert abs(back.bounding_box()["y"] - before) <= 2
    assert "not written" in page.locator(PANEL).inner_text()
    assert page.evaluate("document.documentElement.scrollWidth") <= 390


def test_every_token_of_every_lane_at_every_round_has_its_facts(
    open_page: Callable, static_site: str, hero: Fold
) -> None:
    page = visit(open_page, f"{static_site}/?r=0")
    strange = page.evaluate("""async () => {
      const {factsOf} = await import('./viewer/facts.js');
      const {store} = window.__ragged;
      const state = store.get();
      const out = [];
      for (const [lane, {rows, frames}] of Object.entries(state.fold.lanes)) {
        for (const {row, ids} of Object.values(rows)) {
          for (let step = 0; step <= frames.at(-1).step; step += 1) {
            for (let index = 0; index < ids.length; index += 1) {
              const found = factsOf({...state, step}, {lane, row, index});
              const words = JSON.stringify(found);
              if (!found || /undefined|NaN|\\{\\w+\\}|\\[object/.test(words)) out.push([lane, row, step, index, words]);
            }
          }
        }
      }
      return out.slice(0, 3);
    }""")
    assert strange == []


def test_a_press_that_takes_the_focus_from_a_word_still_clicks(
    open_page: Callable, static_site: str, hero: Fold
) -> None:
    row, n, step = first_wrong(hero)
    page = visit(open_page, f"{static_site}/?r={step}&row={row}", viewport={"width": 1440, "height": 1000})
    page.locator(word("bsp", row, n)).click()
    page.wait_for_selector(PANEL)
    page.get_by_role("button", name="Token before").hover()
    page.locator(word("bsp", row, n - 2)).focus()
    settle(page)
    page.mouse.down()
    settle(page)  # what the lost focus changes is drawn before the finger is up
    page.mouse.up()
    assert settle(page)["cell"]["index"] == hero.lanes["bsp"].rows[row].prompt + n - 1


@every_screen
def test_the_wrong_word_tells_its_numbers_and_gives_the_way_to_the_next(
    open_page: Callable, static_site: str, hero: Fold, screen: Screen
) -> None:
    row, n, step = first_wrong(hero)
    bsp = hero.lanes["bsp"].rows[row]
    page = visit(open_page, f"{static_site}/?r={step}&row={row}&open=debug", **screen.options)
    page.locator(f'.r-lane[data-lane=bsp][data-row="{row}"] .r-word.wrong').click()
    page.wait_for_selector(PANEL)
    shown = facts(page)
    assert shown["id"]["value"] == str(bsp.ids[bsp.prompt + n])
    assert re.fullmatch(r"-?\d+\.\d{3}", shown["first"]["value"].split()[-1])
    looks_right(page, screen, PANEL, f"{PANEL} .r-fact .value")
    box = page.locator(PANEL).bounding_box()
    below = ".r-transport" if screen.width > 640 else ".r-board"  # on a phone right below the row
    gap = box["y"] - sum(page.locator(below).bounding_box()[side] for side in ("y", "height"))
    assert 0 <= gap < 130
    page.get_by_role("button", name="Token before").click()
    assert settle(page)["cell"]["index"] == bsp.prompt + n - 1
    assert facts(page)["id"]["value"] == str(bsp.ids[bsp.prompt + n - 1])
