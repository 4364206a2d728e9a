"""One offline file: it opens from disk without server and network, and passes the viewer's own tests."""

import json
import re
import threading
import time
from collections.abc import Callable, Iterator
from functools import partial
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from tests.browser import test_debugger, test_inspector
from tests.browser.conftest import HERO
from tests.browser.hostile import HTML, hostile
from tests.browser.screens import Screen, every_screen, looks_right
from tests.browser.test_inspector import events, hero  # noqa: F401  fixtures of the tests below

MEGABYTE = 1_000_000
STATE = "(({fold, ...rest}) => rest)(window.__ragged.store.get())"


class OneFile(BaseHTTPRequestHandler):
    """Serves the saved page and nothing else."""

    def __init__(self, *args: object, body: bytes, **kwargs: object) -> None:
        self.body = body
        super().__init__(*args, **kwargs)

    def do_GET(self) -> None:
        found = self.path.partition("?")[0] == "/"
        self.send_response(200 if found else 404)
        self.send_header("Content-Type", "text/html")
        self.end_headers()
        self.wfile.write(self.body if found else b"")

    def log_message(self, *args: object) -> None:
        pass


@pytest.fixture(scope="module")
def saved(chromium: object, request: pytest.FixtureRequest) -> Callable[..., str]:
    """`saved(query, tensors)`: the text of the file that the page makes of a view."""
    site = request.getfixturevalue("whole_site")

    def make(query: str, tensors: bool = False) -> str:
        page = chromium.new_page()
        page.goto(f"{site}/{query}")
        page.wait_for_selector(".r-lane .r-word")
        page.wait_for_timeout(300)
        html = page.evaluate("(tensors) => window.__ragged.build(tensors)", tensors)
        page.close()
        return html

    return make


@pytest.fixture(scope="module")
def whole_site(traces: Path) -> Iterator[str]:
    """The page that exports."""
    from tests.browser.conftest import StaticSite

    server = ThreadingHTTPServer(("127.0.0.1", 0), partial(StaticSite, traces=traces))
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_address[1]}"
    server.shutdown()


@pytest.fixture(scope="module")
def static_site(saved: Callable) -> Iterator[str]:
    """In this file the viewer's tests meet the saved page."""
    body = saved("?r=0").encode()
    server = ThreadingHTTPServer(("127.0.0.1", 0), partial(OneFile, body=body))
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_address[1]}"
    server.shutdown()


@pytest.fixture
def open_page(open_page: Callable) -> Callable:
    """Playwright waits by evaluating strings, which the page's own policy forbids: see `opened` for tests under it."""
    return lambda url=None, **options: open_page(url, **{"bypass_csp": True, **options})


#: Tests of modules or of other traces have nothing to look for in one file.
ELSEWHERE = ("tensor_cell", "has_its_facts", "rounding_tie", "ended_first", "streams_in")
for module, suffix in ((test_inspector, "inspector"), (test_debugger, "debugger")):
    for name, test in vars(module).items():
        if name.startswith("test_") and not any(part in name for part in ELSEWHERE):
            globals()[f"{name}_{suffix}_of_the_saved_page"] = test


def opened(open_page: Callable, html: str, path: Path, **options: object) -> object:
    """The text as a file, opened from disk."""
    path.write_text(html, encoding="utf-8")
    return from_disk(open_page, path, **options)


def from_disk(open_page: Callable, path: Path, **options: object) -> object:
    """The file from disk, under its own policy, with the network cut."""
    page = open_page(**{"offline": True, "bypass_csp": False, **options})
    page.context.unroute("**/*")
    page.goto(path.as_uri())
    page.wait_for_selector(".r-lane .r-word")
    return page


def settle(page: object) -> dict:
    page.evaluate("() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))")
    return page.evaluate(STATE)


def wait(page: object, what: str) -> None:
    """Wait until an expression is true."""
    end = time.monotonic() + 15
    while not page.evaluate(what):
        assert time.monotonic() < end, f"waited in vain for {what}"
        page.wait_for_timeout(50)


def save(page: object, path: Path, name: str) -> None:
    """Through the dialog, which says what it has saved."""
    with page.expect_download() as download:
        page.get_by_role("button", name="Save the file").click()
    assert download.value.suggested_filename == name
    download.value.save_as(path)
    assert 100_000 < path.stat().st_size < MEGABYTE
    assert re.search(rf"Saved: {name}, \d+ KB", page.inner_text(".r-export [role=status]"))


def is_the_noted_view(page: object, screen: Screen) -> None:
    state = settle(page)
    assert (state["step"], state["row"], state["debug"], state["inspect"]) == (4, 1, True, True)
    assert state["cell"] == {"lane": "bsp", "row": 1, "index": 56}
    assert "Look here" in page.inner_text(".r-pinned")
    looks_right(page, screen, ".r-pinned", "#ragged-debugger", "#ragged-inspector")


@every_screen
def test_a_link_s_view_is_saved_opens_from_disk_where_it_was_and_goes_on(
    open_page: Callable, whole_site: str, tmp_path: Path, screen: Screen
) -> None:
    link = "?r=4&row=1&cell=bsp.1.56&open=debug.cell&note=bsp.1.56.Look+here"
    page = open_page(f"{whole_site}/{link}", **screen.options)
    page.wait_for_selector("#ragged-inspector .r-fact")
    is_the_noted_view(page, screen)
    page.get_by_role("button", name="Export").click()
    looks_right(page, screen, ".r-export")
    save(page, tmp_path / "view.html", "ragged-round-4.html")
    page = from_disk(open_page, tmp_path / "view.html", **screen.options)
    is_the_noted_view(page, screen)
    page.locator("#ragged-stage").focus()
    page.keyboard.press("ArrowRight")
    assert settle(page)["step"] == 5
    page.keyboard.press("r")
    assert settle(page)["right"] == "bsp_repaired"
    wait(page, "location.search.includes('r=5')")
    assert page.evaluate("performance.getEntriesByType('resource').filter((e) => !/^data:/.test(e.name)).length") == 0
    assert not page.get_by_role("button", name="Export").is_visible()


