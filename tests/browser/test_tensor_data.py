"""The tensor views show the engine's own tensors: every matrix, as computed in the browser and as given to Plotly."""

import json
from collections import Counter

import pytest

from engine.fold import Fold, Frame, KvMap, LaneState, fold
from engine.lines import dump_line, read_lines
from engine.stream import session
from tests.browser.conftest import HERO
from tests.engine import tiny
from tests.engine.conftest import Tape

VIEWS = ("kinds", "positions", "mask", "move")
LANES = {
    "eqspec": tiny.config(),
    "eqspec in batches": tiny.config(batch=3, proposer="ngram", k=3),
    "bsp": tiny.config("bsp"),
    "bsp with stop rule": tiny.config("bsp", faults=frozenset({"padding_gap", "rejection_gap", "draft_positions"})),
}
PROMPTS = [tiny.prompt(n, seed, stop=0.2) for seed, n in enumerate((5, 1, 9, 14))]

MATRICES = """async (text) => {
  const { fold, parseTrace } = await import('/viewer/fold.js');
  const { tensorOf, KIND, MOVE } = await import('/viewer/tensor_data.js');
  const state = fold(parseTrace(text));
  const out = { KIND, MOVE, lanes: {} };
  for (const [name, lane] of Object.entries(state.lanes)) {
    out.lanes[name] = lane.frames.map((frame) =>
      Object.fromEntries(VIEWS.map((view) => [view, tensorOf(state, lane, frame, view)])));
  }
  return JSON.stringify(out);
}""".replace("VIEWS", json.dumps(VIEWS))


@pytest.fixture(scope="module", params=["hero", "copies first", "llama", "gpt2"])
def told(request: pytest.FixtureRequest) -> tuple[str, Tape | None]:
    """A trace, and for the tiny models the engine's own tensors beside it."""
    if request.param == "hero":
        return HERO.read_text(), None
    if request.param == "copies first":
        lanes = {"exspec": tiny.config("exspec", batch=2), "bsp": LANES["bsp"]}
        events = session(lanes, PROMPTS, pair=tiny.pair("llama", 0.1, eos=0.6))
        return "".join(dump_line(event) + "\n" for event in events), None
    tape = Tape()
    events = tape.beside(
        session(LANES, PROMPTS, pair=tiny.pair(request.param, 0.1, eos=0.6), certify=False, observer=tape)
    )
    return "".join(dump_line(event) + "\n" for event in events), tape


@pytest.fixture
def shown(told: tuple[str, Tape | None], open_page: object, static_site: str) -> dict:
    return json.loads(open_page(f"{static_site}/blank").evaluate(MATRICES, told[0]))


def steps(text: str, shown: dict) -> list[tuple[Fold, LaneState, Frame, dict]]:
    """Every frame of Python's fold with what the browser makes of it."""
    state = fold(read_lines(text.splitlines()))
    assert shown["lanes"].keys() == state.lanes.keys()
    pairs = [(lane, zip(lane.frames, shown["lanes"][lane.name], strict=True)) for lane in state.lanes.values()]
    return [(state, lane, frame, views) for lane, both in pairs for frame, views in both]


def test_positions_are_those_of_the_shadow_and_blank_where_they_count_right(told: tuple, shown: dict) -> None:
    glowing = set()
    for state, lane, frame, views in steps(told[0], shown):
        view = views["positions"]
        assert view["rows"] == sorted(frame.rows)
        for n, row in enumerate(view["rows"]):
            m = frame.fed[row]
            base = 0 if state.header.positions == "learned" else m.position[m.owner.index(0)]
            assert view["position"][n] == m.position, f"{lane.name}, step {frame.step}, row {row}"
            assert view["z"][n] == [None if o < 0 else p - base - o for o, p in zip(m.owner, m.position, strict=True)]
            if any(view["z"][n][s] for s in range(frame.width) if m.visible[s]):
                glowing.add(lane.name)
        assert {g["row"] for g in view["gaps"]} <= {r for r in frame.rows if lane.name.startswith("bsp")}
    assert "eqspec" not in glowing
    assert "bsp" in glowing


def test_the_mask_is_the_one_of_the_forward(told: tuple, shown: dict) -> None:
    text, tape = told
    for _, lane, frame, views in steps(text, shown):
        view, prefill = views["mask"], all(k == "p" for k in frame.kinds)
        for (row, query), z in zip([(q["row"], q["query"]) for q in view["lines"]], view["z"], strict=True):
            i = frame.rows.index(row)
            if prefill:
                assert query == max(t for t, owner in enumerate(frame.fed[row].owner) if owner >= 0)
            assert z == frame.mask(i)[query], f"{lane.name}, step {frame.step}, row {row}, query {query}"
            if tape:
                assert z == tape.shots[lane.name, frame.step].mask[i, query].int().tolist()
        queries = 1 if prefill else max(map(len, frame.positions))
        assert len(view["z"]) == len(frame.rows) * queries


