"""The microscope: every strip and every equation equals the folded trace."""

from collections.abc import Callable

from engine.fold import fold
from engine.frames import Frame, KvMap
from engine.lines import dump_line, read_lines
from engine.stream import session
from tests.browser.conftest import HERO
from tests.browser.screens import Screen, every_screen, looks_right
from tests.engine import tiny

PANEL = "#ragged-microscope"
STAGES = """async ([text, lane]) => {
  const { stagesOf } = await import('/viewer/micro_layout.js');
  const { fold, parseTrace } = await import('/viewer/fold.js');
  const { frames } = fold(parseTrace(text)).lanes[lane];
  const ended = (row, n) => !frames.slice(n + 1).some(({ rows }) => rows.includes(row));
  return frames.map((frame, n) => frame.rows.map((row, i) => stagesOf(frame, i, ended(row, n))));
}"""


def frames_of(lane: str) -> list[Frame]:
    return fold(read_lines(HERO.read_text(encoding="utf-8").splitlines())).lanes[lane].frames


def visible(kv: KvMap) -> int:
    return sum(seen and owner >= 0 for seen, owner in zip(kv.visible, kv.owner, strict=True))


def spread(runs: list[dict]) -> list[str]:
    """Runs as one kind per slot; they follow each other without a hole."""
    out: list[str] = []
    for run in runs:
        assert run["x"] == len(out)
        out += [run["kind"]] * run["n"]
    return out


def test_unpad_append_repad_is_what_the_trace_says_of_every_row_in_every_round(
    open_page: Callable, static_site: str
) -> None:
    found = open_page(f"{static_site}/blank").evaluate(STAGES, [HERO.read_text(encoding="utf-8"), "eqspec"])
    moved = 0
    frames = frames_of("eqspec")
    for n, (frame, rows) in enumerate(zip(frames, found, strict=True)):
        for i, (row, told) in enumerate(zip(frame.rows, rows, strict=True)):
            stages = {stage["key"]: stage for stage in told["stages"]}
            before, after = frame.before[row], frame.after.get(row)
            assert told["left"] == (not any(row in later.rows for later in frames[n + 1 :]))
            if not before.owner:
                assert list(stages) == ["written", "after"]
                continue
            assert list(stages)[:3] == ["before", "unpad", "append"]
            pads, c, width = before.owner.index(0), visible(before), len(before.owner)
            assert (stages["before"]["p"], stages["before"]["c"], stages["before"]["width"]) == (pads, c, width)
            assert pads + c == width
            assert spread(stages["unpad"]["runs"]) == ["kept"] * c
            new = ["fresh"] * (1 + frame.accepted[i]) + ["rejected"] * (frame.lens[i] - frame.accepted[i])
            assert spread(stages["append"]["runs"]) == ["kept"] * c + new
            if told["left"]:
                continue
            expected = ["pad" if owner < 0 else "kept" for owner in after.owner]
            grown = 1 + frame.accepted[i]
            expected[-grown:] = ["fresh"] * grown
            assert spread(stages["repad"]["runs"]) == expected
            shift = next((dst - src for r, src, dst, _ in frame.moves if r == row), 0)
            assert told["delta"] == shift == after.owner.index(0) - pads
            moved += bool(shift)
    assert moved >= 2


def test_a_lane_that_keeps_its_slots_has_no_delta_and_shows_its_holes(open_page: Callable, static_site: str) -> None:
    found = open_page(f"{static_site}/blank").evaluate(STAGES, [HERO.read_text(encoding="utf-8"), "bsp"])
    holes = 0
    for frame, rows in zip(frames_of("bsp"), found, strict=True):
        for row, told in zip(frame.rows, rows, strict=True):
            assert told["delta"] is None
            after = frame.after.get(row)
            if told["left"] or not after:
                continue
            last = told["stages"][-1]
            assert last["key"] == "after"
            hidden = sum(owner >= 0 and not seen for owner, seen in zip(after.owner, after.visible, strict=True))
            assert (last["c"], last["holes"]) == (visible(after), hidden)
            holes += hidden
    assert holes > 5


