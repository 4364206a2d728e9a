"""The chapters: answers are computed from the recorded run, a wrong one names the misconception, leaving restores."""

import json
import re
from collections.abc import Callable, Iterator
from itertools import pairwise
from pathlib import Path

import pytest

from tests.browser.conftest import HERO
from tests.browser.screens import Screen, every_screen, looks_right

PANEL = "#ragged-lesson"
FEED = f"{PANEL} .r-feed"
FAULTS = HERO.with_name("faults.jsonl")
ROUNDING = HERO.with_name("rounding.jsonl")
CHAPTERS = ["row", "cleanup", "rectangle", "crop", "shortcut", "defect", "realign", "equal"]
STEPS = """async ([text, n]) => {
  const { CHAPTERS } = await import('/viewer/lesson_list.js');
  const { fold, parseTrace } = await import('/viewer/fold.js');
  const { answerOf } = await import('/viewer/lesson_step.js');
  const { proseOf } = await import('/viewer/lesson_strings.js');
  const facts = CHAPTERS[n].facts(fold(parseTrace(text)));
  if (!facts) return null;
  return {
    key: CHAPTERS[n].key, lead: proseOf(CHAPTERS[n].key, facts)[0], why: proseOf(CHAPTERS[n].key, facts)[1],
    keep: facts.keep ?? facts.min + 1, round: facts.round,
    row: facts.one?.row, gap: facts.one?.gap?.before, delta: facts.delta,
    items: (facts.items ?? []).map((item) => item.answer),
    steps: CHAPTERS[n].steps(facts).map((s) => ({
      kind: s.kind, ask: s.ask, answer: String(s.answer), words: s.kind === 'act' ? '' : answerOf(s),
      right: s.right ?? '', done: s.done ?? '', misses: (s.options ?? []).map((o) => s.miss(o.value)),
      options: (s.options ?? []).map((o) => [String(o.value), o.text]),
    })),
  };
}"""


def text_of(n: int) -> str:
    own = {"rectangle": FAULTS, "equal": ROUNDING}
    return own.get(CHAPTERS[n], HERO).read_text(encoding="utf-8")


def plan(page: object, n: int, text: str | None = None) -> dict | None:
    return page.evaluate(STEPS, [text or text_of(n), n])


def opened(open_page: Callable, site: str, n: int, **options: object) -> object:
    page = open_page(f"{site}/?ch={n + 1}", **options)
    page.wait_for_selector(f"{PANEL}:not([hidden]) .r-ask")
    return page


def state(page: object, *keys: str) -> list:
    return page.evaluate("keys => keys.map(k => window.__ragged.store.get()[k] ?? null)", list(keys))


def stage_is(page: object, patch: dict) -> None:
    page.wait_for_function(
        "p => Object.entries(p).every(([k, v]) => window.__ragged.store.get()[k] === v)", arg=patch, timeout=5000
    )


def edge(page: object, n: int) -> None:
    page.evaluate(
        "([at, n]) => { const e = document.querySelector(at); e.value = n; e.dispatchEvent(new Event('input')); }",
        [f"{PANEL} input[type=range]", n],
    )
    page.click(f"{PANEL} .r-options > button:not(.r-text)")


def do(page: object, told: dict) -> None:
    """The forced action of a chapter, after a wrong try where there is one."""
    skip = page.locator(f"{PANEL} .r-skip")
    assert not skip.is_visible()
    buttons = page.locator(f"{PANEL} .r-options > button:not(.r-text)")
    match told["key"]:
        case "row":
            page.locator(".r-transport").get_by_role("button", name="Next round").click()
        case "cleanup" | "crop":
            edge(page, told["keep"] + 1)
            assert page.inner_text(FEED).startswith("Not so.")
            assert skip.is_visible()
            edge(page, told["keep"])
        case "realign":
            edge(page, told["delta"] - 1)
            assert page.inner_text(FEED).startswith("Not so. Pads and entries make")
            assert skip.is_visible()
            edge(page, told["delta"])
        case "equal":
            rank(page, told["items"], ("rounding", "bug"))
        case "rectangle":
            buttons.click()
        case "defect":
            for n, evidence in enumerate(("row 1 has no pads", "EQSPEC masks slots too", "row 3 goes wrong")):
                buttons.nth(n).click()
                assert re.match(rf"Cleared\. (BSP.s )?{evidence}", page.inner_text(FEED))
                assert skip.is_visible()
            buttons.nth(3).click()
        case "shortcut":
            row = f'.r-lane[data-row="{told["row"]}"]'
            page.evaluate("n => window.__ragged.player.go(n)", told["round"] + 1)
            page.locator(f"{row}[data-lane=bsp] .r-tear text").first.click()
            page.wait_for_function("at => document.querySelector(at).textContent.includes('pads')", arg=FEED)
            page.evaluate("n => window.__ragged.player.go(n)", told["round"])
            page.wait_for_function("at => !document.querySelector(at).textContent", arg=FEED)  # said of another round
            page.wait_for_selector(f'{row}[data-lane=bsp] .r-tear[data-before="{told["gap"]}"]')
            page.locator(f"{row}[data-lane=eqspec] .r-cell").last.click()
            page.wait_for_function("at => document.querySelector(at).textContent.includes('EQSPEC')", arg=FEED)
            page.locator(f'{row}[data-lane=bsp] .r-tear[data-before="{told["gap"]}"] text').click()
    page.wait_for_function("at => !document.querySelector(at).disabled", arg=f"{PANEL} .next")


def place_of_next(page: object) -> list[float]:
    place = "b => { const r = b.getBoundingClientRect(); return [r.x, r.y + scrollY, r.right, r.height]; }"
    return page.locator(f"{PANEL} .next").evaluate(place)