def test_kinds_agree_with_the_verdicts(told: tuple, shown: dict) -> None:
    """Counted per row, against lens, accepted and emitted; entries of no token are never drawn as tokens."""
    kind = shown["KIND"]
    for _, lane, frame, views in steps(told[0], shown):
        for n, row in enumerate(views["kinds"]["rows"]):
            i, m, z = frame.rows.index(row), frame.fed[row], views["kinds"]["z"][n]
            where = f"{lane.name}, step {frame.step}, row {row}"
            seen, t = Counter(z), len(frame.positions[i])
            tokens = [s for s in range(frame.width) if m.owner[s] >= 0]
            assert all(z[s] not in (kind["pad"], kind["filler"]) for s in tokens), where
            prompt = [s for s in tokens if m.visible[s] and m.owner[s] < lane.rows[row].prompt]
            if all(k == "p" for k in frame.kinds):
                assert set(z) <= {kind["pad"], kind["prompt"]}, where
                assert seen[kind["prompt"]] == lane.rows[row].prompt, where
                continue
            agreed, kept = frame.accepted[i], len(frame.emitted[i])
            assert seen[kind["accepted"]] == min(agreed, kept), where
            assert seen[kind["cut"]] == max(0, agreed - kept), where
            assert seen[kind["rejected"]] == frame.lens[i] - agreed, where
            assert seen[kind["filler"]] == t - 1 - frame.lens[i], where
            assert z[frame.slots[i]] == kind["refed"], where
            assert seen[kind["refed"]] == 1, where
            assert {z[s] for s in prompt if s != frame.slots[i]} == {kind["prompt"]}, where
            old = range(frame.slots[i])
            assert seen[kind["hole"]] == 0 or "bsp" in lane.name, where
            assert all(z[s] == kind["hole"] for s in old if m.owner[s] >= 0 and not m.visible[s]), where
        chosen = {c["row"]: (c["id"], c["kind"]) for c in views["kinds"]["chosen"]}
        last = zip(frame.rows, frame.emitted, frame.kinds, strict=True)
        assert chosen == {row: (ids[-1], k[-1]) for row, ids, k in last if k and k[-1] != "a"}


def test_the_move_says_where_every_entry_came_from(told: tuple, shown: dict) -> None:
    move = shown["MOVE"]
    for _, lane, frame, views in steps(told[0], shown):
        view = views["move"]
        first, second = (frame.start, frame.before) if frame.ahead else (frame.fed, frame.after)
        assert view["ahead"] == frame.ahead
        assert {r for r, shift in view["shift"].items() if any(shift)} <= {str(r) for r in frame.rows}
        assert view["gone"] == [r for r in view["rows"] if r not in second]
        for n, row in enumerate(view["rows"]):
            where = f"{lane.name}, step {frame.step}, row {row}"
            above, below, origin = view["z"][2 * n], view["z"][2 * n + 1], view["origin"][n]
            assert len(above) == (len(first[row].owner) if frame.ahead else frame.width), where
            if row not in second:
                assert set(origin) == {None}, where
                assert not set(above) - {move["dropped"], move["pad"]}, where
                continue
            fed, after = first[row], second[row]
            for slot, source in enumerate(origin):
                if source < 0:
                    assert after.owner[slot] < 0, where
                    assert below[slot] == move["pad"], where
                else:
                    assert cell(after, slot)[:3] == cell(fed, source)[:3], where
                    shift = ("left", "stays", "right")[(slot > source) - (slot < source) + 1]
                    assert below[slot] == above[source] == move[shift if after.visible[slot] else "dead"], where
            taken = {s for s in origin if s >= 0}
            lost = [s for s in range(len(above)) if s not in taken]
            assert all(above[s] in (move["dropped"], move["pad"]) for s in lost), where
            deltas = {to - at for r, at, to, _ in frame.moves if r == row}
            if frame.ahead:  # a split and a join are one way
                deltas = {slot - source for slot, source in enumerate(origin) if source >= 0}
                assert {min(deltas, default=0)} == {after.owner.index(0) - fed.owner.index(0)}, where
            assert set(view["shift"][str(row)]) == deltas, where
        assert view["bytes"] == frame.bytes == sum(cost for *_, cost in frame.copied)
        assert (f"{frame.bytes:,} bytes:" in view["cost"]) == bool(frame.bytes)
        assert (f"{frame.avoided:,} bytes" in view["cost"]) or not frame.avoided


def cell(m: KvMap, slot: int) -> tuple[int, int, int, int]:
    return m.owner[slot], m.token[slot], m.position[slot], m.visible[slot]


# -- on the page -----------------------------------------------------------------------------------------------------

