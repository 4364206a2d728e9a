"""A dropped trace: read and checked in the browser, its first violation on screen, taken along as link and JSON."""

import json
import re
from collections.abc import Callable
from pathlib import Path

import pytest

from engine.config import RunConfig
from engine.fold import fold
from engine.inspection import inspect
from engine.lines import dump_line, read_lines
from engine.reading import Reading, open_trace
from engine.stream import session
from tests.browser.screens import Screen, every_screen, looks_right
from tests.engine.pairs import pair
from tests.engine.test_inspect import lines_of, recorded
from tests.engine.test_writer import engine, snippet

PANEL = "#ragged-drop"
STATE = "(({fold, ...rest}) => rest)(window.__ragged.store.get())"
HTML = '<img src=x onerror="window.hacked = 1">'


@pytest.fixture(scope="module")
def broken(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A trace of three lanes: a good one, BSP and DSD."""
    path = tmp_path_factory.mktemp("files") / "mine.jsonl"
    path.write_text("".join(lines_of(recorded("broken"))))
    return path


def visit(open_page: Callable, url: str, **options: object) -> object:
    page = open_page(url, **options)
    page.wait_for_selector(".r-lane .r-word")
    page.get_by_role("button", name="Check a trace").click()
    page.wait_for_selector(PANEL)
    return page


def drop(page: object, file: Path) -> None:
    """As the mouse does it: the file in a drag's data, over the page and let go."""
    page.evaluate(
        """([name, bytes]) => {
          const data = new DataTransfer();
          data.items.add(new File([new Uint8Array(bytes)], name));
          for (const type of ['dragover', 'drop']) {
            document.body.dispatchEvent(new DragEvent(type, { dataTransfer: data, bubbles: true, cancelable: true }));
          }
        }""",
        [file.name, list(file.read_bytes())],
    )


def shown(page: object) -> dict:
    page.evaluate("() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))")
    return page.evaluate(STATE)


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


REFUSED = {
    "empty.jsonl": (b"", "line 1: the trace is empty"),
    "words.jsonl": (b"hello\n", "line 1: not JSON"),
    "bytes.bin": (b"\x80\x00\xff", "not UTF-8"),
    "page.html": (HTML.encode(), "line 1: not JSON"),
    "header.jsonl": (lines_of(recorded("broken"))[0][:-40].encode(), "line 1: not JSON"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_is_no_trace_is_refused_in_words(open_page: Callable, static_site: str, tmp_path: Path, name: str) -> None:
    data, words = REFUSED[name]
    page = visit(open_page, f"{static_site}/?r=3")
    file = tmp_path / name
    file.write_bytes(data)
    page.set_input_files("#r-drop-file", file)
    page.wait_for_selector(f"{PANEL} .r-dropsaid.bad")
    assert words in page.inner_text(f"{PANEL} .r-dropsaid")
    assert name in page.inner_text(f"{PANEL} .r-dropsaid")
    assert shown(page)["source"]["name"] == "hero"  # the stage is not touched
    assert page.evaluate("window.hacked") is None


def test_a_file_that_is_too_large_is_refused_before_it_is_read(
    open_page: Callable, static_site: str, tmp_path: Path
) -> None:
    page = visit(open_page, static_site)
    file = tmp_path / "large.jsonl"
    with file.open("wb") as out:
        out.truncate((64 << 20) + 1)
    page.set_input_files("#r-drop-file", file)
    page.wait_for_selector(f"{PANEL} .r-dropsaid.bad")
    said = page.inner_text(f"{PANEL} .r-dropsaid")
    assert "65 MB" in said
    assert "python -m engine inspect large.jsonl" in said


def hostile() -> str:
    """The trace of one lane, HTML in every string that a file may carry, no event that it may lack."""
    out = []
    for line in lines_of(recorded("broken")):
        e = json.loads(line)
        if e["lane"] not in ("", "bsp") or e["event"] in ("violation", "spans", "propose"):
            continue
        if e["event"] == "header":
            e["lanes"], e["title"] = [{"lane": HTML, "config": {"method": HTML, "faults": HTML}}], HTML
            e["prompts"] = [{**p, "text": HTML} for p in e["prompts"]]
            e["models"], e["dtype"], e["device"] = {"target": {"name": HTML}}, HTML, HTML
        elif e["lane"]:
            e["lane"] = HTML
        if e["event"] == "pieces":
            e["pieces"] = [[i, HTML, ""] for i, *_ in e["pieces"]]
        e |= {name: HTML for name in ("reason", "error", "created") if name in e}
        if e.get("verdict", "equal") != "equal":
            e["verdict"] = HTML
        out.append(json.dumps(e))
    return "\n".join(out)


def test_html_in_a_dropped_file_is_text_everywhere(open_page: Callable, static_site: str, tmp_path: Path) -> None:
    page = visit(open_page, static_site)
    file = tmp_path / "<b>bold.jsonl"
    file.write_text(hostile())
    page.set_input_files("#r-drop-file", file)
    page.wait_for_selector(f"{PANEL} .r-checked")
    assert page.locator(".r-lane .r-word.wrong").count() > 0  # a verdict in a word of its own is a difference
    page.locator("#ragged-stage").focus()
    for key in ("v", "d", "d", "i", "2", "3", "4", "ArrowRight", "End"):
        page.keyboard.press(key)
        shown(page)
    page.locator("#ragged-tensors").scroll_into_view_if_needed()
    page.wait_for_function("window.__ragged?.tensors?.idle()")
    assert page.locator("#ragged-stage img, #ragged-stage b:has-text('bold')").count() == 0
    assert page.evaluate("window.hacked") is None
    assert HTML in page.inner_text("h1")
    assert "<b>bold.jsonl" in page.inner_text("h1")


def test_a_mark_in_front_of_the_text_is_none_of_the_trace(
    open_page: Callable, static_site: str, broken: Path, tmp_path: Path
) -> None:
    file = tmp_path / "marked.jsonl"
    file.write_bytes(b"\xef\xbb\xbf" + broken.read_bytes())
    page = visit(open_page, static_site)
    page.set_input_files("#r-drop-file", file)
    page.wait_for_selector(f"{PANEL} .r-checked")
    found = {lane.lane: bool(lane.first) for lane in inspect(Reading(open_trace(file)))}
    said = {lane: page.inner_text(f"{PANEL} .r-checked[data-lane={lane}] h3") for lane in found}
    assert {lane: "no invariant broken" not in text for lane, text in said.items()} == found


def test_a_cut_file_is_read_as_far_as_it_goes_and_an_empty_lane_is_not_called_clean(
    open_page: Callable, static_site: str, tmp_path: Path
) -> None:
    page = visit(open_page, static_site)
    file = tmp_path / "cut.jsonl"
    text = "".join(lines_of(recorded("broken")))
    file.write_text(text[: text.index('"lane":"dsd"', text.index("\n")) + 20])
    page.set_input_files("#r-drop-file", file)
    page.wait_for_selector(f"{PANEL} .r-checked")
    assert "last line is cut off" in page.inner_text(f"{PANEL} .r-dropsaid")
    nothing = page.locator(f"{PANEL} .r-checked[data-lane=dsd] h3")
    assert "nothing to check" in nothing.inner_text()
    assert nothing.get_attribute("class") == ""
    assert "no invariant broken" in page.inner_text(f"{PANEL} .r-checked[data-lane=good]")


def test_a_trace_of_the_readme_s_writer_opens_and_is_checked(
    open_page: Callable, static_site: str, tmp_path: Path
) -> None:
    page = visit(open_page, static_site)
    engine(tmp_path / "mine.jsonl", (3, 1, 2))
    page.set_input_files("#r-drop-file", tmp_path / "mine.jsonl")
    page.wait_for_selector(f"{PANEL} .r-violation")
    assert page.locator(f"{PANEL} td").all_inner_texts()[:2] == ["2", "3"]  # row 2 in round 3
    assert "position gap" in page.inner_text(f"{PANEL} h3")
    assert shown(page)["step"] == 3
    # the mark stands where the gap is first drawn, a round before the check can see it: its words say so
    mark = page.locator(".r-mark.gap")
    assert mark.inner_text() == "first gap opens"
    assert re.match(r"Round 2 chooses .* \(row 2\); round 3 feeds it", mark.get_attribute("title"))
    assert [text[:5] for text in page.locator(".r-pick").all_inner_texts()] == ["Row 1", "Row 3", "Row 2"]
    assert page.get_by_text("rows: longest prompt first").is_visible()


def test_the_writer_s_fields_are_explained_beside_it(open_page: Callable, static_site: str) -> None:
    asked = re.search(r"def step\(self, rows, (.*?)\):", snippet())[1]
    page = open_page()

    def serve(route: object) -> None:
        body = route.fetch().text().replace('{"viewer"', '{"writer": "class Trace: ...", "viewer"')
        route.fulfill(body=body, content_type="text/html")

    page.route(f"{static_site}/", serve)
    page.goto(f"{static_site}/")
    page.wait_for_selector(".r-lane .r-word")
    page.get_by_role("button", name="Check a trace").click()
    page.get_by_text("From your own engine").click()
    fields = page.locator(f"{PANEL} .r-fields")
    assert fields.locator("dt").all_inner_texts() == re.findall(r"(\w+)(?:=\(\))?", asked)
    assert all(len(text) > 30 for text in fields.locator("dd").all_inner_texts())


@pytest.mark.parametrize("name", ["constructor", "__proto__", 'a"]b', "a.b c"])
def test_a_lane_of_any_name_is_shown_by_that_name(
    open_page: Callable, static_site: str, broken: Path, tmp_path: Path, name: str
) -> None:
    file = tmp_path / "named.jsonl"
    file.write_text(broken.read_text().replace('"lane":"bsp"', f'"lane":{json.dumps(name)}'))
    page = visit(open_page, static_site)
    page.set_input_files("#r-drop-file", file)
    page.wait_for_selector(f"{PANEL} .r-checked")
    shown(page)  # the report may come a frame before the headline
    assert name in page.inner_text("h1")
    page.get_by_label("Upper lane").select_option(name)
    assert shown(page)["left"] == name
    page.locator(".r-lane.left .r-word").first.click()
    page.wait_for_selector("#ragged-inspector")
    page.keyboard.press("Escape")
    page.wait_for_timeout(600)
    query = page.evaluate("location.search")
    assert re.search("t=file", query)
    page.evaluate("dispatchEvent(new PopStateEvent('popstate'))")
    assert shown(page)["left"] == name


def test_what_a_file_leaves_open_is_said_in_words(
    open_page: Callable, static_site: str, broken: Path, tmp_path: Path
) -> None:
    events = [json.loads(line) for line in broken.read_text().splitlines()]
    rows = len(events[0]["prompts"])
    for event in events:
        event.pop("seq", None)
        if event["event"] == "commit":
            event["kinds"] = ["z" * len(ids) for ids in event["emitted"]]
        if event["event"] == "propose":
            event["why"], event["source"] = event["why"][:1], event["source"][:1]
        if event["event"] == "compare":
            event.update(verdict="bug", index=1, expected=None, actual=None)
    sparse = tmp_path / "sparse.jsonl"
    sparse.write_text("".join(json.dumps(event) + "\n" for event in events))
    page = visit(open_page, static_site)
    drop(page, sparse)
    page.wait_for_function("window.__ragged.store.get().source.kind === 'file'")
    page.evaluate("window.__ragged.store.set({debug: true})")
    said = set()
    for row in range(rows):
        for index in page.evaluate(f"Object.keys(window.__ragged.store.get().fold.lanes.bsp.rows[{row}].ids)"):
            cell = f"{{lane: 'bsp', row: {row}, index: {index}}}"
            page.evaluate(f"window.__ragged.store.set({{row: {row}, cell: {cell}, inspect: true, step: {index} % 9}})")
            shown(page)
            said.update(page.locator("#ragged-stage").inner_text().split("\n"))
    assert [line for line in said if re.search(r"undefined|\bnull\b|NaN", line)] == []
    assert any("kind not in this trace" in line for line in said)
    assert any("a token that this trace does not name" in line for line in said)

    del events[1:]
    late = {"event": "propose", "lane": "bsp", "step": 3, "draft": 0, "tokens": [], "why": [], "source": []}
    sparse.write_text("".join(json.dumps(event) + "\n" for event in [*events, late]))
    drop(page, sparse)
    page.locator(f"{PANEL} .bad").wait_for()
    why = "propose of step 3 does not fit what came before it (propose before the first schedule of lane 'bsp')"
    assert f"line 2: {why}" in page.inner_text(f"{PANEL} .bad")
    with pytest.raises(ValueError, match=re.escape(why)):
        inspect(Reading(open_trace(sparse)))


#: Where a control that turns text about stands beside other text: in no element of its own, or in an attribute.
TURNED = """() => [...document.querySelectorAll('#ragged-stage *')].flatMap((node) => {
  const turns = (text) => /[\\u202a-\\u202e\\u2066-\\u2069]/.test(text);
  const own = [...node.childNodes].filter((child) => child.nodeType === 3 && turns(child.data));
  const text = ({ name }) => !/^data-|^(href|value|download)$/.test(name);
  const named = [...node.attributes].filter((attribute) => text(attribute) && turns(attribute.value));
  if (node.matches('.r-prompt')) return []; // the prompt is all that is in it
  return [...own.map(({ data }) => data), ...named.map(({ value }) => value)];
})"""


def test_a_name_that_turns_text_about_turns_none_of_ours(
    open_page: Callable, static_site: str, broken: Path, tmp_path: Path
) -> None:
    turn = "abc\u202edef"
    events = [json.loads(line) for line in broken.read_text().splitlines()]
    for event in events:
        if event.get("lane") == "dsd":
            event["lane"] = turn
        if event["event"] == "header":
            event["lanes"] = [
                {**spec, "lane": turn if spec["lane"] == "dsd" else spec["lane"]} for spec in event["lanes"]
            ]
            event["prompts"] = [{**prompt, "text": turn} for prompt in event["prompts"]]
            event["models"]["target"]["name"] = turn
        if event["event"] == "pieces":
            event["pieces"] = [[token, turn if token % 2 else text, ""] for token, text, _ in event["pieces"]]
        if event["event"] == "propose":
            event["why"], event["source"] = ([turn for _ in event[name]] for name in ("why", "source"))
    file = tmp_path / f"{turn}.jsonl"
    file.write_text("".join(json.dumps(event) + "\n" for event in events))
    page = visit(open_page, static_site)
    drop(page, file)
    page.wait_for_function("window.__ragged.store.get().source.kind === 'file'")
    page.evaluate("name => window.__ragged.store.set({right: name, left: 'bsp', debug: true})", turn)
    page.locator("#ragged-stage").focus()
    for key in ("v", "d", "i", "m", "2", "1", "ArrowRight", "End"):
        page.keyboard.press(key)
        shown(page)
        assert page.evaluate(TURNED) == []
    for index in page.evaluate("name => Object.keys(window.__ragged.store.get().fold.lanes[name].rows[0].ids)", turn):
        page.evaluate(
            "([lane, index]) => window.__ragged.store.set({row: 0, cell: {lane, row: 0, index}, inspect: true})",
            [turn, int(index)],
        )
        shown(page)
        assert page.evaluate(TURNED) == []
    assert "abcU+202Edef.jsonl" in page.inner_text("h1")
    assert page.locator(".r-name", has_text="abcU+202Edef").count() > 0
    none = tmp_path / f"no{turn}.txt"
    none.write_text(turn)
    drop(page, none)
    page.locator(f"{PANEL} .bad", has_text="noabcU+202Edef.txt").wait_for()
    assert page.evaluate(TURNED) == []
