"""A real browser for the page's tests: finds Chromium, lets nothing out of this machine, fails on console errors."""

import contextlib
import functools
import json
import re
import shutil
import threading
from collections.abc import Callable, Iterator
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from urllib.parse import urlsplit

import pytest

pytest.register_assert_rewrite("tests.browser.exercises")  # a failed assert there tells as much as one in a test

ROOT = Path(__file__).resolve().parents[2]
HERO = ROOT / "assets" / "traces" / "hero.jsonl"
ARGS = ["--no-sandbox", "--disable-gpu", "--disable-background-networking"]
LOCAL = {"127.0.0.1", "localhost", "[::1]", "::1"}


@pytest.fixture(scope="session")
def chromium() -> Iterator[object]:
    """One browser for all tests: Chromium from PATH, else Playwright's own; without either the tests are skipped."""
    playwright = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
    with playwright.sync_playwright() as p:
        found = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
        own = Path(p.chromium.executable_path)
        if not found and not own.exists():
            pytest.skip("no Chromium on PATH and none of Playwright's own (playwright install chromium)")
        browser = p.chromium.launch(executable_path=found or own, args=ARGS)
        yield browser
        browser.close()


class Visit:
    """What a page did besides what it was asked: console errors and requests to other machines."""

    def __init__(self) -> None:
        self.errors: list[str] = []
        self.outside: list[str] = []
        self.expected: list[str] = []

    def expect(self, pattern: str) -> None:
        """An error that this test provokes (a regular expression)."""
        self.expected.append(pattern)

    def check(self) -> None:
        errors = [e for e in self.errors if not any(re.search(p, e) for p in self.expected)]
        assert not errors, f"console errors: {errors}"
        assert not self.outside, f"requests to other machines: {self.outside}"


def wait_until_drawn(page: object, wait: Callable[..., object], condition: str, **options: object) -> None:
    """`page.wait_for_function`, and then two frames: a state holds at once but is drawn in the next frame."""
    wait(condition, **options)
    page.evaluate("new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(() => done())))")


@pytest.fixture
def open_page(chromium: object) -> Iterator[Callable[..., object]]:
    """`open_page(url, **context_options)` gives a Playwright page; `page.visit` is its Visit, checked at the end.

    Without a url the page is returned blank, for tests that set it up first.
    """
    contexts, visits = [], []

    def start(url: str | None = None, **options: object) -> object:
        context = chromium.new_context(**{"viewport": {"width": 1440, "height": 900}, **options})
        context.set_default_timeout(15_000)
        page, visit = context.new_page(), Visit()
        page.wait_for_function = functools.partial(wait_until_drawn, page, page.wait_for_function)
        contexts.append(context)
        visits.append(visit)

        def gate(route: object) -> None:
            where = urlsplit(route.request.url)
            if where.scheme in ("data", "blob", "about") or where.hostname in LOCAL:
                return route.continue_()
            visit.outside.append(route.request.url)
            return route.abort()

        context.route("**/*", gate)
        page.on("console", lambda m: visit.errors.append(m.text) if m.type == "error" else None)
        page.on("pageerror", lambda error: visit.errors.append(str(error)))
        page.visit = visit
        if url:
            page.goto(url)
        return page

    yield start
    for context in contexts:
        context.close()
    for visit in visits:
        visit.check()


class StaticSite(SimpleHTTPRequestHandler):
    """The viewer without Gradio and without a server of ours: files, and a page like the one that `ui.pages` makes."""

    extensions_map = SimpleHTTPRequestHandler.extensions_map | {
        ".js": "text/javascript",
        ".jsonl": "application/x-ndjson",
    }

    def __init__(self, *args: object, traces: Path, **kwargs: object) -> None:
        self.traces = traces
        super().__init__(*args, **kwargs)

    def handle(self) -> None:
        with contextlib.suppress(
            BrokenPipeError, ConnectionResetError
        ):  # the browser has left before the end of a file
            super().handle()

    def translate_path(self, path: str) -> str:
        top, _, name = path.partition("?")[0].strip("/").partition("/")
        folders = {"viewer": ROOT / "ui" / "viewer", "vendor": ROOT / "assets" / "vendor", "traces": self.traces}
        return str(folders.get(top, Path("/nowhere")) / Path(name).name)

    def do_GET(self) -> None:
        name = self.path.partition("?")[0]
        if name not in ("/", "/blank"):
            return super().do_GET()
        body = (page_html(self.traces) if name == "/" else "<!doctype html><link rel=icon href=data:,>").encode()
        self.send_response(200)
        self.send_header("Content-Type", "text/html; charset=utf-8")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)
        return None

    def log_message(self, *args: object) -> None:
        pass


def page_html(traces: Path) -> str:
    """The head of the real page: styles, the hero's trace, the page's facts, the viewer."""
    hero = HERO.read_text() if HERO.exists() else ""
    facts = {
        "viewer": "viewer/",
        "plotly": "vendor/plotly-cartesian-4.1.1.min.js",
        "traces": [{"name": f.stem, "title": f.stem} for f in sorted(traces.glob("*.jsonl"))],
        "space": None,
    }
    styles = "".join(f'<link rel="stylesheet" href="viewer/{f.name}">' for f in (ROOT / "ui" / "viewer").glob("*.css"))
    inert = [text.replace("<", "\\u003c") for text in (hero, json.dumps(facts))]
    return f"""<!doctype html><html lang="en"><head><meta charset="utf-8"><title>Ragged</title>
<meta name="viewport" content="width=device-width, initial-scale=1"><link rel="icon" href="data:,">{styles}
<script type="application/x-ndjson" id="ragged-hero">{inert[0]}</script>
<script type="application/json" id="ragged-page">{inert[1]}</script>
<script type="module" src="viewer/main.js"></script></head><body></body></html>"""


@pytest.fixture(scope="session")
def traces(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder that the static site serves as traces/: the recorded ones; tests may add their own."""
    folder = tmp_path_factory.mktemp("traces")
    for file in HERO.parent.glob("*.jsonl"):
        shutil.copy(file, folder)
    return folder


@pytest.fixture(scope="session")
def static_site(traces: Path) -> Iterator[str]:
    """Address of the static site."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), functools.partial(StaticSite, traces=traces))
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_address[1]}"
    server.shutdown()
