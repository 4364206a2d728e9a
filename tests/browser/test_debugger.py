"""The divergence debugger on the recorded hero: texts aligned, the first wrong token, what broke first, rounding."""

import copy
import json
import re
from collections.abc import Callable
from pathlib import Path

import pytest

from engine.fold import Fold, fold
from engine.lines import read_lines
from tests.browser.conftest import HERO
from tests.browser.screens import Screen, every_screen, looks_right

STATE = "(({fold, ...rest}) => rest)(window.__ragged.store.get())"


@pytest.fixture(scope="module")
def hero() -> Fold:
    return fold(read_lines(HERO.read_text(encoding="utf-8").splitlines()))


def wrong_rows(hero: Fold) -> list[int]:
    return [r for r, state in hero.lanes["bsp"].rows.items() if state.compare["verdict"] == "bug"]


def visit(open_page: Callable, url: str, **options: object) -> object:
    page = open_page(url, **options)
    page.wait_for_selector(".r-lane .r-compare")
    return page


def state(page: object) -> dict:
    page.evaluate("() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))")
    return page.evaluate(STATE)


def piece(hero: Fold, token: int) -> str:
    return "end" if token in hero.header.stop_ids else hero.pieces[token][0].strip()


def test_both_texts_are_aligned_and_the_first_wrong_token_is_ringed(
    open_page: Callable, static_site: str, hero: Fold
) -> None:
    page = visit(open_page, f"{static_site}/?r=1")
    assert not page.locator("#ragged-debugger").is_visible()
    for row in wrong_rows(hero):
        page.locator(f'[data-key="compare/{row}"]').click()
        bsp, alone = hero.lanes["bsp"].rows[row], hero.lanes["eqspec"].rows[row]
        page.wait_for_selector(f'[data-key="pair/{row}/0"]')
        own, ref = bsp.ids[bsp.prompt :], alone.ids[alone.prompt :]
        pairs = page.locator("#ragged-debugger .r-pair[data-index]")
        assert pairs.count() == max(len(own), len(ref))
        wrong = bsp.compare["index"]
        for n in (wrong - 1, wrong):
            shown = [pairs.nth(n).locator(side).inner_text().strip("·") for side in (".alone", ".own")]
            assert shown == [piece(hero, ref[n]), piece(hero, own[n])]
        states = page.evaluate("""[...document.querySelectorAll('#ragged-debugger .r-pair[data-index]')]
            .map((node) => node.className.split(' ').find((name) => !['r-pair', 'now'].includes(name)))""")
        assert states.index("wrong") == wrong
        assert set(states[wrong + 1 :]) <= {"later"}
        assert set(states[:wrong]) <= {"whole", "torn"}
        # torn: chosen by a forward that was fed the broken entry
        first = next((f, v) for f in hero.lanes["bsp"].frames for v in f.violations if v["row"] == row)
        owner = first[0].fed[row].owner[first[1]["slot"]]
        assert states[:wrong].count("torn") == max(0, bsp.prompt + wrong - owner - 1)
        words = page.locator("#ragged-debugger .r-way").inner_text()
        assert re.search(rf"cause: .*, round {first[0].step}\b", words)  # the repaired run heals
        assert f"first wrong: token {wrong + 1}" in words


def test_the_sum_of_gaps_the_logits_and_the_noise_come_from_the_trace(
    open_page: Callable, static_site: str, hero: Fold
) -> None:
    row = wrong_rows(hero)[-1]
    page = visit(open_page, f"{static_site}/?r=1&row={row}&open=debug")
    bsp = hero.lanes["bsp"].rows[row]
    frame, i, j = next(
        (f, f.rows.index(row), bsp.compare["index"] - before)
        for f, before in emitted(hero, "bsp", row)
        if before <= bsp.compare["index"] < before + len(f.emitted[f.rows.index(row)])
    )
    fed = frame.fed[row]
    query = frame.slots[i] + j
    places = [
        p
        for s, p in enumerate(fed.position[: query + 1])
        if fed.owner[s] >= 0 and (fed.visible[s] or s >= frame.slots[i])
    ]
    total = places[-1] - places[0] + 1 - len(places)
    assert f"{total} position" in page.locator("#ragged-debugger .r-way").inner_text()
    table = page.locator(".r-scales").inner_text()
    for value in bsp.compare["logits"]["reference"] + frame.top2[i][j][1:]:
        assert f"{value:.3f}" in table
    assert f"verify.top2[{i}][{j}], step {frame.step}" in table
    assert "compare.logits.reference" in table
    reading = page.locator(".r-reading").inner_text()
    assert str(bsp.compare["noise"]) in reading
    assert "not rounding" in reading