def rank(page: object, items: list[str], values: tuple[str, str]) -> None:
    """Statements to be judged: all wrong first, then right."""
    lines = page.locator(f"{PANEL} .r-rankline")
    sure = page.locator(f"{PANEL} .r-options > button:not(.r-text)")
    for n, right in enumerate(items):
        other = values[right == values[0]]
        lines.nth(n).locator(f"[data-value={other}]").click()
    sure.click()
    assert page.inner_text(FEED).startswith("Not so.")
    for n, right in enumerate(items):
        lines.nth(n).locator(f"[data-value={right}]").click()
    sure.click()


def answer(page: object, told: dict, step: dict) -> None:
    """A check: every wrong answer says why, each in its own words or with its own reason; then the right one."""
    for value, _ in step["options"]:
        if value != step["answer"]:
            page.click(f'{PANEL} .r-options > [data-value="{value}"]')
            assert re.match(r"Not so\. \S.{15,}", page.inner_text(FEED)), value
            assert page.locator(f"{PANEL} .next").is_disabled()
    if step["options"]:
        page.click(f'{PANEL} .r-options > [data-value="{step["answer"]}"]')
    else:
        rank(page, told["items"], ("harmless", "harmful"))
    assert page.inner_text(FEED) == f"Right. {step['right']}"


@every_screen
def test_all_chapters_from_the_first_bet_to_the_last_explanation(
    open_page: Callable, static_site: str, screen: Screen
) -> None:
    page = open_page(f"{static_site}/?r=0", **screen.options)
    page.get_by_role("button", name="Why? eight short chapters").click()
    page.wait_for_selector(f"{PANEL}:not([hidden]) .r-ask")
    for n, key in enumerate(CHAPTERS):
        stage_is(page, {"chapter": n + 1})
        told = plan(page, n)
        assert told["key"] == key
        place = place_of_next(page)  # it never moves within a chapter; on a phone it comes after the step: within one
        for step in told["steps"]:
            place = place_of_next(page) if screen.width == 390 else place
            assert place_of_next(page) == place
            assert page.inner_text(f"{PANEL} .r-ask").startswith(step["ask"])
            assert page.locator(f"{PANEL} .next").is_disabled()
            if step["kind"] == "predict":
                page.click(f'{PANEL} .r-options > [data-value="{step["options"][0][0]}"]')
                assert step["options"][0][1] in page.inner_text(FEED)
            elif step["kind"] == "act":
                do(page, told)
            else:
                answer(page, told, step)
            looks_right(page, screen, PANEL)
            assert place_of_next(page) == place
            page.click(f"{PANEL} .next")
        assert screen.width == 390 or place_of_next(page) == place
        assert page.locator(f"{PANEL} .r-options").count() == 0
        assert len(page.inner_text(f"{PANEL} .r-ask")) > 80
        page.click(f"{PANEL} .next")
        page.wait_for_function("n => window.__ragged.store.get().chapter !== n", arg=n + 1)
    assert page.locator(PANEL).is_hidden()
    assert json.loads(page.evaluate("localStorage['ragged.chapters']"))["done"] == CHAPTERS


READ = """() => {
  const seen = new Set();
  for (const place of ['.r-lead', '.r-step']) {
    const walk = document.createTreeWalker(document.querySelector(`#ragged-lesson ${place}`), NodeFilter.SHOW_TEXT);
    while (walk.nextNode()) {
      const { parentElement: at, textContent } = walk.currentNode;
      if (at.checkVisibility() && !at.closest('.r-means')) seen.add(textContent.trim());
    }
  }
  return [...seen];
}"""


def first_time_right(page: object, told: dict, step: dict) -> None:
    """What a step asks for, at the first try."""
    sure = page.locator(f"{PANEL} .r-options > button:not(.r-text)")
    if step["options"]:
        return page.click(f'{PANEL} .r-options > [data-value="{step["answer"]}"]')
    match told["key"]:
        case "row":
            page.locator(".r-transport").get_by_role("button", name="Next round").click()
        case "cleanup" | "crop":
            edge(page, told["keep"])
        case "realign":
            edge(page, told["delta"])
        case "rectangle":
            sure.click()
        case "shortcut":
            page.evaluate("n => window.__ragged.player.go(n)", told["round"])
            gap = f'[data-lane=bsp] .r-tear[data-before="{told["gap"]}"] text'
            page.locator(f'.r-lane[data-row="{told["row"]}"]{gap}').click()
        case "defect" if step["kind"] == "act":
            sure.nth(3).click()
        case "defect" | "equal":
            for n, right in enumerate(told["items"]):
                page.locator(f"{PANEL} .r-rankline").nth(n).locator(f"[data-value={right}]").click()
            sure.click()
    return None


def test_the_way_through_all_chapters_has_few_words_to_read(open_page: Callable, static_site: str) -> None:
    """Every word in the panel that was not there a moment before: leads, questions, options, answers, explanations."""
    words = {}
    for n, key in enumerate(CHAPTERS):
        page = opened(open_page, static_site, n)
        told, shown = plan(page, n), [set(page.evaluate(READ))]
        for step in told["steps"]:
            first_time_right(page, told, step)
            page.wait_for_function("at => !document.querySelector(at).disabled", arg=f"{PANEL} .next")
            shown.append(set(page.evaluate(READ)))
            page.click(f"{PANEL} .next")
            shown.append(set(page.evaluate(READ)))
        assert told["why"] in shown[-1]
        read = [text for before, now in pairwise([set(), *shown]) for text in now - before]
        words[key] = sum(len(re.findall(r"\S*[^\W_]\S*", text)) for text in read)
        page.context.close()
    assert all(60 < n <= 180 for n in words.values()), words
    assert sum(words.values()) <= 1100, words


def test_each_text_of_a_chapter_is_short(open_page: Callable, static_site: str) -> None:
    page = open_page(f"{static_site}/blank")
    for n, key in enumerate(CHAPTERS):
        told = plan(page, n)
        assert 5 < len(told["lead"].split()) <= 18, key
        assert 10 < len(told["why"].split()) <= 32, key
        assert all(len(step["ask"].split()) <= 20 for step in told["steps"]), key
        assert all(len(step["right"].split()) <= 16 for step in told["steps"]), key
        assert all(len(miss.split()) <= 22 for step in told["steps"] for miss in step["misses"]), key
        assert "{" not in json.dumps([told["lead"], told["why"], [list(step.values()) for step in told["steps"]]])


