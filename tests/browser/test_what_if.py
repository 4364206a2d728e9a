"""What if: another token is chosen in the inspector, and the row goes on from it: real model, real engine process."""

import json
from collections.abc import Callable, Iterator
from pathlib import Path

import httpx
import pytest

from engine.fold import Fold, fold
from engine.lines import read_lines
from tests.browser.conftest import HERO
from tests.browser.hostile import HTML
from tests.browser.test_axe import AXE, axe  # noqa: F401  a fixture
from tests.browser.test_modes import SMALL
from tests.browser.your_prompts import MINUTE, ended, folded
from tests.ui.fakes import until
from tests.ui.serving import application, no_model

AT = 5  # the generated token that is changed: row 2 writes "mat", BSP writes "birds" and ends there
CHOICES = "#ragged-inspector .r-whatif .r-others button"


@pytest.fixture(scope="module")
def hero() -> Fold:
    return fold(read_lines(HERO.read_text(encoding="utf-8").split("\n")))


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory, real_cache: Path) -> Iterator[str]:
    with application(tmp_path_factory.mktemp("whatif"), RAGGED_CACHE=str(real_cache)) as (url, _process):
        until(lambda: httpx.get(f"{url}/healthz", timeout=30).json()["model"]["phase"] == "ready", 240)
        yield url


def query(hero: Fold, lane: str, row: int = 1, at: int = AT) -> str:
    return f"?r=99&row={row}&cell={lane}.{row}.{hero.lanes[lane].rows[row].prompt + at}&open=cell"


def test_bsp_s_wrong_word_is_replaced_by_keys_and_the_row_goes_on_from_the_right_one(
    open_page: Callable, site: str, hero: Fold
) -> None:
    page = open_page(f"{site}/{query(hero, 'bsp')}")
    page.wait_for_selector("#ragged-mount #ragged-stage")
    page.wait_for_selector(CHOICES)
    old, exact = hero.lanes["bsp"].rows[1], hero.lanes["eqspec"].rows[1]
    mat = exact.ids[exact.prompt + AT]
    page.locator("#ragged-stage").focus()
    page.keyboard.press("i")
    for _ in range(30):
        page.keyboard.press("Tab")
        if page.evaluate("document.activeElement.textContent.startsWith('·mat')"):
            break
    assert page.evaluate("document.activeElement.matches('.r-whatif button')")
    page.keyboard.press("Enter")
    page.wait_for_function("window.__ragged.store.get().fold?.header?.what_if", timeout=2 * MINUTE)
    page.wait_for_function("document.activeElement.closest('#ragged-changed')")
    page.wait_for_function("window.__ragged.store.get().fold.status === 'done'", timeout=4 * MINUTE)
    page.wait_for_function("!window.__ragged.store.get().live")

    # By the engine's own reader: the changed row begins with its text and the other token, all else is as it was.
    run = folded(page, "s.source.name")
    state = fold(read_lines(httpx.get(f"{site}/runs/{run}/trace.jsonl").text.split("\n")))
    given = [*old.ids[: old.prompt + AT], mat]
    assert list(state.lanes) == list(hero.lanes)
    for name, lane in state.lanes.items():
        assert lane.config == hero_config(hero, name)
        assert lane.rows[1].ids[: lane.rows[1].prompt] == given
        assert len(lane.rows[1].ids) > len(given)
        assert lane.rows[1].done
    for row in (0, 2):
        assert state.lanes["eqspec"].rows[row].ids == hero.lanes["eqspec"].rows[row].ids
    # What EQSPEC wrote in the hero behind the same text comes again, now as the continuation.
    assert state.lanes["eqspec"].rows[1].ids == exact.ids
    assert [r.compare["verdict"] for r in state.lanes["eqspec"].rows.values()] == ["equal"] * 3
    ids = folded(page, "Object.values(f.lanes).map(l => Object.values(l.rows).map(r => r.ids))")
    assert ids == [[row.ids for row in lane.rows.values()] for lane in state.lanes.values()]

    said = page.inner_text("#ragged-changed")
    assert "What if: row 2, “mat” instead of “birds” at token 6, then on." in said
    assert "The cat sat on the mat" in said
    assert "The other rows start from their prompts. Taken from BSP" in said
    assert ended(page) == "Finished."  # the form tells of it as of its own

    # The address brings the run back, what was changed included; its link leads to the place in the original.
    page.wait_for_function("location.search.includes('run')")
    page.reload()
    page.wait_for_selector("#ragged-changed:not([hidden])")
    assert page.inner_text("#ragged-changed") == said
    page.get_by_role("link", name="the run without the change").click()
    page.wait_for_selector("#ragged-changed", state="hidden")
    page.wait_for_selector("#ragged-inspector .r-whatif")
    assert folded(page, "[s.source.name, s.row, s.cell]") == ["hero", 1, {"lane": "bsp", "row": 1, "index": 56}]


