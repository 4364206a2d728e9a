"""The page of the real server, without a model: all that is recorded plays, and bad input is answered in words."""

import re
from collections.abc import Callable, Iterator

import pytest

from tests.ui.serving import application, no_model
from ui.request import PROPOSERS, Offer

MOUNTED = "#ragged-mount #ragged-stage"


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    folder = tmp_path_factory.mktemp("site")
    with application(folder, **no_model(folder)) as (url, _process):
        yield url


#: Pauses at the first frame in which that can be done: on a slow machine the hero may soon have reached its stop.
PAUSE = """() => {
  const pause = document.querySelector('.r-transport button[aria-label=Pause]');
  pause?.click();
  return Boolean(pause);
}"""


def opened(open_page: Callable, site: str, query: str = "", **options: object) -> object:
    """The page after Gradio has come up, with the form open."""
    page = open_page(site + query, **options)
    page.wait_for_selector(MOUNTED)
    page.get_by_role("button", name="Your prompts").click()
    page.wait_for_selector("#your-prompts.open")
    return page


def test_a_chosen_option_looks_chosen_under_the_pointer_too(open_page: Callable, site: str) -> None:
    page = opened(open_page, site)
    page.locator("#your-prompts fieldset input:checked").first.hover()
    colour = "getComputedStyle(document.querySelector('#your-prompts fieldset input{}')).backgroundColor"
    mine, others = (page.evaluate(colour.format(state)) for state in (":checked", ":not(:checked)"))
    assert mine != others


def ticket(page: object) -> str:
    page.wait_for_function(
        "document.querySelector('#ticket .ticket').dataset.status in {refused: 1, failed: 1, done: 1}"
    )
    return page.inner_text("#ticket .ticket")


def test_the_hero_plays_when_gradio_s_javascript_never_comes(open_page: Callable, site: str) -> None:
    page = open_page()
    page.route(re.compile(r"/assets/.*\.js"), lambda route: route.abort())
    page.visit.expect(r"Failed to load resource")
    page.goto(site, wait_until="commit")
    page.wait_for_function(PAUSE)
    step = page.evaluate("window.__ragged.store.get().step")
    assert page.evaluate("/EQSPEC: (\\d) of \\1/.test(document.querySelector('#ragged-stage h1').textContent)")
    assert page.locator(".r-lane").count() >= 6
    assert page.locator("#ragged-mount").count() == 0
    page.wait_for_timeout(1500)
    assert page.evaluate("window.__ragged.store.get().step") == step


def test_gradio_s_own_sign_of_waiting_does_not_lie_over_the_stage(open_page: Callable, site: str) -> None:
    page = open_page()
    page.add_init_script("""window.seen = [];
    new MutationObserver(() => document.querySelectorAll('gradio-app .loading').forEach((node) => {
      window.seen.push(node.checkVisibility() && node.textContent);
    })).observe(document, { childList: true, subtree: true });""")
    page.goto(site)
    page.wait_for_selector(MOUNTED)
    seen = page.evaluate("window.seen")
    assert seen  # Gradio did show it
    assert not any(seen)


def test_gradio_takes_the_stage_over_as_it_is_and_stays_out_of_sight(open_page: Callable, site: str) -> None:
    page = open_page(site)
    page.wait_for_selector("#ragged-stage h1")
    page.evaluate("window.before = document.getElementById('ragged-stage')")
    page.wait_for_selector(MOUNTED)
    page.wait_for_selector("#run", state="attached")
    assert page.evaluate("window.before === document.querySelector('#ragged-mount #ragged-stage')")
    assert page.locator("h1").count() == 1
    box = page.locator("#ragged-stage").bounding_box()
    assert box["y"] == 0
    assert page.locator("footer:visible").count() == 0
    assert not page.locator("#your-prompts").is_visible()
    assert page.evaluate("document.querySelectorAll('#ragged-hero, #ragged-page').length") == 2
    fonts = page.evaluate("[...document.fonts].map(f => f.status + f.family)")
    assert not [f for f in fonts if "Google" in f]


@pytest.mark.parametrize("width", [390, 768, 1440])
def test_the_page_is_never_wider_than_the_window(open_page: Callable, site: str, width: int) -> None:
    page = opened(open_page, site, viewport={"width": width, "height": 844})
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    assert page.locator("#prompts textarea").bounding_box()["width"] > 0.7 * min(width, 960)


@pytest.mark.parametrize(
    ("fields", "words"),
    [
        ({"#prompts textarea": ""}, ["Prompts", "one per line"]),
        ({"#prompts textarea": "\n".join("abcdefghi")}, ["these are 9", "at most 8"]),
        ({"#prompts textarea": "one\n---\n\n---\nthree"}, ["Prompt 2 is empty"]),
        ({"#k input": "0"}, ["K", "is 0", "1 to 16"]),
        ({"#k input": "99"}, ["K", "is 99", "1 to 16"]),
        ({"#max-new input": "1000"}, ["New tokens per row", "1 to 256"]),
    ],
)
def test_bad_input_is_answered_in_words_and_nothing_is_lost(
    open_page: Callable, site: str, fields: dict, words: list
) -> None:
    page = opened(open_page, site)
    for field, value in fields.items():
        page.fill(field, value)
    page.click("#run")
    said = ticket(page)
    assert [w for w in words if w not in said] == []
    assert {field: page.input_value(field) for field in fields} == fields
    assert page.locator("#run").is_enabled()
    assert not page.locator("#stop").is_visible()
    assert "of 3" in page.inner_text("h1")  # the stage keeps what it showed


