"""Live runs from the page: the real model, the real engine process, a real browser."""

import re
from collections.abc import Callable, Iterator
from pathlib import Path
from urllib.parse import parse_qsl, urlsplit

import httpx
import pytest

from engine.fold import fold
from engine.lines import read_lines
from tests.browser.your_prompts import MINUTE, choose, ended, folded, start, visit
from tests.ui.fakes import until
from tests.ui.serving import Cable, application


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory, real_cache: Path) -> Iterator[str]:
    with application(tmp_path_factory.mktemp("live"), RAGGED_CACHE=str(real_cache)) as (url, _process):
        until(lambda: httpx.get(f"{url}/healthz", timeout=30).json()["model"]["phase"] == "ready", 240)
        yield url


def verdicts(page: object, lane: str) -> list[str]:
    return folded(page, f"Object.values(f.lanes.{lane}.rows).map(r => r.compare?.verdict)")


def test_a_run_from_the_page_shows_what_broke_and_repair_heals_it(open_page: Callable, site: str) -> None:
    page = visit(open_page, site)
    start(page)
    assert ended(page) == "Finished."
    page.wait_for_function("!window.__ragged.store.get().live")
    assert verdicts(page, "eqspec") == ["equal", "equal"]
    assert verdicts(page, "bsp_repaired") == ["equal", "equal"]
    assert "bug" in verdicts(page, "bsp")
    assert folded(page, "Object.keys(f.lanes)") == ["eqspec", "bsp", "bsp_repaired"]

    # The first wrong word is ringed, and its link lands on the row's first violation.
    page.locator("#ragged-stage").focus()
    page.keyboard.press("End")
    ring = page.locator(".r-lane.right .r-word.wrong .ring").first
    assert ring.is_visible()
    row = int(ring.locator("xpath=ancestor::*[@data-row][1]").get_attribute("data-row"))
    first = folded(page, f"f.lanes.bsp.frames.find(x => x.violations.some(v => v.row === {row})).step")
    page.locator(f".r-row[data-row='{row}'] .r-lane.right .r-broken").click()
    assert folded(page, "[s.step, s.row, s.view, s.right]") == [first, row, "positions", "bsp"]
    page.wait_for_function("window.__ragged.tensors.drawn().view === 'positions'")
    in_sight = "n => { const r = n.getBoundingClientRect(); return r.top < innerHeight - 100 && r.bottom > 100; }"
    panel = "#ragged-tensors .rg-tn-block:not([hidden]) .rg-tn-panel:not([hidden])"
    page.wait_for_function(f"([at]) => [...document.querySelectorAll(at)].some({in_sight})", arg=[panel])

    # Repair shows the lane in which only the positions differ: every row equal, no ring.
    page.get_by_role("button", name=re.compile("Repair")).click()
    page.keyboard.press("End")
    assert folded(page, "s.right") == "bsp_repaired"
    assert page.locator(".r-word.wrong").count() == 0
    assert re.search(r"EQSPEC: 2 of 2.*2 of 2", page.inner_text("h1"), re.DOTALL)

    # The file is the trace, by the engine's own reader.
    run = folded(page, "s.source.name")
    reply = httpx.get(f"{site}/runs/{run}/trace.jsonl")
    state = fold(read_lines(reply.text.splitlines()))
    assert state.status == "done"
    ids = folded(page, "Object.values(f.lanes).map(l => Object.values(l.rows).map(r => r.ids))")
    assert ids == [[row.ids for row in lane.rows.values()] for lane in state.lanes.values()]
    assert page.evaluate("window.tap.seqs") == list(range(state.last_seq + 1))

    # The address brings everything back.
    page.keyboard.press("ArrowLeft")
    page.wait_for_function("location.search.includes('run')")
    page.wait_for_timeout(600)
    here = folded(page, "[s.step, s.row, s.right, s.source.name]")
    page.reload()
    page.wait_for_function("window.__ragged?.store.get().source.kind === 'live' && window.__ragged.store.get().fold")
    assert folded(page, "[s.step, s.row, s.right, s.source.name]") == here


