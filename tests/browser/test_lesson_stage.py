"""What the stage shows in a chapter: the lanes, the rows and the picture that it is about, and no more."""

import re
from collections.abc import Callable

from tests.browser.chapters import CHAPTERS, FEED, PANEL, opened, plan, stage_is
from tests.browser.exercises import do, edge


def test_the_rectangle_shows_one_run_until_two_differ_and_then_where_they_do(
    open_page: Callable, static_site: str
) -> None:
    panes = "#ragged-tensors .rg-tn-block:not([hidden]) .rg-tn-panel:not([hidden])"
    page = opened(open_page, static_site, 2)
    page.wait_for_function("window.__ragged.tensors?.idle()")
    assert page.locator(panes).count() == 1
    page.click(f"{PANEL} [data-value=same]")
    page.wait_for_function("window.__ragged.tensors.idle()")
    assert page.locator(panes).count() == 1
    page.get_by_role("button", name="Unmask the pads").click()
    page.wait_for_function("at => document.querySelectorAll(at).length === 2", arg=panes)
    stage_is(page, {"right": "pads_seen", "view": "mask"})
    page.wait_for_function("window.__ragged.tensors.idle()")
    legend, facts = "#ragged-tensors .rg-tn-block:not([hidden]) .rg-tn-legend", page.locator(panes).all_inner_texts()
    assert "1: a pad that is read as a word" in page.inner_text(legend)
    assert ["are seen as words" in text for text in facts] == [False, True]
    assert "whole rows fed" in facts[1]
    page.click(f"{PANEL} .next")
    page.click(f"{PANEL} [data-value=learned]")
    offset = '.r-lane[data-lane=pads_counted][data-row="2"] .r-offset'
    page.wait_for_function("at => document.querySelector(at)?.textContent === 'all +48'", arg=offset)
    stage_is(page, {"view": "positions"})
    decodes = "s.fold.lanes.pads_counted.frames.find(f => f.step === s.step).rows.includes(s.row)"
    assert page.evaluate(f"(s => {decodes})(window.__ragged.store.get())")


def test_the_shifted_row_is_seen_before_it_is_asked_about_and_says_by_how_much(
    open_page: Callable, static_site: str
) -> None:
    page = opened(open_page, static_site, 2)
    for press in ("[data-value=same]", ".r-options > button", ".next"):
        page.click(f"{PANEL} {press}")
    stage_is(page, {"left": "pads_counted", "right": "pads_counted", "view": "positions"})
    page.wait_for_function("window.__ragged.tensors?.idle()")
    block = page.locator("#ragged-tensors .rg-tn-block:not([hidden])")
    row = page.locator('.r-lane[data-row="2"] .r-offset').inner_text()
    assert row == "all +48"
    assert row in block.locator(".rg-tn-gutter:visible").all_inner_texts()
    assert not page.locator(".r-verdict").first.is_visible()
    page.click(f"{PANEL} [data-value=learned]")
    stage_is(page, {"left": "eqspec", "right": "pads_counted"})


def test_the_chapter_on_realigning_keeps_its_answer_back_and_explains_the_round_it_shows(
    open_page: Callable, static_site: str
) -> None:
    page = opened(open_page, static_site, 6)
    told = plan(page, 6)
    page.click(f"{PANEL} [data-value=copied]")
    edge(page, told["delta"] + 1)
    assert page.inner_text(FEED).startswith("Not so. Pads and entries make 60")
    slide = "at => { const e = document.querySelector(at); e.value = 0; e.dispatchEvent(new Event('input')); }"
    page.evaluate(slide, f"{PANEL} input[type=range]")
    assert page.inner_text(FEED) == "Bet: “Copied”."  # the rest was said of another delta
    page.evaluate(slide.replace("e.value = 0", f"e.value = {told['delta']}"), f"{PANEL} input[type=range]")
    total = page.locator(f"{PANEL} .r-sum")
    assert total.inner_text() == "(7 + 3) + 49 = 59; L = 59"  # right, and not said before it is moved
    assert total.evaluate("node => node.className") == "r-sum"
    edge(page, told["delta"])
    assert total.inner_text() == "✓ (7 + 3) + 49 = 59 = L"
    assert page.inner_text(FEED).startswith("Delta = (59 \u2212 49) \u2212 7 = +3.")
    page.click(f"{PANEL} .next")
    stage_is(page, {"view": "kinds", "step": 4})
    page.wait_for_function("window.__ragged.tensors?.idle()")
    assert "No row shifts" not in page.inner_text("#ragged-tensors")
    page.click(f"{PANEL} [data-value='0']")
    page.wait_for_function("document.querySelector('#ragged-tensors').innerText.includes('No row shifts')")
    said = page.inner_text(f"{PANEL} .r-because")
    assert said.startswith("Rows that grow unequally move: in round 2 row 3 by +3, row 1 by 0")


def test_a_chapter_about_one_lane_shows_nothing_of_the_other(open_page: Callable, static_site: str) -> None:
    for n in (0, 1, 3, 6):
        page = opened(open_page, static_site, n)
        page.wait_for_function("document.querySelector('.r-sentence').textContent")
        for step in range(8):
            page.evaluate("n => window.__ragged.player.go(n)", step)
            stage_is(page, {"step": step})
            page.evaluate("() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))")
            assert "BSP" not in page.inner_text("#ragged-stage"), (n, step)
        page.keyboard.press("Escape")
        page.wait_for_function("document.querySelector('.r-sentence').textContent.includes('BSP')")
        page.context.close()