def test_every_right_answer_says_why_in_words_of_its_own(open_page: Callable, static_site: str) -> None:
    page = open_page(f"{static_site}/blank")
    asked = [s for n in range(len(CHAPTERS)) for s in plan(page, n)["steps"] if s["kind"] != "act"]
    assert all(re.fullmatch(r"[^{}]{25,}\.", s["right"]) for s in asked), [s["right"] for s in asked]
    assert len({s["right"] for s in asked}) == len(asked) == 16
    assert "Draft 4, “.”, is rejected: the model chose “and” there." in asked[0]["right"]
    assert "bonus token “rolls”" in asked[1]["right"]


def test_a_right_bet_says_why(open_page: Callable, static_site: str) -> None:
    page = opened(open_page, static_site, 2)
    told = plan(page, 2)
    page.click(f"{PANEL} [data-value=same]")
    page.click(f"{PANEL} .next")
    assert page.inner_text(FEED) == f"Right bet. {told['steps'][0]['right']}"


def test_the_chapter_on_realigning_says_that_the_copy_takes_all_rows(open_page: Callable, static_site: str) -> None:
    page = opened(open_page, static_site, 6)
    page.get_by_role("button", name="Answer key").click()
    trace = events(6)
    op = find(trace, "kv_op", "eqspec", op="realign")
    target = trace[0]["models"]["target"]
    each = 2 * target["layers"] * target["kv_heads"] * target["head_dim"] * 4  # float32
    assert op["bytes"] % each == 0
    page.get_by_text(f"copies all rows\u2019 {op['bytes'] // each} entries ({op['bytes']:,} bytes)").wait_for()


def test_the_card_keeps_its_height_and_the_player_stays_on_the_screen(open_page: Callable, static_site: str) -> None:
    for n, key in enumerate(CHAPTERS):
        page = opened(open_page, static_site, n)
        told, heights = plan(page, n), set()
        low = "document.querySelector('.r-transport').getBoundingClientRect().bottom"

        def look(heights: set = heights, key: str = key, page: object = page, low: str = low) -> None:
            heights.add(page.locator(PANEL).evaluate("n => n.offsetHeight"))
            assert page.evaluate(f"scrollY + {low}") <= 900, key

        for step in told["steps"]:
            look()
            if step["kind"] == "act":
                do(page, told)
            else:
                page.click(f'{PANEL} .r-options > [data-value="{step["answer"]}"]') if step["options"] else rank(
                    page, told["items"], ("harmless", "harmful")
                )
            look()
            page.keyboard.press("n")
        look()
        assert len(heights) == 1, (key, heights)
        page.context.close()


def test_a_name_opens_its_meaning_by_focus_and_the_help_lists_it(open_page: Callable, static_site: str) -> None:
    page = opened(open_page, static_site, 0)
    term = page.locator(f"{PANEL} .r-lead .r-term").first
    assert not term.locator(".r-means").is_visible()
    term.focus()
    assert term.locator(".r-means").is_visible()
    assert "realigns the batch" in term.get_attribute("aria-label")
    page.get_by_role("button", name="Keys").click()
    assert page.locator(".r-help .words dt").all_inner_texts() == ["EQSPEC", "BSP", "DSD"]


# -- answers come from the trace: change the trace and they change ------------------------------------------------


def events(n: int) -> list[dict]:
    return [json.loads(line) for line in text_of(n).splitlines()]


def find(trace: list[dict], kind: str, lane: str, step: int = 2, **fields: object) -> dict:
    return next(
        e
        for e in trace
        if (e["event"], e["lane"], e["step"]) == (kind, lane, step) and all(e.get(k) == v for k, v in fields.items())
    )


def commit(trace: list[dict], row: int, kept: int, step: int = 2, lane: str = "eqspec") -> None:
    """Row `row` of a lane accepts `kept` drafts instead."""
    e = find(trace, "commit", lane, step)
    e["accepted"][row] = kept
    e["emitted"][row] = [*e["emitted"][row][:kept], e["emitted"][row][-1]]
    e["kinds"][row] = "a" * kept + "c"


def fewer_accepted(trace: list[dict]) -> None:
    commit(trace, 0, 1)


def a_shorter_full_round(trace: list[dict]) -> None:
    verify = find(trace, "verify", "eqspec", 4)
    verify["lens"][0] = 3
    e = find(trace, "commit", "eqspec", 4)
    e["accepted"][0] = 3
    e["emitted"][0], e["kinds"][0] = e["emitted"][0][:4], "aaab"


def one_entry_fewer_written(trace: list[dict]) -> None:
    kv = next(
        e for e in trace if e["event"] == "kv" and e["lane"] == "eqspec" and e["step"] == 2 and not e.get("reset")
    )
    run = next(r for r in kv["runs"] if r[0] == 1 and r[2] >= 0)
    run[4] -= 1
    kv["runs"].append([1, run[1] + run[4], -1, 0, 1])


def verdict(lane: str, row: int, to: str) -> Callable[[list[dict]], None]:
    def change(trace: list[dict]) -> None:
        e = next(e for e in trace if (e["event"], e["lane"], e.get("row")) == ("compare", lane, row))
        e["verdict"] = to

    return change


def a_gap_less(trace: list[dict]) -> None:
    """BSP feeds row 1 in round 3 one position nearer."""
    for e in trace:
        if e["lane"] == "bsp" and e["step"] == 3 and e["event"] == "kv" and not e.get("reset"):
            for run in e.get("runs", []):
                if run[0] == 1 and run[2] >= 0:
                    run[3] -= 1


