"""A served site for the route tests: a store on some engine, a few files, a real socket."""

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from starlette.applications import Starlette

from engine.lines import dump_line
from engine.worker import Worker
from tests.ui.fakes import JOB, trace
from tests.ui.serving import serve
from ui.run import Limits
from ui.runs import RunStore
from ui.static import Folder
from ui.stream import routes


class Site:
    """A store, its routes and their address."""

    def __init__(self, folder: Path, engine: object) -> None:
        self.engine, self.store = engine, RunStore(folder / "runs", engine, Limits(grace=5.0))
        parts = [Folder(folder / name) for name in ("viewer", "vendor", "traces")]
        self.viewer = parts[0]
        self.app = Starlette(routes=routes(self.store, *parts))
        self.url = ""

    def events(self, run: object) -> str:
        return f"{self.url}/runs/{run.id}/events"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    files = {
        "viewer/main.js": "import './fold.js'\n",
        "viewer/fold.js": "export const x = '</script>'\n",
        "viewer/stage.css": "b{}\n",
        "viewer/notes.txt": "not served",
        "vendor/plotly-cartesian-4.1.1.min.js": "var Plotly={};" * 200,
        "traces/hero.jsonl": "".join(dump_line(e) + "\n" for e in trace({**JOB, "title": "Hero"}, 3)),
        "traces/broken.jsonl": "not a trace\n",
    }
    for name, text in files.items():
        path = tmp_path / name
        path.parent.mkdir(exist_ok=True)
        path.write_text(text)
    return tmp_path


@pytest.fixture
def site(folder: Path) -> Iterator[Callable[[object], Site]]:
    open_sites = []

    def start(engine: object) -> Site:
        here = Site(folder, engine)
        context = serve(here.app)
        here.url = context.__enter__()
        open_sites.append((here, context))
        return here

    yield start
    for here, context in open_sites:
        if isinstance(here.engine, Worker):
            here.engine.close()
        else:
            here.engine.gate.set()
        here.store.close(wait=0.5)
        context.__exit__(None, None, None)