def test_draft_lengths_that_adapt_are_folded_away_and_refused_in_words(open_page: Callable, site: str) -> None:
    page = opened(open_page, site)
    assert not page.locator("#floor input").is_visible()
    page.get_by_role("button", name="Advanced").click()
    assert (page.input_value("#floor input"), page.input_value("#verified input")) == ("0.2", "0")
    page.check("#adapt input >> nth=0")
    page.fill("#floor input", "1.5")
    page.click("#run")
    assert ticket(page) == "Least chance of a draft is 1.5; choose a number above 0 and below 1."
    page.fill("#floor input", "0.5")
    page.fill("#verified input", "500")
    with page.expect_response(re.compile("/queue/join")) as sent:
        page.click("#run")
    assert sent.value.request.post_data_json["data"][-4:-1] == [["acceptance"], 0.5, 500]
    page.locator(".ticket", has_text="Most drafts a round is 500; choose a whole number from 0 to 128.").wait_for()


def test_without_a_model_run_names_the_file_and_the_place(open_page: Callable, site: str) -> None:
    page = opened(open_page, site)
    page.click("#run")
    assert re.search(r"Failed: .*cache", ticket(page))
    assert "Traceback" not in page.content()
    assert not page.locator("#stop").is_visible()


def test_examples_fill_the_form_and_unavailable_drafters_say_why(open_page: Callable, site: str) -> None:
    page = opened(open_page, site)
    page.get_by_role("button", name="Several lines").click()
    page.wait_for_function("document.querySelector('#prompts textarea').value.includes('---')")
    assert page.locator("#proposer input").count() == len(PROPOSERS) - len(Offer().unavailable())
    assert "no smaller model with the vocabulary" in page.inner_text("#proposer")


def test_an_unknown_trace_and_an_unknown_run_are_said(open_page: Callable, site: str) -> None:
    page = open_page()
    page.visit.expect("404")
    page.goto(f"{site}/?t=nothing")
    page.wait_for_function("document.querySelector('.r-status').textContent.includes('nothing')")
    page.goto(f"{site}/?t=run:{'x' * 22}")
    page.wait_for_function("document.querySelector('.r-status').textContent.includes('no run')")


def test_the_line_under_the_headline_speaks_of_the_lane_that_is_shown(open_page: Callable, static_site: str) -> None:
    page = open_page(f"{static_site}/?t=hero&r=7")
    page.locator(".r-gist", has_text="so its position ids have gaps.").wait_for()
    page.get_by_role("button", name="Repair only").first.click()
    page.locator(".r-gist", has_text="its position ids have no gaps.").wait_for()


#: Lane, row, the token of each dashed cell, and the newest one of the row.
DASHED = """() => [...document.querySelectorAll('.r-lane')].map((lane) => {
  const cells = [...lane.querySelectorAll('.r-cell')];
  const dashed = cells.filter((cell) => getComputedStyle(cell.querySelector('.face')).strokeDasharray !== 'none');
  return [dashed.map((cell) => cell.dataset.index), cells.at(-1).dataset.index];
})"""


@pytest.mark.parametrize("trace", ["hero", "faults"])  # one keeps what it fed, the other's lower lane feeds all again
def test_the_token_that_no_pass_has_fed_yet_is_dashed_in_every_lane(
    open_page: Callable, static_site: str, trace: str
) -> None:
    page = open_page(f"{static_site}/?t={trace}&r=0")
    page.wait_for_function("(name) => window.__ragged?.store.get().source.name === name", arg=trace)
    for step in (0, 1):
        page.locator(".r-scrub input").fill(str(step))
        page.wait_for_function("(step) => document.querySelector('.r-rows').dataset.step === step", arg=str(step))
        lanes = page.evaluate(DASHED)
        assert len(lanes) == 6
        assert [dashed for dashed, _ in lanes] == [[newest] for _, newest in lanes]
    page.locator(".r-lane.left .r-cell.unfed").first.hover()
    page.locator(".r-cellline", has_text="not fed yet; next fed at position").wait_for()


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_the_legend_takes_one_line_from_1024_on(open_page: Callable, static_site: str, theme: str) -> None:
    for width in (1024, 1280, 1440):
        page = open_page(f"{static_site}/?r=2", viewport={"width": width, "height": 900}, color_scheme=theme)
        page.wait_for_selector(".r-why")
        boxes = [key.bounding_box() for key in page.locator(".r-legend > :visible").all()]
        assert max(b["y"] for b in boxes) < min(b["y"] + b["height"] for b in boxes)
        assert page.evaluate("parseFloat(getComputedStyle(document.querySelector('.r-legend')).fontSize)") >= 12.5