def emitted(hero: Fold, lane: str, row: int) -> list[tuple]:
    """The row's frames with the number of tokens generated before each."""
    out, before = [], 0
    for frame in hero.lanes[lane].frames:
        if row in frame.rows:
            out.append((frame, before))
            before += len(frame.emitted[frame.rows.index(row)])
    return out


def test_with_the_keyboard_alone(open_page: Callable, static_site: str, hero: Fold) -> None:
    row = wrong_rows(hero)[0]
    page = visit(open_page, f"{static_site}/?r=0&row={row}")
    page.focus(".r-board")
    page.keyboard.press("d")
    at = state(page)
    assert not at["debug"]
    assert at["cell"]["index"] == hero.lanes["bsp"].rows[row].prompt + hero.lanes["bsp"].rows[row].compare["index"]
    page.keyboard.press("d")
    page.wait_for_function("document.activeElement.id === 'r-debug-title'")
    for _ in range(40):
        page.keyboard.press("Tab")
        if page.evaluate("document.activeElement.matches('.r-pair')"):
            break
    assert page.evaluate("document.activeElement.classList.contains('wrong')")
    page.keyboard.press("Home")
    page.keyboard.press("ArrowRight")
    page.keyboard.press("Enter")
    at = state(page)
    assert at["cell"] == {"lane": "bsp", "row": row, "index": hero.lanes["bsp"].rows[row].prompt + 1}
    assert page.evaluate("document.activeElement.dataset.generated") == "1"
    page.keyboard.press("v")  # the first violated invariant
    first = next(f.step for f in hero.lanes["bsp"].frames for v in f.violations if v["row"] == row)
    assert [state(page)[key] for key in ("step", "view", "tensorsOpen")] == [first, "positions", True]
    while state(page)["debug"]:
        page.keyboard.press("Escape")
    assert page.evaluate("document.activeElement.closest('.r-board') !== null")
    assert not page.locator("#ragged-debugger").is_visible()


def test_playing_stops_where_a_row_accepts_nothing(open_page: Callable, static_site: str, hero: Fold) -> None:
    page = visit(open_page, f"{static_site}/?r=0&open=debug")
    page.get_by_label("Stop when a row accepts nothing").check()
    page.evaluate("window.__ragged.player.faster(2)")
    page.locator(".r-btn.play").click()
    page.wait_for_function("window.__ragged.store.get().message.startsWith('Stopped')")
    at = state(page)
    assert not at["playing"]
    empty = [
        f.step
        for lane in ("bsp", "eqspec")
        for f in hero.lanes[lane].frames
        if any(n == 0 and k for n, k in zip(f.accepted, f.lens, strict=True))
    ]
    assert at["step"] == min(empty)
    assert "accepts none" in page.locator(".r-status").inner_text()
    page.wait_for_function("location.search.includes('stop=empty') && location.search.includes('open=debug')")


def test_a_rounding_tie_is_shown_as_one_and_markup_stays_text(
    open_page: Callable, static_site: str, traces: Path, request: pytest.FixtureRequest
) -> None:
    events = [json.loads(line) for line in HERO.read_text(encoding="utf-8").splitlines()]
    tie = copy.deepcopy(events)
    for event in tie:
        if event["event"] == "compare" and event["lane"] == "bsp":
            event.update(
                verdict="rounding", logits={"reference": [20.5583, 20.5581], "lane": [20.5582, 20.5583]}, noise=0.0002
            )
        if event["event"] == "pieces":
            event["pieces"] = [[i, f"<img src=x onerror=alert({i})>", ""] for i, _, _ in event["pieces"]]
    file = traces / "tie.jsonl"
    file.write_text("\n".join(map(json.dumps, tie)), encoding="utf-8")
    request.addfinalizer(file.unlink)
    page = visit(open_page, f"{static_site}/?t=tie&r=2&open=debug")
    assert page.locator("#ragged-debugger .r-pair.tie").count() == 1
    assert page.locator("#ragged-debugger .r-pair.wrong").count() == 0
    assert "not a bug" in page.locator(".r-reading").inner_text()
    assert page.locator("#ragged-debugger img").count() == 0
    assert "onerror" in page.locator(".r-strip").inner_text()