def hero_config(hero: Fold, name: str) -> dict:
    """A lane's configuration as this version writes it."""
    from engine.config import RunConfig

    return json.loads(json.dumps(RunConfig.from_json(hero.lanes[name].config).to_json()))


def test_any_token_of_the_model_can_be_typed(open_page: Callable, site: str, hero: Fold) -> None:
    page = open_page(f"{site}/{query(hero, 'eqspec')}")
    page.wait_for_selector("#ragged-mount #ragged-stage")
    page.visit.expect("400")
    field, said = page.get_by_label("Any other token"), "#ragged-inspector .r-whatif [role=status]"
    for text, words in (
        (
            "hammer time",
            r"“hammer time” is \d tokens, “.*” \(#\d+\), .*“ time” \(#\d+\): type one of them, or # and an id\.",
        ),
        ("#49152", r"token 49152 is none of the model's: send an id from 0 to 49151\."),
        ("<|im_end|>", r"token 2 ends the row: nothing would come after it: choose a token that does not\."),
    ):
        field.fill(text)
        field.press("Enter")
        page.wait_for_function(
            "([at, re]) => new RegExp(`^${re}$`).test(document.querySelector(at).textContent)", arg=[said, words]
        )
    field.fill(" moon")
    page.get_by_role("button", name="Go on from it").click()
    page.wait_for_function("window.__ragged.store.get().fold?.header?.what_if", timeout=2 * MINUTE)
    page.wait_for_selector("#ragged-changed:not([hidden])")
    assert "“moon” instead of “mat” at token 6" in page.inner_text("#ragged-changed")
    assert folded(page, "f.header.prompts[1].text").endswith("The cat sat on the moon")


def test_a_rejected_draft_of_an_exact_lane_is_accepted_and_a_change_is_changed_again(
    open_page: Callable, site: str, hero: Fold
) -> None:
    page = open_page(f"{site}/{query(hero, 'eqspec')}", viewport={"width": 390, "height": 844}, color_scheme="dark")
    page.wait_for_selector("#ragged-mount #ragged-stage")
    page.wait_for_selector(CHOICES)
    row = hero.lanes["eqspec"].rows[1]
    assert [text.split("\n")[0].split(" ")[0] for text in page.locator(CHOICES).all_inner_texts()] == [
        "·cat",
        "·garden",
        "·birds",
    ]
    page.get_by_role("button", name="the rejected draft").click()
    for n in (1, 2):
        begun = f"window.__ragged.store.get().fold?.header?.prompts[1].ids.length === {56 + n}"
        page.wait_for_function(begun, timeout=2 * MINUTE)  # the engine may be busy, as in the test above
        page.wait_for_function("window.__ragged.store.get().fold.status === 'done'", timeout=4 * MINUTE)
        page.wait_for_function("!window.__ragged.store.get().live")
        if n == 1:  # the first token that the new run wrote
            assert folded(page, "f.header.prompts[1].ids.slice(0, 56)") == row.ids[:56]
            page.locator(".r-lane[data-lane=eqspec] .r-word").first.click()
            page.wait_for_selector(CHOICES)
            page.locator(CHOICES).first.click()
    change = folded(page, "f.header.what_if")
    assert change["trace"].startswith("run:")
    assert (change["row"], change["index"]) == (1, 0)
    assert folded(page, "f.header.prompts[1].text").startswith("Fix the spelling: ")
    assert page.evaluate("document.documentElement.scrollWidth") <= 390

    # For a projector: what was changed is told large, and there is nothing to click.
    page.set_viewport_size({"width": 1440, "height": 900})
    page.locator("#ragged-stage").focus()
    page.keyboard.press("p")
    page.wait_for_selector(".r-stage.present #ragged-changed")
    assert page.evaluate(SMALL) == []
    assert page.locator("#ragged-changed :is(a, button):visible").count() == 0


