"""The chapters' words: few, short, complete, and only ever text."""

import json
import re
from collections.abc import Callable
from itertools import pairwise

from tests.browser.chapters import CHAPTERS, FEED, PANEL, events, opened, plan
from tests.browser.exercises import edge, first_time_right

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


def test_the_way_through_all_chapters_has_few_words_and_clicks(open_page: Callable, static_site: str) -> None:
    """Every word in the panel that was not there a moment before: leads, questions, options, answers, explanations."""
    words, clicks = {}, 0
    for n, key in enumerate(CHAPTERS):
        page = opened(open_page, static_site, n)
        told, shown = plan(page, n), [set(page.evaluate(READ))]
        page.evaluate("window.clicks = 1; addEventListener('click', () => { window.clicks += 1; }, true)")  # and Next
        for step in told["steps"]:
            first_time_right(page, told, step)
            shown.append(set(page.evaluate(READ)))
            if step["kind"] == "act":
                page.click(f"{PANEL} .next")
                shown.append(set(page.evaluate(READ)))
        assert told["why"] in shown[-1]
        read = [text for before, now in pairwise([set(), *shown]) for text in now - before]
        words[key] = sum(len(re.findall(r"\S*[^\W_]\S*", text)) for text in read)
        clicks += page.evaluate("window.clicks")
        page.context.close()
    assert clicks <= 45
    assert all(60 < n <= 170 for n in words.values()), words
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
    assert "own token (bonus) “rolls”" in asked[1]["right"]


def test_a_right_bet_says_why(open_page: Callable, static_site: str) -> None:
    page = opened(open_page, static_site, 2)
    told = plan(page, 2)
    page.click(f"{PANEL} [data-value=same]")
    assert page.inner_text(FEED) == f"Right bet. {told['steps'][0]['right']}"


def test_a_name_opens_its_meaning_by_focus_and_the_help_lists_it(open_page: Callable, static_site: str) -> None:
    page = opened(open_page, static_site, 0)
    term = page.locator(f"{PANEL} .r-lead .r-term").first
    assert not term.locator(".r-means").is_visible()
    term.focus()
    assert term.locator(".r-means").is_visible()
    assert "realigns the batch" in term.get_attribute("aria-label")
    page.get_by_role("button", name="Keys").click()
    assert page.locator(".r-help .words dt").all_inner_texts() == ["EQSPEC", "BSP", "DSD"]


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
    assert evil in page.inner_text(f"{PANEL} .r-cut")
    edge(page, 7)
    assert evil in page.inner_text(FEED)
    assert page.locator(f"{PANEL} img").count() == 0
    assert page.evaluate("window.hit") is None