def a_row_fed_nearer(trace: list[dict]) -> None:
    """BSP feeds row 0 one position nearer from round 3 on: its first gap is the next round's."""
    for e in trace:
        if e["lane"] == "bsp" and e["step"] >= 3 and e["event"] == "kv":
            for run in e.get("runs", []):
                if run[0] == 0 and run[2] >= 59:
                    run[3] -= 1


def keys_rotated(trace: list[dict]) -> None:
    """Round 2's realignment leaves row 2 with positions that went along with the slots."""
    for run in find(trace, "kv", "eqspec", 2, model="target", reset=True)["runs"]:
        if run[0] == 2 and run[2] >= 0:
            run[3] += 3


def a_row_moves_though_all_accept_alike(trace: list[dict]) -> None:
    moves = find(trace, "kv_op", "eqspec", 4)["moves"]
    moves[1] = [1, 0, 1, moves[1][3] - 1]


@pytest.mark.parametrize(
    ("chapter", "step", "change", "before", "after"),
    [
        ("row", 0, fewer_accepted, "3", "2"),
        ("row", 2, a_shorter_full_round, "5", "4"),
        ("cleanup", 0, one_entry_fewer_written, "5", "4"),
        ("rectangle", 0, verdict("eqspec", 2, "bug"), "The same", "Other words"),
        ("rectangle", 2, verdict("pads_counted", 2, "bug"), "Learned (GPT-2)", "Both"),
        ("crop", 2, lambda trace: commit(trace, 1, 0, lane="bsp"), "3", "7"),
        ("shortcut", 0, a_gap_less, "3", "2"),
        ("equal", 0, verdict("eqspec", 1, "rounding"), "2", "1"),
        ("realign", 0, keys_rotated, "Copied", "Rotated again"),
        ("realign", 2, a_row_moves_though_all_accept_alike, "0", "1"),
        ("shortcut", 2, a_row_fed_nearer, "6 and 5", "10 and 6"),
    ],
)
def test_another_trace_has_another_answer(
    open_page: Callable, static_site: str, chapter: str, step: int, change: Callable, before: str, after: str
) -> None:
    page = open_page(f"{static_site}/blank")
    n = CHAPTERS.index(chapter)
    trace = events(n)
    asked = plan(page, n)["steps"][step]
    assert asked["words"] == before
    change(trace)
    changed = plan(page, n, "\n".join(map(json.dumps, trace)))["steps"][step]
    assert changed["words"] == after
    assert changed["right"] != asked["right"]


def test_the_last_chapter_judges_rows_by_their_verdicts_and_refuses_a_run_that_proves_nothing(
    open_page: Callable, static_site: str
) -> None:
    page = open_page(f"{static_site}/blank")
    assert plan(page, 5)["items"] == ["harmless", "harmful", "harmless"]
    trace = events(5)
    for row in range(3):
        verdict("eqspec", row, "bug")(trace)
    assert plan(page, 5, "\n".join(map(json.dumps, trace)))["items"] == ["harmful", "harmful", "harmless"]
    for row in range(3):
        verdict("bsp_repaired", row, "bug")(trace)
    assert plan(page, 5, "\n".join(map(json.dumps, trace))) is None


def changed(page: object, n: int, change: Callable) -> dict:
    trace = events(n)
    change(trace)
    return plan(page, n, "\n".join(map(json.dumps, trace)))


def test_the_newest_token_was_chosen_in_place_of_the_first_rejected_draft(
    open_page: Callable, static_site: str
) -> None:
    page = open_page(f"{static_site}/blank")
    assert "“the”, the newest token, has no entry yet: the model chose it in place of “te”" in plan(page, 1)["why"]
    assert plan(page, 1)["steps"][1]["done"].startswith("2 rejected entries are gone. “h” also fits")
    other = changed(page, 1, lambda trace: commit(trace, 1, 1))
    assert "in place of “te”" not in other["why"]
    assert "in place of" in other["why"]


def test_a_suspect_is_cleared_by_a_row_of_the_trace(open_page: Callable, static_site: str) -> None:
    page = open_page(f"{static_site}/blank")
    bet = plan(page, 5)["steps"][0]["misses"]
    assert "row 1 has no pads between prompt and answer, and goes wrong at token 13" in bet[0]
    assert "row 3 goes wrong at token 3, before it has any dead slot." in bet[1]
    assert bet[2].startswith("EQSPEC masks slots too (10 in row 3)")
    for rows, lane, n in (((0, 1), "bsp", 0), ((2,), "bsp", 1), ((1,), "eqspec", 2)):

        def other(trace: list[dict], rows: tuple = rows, lane: str = lane) -> None:
            for row in rows:
                verdict(lane, row, "bug" if lane == "eqspec" else "equal")(trace)

        unclear = changed(page, 5, other)["steps"][0]["misses"][n]
        assert unclear == "No row of this run clears that one: see what the others do.", n


def test_how_far_rounding_moves_a_logit_is_the_run_s_own_measure(open_page: Callable, static_site: str) -> None:
    page = open_page(f"{static_site}/blank")
    told = plan(page, 7)
    assert told["why"].startswith("0.5: the most that")
    assert told["why"].endswith("by 0.5 and raise the other by 0.5, and so undo a lead of 1.")

    def louder(trace: list[dict]) -> None:
        for e in trace:
            if e["event"] == "compare":
                e["noise"] = 0.6

    assert changed(page, 7, louder)["why"].endswith("by 0.6 and raise the other by 0.6, and so undo a lead of 1.2.")


# -- coming, going, coming back -----------------------------------------------------------------------------------