def test_without_a_model_it_says_so_where_it_was_asked(open_page: Callable, tmp_path: Path, hero: Fold) -> None:
    with application(tmp_path, **no_model(tmp_path)) as (url, _process):
        until(lambda: httpx.get(f"{url}/healthz", timeout=30).json()["model"]["phase"] == "failed", 60)
        page = open_page(f"{url}/{query(hero, 'eqspec')}")
        page.visit.expect("503")
        page.wait_for_selector(CHOICES)
        page.locator(CHOICES).first.click()
        page.wait_for_function("document.querySelector('.r-whatif [role=status]').textContent.includes('no model')")
        assert folded(page, "s.source.name") == "hero"
        assert page.locator(CHOICES).first.is_enabled()


def test_without_a_server_it_says_so_and_a_prompt_token_offers_nothing(
    open_page: Callable, static_site: str, hero: Fold
) -> None:
    page = open_page(f"{static_site}/{query(hero, 'eqspec')}")
    page.visit.expect("501")
    page.wait_for_selector(CHOICES)
    page.locator(CHOICES).first.click()
    page.wait_for_function("document.querySelector('.r-whatif [role=status]').textContent.startsWith('No server')")
    page.goto(f"{static_site}/{query(hero, 'eqspec', at=-1)}")
    page.wait_for_selector("#ragged-inspector .r-fact")
    page.wait_for_selector("#ragged-inspector .r-whatif", state="hidden")


@pytest.mark.parametrize(("width", "theme"), [(1440, "light"), (390, "dark")])
def test_what_a_dropped_file_says_of_a_change_is_text_and_nothing_is_offered(
    open_page: Callable,
    static_site: str,
    axe: str,  # noqa: F811
    width: int,
    theme: str,
) -> None:
    header, *rest = HERO.read_text(encoding="utf-8").splitlines(keepends=True)
    change = {"trace": HTML, "lane": HTML, "row": 1, "index": 4, "instead": [10**9, HTML, "zz"], "token": HTML}
    page = open_page(static_site, viewport={"width": width, "height": 900}, color_scheme=theme)
    page.wait_for_selector(".r-lane .r-word")
    page.get_by_role("button", name="Check a trace").click()
    nothing = [{**change, "row": HTML}, {**change, "index": 10**9}, {**change, "instead": {}}, HTML, [], None, 3]
    for what in (change, *nothing):
        text = json.dumps({**json.loads(header), "what_if": what}) + "\n" + "".join(rest)
        file = {"name": f"{nothing.index(what) if what != change else 'x'}.jsonl", "mimeType": "text/plain"}
        page.set_input_files("#r-drop-file", {**file, "buffer": text.encode()})
        page.wait_for_function(f"window.__ragged.store.get().source.title === {json.dumps(file['name'])}")
        page.evaluate("() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))")
        assert page.locator("#ragged-changed").is_visible() == (what == change), what
        if what == change:
            assert HTML in page.inner_text("#ragged-changed")
            assert page.locator("#ragged-changed :is(img, a)").count() == 0
            page.add_script_tag(path=axe)
            assert page.evaluate(AXE, ["#ragged-changed", None]) == []
    page.locator(".r-lane .r-word").first.click()
    page.wait_for_selector("#ragged-inspector .r-fact")
    assert "the file does not leave this machine" in page.inner_text("#ragged-inspector .r-whatif")
    assert page.locator("#ragged-inspector .r-whatif :is(button, input):visible").count() == 0
    assert page.evaluate("window.hacked") is None