MOUNT = """async ([text, state]) => {
  const page = document.createElement('script');
  page.type = 'application/json';
  page.id = 'ragged-page';
  page.textContent = JSON.stringify({ plotly: 'vendor/plotly-cartesian-4.1.1.min.js' });
  const style = Object.assign(document.createElement('link'), { rel: 'stylesheet', href: '/viewer/tensors.css' });
  const box = document.createElement('div');
  document.body.append(page, box);
  document.head.append(style);
  const [{ fold, parseTrace }, { createStore }, { mountTensors }] = await Promise.all(
    ['fold', 'store', 'tensors'].map((name) => import(`/viewer/${name}.js`)));
  window.store = createStore({ fold: fold(parseTrace(text)), tensorsOpen: true, ...state });
  mountTensors(box, window.store);
}"""
READY = "() => window.__ragged?.tensors?.idle() && window.__ragged.tensors.drawn().right"
OVERVIEW = "(side) => window.__ragged.tensors.drawn()[side].find((trace) => trace.name === 'over').z"


@pytest.fixture(scope="module")
def text() -> str:
    """Two lanes of a tiny model; the first token's text is markup."""
    lanes = {name: LANES[name] for name in ("eqspec", "bsp")}
    lines = [dump_line(e) for e in session(lanes, PROMPTS, pair=tiny.pair("llama", 0.1, eos=0.6), certify=False)]
    hostile = [[n, '<img src=x onerror="document.title=1">&amp;', ""] for n in range(97)]
    lines.insert(1, json.dumps({"event": "pieces", "seq": 0, "lane": "", "step": 0, "pieces": hostile}))
    return "\n".join(line for n, line in enumerate(lines) if n < 2 or '"event":"pieces"' not in line)


def mounted(open_page: object, static_site: str, text: str, width: int = 1440, **state: object) -> object:
    page = open_page(f"{static_site}/blank", viewport={"width": width, "height": 1000})
    page.evaluate(MOUNT, [text, state])
    page.wait_for_function(READY)
    return page


@pytest.mark.parametrize("view", VIEWS)
def test_plotly_holds_exactly_the_matrices(view: str, open_page: object, static_site: str, text: str) -> None:
    page = mounted(open_page, static_site, text, step=1, view=view)
    for step in (0, 2, 3, 99):
        page.evaluate("(step) => window.store.set({ step })", step)
        page.wait_for_function(f"() => window.store.get().step === {step}")
        page.evaluate("() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))")
        page.wait_for_function(READY)
        for side, lane in (("left", "eqspec"), ("right", "bsp")):
            data = page.evaluate("(a) => window.__ragged.tensors.data(...a)", [lane, step, view])
            assert page.evaluate(OVERVIEW, side) == data["z"], f"{lane}, step {step}"
    assert page.evaluate("() => document.title") == ""
    assert page.locator("img[src=x]").count() == 0


def test_a_cell_is_chosen_by_keyboard_and_by_mouse(open_page: object, static_site: str, text: str) -> None:
    page = mounted(open_page, static_site, text, step=2, view="kinds")
    wrap = page.locator(".rg-tn-wrap:visible").first
    wrap.focus()
    for key in ("ArrowLeft", "ArrowLeft", "ArrowDown", "Enter"):
        page.keyboard.press(key)
    cell = page.evaluate("() => window.store.get().cell")
    assert (cell["lane"], cell["row"]) == ("eqspec", 1)
    page.wait_for_selector(".rg-tn-selected", state="attached")
    assert "row 2" in page.locator(".rg-tn-sr[aria-live]").inner_text()
    page.keyboard.press("Escape")
    assert page.locator(".rg-tn-cursor").count() == 0
    plot = page.locator(".rg-tn-plot:visible").nth(1)
    assert "BSP" in plot.get_attribute("aria-label")
    box = page.locator(".rg-tn-text:visible").last.bounding_box()
    page.mouse.click(box["x"] + 5, box["y"] + 5)
    page.wait_for_function("() => window.store.get().cell.lane === 'bsp'")


def test_an_absent_field_blanks_the_panel_and_is_named(open_page: object, static_site: str, text: str) -> None:
    """A run that is still streaming: BSP's prefill is announced, its KV entries are not there yet."""
    lines = text.splitlines()
    upto = next(n for n, line in enumerate(lines) if '"lane":"bsp"' in line and '"event":"kv"' in line)
    page = open_page(f"{static_site}/blank")
    page.evaluate(MOUNT, ["\n".join(lines[:upto]), {"step": 0, "view": "positions"}])
    page.wait_for_function("() => window.__ragged?.tensors?.drawn().left")
    assert "“fed” in step 0" in page.locator(".is-blank:visible").inner_text()


def test_on_a_phone_the_views_wait_behind_a_button(open_page: object, static_site: str, text: str) -> None:
    page = open_page(f"{static_site}/blank", viewport={"width": 390, "height": 800})
    page.evaluate(MOUNT, [text, {"step": 2, "tensorsOpen": False}])
    assert page.locator(".rg-tn-plot:visible").count() == 0
    page.get_by_role("button", name="Show the tensors").click()
    page.wait_for_function(READY)
    assert page.evaluate("() => document.documentElement.scrollWidth") <= 390
