"""One's own run on every screen: a bet on a fault, another token, the copy to take along; any script, any reader."""

import re
from collections.abc import Callable, Iterator
from pathlib import Path

import httpx
import pytest

from engine.fold import Fold, fold
from engine.lines import read_lines
from tests.browser.screens import Screen, every_screen, looks_right
from tests.browser.test_what_if import CHOICES
from tests.browser.your_prompts import MINUTE, choose, ended, folded, start, visit
from tests.ui.fakes import until
from tests.ui.serving import application

FAULT = "EQSPEC, one fault: pads are attended like words"
SHORT = "Say: one two one two\nPlease repeat: The small brown dog chased the red ball across the green field."
LONG = "Donaudampfschifffahrtselektrizitätenhauptbetriebswerkbauunterbeamtengesellschaft"
SCRIPTS = f"Repeat: 東京の朝ごはん 東京の朝ごはん\nRepeat: 🧵👩‍👩‍👧‍👦 🧵👩‍👩‍👧‍👦\nRepeat: {LONG} {LONG}"
#: What is said aloud is the sentence on the screen.
HEARD = """(begins) => {
  const text = (at) => document.querySelector(at).textContent;
  const [heard, shown] = [text('#ragged-stage > [aria-live]'), text('.r-sentence')];
  return heard === shown && heard.startsWith(begins);
}"""


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory, real_cache: Path) -> Iterator[str]:
    with application(tmp_path_factory.mktemp("your_run"), RAGGED_CACHE=str(real_cache)) as (url, _process):
        until(lambda: httpx.get(f"{url}/healthz", timeout=30).json()["model"]["phase"] == "ready", 240)
        yield url


def trace_of(site: str, run: str) -> Fold:
    return fold(read_lines(httpx.get(f"{site}/runs/{run}/trace.jsonl").text.split("\n")))


@pytest.fixture(scope="module")
def once() -> Callable[[object], None]:
    """The engine runs the first screen's what-if; the next ones are given that run, which the server streams again."""
    told: list[bytes] = []

    def serve(route: object) -> None:
        if not told:
            told.append(route.fetch().body())
        route.fulfill(body=told[0], content_type="application/json")

    return serve


@every_screen
def test_bet_on_a_fault_see_it_change_a_token_and_copy_the_comparison(
    open_page: Callable, site: str, once: Callable, screen: Screen
) -> None:
    page = visit(open_page, site, permissions=["clipboard-read", "clipboard-write"], **screen.options)
    choose(page, "right", FAULT)
    looks_right(page, screen, "#your-prompts")
    start(page, SHORT, new=3)
    page.wait_for_selector("#ragged-predict:not([hidden])", timeout=MINUTE)
    looks_right(page, screen, "#ragged-predict", "#ragged-predict .r-bets button")
    page.click("#ragged-predict [data-value=mask]")
    assert ended(page) == "Finished."
    page.wait_for_function("document.querySelector('#ragged-predict .r-feed').textContent.includes('Of its texts')")
    lane = trace_of(site, folded(page, "s.source.name")).lanes["eqspec_pads_visible"]
    step, first = next((f.step, f.violations[0]) for f in lane.frames if f.violations)
    values = [first["row"] + 1, step, first["slot"], first["expected"], first["actual"]]
    assert page.locator("#ragged-predict td").all_inner_texts() == [str(v) for v in values]
    assert page.locator(f"#ragged-predict .lit[data-value={first['invariant']}]").is_visible()
    looks_right(page, screen, "#ragged-predict", "#ragged-predict td", "#ragged-predict .lit")

    page.locator(".r-foot").get_by_role("link", name="hero").click()
    page.wait_for_function("window.__ragged.store.get().source.name === 'hero'")
    page.locator("#ragged-stage").focus()
    page.keyboard.press("End")
    page.locator(".r-lane[data-lane=eqspec] .r-word").nth(1).click()
    page.wait_for_selector(CHOICES)
    looks_right(page, screen, "#ragged-inspector", "#ragged-inspector .r-whatif h3")
    page.route("**/what-if", once)
    page.locator(CHOICES).first.click()
    page.wait_for_function("window.__ragged.store.get().fold?.header?.what_if", timeout=2 * MINUTE)
    page.wait_for_function("window.__ragged.store.get().fold.status === 'done'", timeout=4 * MINUTE)
    assert re.search(r"What if: row \d, “.+” instead of “.+” at token 2, then on\.", page.inner_text("#ragged-changed"))
    looks_right(page, screen, "#ragged-changed", ".r-board")

    page.locator(".r-lane.right .r-compare").first.click()
    page.get_by_role("button", name="Copy as Markdown").click()
    page.wait_for_selector("#ragged-debugger [role=status]:has-text('Copied')")
    told = page.evaluate("navigator.clipboard.readText()")
    state = trace_of(site, folded(page, "s.source.name"))
    equal = sum(row.compare["verdict"] == "equal" for row in state.lanes["bsp"].rows.values())
    assert f"{equal} of 3 rows equal" in told.split("\n")[0]
    looks_right(page, screen, "#ragged-debugger")