def test_a_dropped_connection_resumes_without_missing_or_repeated_event(open_page: Callable, site: str) -> None:
    cable = Cable(site)
    page = visit(open_page, cable.url)
    page.visit.expect("ERR_|Failed to load resource")
    page.evaluate("window.kept = true")
    page.fill("#max-new input", "48")
    start(page, new=48, k=1)  # many rounds: the run must outlast both cuts
    for opened, count in ((1, 12), (2, 30)):  # a second cut before the page is back would be the first one still
        page.wait_for_function(f"window.tap.opens === {opened} && window.tap.seqs.length > {count}", timeout=2 * MINUTE)
        cable.cut()
    page.wait_for_function("window.__ragged.store.get().fold?.status === 'done'", timeout=4 * MINUTE)
    page.wait_for_function("!window.__ragged.store.get().live")
    seqs = page.evaluate("window.tap.seqs")
    assert seqs == list(range(len(seqs)))
    assert page.evaluate("window.tap.opens") == 3
    assert page.evaluate("window.kept")  # Gradio has not reloaded the page
    assert page.input_value("#max-new input") == "48"
    assert ended(page) == "Finished."
    assert verdicts(page, "eqspec") == ["equal", "equal"]
    cable.close()


def test_stop_ends_a_run_in_the_middle_and_the_next_one_runs(open_page: Callable, site: str) -> None:
    page = visit(open_page, site)
    start(page, prompts="Count from one to a thousand in words.", new=256, k=1)
    page.wait_for_function("window.tap.seqs.length > 12", timeout=2 * MINUTE)
    page.click("#stop")
    assert ended(page).startswith("Stopped")
    assert folded(page, "f.status") == "stopped"
    assert not page.locator("#stop").is_visible()
    start(page, prompts="Say: one two one two", new=2)
    assert ended(page) == "Finished."


def test_a_prompt_over_the_context_limit_is_answered_in_words(open_page: Callable, site: str) -> None:
    page = visit(open_page, site)
    start(page, prompts="Short.\n" + "1 " * 9000)
    said = ended(page)
    assert re.search(r"Failed: Prompt 2: it has [\d,]+ tokens after templating; the model's context is 8192", said)
    assert page.input_value("#prompts textarea").startswith("Short.")


def test_the_keyboard_alone_goes_from_the_prompts_to_the_repaired_run(open_page: Callable, site: str) -> None:
    page = open_page(site)
    page.wait_for_selector("#ragged-mount #ragged-stage")

    def tab_to(found: str) -> None:
        for _ in range(80):
            page.keyboard.press("Tab")
            if page.evaluate(f"(e => {found})(document.activeElement)"):
                return
        raise AssertionError(f"Tab never reached {found}")

    tab_to("e.textContent === 'Your prompts'")
    page.keyboard.press("Enter")
    tab_to("e.matches('#prompts textarea')")
    page.keyboard.press("Control+A")
    page.keyboard.insert_text("Repeat: red blue red blue red")
    tab_to("e.matches('#max-new input')")
    page.keyboard.press("Control+A")
    page.keyboard.type("4")
    tab_to("e.id === 'run'")
    page.keyboard.press("Enter")
    assert ended(page) == "Finished."
    for _ in range(60):
        page.keyboard.press("Shift+Tab")
        if page.evaluate("document.activeElement.matches('.r-board')"):
            break
    page.keyboard.press("Home")
    assert folded(page, "s.step") == 0
    page.keyboard.press("ArrowRight")
    assert folded(page, "s.step") == 1
    tab_to("e.matches('.r-repair')")
    page.keyboard.press("Enter")
    assert folded(page, "s.right") == "bsp_repaired"