def test_the_keyboard_is_enough_and_escape_gives_the_view_back(open_page: Callable, static_site: str) -> None:
    page = open_page(f"{static_site}/?r=5&row=2&cmp=bsp_repaired&view=positions")
    why = page.get_by_role("button", name="Why? eight short chapters")
    why.focus()
    page.keyboard.press("Enter")
    page.wait_for_selector(f"{PANEL}:not([hidden]) .r-ask")
    assert page.evaluate("document.activeElement.className") == "r-ask"
    stage_is(page, {"step": 1, "row": 0, "right": "bsp", "chapter": 1, "told": "eqspec"})
    page.keyboard.press("n")  # nothing yet: the bet comes first
    assert "the drafts are" in page.inner_text(f"{PANEL} .r-ask")
    page.keyboard.press("Tab")
    page.keyboard.press("Enter")
    assert page.inner_text(FEED) == "Bet: “0”."
    page.keyboard.press("n")
    assert "step to round 2" in page.inner_text(f"{PANEL} .r-ask")
    page.keyboard.press("ArrowRight")
    page.wait_for_function("at => document.querySelector(at).textContent.includes('3 of 4 are accepted')", arg=FEED)
    assert page.evaluate("document.activeElement.textContent") == "Next"
    page.keyboard.press("Enter")
    assert "come out" in page.inner_text(f"{PANEL} .r-ask")
    page.keyboard.press("b")
    assert "step to round 2" in page.inner_text(f"{PANEL} .r-ask")
    page.keyboard.press("Escape")
    page.wait_for_selector(PANEL, state="hidden")
    stage_is(page, {"step": 5, "row": 2, "right": "bsp_repaired", "view": "positions", "chapter": None})
    assert page.evaluate("document.activeElement.textContent") == "Why? eight short chapters"
    page.wait_for_function("!location.search.includes('ch=') && location.search.includes('r=5')")


def test_a_link_opens_its_chapter_and_its_own_trace_and_leaving_shows_the_hero(
    open_page: Callable, static_site: str
) -> None:
    page = opened(open_page, static_site, 2)
    assert "The rectangle" in page.inner_text(f"{PANEL} h2")
    stage_is(page, {"chapter": 3, "playing": False})
    assert state(page, "source")[0]["name"] == "faults"
    page.wait_for_function("location.search === '?ch=3'")
    page.reload()
    page.wait_for_selector(f"{PANEL}:not([hidden]) .r-ask")
    assert "The rectangle" in page.inner_text(f"{PANEL} h2")
    page.get_by_role("button", name="Leave").click()
    page.wait_for_function("document.querySelector('h1').textContent.includes('BSP: 0 of 3')")
    assert state(page, "source")[0]["name"] == "hero"


def test_while_a_bet_is_open_the_stage_does_not_tell(open_page: Callable, static_site: str) -> None:
    neutral = "Same model, same prompts. What comes out is told after your answer."
    for n, right in ((5, "positions"), (7, "2"), (2, "same")):
        page = opened(open_page, static_site, n)
        page.wait_for_function("document.querySelector('#ragged-stage').classList.contains('guessing')")
        assert page.inner_text("h1").split() == neutral.split()
        assert re.fullmatch(
            r"Round \d\. What happens in it is told after your answer\.", page.inner_text(".r-sentence")
        )
        assert page.locator("#ragged-stage > [aria-live]").inner_text() in ("", page.inner_text(".r-sentence"))
        assert not page.locator(".r-verdict").first.is_visible()
        assert not re.search("equal|differs", page.locator("#ragged-stage > .r-hidden table").inner_text())
        page.click(f"{PANEL} [data-value='{right}']")
        page.wait_for_function("document.querySelector('h1').textContent.includes('EQSPEC: ')")
        assert "told after" not in page.inner_text(".r-sentence")
        assert page.locator(".r-verdict").first.is_visible()
    page.keyboard.press("n")
    page.get_by_role("button", name="Unmask the pads").click()
    page.wait_for_selector(".r-lane[data-lane=pads_seen] .r-word.wrong:not(.future)")
    assert page.locator(".r-lane[data-lane=pads_seen] .r-empty").count() == 0


def test_the_rectangle_shows_one_run_until_two_differ_and_then_where_they_do(
    open_page: Callable, static_site: str
) -> None:
    panes = "#ragged-tensors .rg-tn-block:not([hidden]) .rg-tn-panel:not([hidden])"
    page = opened(open_page, static_site, 2)
    page.wait_for_function("window.__ragged.tensors?.idle()")
    assert page.locator(panes).count() == 1
    page.click(f"{PANEL} [data-value=same]")
    page.keyboard.press("n")
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
    for press in ("[data-value=same]", ".next", ".r-options > button", ".next"):
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
    page.click(f"{PANEL} .next")
    edge(page, told["delta"] + 1)
    assert page.inner_text(FEED).startswith("Not so. Pads and entries make 60")
    slide = "at => { const e = document.querySelector(at); e.value = 0; e.dispatchEvent(new Event('input')); }"
    page.evaluate(slide, f"{PANEL} input[type=range]")
    assert page.inner_text(FEED) == ""  # said of another delta
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
    page.click(f"{PANEL} .next")
    assert page.inner_text(f"{PANEL} .r-ask").startswith("Rows that grow unequally move: row 3 by +3, row 1 by 0")
    stage_is(page, {"view": "move", "step": 2, "row": 2})


def test_a_chapter_about_one_lane_says_nothing_of_the_other(open_page: Callable, static_site: str) -> None:
    for n in (0, 1, 3, 6):
        page = opened(open_page, static_site, n)
        page.wait_for_function("document.querySelector('.r-sentence').textContent")
        for step in range(8):
            page.evaluate("n => window.__ragged.player.go(n)", step)
            stage_is(page, {"step": step})
            page.evaluate("() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))")
            assert "BSP" not in page.inner_text(".r-sentence"), (n, step)
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
    assert len(room) == 4
    assert min(room) >= 0, room


def test_a_double_click_on_next_does_not_pass_over_the_explanation(open_page: Callable, static_site: str) -> None:
    page = opened(open_page, static_site, 0)
    told = plan(page, 0)
    page.click(f"{PANEL} [data-value='0']")
    page.dblclick(f"{PANEL} .next")
    assert page.inner_text(f"{PANEL} .r-ask").startswith(told["steps"][1]["ask"])
    do(page, told)
    page.click(f"{PANEL} .next")
    answer(page, told, told["steps"][2])
    page.dblclick(f"{PANEL} .next")
    stage_is(page, {"chapter": 1})
    assert page.locator(f"{PANEL} .r-ask.why").is_visible()
    page.keyboard.press("Enter")
    stage_is(page, {"chapter": 2})