def test_no_cell_is_drawn_outside_its_plot_when_the_address_has_changed(open_page: Callable, static_site: str) -> None:
    """The real page has a <base>: Plotly then names its clips by the address that the page had at the first drawing."""
    page = open_page()

    def serve(route: object) -> None:
        body = route.fetch().text().replace("<head>", '<head><base href="/">')
        route.fulfill(body=body, content_type="text/html")

    page.route(re.compile(r"/\?ch=1"), serve)
    page.goto(f"{static_site}/?ch=1")
    page.wait_for_selector(f"{PANEL}:not([hidden]) .r-ask")
    page.wait_for_function("window.__ragged.tensors?.idle() && window.__ragged.tensors.drawn().left")
    page.get_by_role("button", name="Chapter 2: Clean up").click()
    page.wait_for_function("location.search === '?ch=2' && window.__ragged.tensors.idle()")
    wraps = "#ragged-tensors .rg-tn-block:not([hidden]) .rg-tn-wrap"
    spilt = """(at) => [...document.querySelectorAll(at)].flatMap((wrap) => {
      const labels = Math.max(...[...wrap.querySelectorAll('.rg-tn-row')].map((n) => n.getBoundingClientRect().right));
      const cells = [...wrap.querySelectorAll('.heatmaplayer image')].map((n) => n.getBoundingClientRect().left);
      return cells.map((left) => left - labels);
    })"""
    room = page.evaluate(spilt, wraps)
    assert len(room) == 2  # the overview and the focus window of the one lane
    assert min(room) >= 0, room


def test_chapter_eight_shows_the_rows_that_it_asks_about(open_page: Callable, static_site: str) -> None:
    inside = """at => [...document.querySelectorAll(at)].map(n => n.getBoundingClientRect())
      .every(r => r.top > 0 && r.bottom < innerHeight)"""
    page = opened(open_page, static_site, 7)
    rows = "#ragged-stage .r-row"
    page.wait_for_function("at => document.querySelectorAll(at).length === 4", arg=rows)
    assert page.evaluate(inside, rows)
    order = page.locator(rows).evaluate_all("nodes => nodes.map(n => Number(n.dataset.row))")
    page.wait_for_function("window.__ragged.tensors")
    memory = page.evaluate("window.__ragged.tensors.data('eqspec', 0, 'kinds').rows")
    assert order == memory == sorted(memory)  # as in the picture of the memory
    assert page.locator(".r-order").is_hidden()
    heights = page.locator(rows).evaluate_all("nodes => nodes.map(n => n.offsetHeight)")
    assert len(set(heights)) == 1, heights  # a taller one would be one that differs
    assert not page.locator(".r-marks").is_visible()
    page.click(f"{PANEL} [data-value='2']")
    for line in page.locator(f"{PANEL} .r-rankline").all():
        said = line.locator("button").first
        run, row = re.match(r"(Run [ABC]), row (\d)", said.inner_text()).groups()
        said.click()
        shown = f'.r-row[data-row="{int(row) - 1}"] .r-lane .r-word.wrong:not(.future)'
        page.wait_for_selector(shown)
        page.wait_for_function("run => document.querySelector('.r-name').textContent.startsWith(run)", arg=run)
        assert not re.search("EQSPEC|BSP", page.locator("#ragged-stage > .r-hidden table").inner_text())
        assert page.locator(rows).count() == 1
        assert page.evaluate(inside, shown)
        assert page.locator(f"{shown} .ring").evaluate("n => getComputedStyle(n).borderStyle") == "solid"
    do(page, plan(page, 7)["steps"][1] | {"key": "equal", "items": plan(page, 7)["items"]})
    page.keyboard.press("n")
    assert "Row 4, token 26: alone, “-” and “↵” are tied" in page.inner_text(f"{PANEL} .r-ask")
    page.wait_for_selector('.r-row[data-row="3"] .r-word.wrong:not(.future)')
    assert page.inner_text(".r-name").startswith("Run D")
    assert page.locator(rows).count() == 1
    page.click(f"{PANEL} [data-value=rounding]")
    page.wait_for_function("document.querySelector('.r-name').textContent.startsWith('EQSPEC')")
    page.keyboard.press("Escape")
    page.wait_for_function("at => document.querySelectorAll(at).length === 3", arg=rows)


def test_the_repair_is_offered_in_chapter_six_only_and_again_without_a_chapter(
    open_page: Callable, static_site: str
) -> None:
    repair = ".r-below .r-repair"
    for n in range(len(CHAPTERS)):
        page = opened(open_page, static_site, n)
        page.click(f"{PANEL} .r-options > [data-value]")
        page.wait_for_selector(f"{PANEL} .r-stages [aria-current]:has-text('do')")
        assert not page.locator(repair).is_visible(), CHAPTERS[n]
        if CHAPTERS[n] == "defect":  # it would answer the exercise, by its key too
            page.locator("#ragged-stage").focus()
            page.keyboard.press("r")
            do(page, plan(page, n))
            page.wait_for_selector(repair)
            stage_is(page, {"right": "bsp_repaired"})
        if CHAPTERS[n] == "shortcut":  # nor by its key
            page.locator("#ragged-stage").focus()
            page.keyboard.press("r")
            page.keyboard.press("End")
            page.wait_for_function("window.__ragged.store.get().step === 7")
            stage_is(page, {"right": "bsp"})
            page.wait_for_function("document.querySelector('.r-sentence').textContent.startsWith('The end.')")
            assert (
                page.inner_text(".r-sentence") == "The end. EQSPEC equals the row run alone in 3 of 3 rows, BSP in 0."
            )
            assert page.locator(".r-broken").count() == 0  # the next chapter asks what it is
            page.keyboard.press("Escape")
            page.wait_for_selector(repair)
            page.evaluate("window.__ragged.player.go(7)")
            page.get_by_role("button", name="cause: position gap").first.wait_for()
        page.context.close()