def test_the_form_s_settings_are_in_the_link_and_come_back_with_it(open_page: Callable, site: str) -> None:
    page = visit(open_page, f"{site}/?r=3&row=1")
    page.fill("#prompts textarea", "One\nTwo & = % three")
    page.fill("#k input", "6")
    choose(page, "right", "EQSPEC, one fault: pads are attended like words")
    page.get_by_label("hybrid: ").check()
    page.locator("#chat input").uncheck()
    page.get_by_role("button", name="Advanced").click()
    page.get_by_label("how sure the drafter is").check()
    page.wait_for_function("location.search.includes('f.adapt=confidence')")
    query = dict(parse_qsl(urlsplit(page.url).query))
    named = {
        "prompts": "One\nTwo & = % three",
        "k": "6",
        "right": "eqspec:pads_visible",
        "proposer": "hybrid",
        "chat": "0",
    }
    assert query == {
        "r": "3",
        "row": "1",
        "f.adapt": "confidence",
        **{f"f.{name}": value for name, value in named.items()},
    }
    page.wait_for_function("window.__ragged.store.get().step === 3")
    page.get_by_role("button", name="Next round").click()  # the stage keeps what is the form's
    page.wait_for_function("location.search.includes('r=4') && location.search.includes('f.k=6')")

    page.goto(page.url)
    page.wait_for_selector("#your-prompts.open")
    page.wait_for_function("document.querySelector('#k input').value === '6'")
    assert page.input_value("#prompts textarea") == named["prompts"]
    assert page.input_value("#right input") == "EQSPEC, one fault: pads are attended like words"
    assert page.locator("#proposer input:checked").input_value() == "hybrid"
    assert not page.locator("#chat input").is_checked()
    page.fill("#k input", "4")
    page.wait_for_function("!location.search.includes('f.k')")
    page.fill("#prompts textarea", "x" * 7000)
    page.wait_for_function("!location.search.includes('f.prompts')")
    assert page.locator("#too-long").is_visible()

    page.goto(f"{site}/?f.k=x&f.right=nothing&f.adapt=confidence.nothing&f.max-new=9")  # nonsense is ignored
    page.wait_for_function("document.querySelector('#max-new input')?.value === '9'")
    assert page.input_value("#k input") == "4"
    assert page.input_value("#right input") == "BSP: broken position ids"


def test_break_it_yourself_bet_first_then_see_which_invariant_lights(open_page: Callable, site: str) -> None:
    page = visit(open_page, site)
    choose(page, "right", "EQSPEC, one fault: pads are attended like words")
    start(page)
    page.wait_for_selector("#ragged-predict:not([hidden])", timeout=MINUTE)
    page.get_by_role("heading", name="What comes out is told after your answer.").wait_for()  # nothing is given away
    assert not page.locator(".r-transport").is_visible()
    assert folded(page, "[s.live, s.step]") == [False, 0]
    assert page.locator("#ragged-predict .r-bets button").count() == 7
    page.click("#ragged-predict [data-value=rectangle]")
    assert ended(page) == "Finished."
    page.wait_for_function("document.querySelector('#ragged-predict .r-feed').textContent.includes('Of its texts')")
    run = folded(page, "s.source.name")
    state = fold(read_lines(httpx.get(f"{site}/runs/{run}/trace.jsonl").text.splitlines()))
    lane = state.lanes["eqspec_pads_visible"]
    step, first = next((f.step, f.violations[0]) for f in lane.frames if f.violations)
    feed = page.inner_text("#ragged-predict .r-feed")
    assert f"First lit: {first['invariant']}, in round {step}. Not so." in feed
    assert f"{sum(r.compare['verdict'] == 'equal' for r in lane.rows.values())} of 2" in feed
    values = (first["row"] + 1, step, first["slot"], first["expected"], first["actual"])
    assert page.locator("#ragged-predict td").all_inner_texts() == [str(v) for v in values]
    page.locator("#ragged-predict").get_by_role("button", name="Show it").click()
    assert folded(page, "[s.step, s.row, s.right]") == [step, first["row"], "eqspec_pads_visible"]


def test_two_exact_methods_of_the_registry_beside_each_other(open_page: Callable, site: str) -> None:
    page = visit(open_page, site)
    choose(page, "left", "EXSPEC: exact")
    choose(page, "right", "SLOTS: exact")
    start(page)
    assert ended(page) == "Finished."
    page.wait_for_function("!window.__ragged.store.get().live")
    assert page.locator("#ragged-predict").is_hidden()
    assert folded(page, "Object.keys(f.lanes)") == ["exspec", "slots"]
    assert [verdicts(page, lane) for lane in ("exspec", "slots")] == [["equal", "equal"]] * 2
    assert re.search(r"EXSPEC: 2 of 2.*SLOTS: 2 of 2", page.inner_text("h1"), re.DOTALL)
    assert page.locator(".r-repair").is_hidden()
    here = folded(page, "[s.left, s.right]")
    page.wait_for_function("location.search.includes('left=exspec')")
    page.reload()
    page.wait_for_function("window.__ragged?.store.get().source.kind === 'live' && window.__ragged.store.get().fold")
    assert folded(page, "[s.left, s.right]") == here