def test_one_wrong_try_allows_skipping_and_the_answer_is_said(open_page: Callable, static_site: str) -> None:
    page = opened(open_page, static_site, 3)
    page.click(f"{PANEL} [data-value=min]")
    page.keyboard.press("n")
    assert page.inner_text(FEED) == ""  # what became of the bet would name the cut
    edge(page, 4)
    page.get_by_role("button", name="Skip").click()
    assert page.inner_text(FEED).startswith("The slowest row decides: row 1 loses 3")
    assert page.locator(f"{PANEL} input[type=range]").input_value() == "1"
    page.keyboard.press("n")
    page.click(f'{PANEL} [data-value="0"]')
    assert "not free" in page.inner_text(FEED)
    page.get_by_role("button", name="Skip").click()
    assert page.inner_text(FEED) == "The answer: 3. Beyond the smallest count, 2: 1 + 0 + 2 = 3."


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
    page.keyboard.press("n")
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
        page.click(f"{PANEL} .next")
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
            assert page.locator(".r-broken").all_inner_texts()
            told = r"first broken: position gap, round \d \(first fed\)"
            assert all(re.fullmatch(told, text) for text in page.locator(".r-broken").all_inner_texts())
            page.keyboard.press("Escape")
            page.wait_for_selector(repair)
            page.evaluate("window.__ragged.player.go(7)")
            page.get_by_role("button", name="cause: position gap").first.wait_for()
        page.context.close()


def test_progress_is_kept_and_a_browser_that_keeps_nothing_is_fine(open_page: Callable, static_site: str) -> None:
    page = opened(open_page, static_site, 1)
    assert json.loads(page.evaluate("localStorage['ragged.chapters']")) == {"done": [], "at": "cleanup"}
    page.evaluate("""localStorage['ragged.chapters'] = '{"done": ["row", "cleanup"], "at": null}'""")
    page.goto(f"{static_site}/?r=0")
    page.get_by_role("button", name="Why? eight short chapters").click()
    page.wait_for_selector(f"{PANEL}:not([hidden]) .r-ask")
    assert "The rectangle" in page.inner_text(f"{PANEL} h2")
    assert page.locator(f"{PANEL} .r-chapters .done").count() == 2
    page.wait_for_function("location.search.includes('ch=3')")
    page.evaluate("localStorage['ragged.chapters'] = 'nonsense'")
    page.reload()
    page.wait_for_selector(f"{PANEL}:not([hidden]) .r-ask")
    assert page.locator(f"{PANEL} .r-chapters .done").count() == 0


def test_a_run_that_takes_the_stage_ends_the_chapter_and_is_not_undone(open_page: Callable, static_site: str) -> None:
    page = opened(open_page, static_site, 1)
    page.evaluate("""async () => {
      const { fold, parseTrace } = await import('/viewer/fold.js');
      window.run = fold(parseTrace(document.getElementById('ragged-hero').textContent));
      window.__ragged.store.set({ fold: window.run, source: { kind: 'live', name: 'x' } });
    }""")
    page.wait_for_selector(PANEL, state="hidden")
    stage_is(page, {"chapter": None})
    assert page.evaluate("window.__ragged.store.get().fold === window.run")


@pytest.fixture
def without_faults(traces: Path) -> Iterator[None]:
    file = traces / "faults.jsonl"
    kept = file.read_bytes()
    file.unlink()
    yield
    file.write_bytes(kept)


@pytest.mark.usefixtures("without_faults")
def test_a_chapter_without_its_recorded_run_is_not_offered(open_page: Callable, static_site: str) -> None:
    page = open_page(f"{static_site}/?r=0")
    page.get_by_role("button", name="Why? seven short chapters").click()
    page.wait_for_selector(f"{PANEL}:not([hidden]) .r-ask")
    assert page.locator(f"{PANEL} .r-chapters button").count() == 7


def test_a_page_whose_run_teaches_nothing_has_no_link(open_page: Callable, static_site: str) -> None:
    healed = [e for e in events(0) if e["lane"] in ("", "eqspec")]
    healed[0]["lanes"] = [lane for lane in healed[0]["lanes"] if lane["lane"] == "eqspec"]
    page = open_page()

    def serve(route: object) -> None:
        body = route.fetch().text()
        inert = "\n".join(map(json.dumps, healed)).replace("<", "\\u003c")
        body = re.sub(r'(id="ragged-hero">).*?(</script>)', lambda m: m[1] + inert + m[2], body, flags=re.S)
        route.fulfill(body=body, content_type="text/html")

    page.route(re.compile(r"/\?r=0"), serve)
    page.goto(f"{static_site}/?r=0")
    page.get_by_role("button", name="Why? six short chapters").wait_for()  # those that need BSP are missing


def test_token_text_is_text_in_the_chapters_too(open_page: Callable, static_site: str) -> None:
    evil = "<img src=x onerror=window.hit=1>"
    page = open_page()

    def serve(route: object) -> None:
        trace = events(1)
        for e in trace:
            if e["event"] == "pieces":
                e["pieces"] = [
                    [i, evil if text.strip() in ("te", "sat") else text, raw] for i, text, raw in e["pieces"]
                ]
        inert = "\n".join(map(json.dumps, trace)).replace("<", "\\u003c")
        body = re.sub(
            r'(id="ragged-hero">).*?(</script>)', lambda m: m[1] + inert + m[2], route.fetch().text(), flags=re.S
        )
        route.fulfill(body=body, content_type="text/html")

    page.route(re.compile(r"/\?ch=2"), serve)
    page.goto(f"{static_site}/?ch=2")
    page.wait_for_selector(f"{PANEL}:not([hidden]) .r-ask")
    page.click(f"{PANEL} .r-options > [data-value='5']")
    page.keyboard.press("n")
    assert evil in page.inner_text(f"{PANEL} .r-cut")
    edge(page, 7)
    assert evil in page.inner_text(FEED)
    assert page.locator(f"{PANEL} img").count() == 0
    assert page.evaluate("window.hit") is None