@pytest.fixture(scope="module")
def scripts(chromium: object, site: str, traces: Path, static_site: str) -> tuple[str, Fold]:
    """A run whose tokens are Japanese, parts of emoji, and of one very long word, as a recorded trace of the site."""
    page = visit(lambda **options: chromium.new_page(**options), site)
    start(page, SCRIPTS, new=14)
    assert ended(page) == "Finished."
    run = folded(page, "s.source.name")
    page.close()
    (traces / "scripts.jsonl").write_text(httpx.get(f"{site}/runs/{run}/trace.jsonl").text, encoding="utf-8")
    return f"{static_site}/?t=scripts&r=0", trace_of(site, run)


@every_screen
def test_by_keys_by_ear_and_in_any_script(open_page: Callable, scripts: tuple[str, Fold], screen: Screen) -> None:
    url, state = scripts
    page = open_page(url, **screen.options)
    page.wait_for_selector(".r-lane .r-word", state="attached")

    def tab_to(what: str) -> None:
        for _ in range(60):
            page.keyboard.press("Tab")
            if page.evaluate("what => document.activeElement.matches(what)", what):
                return
        raise AssertionError(f"Tab never reached {what}")

    tab_to(".r-board")
    page.keyboard.press("ArrowRight")
    page.wait_for_function("window.__ragged.store.get().step === 1")
    page.wait_for_function(HEARD, arg="Round 1,")
    page.wait_for_function("document.querySelector('#ragged-stage caption').textContent.startsWith('Round 1 ')")
    cells = page.locator("#ragged-stage table:has(caption) tbody tr").evaluate_all(
        "(rows) => rows.map((row) => [...row.cells].map((cell) => cell.textContent))"
    )
    told = {(cell[0], int(cell[1])): cell[2:4] for cell in cells}
    for lane in ("eqspec", "bsp"):
        frame = next(f for f in state.lanes[lane].frames if f.step == 1)
        for i, row in enumerate(frame.rows):
            assert told[lane.upper(), row + 1] == [str(frame.lens[i]), str(frame.accepted[i])]

    page.keyboard.press("End")
    page.get_by_role("button", name="Show the prompts").click()
    looks_right(page, screen, ".r-board", ".r-below")
    for row, facts in state.lanes["eqspec"].rows.items():
        page.evaluate("row => window.__ragged.store.set({ row })", row)
        words = page.locator(f".r-lane[data-lane=eqspec][data-row='{row}'] .r-words")
        shown = words.evaluate(
            "(node) => [...node.querySelectorAll('.r-word')].map((word) => word.textContent).join('')"
        )
        pieces = [state.pieces[i] for i in facts.ids[facts.prompt :] if i not in state.header.stop_ids]
        whole = b"".join(bytes.fromhex(raw) if raw else text.encode() for text, raw in pieces).decode(errors="ignore")
        assert re.match(r"[東\U0001f9f5D]", whole)
        assert [part for part in re.findall(r"\w+|[\U0001f300-\U0001faff]", whole) if part not in shown] == []
        looks_right(page, screen, f".r-lane[data-lane=eqspec][data-row='{row}'] .r-words")
    tab_to(".r-word")
    page.keyboard.press("Enter")
    page.wait_for_selector("#ragged-inspector:not([hidden])")
    page.keyboard.press("d")
    page.keyboard.press("d")
    page.wait_for_selector("#ragged-debugger:not([hidden])")
    looks_right(page, screen, "#ragged-inspector", "#ragged-debugger", "#ragged-debugger .r-strip")
    smallest = page.eval_on_selector_all(
        ".r-words .r-word, .r-strip .r-tok",
        "(all) => Math.min(...all.map((node) => parseFloat(getComputedStyle(node).fontSize)))",
    )
    assert smallest >= 11
