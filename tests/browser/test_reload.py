"""A page that is loaded again while its run goes on, or waits: the run is not lost, and Stop stops it. No model."""

import re
import socket
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from app import Server, Settings
from tests.browser.conftest import HERO
from tests.ui.fakes import JOB, ThreadEngine, until
from ui.runs import RunStore

SAID = "#ticket .ticket"
GOES_ON = re.compile("Running|Live")  # whichever comes last, the ticket's word or the stream's


@pytest.fixture
def server(tmp_path: Path) -> Iterator[Server]:
    """The whole page, on an engine that writes a round every 50 ms for minutes."""
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    settings = Settings(host="127.0.0.1", port=port, space=None, data=tmp_path, cache=None)
    server = Server(settings, ThreadEngine(steps=5000, pause=0.05))
    server.launch()
    yield server
    server.close()


def url(server: Server) -> str:
    return f"http://127.0.0.1:{server.settings.port}/"


def begin(page: object) -> str:
    """Presses Run; gives the run's id as soon as the address names it."""
    page.wait_for_selector("#ragged-mount #ragged-stage")
    named = "/^run:(.+)/.exec(new URLSearchParams(location.search).get('t'))?.[1]"
    before = page.evaluate(named)
    if not page.locator("#your-prompts.open").count():
        page.get_by_role("button", name="Your prompts").click()
    page.click("#run")
    page.wait_for_function(f"before => ![undefined, null, before].includes({named})", arg=before)
    return page.evaluate(named)


def statuses(store: RunStore, *runs: str) -> list[str]:
    return [store.get(run).status for run in runs]


def test_a_run_under_way_can_be_stopped_after_a_reload_and_is_replaced_by_the_next(
    server: Server, open_page: Callable
) -> None:
    page, store = open_page(url(server)), server.store
    first = begin(page)
    page.wait_for_function("window.__ragged.store.get().step > 3")
    page.reload()
    page.wait_for_function("window.__ragged?.store.get().live")
    page.locator(SAID, has_text="Running.").wait_for()
    page.locator(".r-status", has_text=GOES_ON).wait_for()
    assert page.locator("#stop").is_visible()
    assert page.evaluate("window.__ragged.source.followed()") == first

    second = begin(page)  # not behind the first one
    page.wait_for_function("(id) => window.__ragged.store.get().source.name === id", arg=second)
    assert statuses(store, first, second) == ["stopped", "running"]
    page.reload()
    page.locator("#stop").click()
    page.locator(SAID, has_text="Stopped").wait_for()
    assert statuses(store, second) == ["stopped"]
    assert page.locator("#stop").is_hidden()
    page.reload()  # a run that is over leaves nothing to stop
    page.wait_for_function("window.__ragged?.store.get().fold?.status === 'stopped'")
    page.wait_for_selector("#ragged-mount #ragged-stage")
    assert page.locator("#stop").is_hidden()


def test_a_refused_run_leaves_the_one_that_goes_on_in_hand(server: Server, open_page: Callable) -> None:
    page = open_page(url(server))
    first = begin(page)
    page.locator(SAID, has_text="Running.").wait_for()
    page.fill("#k input", "99")
    page.click("#run")
    page.locator(SAID, has_text="1 to 16").wait_for()
    assert "Running." in page.inner_text(SAID)
    assert page.locator("#stop").is_visible()
    page.fill("#k input", "4")
    second = begin(page)
    until(lambda: statuses(server.store, first, second) == ["stopped", "running"])
    assert "1 to 16" not in page.inner_text(SAID)
    page.fill("#k input", "99")
    page.click("#run")
    page.locator(SAID, has_text="1 to 16").wait_for()
    page.locator("#stop").click()
    page.locator(SAID, has_text="Stopped").wait_for()
    assert "1 to 16" in page.inner_text(SAID)  # else "Stopped." would seem to speak of the run that was refused


def test_a_run_that_waits_shows_its_place_after_a_reload_and_can_be_cancelled(
    server: Server, open_page: Callable
) -> None:
    busy = server.store.create(JOB)  # another visitor's
    until(lambda: busy.status == "running")
    page, store = open_page(url(server)), server.store
    with store.watch(busy):
        waiting = begin(page)
        assert statuses(store, waiting) == ["queued"]
        page.reload()
        page.locator(SAID, has_text="Waiting: 1 run before yours.").wait_for()
        page.locator(".r-status", has_text="Waiting: 1 run before yours.").wait_for()
        assert page.locator(".r-lane").count() >= 6  # the recorded run stands meanwhile
        assert page.evaluate("window.__ragged.source.followed()") == waiting
        page.locator("#stop").click()
        page.locator(SAID, has_text="Stopped").wait_for()
        assert statuses(store, busy.id, waiting) == ["running", "stopped"]

        page.goto(f"{url(server)}?t=run:{waiting}")  # it has no round to show
        page.locator(".r-status", has_text="ended before its first round: stopped").wait_for()
        assert page.locator(".r-lane").count() >= 6


def test_somebody_else_s_run_can_be_watched_but_not_stopped_or_replaced(server: Server, open_page: Callable) -> None:
    busy = server.store.create(JOB)  # another visitor's
    with server.store.watch(busy):
        page = open_page(f"{url(server)}?t=run:{busy.id}")
        page.locator(".r-status", has_text=GOES_ON).wait_for()
        assert page.locator("#your-prompts").is_hidden()
        page.get_by_role("button", name="Your prompts").click()
        page.locator("#run").wait_for()  # Gradio may still be at work on the form
        assert page.locator("#stop").is_hidden()
        mine = begin(page)
        assert statuses(server.store, busy.id, mine) == ["running", "queued"]
        page.goto(f"{url(server)}?t=run:{busy.id}")
        page.locator(SAID, has_text="Running.").wait_for(state="attached")
        go = "id => { history.pushState({}, '', `?t=run:${id}`); dispatchEvent(new PopStateEvent('popstate')); }"
        page.evaluate(go, mine)  # as the browser's own way back does it
        page.locator(SAID, has_text="Waiting: 1 run before yours.").wait_for()
        page.locator("#stop").click()
        until(lambda: statuses(server.store, mine) == ["stopped"])


def test_beside_a_dropped_file_the_status_says_that_it_is_another_run_s(server: Server, open_page: Callable) -> None:
    page = open_page(url(server))
    run = begin(page)
    page.locator(".r-status", has_text=GOES_ON).wait_for()
    page.set_input_files("#r-drop-file", HERO)
    page.wait_for_function("window.__ragged.store.get().source.kind === 'file'")
    page.locator(".r-status:empty").wait_for(state="attached")
    page.locator("#stop").click()
    words = "Stopped."
    page.locator(SAID, has_text=words).wait_for()
    page.locator(".r-status", has_text=words).wait_for()
    assert page.inner_text(".r-status") == f"Of another run ({run[:8]}…), not of what is shown: {words}"