def test_the_answer_key_lists_every_question_with_its_computed_answer(open_page: Callable, static_site: str) -> None:
    page = opened(open_page, static_site, 0)
    page.get_by_role("button", name="Answer key").click()
    page.wait_for_selector(f"{PANEL} .r-answers dd")
    page.wait_for_function("at => document.querySelectorAll(at).length === 16", arg=f"{PANEL} .r-answers dd")
    said = page.locator(f"{PANEL} .r-answers dd").all_inner_texts()
    assert said == [s["words"] for n in range(len(CHAPTERS)) for s in plan(page, n)["steps"] if s["kind"] != "act"]
    page.emulate_media(media="print")
    assert page.locator(f"{PANEL} .r-answers").is_visible()
    assert not page.locator(".r-board").is_visible()
    assert not page.locator(".r-foot").is_visible()


def test_what_is_printed_from_the_dark_theme_is_dark_on_white(open_page: Callable, static_site: str) -> None:
    page = opened(open_page, static_site, 0, color_scheme="dark")
    page.get_by_role("button", name="Answer key").click()
    answer = f"{PANEL} .r-answers dd"
    page.wait_for_selector(answer)
    look = "at => { const of = (n) => getComputedStyle(n); const n = document.querySelector(at); "
    look += "return [of(n).color, of(n.closest('.r-stage')).backgroundColor]; }"
    dark = page.evaluate(look, answer)
    page.emulate_media(media="print")
    page.wait_for_function("!document.body.classList.contains('dark')")
    assert page.evaluate(look, answer) == ["rgb(23, 32, 42)", "rgb(255, 255, 255)"]
    page.emulate_media(media="screen")
    page.wait_for_function("document.body.classList.contains('dark')")
    assert page.evaluate(look, answer) == dark
    page.evaluate("window.addEventListener('beforeprint', () => { window.paper = document.body.className; })")
    page.pdf()  # the browser's own way
    assert page.evaluate("window.paper") == ""
    assert page.evaluate(look, answer) == dark


def test_no_key_opens_what_answers_an_open_question(open_page: Callable, static_site: str) -> None:
    page = open_page(f"{static_site}/?ch=8", viewport={"width": 1440, "height": 1000})
    page.wait_for_selector(f"{PANEL} .r-options > button")
    page.wait_for_function("window.__ragged.store.get().guessing === 'chapter'")
    page.locator("#ragged-stage").focus()
    before = page.evaluate("({...window.__ragged.store.get()}).step")
    for key in ("d", "d", "v"):
        page.keyboard.press(key)
    page.evaluate("window.__ragged.store.set({debug: true})")  # as a link may have left it
    page.evaluate("() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))")
    assert page.locator("#ragged-debugger").is_hidden()
    assert page.evaluate("({...window.__ragged.store.get()}).step") == before
    page.locator(f"{PANEL} .r-options > button:not(.r-text)").first.click()
    page.wait_for_function("window.__ragged.store.get().guessing === ''")
    page.wait_for_selector("#ragged-debugger", state="visible")


def test_a_note_that_is_made_in_a_chapter_is_in_its_link_and_goes_on(open_page: Callable, static_site: str) -> None:
    page = opened(open_page, static_site, 0)
    page.locator(".r-lane .r-word").first.click()
    page.get_by_role("button", name="Add a note").click()
    page.fill(".r-pinned textarea", "Look <b>here</b>")
    page.get_by_role("button", name="Keep it").click()
    page.wait_for_function("/ch=1/.test(location.search) && /note=/.test(location.search)")
    page.locator(f"{PANEL} .r-options > button").first.click()
    page.locator(f"{PANEL} .r-go.next").click()  # the chapter's next step
    page.wait_for_selector(f"{PANEL} li[aria-current]:has-text('Do')")
    note = ".r-pinned:not([hidden]) q"
    assert page.inner_text(note) == "Look <b>here</b>"

    other = open_page(page.url)
    other.wait_for_selector(f"{PANEL}:not([hidden]) .r-ask")
    assert other.inner_text(note) == "Look <b>here</b>"
    assert state(other, "note") == state(page, "note")
    other.get_by_role("button", name="Leave").click()
    other.wait_for_function("window.__ragged.store.get().chapter === null")
    assert state(other, "note") == [None]  # as it was before the chapters

    lost = open_page(f"{static_site}/?ch=1&note=bsp.0.9999.Gone")
    lost.wait_for_selector(f"{PANEL}:not([hidden]) .r-ask")
    lost.locator(".r-status", has_text="token 9999 of row 1 in BSP").wait_for()
    lost.wait_for_function("location.search === '?ch=1'")


@pytest.mark.parametrize("n", range(len(CHAPTERS)))
def test_no_key_goes_to_what_a_chapter_asks_for(open_page: Callable, static_site: str, n: int) -> None:
    page = opened(open_page, static_site, n)
    seen = ("step", "row", "cell", "right", "view", "tensorsOpen", "debug", "broken")

    def nothing_moves() -> None:
        before = state(page, *seen)
        for key in ("v", "d", "d"):
            page.keyboard.press(key)
            page.evaluate("() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))")
        assert state(page, *seen) == before

    nothing_moves()  # the bet
    page.locator(f"{PANEL} .r-options > [data-value]").first.click()
    page.locator(f"{PANEL} .r-go.next").click()
    page.wait_for_selector(f"{PANEL} li[aria-current]:has-text('do')")
    nothing_moves()  # the exercise
    page.get_by_role("button", name="Leave").click()
    page.wait_for_function("window.__ragged.store.get().chapter === null")
    assert state(page, "asked") == [False]
    page.locator("#ragged-stage").focus()
    page.keyboard.press("v")
    assert state(page, "view") == ["positions"]