@every_screen
def test_a_chapter_is_below_a_megabyte_and_can_be_done_from_disk(
    open_page: Callable, whole_site: str, tmp_path: Path, screen: Screen
) -> None:
    page = open_page(f"{whole_site}/?ch=3", **screen.options)
    page.wait_for_selector("#ragged-lesson:not([hidden]) .r-ask")
    page.locator("#ragged-stage").focus()
    page.keyboard.press("e")
    save(page, tmp_path / "chapter.html", "ragged-chapter-3.html")
    html = (tmp_path / "chapter.html").read_text(encoding="utf-8")
    assert "Plotly" not in re.sub(r"data:text/javascript;base64,[\w+/=]+", "", html)
    page = from_disk(open_page, tmp_path / "chapter.html", **screen.options)
    page.wait_for_selector("#ragged-lesson:not([hidden]) .r-ask")
    assert "The rectangle" in page.inner_text("#ragged-lesson h2")
    page.click("#ragged-lesson .r-options > [data-value=broken]")
    page.locator("#ragged-lesson .r-options > button:not(.r-text)").click()  # there is one thing to do
    wait(page, "!document.querySelector('#ragged-lesson .next').disabled")
    assert settle(page)["right"] == "pads_seen"
    looks_right(page, screen, "#ragged-lesson")


def test_the_tensor_views_come_along_when_asked_for(open_page: Callable, saved: Callable, tmp_path: Path) -> None:
    page = opened(open_page, saved("?r=4&view=positions", tensors=True), tmp_path / "tensors.html")
    page.locator("#ragged-tensors").scroll_into_view_if_needed()
    wait(page, "window.__ragged?.tensors?.idle()")
    page.wait_for_selector("#ragged-tensors .js-plotly-plot")
    page.keyboard.press("3")
    assert settle(page)["view"] in ("mask", "positions")


def test_html_in_a_dropped_trace_stays_text_in_the_saved_file(
    open_page: Callable, whole_site: str, tmp_path: Path
) -> None:
    page = open_page(whole_site)
    page.wait_for_selector(".r-lane .r-word")
    page.get_by_role("button", name="Check a trace").click()
    file = tmp_path / 'a"><b>.jsonl'
    file.write_text(hostile().replace(json.dumps(HTML), json.dumps(f"</script>{HTML}<!-- <script>")))
    page.set_input_files("#r-drop-file", file)
    page.wait_for_selector("#ragged-drop .r-checked")
    html = page.evaluate("() => window.__ragged.build(false)")
    other = opened(open_page, html, tmp_path / "hostile.html")
    wait(other, "window.__ragged.store.get().source.kind === 'file'")
    settle(other)
    other.keyboard.press("End")
    assert HTML in other.inner_text("h1")
    assert other.locator("img, b:has-text('.jsonl')").count() == 0
    assert other.evaluate("window.hacked") is None
    assert "broken in round" in other.inner_text("h1")  # checked again, in the file


@every_screen
def test_a_note_is_kept_in_the_link_and_is_text(open_page: Callable, whole_site: str, screen: Screen) -> None:
    page = open_page(f"{whole_site}/?r=4&row=1&cell=bsp.1.56&open=cell", **screen.options)
    page.get_by_role("button", name="Add a note").click()
    page.fill(".r-pinned textarea", f"{HTML} & = # 好")
    looks_right(page, screen, ".r-pinned", ".r-pinned textarea")
    page.get_by_role("button", name="Keep it").click()
    page.wait_for_function("location.search.includes('note=')")
    other = open_page(page.url, **screen.options)
    other.wait_for_selector(".r-pinned:not([hidden])")
    assert f"{HTML} & = # 好" in other.inner_text(".r-pinned")
    assert "token 6 of BSP, row 2" in other.inner_text(".r-pinned")
    assert other.locator(".r-pinned img").count() == 0
    assert other.locator(".r-lane[data-lane=bsp][data-row='1'] .r-cell.noted").count() == 1
    other.get_by_role("button", name="Remove the note").click()
    other.wait_for_function("!location.search.includes('note=')")
    assert other.locator(".r-pinned").is_hidden()


def test_the_hero_is_what_is_saved(saved: Callable) -> None:
    html = saved("?r=1")
    body = re.search(r'<script type="application/x-ndjson" data-trace="hero">(.*?)</script>', html, re.DOTALL)[1]
    assert body == HERO.read_text(encoding="utf-8").replace("<", "\\u003c")


def test_a_saved_page_has_no_server_and_offers_no_what_if(open_page: Callable, static_site: str) -> None:
    page = open_page(f"{static_site}/?r=4&row=1&cell=eqspec.1.56&open=cell")
    page.wait_for_selector("#ragged-inspector .r-fact")
    page.wait_for_function("document.querySelector('#ragged-inspector .r-whatif')")
    assert "there is no server that could compute it" in page.inner_text(".r-whatif")
    assert page.locator(".r-whatif :is(button, input):visible").count() == 0