def test_a_side_that_ended_first_has_a_dash_and_no_logits(
    open_page: Callable, static_site: str, traces: Path, hero: Fold, request: pytest.FixtureRequest
) -> None:
    events = [json.loads(line) for line in HERO.read_text(encoding="utf-8").splitlines()]
    lengths = {r: len(s.ids) - s.prompt for r, s in hero.lanes["bsp"].rows.items()}
    for event in events:
        if event["event"] == "compare" and event["lane"] == "bsp":
            event.update(index=lengths[event["row"]], actual=-1)
            del event["logits"]
    file = traces / "early.jsonl"
    file.write_text("\n".join(map(json.dumps, events)), encoding="utf-8")
    request.addfinalizer(file.unlink)
    row = min(lengths, key=lambda r: lengths[r] - len(hero.lanes["eqspec"].rows[r].ids))
    page = visit(open_page, f"{static_site}/?t=early&r=2&row={row}&open=debug")
    wrong = page.locator("#ragged-debugger .r-pair.wrong")
    assert wrong.get_attribute("data-generated") == str(lengths[row])
    assert wrong.locator(".own").inner_text() == "\u2013"
    assert "compare.logits" in page.locator(".r-dbody").inner_text()
    wrong.click()  # there is no token of the method to go to: the one of the row alone is shown
    assert state(page)["cell"]["lane"] == "eqspec"


def test_both_panels_follow_a_run_that_streams_in(open_page: Callable, static_site: str) -> None:
    page = visit(open_page, f"{static_site}/?r=0")
    seen = page.evaluate("""async () => {
      const {store, Fold, parseTrace} = window.__ragged;
      const frame = () => new Promise(requestAnimationFrame);
      const fold = new Fold();
      const seen = new Set();
      const row = store.get().row;
      let n = 0;
      for (const event of parseTrace(document.getElementById('ragged-hero').textContent)) {
        fold.push(event);
        n += 1;
        if (!['commit', 'violation', 'row_done', 'compare'].includes(event.event)) continue;
        if (!fold.lanes.bsp.frames.length) continue;
        const step = Math.max(0, fold.lanes.bsp.frames.length - 1);
        const cell = {lane: 'bsp', row, index: fold.lanes.bsp.rows[row].ids.length - 1};
        store.set({fold, version: n, step, cell, debug: true, inspect: true, live: true});
        await frame();
        await frame();
        document.querySelectorAll('.r-pair[data-index]').forEach((pair) => seen.add(pair.classList[1]));
      }
      return [...seen];
    }""")
    assert {"unknown", "whole", "wrong", "later"} <= set(seen)


@every_screen
def test_from_a_verdict_to_the_first_wrong_token_and_to_what_broke_first(
    open_page: Callable, static_site: str, hero: Fold, screen: Screen
) -> None:
    row = wrong_rows(hero)[0]
    bsp = hero.lanes["bsp"].rows[row]
    page = visit(open_page, f"{static_site}/?r=1&row={row}", **screen.options)
    page.locator(f'[data-key="compare/{row}"]').click()
    wrong = page.locator("#ragged-debugger .r-pair.wrong")
    assert wrong.get_attribute("data-generated") == str(bsp.compare["index"])
    looks_right(page, screen, "#ragged-debugger", "#ragged-debugger .r-pair.wrong .own")
    wrong.click()
    assert state(page)["cell"] == {"lane": "bsp", "row": row, "index": bsp.prompt + bsp.compare["index"]}
    page.locator(f'[data-key="violation/{row}"]').click()
    first = next(f.step for f in hero.lanes["bsp"].frames for v in f.violations if v["row"] == row)
    assert (state(page)["step"], state(page)["row"]) == (first, row)
    looks_right(page, screen, "#ragged-debugger")
    page.locator("#ragged-debugger").get_by_role("button", name="Close").click()
    page.wait_for_selector("#ragged-debugger", state="hidden")