def test_no_difference_is_marked_while_a_bet_asks_how_many_there_are(open_page: Callable, static_site: str) -> None:
    page = open_page(f"{static_site}/?ch=8", viewport={"width": 1440, "height": 1000})
    page.wait_for_function("window.__ragged.store.get().guessing === 'chapter'")
    page.locator("#ragged-stage").focus()
    page.keyboard.press("End")
    page.wait_for_selector(".r-word.wrong:not(.future)")
    look = """() => [...document.querySelectorAll('.r-word.wrong .ring')].map((ring) => [
        getComputedStyle(ring).borderTopColor, getComputedStyle(ring).fontWeight,
        getComputedStyle(ring.querySelector('.instead')).display])"""
    plain = page.evaluate("getComputedStyle(document.querySelector('.r-word:not(.wrong)')).fontWeight")
    assert page.evaluate(look)
    assert all(found == ["rgba(0, 0, 0, 0)", plain, "none"] for found in page.evaluate(look))
    later = "getComputedStyle(document.querySelector('.r-word.later')).color"
    ink = "getComputedStyle(document.querySelector('.r-word.later').parentElement).color"
    assert page.evaluate(later) == page.evaluate(ink)
    page.locator(f"{PANEL} .r-options > button:not(.r-text)").first.click()
    page.wait_for_function("window.__ragged.store.get().guessing === ''")
    assert all(found[2] != "none" for found in page.evaluate(look))
    assert page.evaluate(later) != page.evaluate(ink)


def test_on_a_phone_the_way_on_comes_after_the_question(open_page: Callable, static_site: str) -> None:
    page = opened(open_page, static_site, 7, viewport={"width": 390, "height": 844}, has_touch=True)
    options = page.locator(f"{PANEL} .r-options > [data-value]")
    edges = [options.last.bounding_box(), page.locator(f"{PANEL} .next").bounding_box()]
    assert edges[0]["y"] + edges[0]["height"] <= edges[1]["y"]
    page.locator(f"{PANEL} .r-ask").focus()
    names = []
    for _ in range(options.count() + 2):
        page.keyboard.press("Tab")
        names.append(page.evaluate("document.activeElement.textContent"))
    assert names == [*options.all_inner_texts(), "Back", "Answer key"]  # there is no next before an answer


def test_on_a_phone_the_next_question_is_on_the_screen(open_page: Callable, static_site: str) -> None:
    page = opened(open_page, static_site, 7, viewport={"width": 390, "height": 600}, has_touch=True)
    for _ in range(2):
        if page.locator(f"{PANEL} .r-rankline").count():
            do(page, plan(page, 7))
        else:
            page.locator(f"{PANEL} .r-options > [data-value]").first.click()
        page.evaluate("scrollTo(0, 10000)")
        page.locator(f"{PANEL} .next").click()
        page.evaluate("() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))")
        box = page.locator(f"{PANEL} .r-ask").bounding_box()
        assert 0 <= box["y"] < 600 - box["height"]


def test_while_a_question_is_open_a_click_on_a_word_does_not_answer_it(open_page: Callable, static_site: str) -> None:
    for n in (7, 5):
        page = opened(open_page, static_site, n)
        page.wait_for_function("window.__ragged.store.get().guessing === 'chapter'")
        page.locator(".r-lane .r-word:not(.future)").first.click()
        page.locator(".r-status", has_text="after your answer").wait_for()
        assert page.locator("#ragged-inspector").is_hidden()
        page.locator(f"{PANEL} .r-options > [data-value]").first.click()
        page.wait_for_function("!window.__ragged.store.get().guessing && !window.__ragged.store.get().message")
        page.locator(".r-lane .r-word:not(.future)").nth(1).click()
        page.wait_for_selector("#ragged-inspector", state="visible")


def test_the_exercise_that_asks_for_the_defect_does_not_name_it(open_page: Callable, static_site: str) -> None:
    page = opened(open_page, static_site, 5)
    page.locator(f"{PANEL} .r-options > [data-value]").first.click()
    page.locator(f"{PANEL} .next").click()
    page.wait_for_selector(f"{PANEL} li[aria-current]:has-text('do')")
    page.wait_for_selector(".r-lane.right .r-verdict.bug.reached")
    assert page.locator(".r-word.wrong .ring:visible").count()  # that it went wrong is no secret
    assert page.locator(".r-broken").count() == 0
    assert "told after your answer" in page.inner_text(".r-sentence")
    for suspect in ("Pads", "Masks", "Dead slots"):
        page.get_by_role("button", name=suspect, exact=True).click()
        assert page.locator(".r-broken").count() == 0
    page.locator(PANEL).get_by_role("button", name="Position ids", exact=True).click()
    page.wait_for_function("!window.__ragged.store.get().guessing")
    page.evaluate("window.__ragged.store.set({right: 'bsp'})")
    page.wait_for_selector(".r-broken")


def test_no_row_s_height_tells_what_an_open_question_asks(open_page: Callable, static_site: str) -> None:
    page = opened(open_page, static_site, 7, viewport={"width": 1024, "height": 900})
    page.wait_for_function("window.__ragged.store.get().guessing === 'chapter'")
    height = "() => [...document.querySelectorAll('.r-row')].map((row) => row.offsetHeight)"
    page.locator("#ragged-stage").focus()
    page.keyboard.press("End")
    page.wait_for_selector(".r-word.wrong:not(.future)")
    assert len(set(page.evaluate(height))) == 1
    page.locator(f"{PANEL} .r-options > [data-value]").first.click()
    page.locator(f"{PANEL} .next").click()
    seen = set()
    for n in range(3):
        page.locator(f"{PANEL} .r-rankline").nth(n).locator("button").first.click()
        page.evaluate("() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))")
        seen.update(page.evaluate(height))
    assert len(seen) == 1
