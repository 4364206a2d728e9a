"""A comparison as Markdown: every number from the trace, and whatever a token says, it stays inside its code."""

import json
from collections.abc import Callable

import pytest

from engine.fold import fold
from engine.lines import read_lines
from tests.browser.conftest import HERO

COPY = """async (text) => {
  const { markdownOf } = await import('/viewer/markdown.js');
  const { fold, parseTrace } = await import('/viewer/fold.js');
  const state = { fold: fold(parseTrace(text)), source: { kind: 'recorded', name: 'hero' } };
  return markdownOf({ ...state, left: 'eqspec', right: 'bsp', row: 0 }, 'http://x/?r=1');
}"""


def test_the_button_copies_what_the_trace_says(open_page: Callable, static_site: str) -> None:
    page = open_page(f"{static_site}/?r=3&row=1&open=debug", permissions=["clipboard-read", "clipboard-write"])
    page.wait_for_selector("#ragged-debugger:not([hidden])")
    page.get_by_role("button", name="Copy as Markdown").click()
    page.wait_for_selector("#ragged-debugger [role=status]:has-text('Copied')")
    told = page.evaluate("navigator.clipboard.readText()")
    state = fold(read_lines(HERO.read_text(encoding="utf-8").splitlines()))
    lane = state.lanes["bsp"]
    assert told.startswith("### BSP against the row run alone: 0 of 3 rows equal\n")
    assert f"<{static_site}/?r=3&row=1&open=debug>" in told
    assert "Model: smollm2-135m, float32 on cpu" in told
    for fault in lane.config["faults"]:
        assert fault.replace("_", "\\_") in told
    for row, facts in lane.rows.items():
        part = told.partition(f"#### Row {row + 1}: differs from token")[2].partition("\n#### ")[0]
        prompt = next(p for p in state.header.prompts if p["row"] == row)
        assert f"```text\n{prompt['text']}\n```" in part
        broken, step = next((v, f.step) for f in lane.frames for v in f.violations if v["row"] == row)
        assert (
            f"First violated invariant: {broken['invariant']} in round {step}, slot {broken['slot']}: "
            f"expected {broken['expected']}, actual {broken['actual']}"
        ) in part
        index, expected, actual = (facts.compare[name] for name in ("index", "expected", "actual"))
        words = [f"` {json.dumps(state.pieces[id][0])} ` ({id})" for id in (expected, actual)]
        assert f"First different token: {index + 1}, in round" in part
        assert f"expected {words[0]}, actual {words[1]}" in part
        for number in [*facts.compare["logits"]["reference"], *facts.compare["logits"]["lane"]]:
            assert str(number) in part
        text = "".join(state.pieces[i][0] for i in facts.ids[facts.prompt :][: facts.final])
        assert f"```text\n{text}\n```" in part


NASTY = [
    "```\n# <img src=x onerror=alert(1)>\n```",
    "<script>alert(1)</script>",
    "`` ` ```` | [a](javascript:1) ",
    "~~~\n---\n",
]


@pytest.mark.parametrize("nasty", NASTY)
def test_markup_in_prompts_and_tokens_stays_code(open_page: Callable, static_site: str, nasty: str) -> None:
    parser = pytest.importorskip("markdown_it").MarkdownIt("gfm-like", {"linkify": False})
    events = [json.loads(line) for line in HERO.read_text(encoding="utf-8").splitlines()]
    for e in events:
        if e["event"] == "header":
            e["prompts"] = [{**p, "text": nasty} for p in e["prompts"]]
            e["models"]["target"]["name"] = nasty
        if e["event"] == "pieces":
            e["pieces"] = [[i, nasty, ""] for i, *_ in e["pieces"]]
    told = open_page(f"{static_site}/blank").evaluate(COPY, "\n".join(map(json.dumps, events)))
    tokens = parser.parse(told)
    inline = [t for token in tokens for t in token.children or []]
    kinds = {t.type for t in tokens} | {t.type for t in inline}
    assert not kinds & {"html_block", "html_inline", "hr", "table_open", "s_open", "em_open", "image"}
    assert {t.attrGet("href") for t in inline if t.type == "link_open"} == {"http://x/?r=1"}
    blocks = [t.content for t in tokens if t.type == "fence"]
    assert blocks.count(f"{nasty}\n") == 3  # the prompts
    assert all(nasty in block for block in blocks)
    spans = [t.content for t in inline if t.type == "code_inline"]
    assert set(spans) == {json.dumps(nasty)}
    assert [t.tag for t in tokens if t.type == "heading_open"] == ["h3", "h4", "h4", "h4"]