@every_screen
def test_it_opens_in_place_follows_the_clock_and_is_in_the_link(
    open_page: Callable, static_site: str, screen: Screen
) -> None:
    page = open_page(f"{static_site}/?r=1", **screen.options)
    page.wait_for_selector(".r-lane .r-word")
    page.get_by_role("button", name="Look inside").click()
    page.wait_for_selector(PANEL)
    page.get_by_role("button", name="Next round").click()
    page.wait_for_function("document.querySelector('#r-micro-title').textContent === 'Inside round 2'")
    row = page.locator(f"{PANEL} [data-lane=eqspec] [data-row='2']")
    assert row.locator("[data-stage=before] output").inner_text() == "7 + 48 = 55 = L ✓"
    assert row.locator("[data-stage=append] output").inner_text() == "c = 48 + 1 = 49"
    assert row.locator("[data-stage=repad] output").inner_text() == "10 + 49 = 59 = L ✓, delta +3"
    assert "repad: 10 + 49 = 59" in row.get_attribute("aria-label")
    copied = page.inner_text(f"{PANEL} [data-lane=eqspec] h3")
    entries = 59 + 55 + 49  # row 1 stays and is read all the same
    assert f"Copied {entries} entries \u00d7 46,080 bytes = {entries * 46080:,} bytes: to shift rows" in copied
    assert "Nothing is copied." in page.inner_text(f"{PANEL} [data-lane=bsp] h3")
    looks_right(page, screen, PANEL, f"{PANEL} output")
    page.evaluate("window.__ragged.store.set({ step: 3 })")
    page.wait_for_function("document.querySelector('#r-micro-title').textContent === 'Inside round 3'")
    assert "180 to enlarge a full buffer" in page.inner_text(f"{PANEL} [data-lane=bsp] h3")
    assert "130 to cut out a row that left" in page.inner_text(f"{PANEL} [data-lane=bsp] h3")
    page.wait_for_function("location.search.includes('open=round')")
    page.reload()
    page.wait_for_selector(f"{PANEL}:not([hidden])")
    page.locator("#ragged-stage").focus()
    page.keyboard.press("m")
    page.wait_for_selector(PANEL, state="hidden")
    page.wait_for_function("!location.search.includes('open=')")


def test_a_lane_that_copies_before_its_forward_is_shown_in_that_order(open_page: Callable, static_site: str) -> None:
    lanes = {"exspec": tiny.config("exspec", batch=2)}
    prompts = [tiny.prompt(n, seed, stop=0.2) for seed, n in enumerate((5, 1, 9, 14))]
    text = "".join(dump_line(e) + "\n" for e in session(lanes, prompts, pair=tiny.pair("llama", 0.1, eos=0.6)))
    found = open_page(f"{static_site}/blank").evaluate(STAGES, [text, "exspec"])
    moved = rejected = 0
    for frame, rows in zip(fold(read_lines(text.splitlines())).lanes["exspec"].frames, found, strict=True):
        for i, (row, told) in enumerate(zip(frame.rows, rows, strict=True)):
            if not frame.ahead:
                assert frame.step == 0 or not frame.before[row].owner, "only a prefill copies nothing first"
                continue
            start, before = frame.start[row], frame.before[row]
            found_, repad, written = told["stages"]
            assert [found_["key"], repad["key"], written["key"]] == ["found", "repad", "written"]
            assert (found_["c"], found_["holes"]) == (visible(before), visible(start) - visible(before))
            assert found_["width"] == len(start.owner)
            assert (repad["p"], repad["c"], repad["width"]) == (before.owner.index(0), visible(before), frame.slots[i])
            assert repad["p"] + repad["c"] == repad["width"], "an exact method's rectangle"
            assert not repad["holes"]
            assert (written["old"], written["grown"]) == (repad["c"], 1 + frame.accepted[i])
            assert written["c"] == written["old"] + written["grown"]
            assert told["delta"] == before.owner.index(0) - start.owner.index(0)
            moved += bool(told["delta"])
            rejected += found_["holes"] > 0
    assert moved > 5
    assert rejected > 2
