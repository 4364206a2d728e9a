"""The first HTML has everything that plays before Gradio does; the server starts, answers and ends cleanly."""

import json
import os
import re
import signal
import socket
import subprocess
import sys
from pathlib import Path

import httpx
import pytest
from starlette.applications import Starlette
from starlette.responses import HTMLResponse
from starlette.routing import Route

from app import Settings
from tests.ui.fakes import until
from tests.ui.serving import ROOT, application, no_model, serve
from ui.boot import HeadMiddleware, insert
from ui.pages import head, imports, writer
from ui.static import Folder


def test_the_head_names_the_viewer_s_files_and_holds_the_hero_trace(folder: Path) -> None:
    text = head(*(Folder(folder / name) for name in ("viewer", "vendor", "traces")), space="me/ragged")
    base = f"viewer/{Folder(folder / 'viewer').hash}/"
    assert f'<link rel="stylesheet" href="{base}stage.css">' in text
    assert f'<link rel="modulepreload" href="{base}fold.js">' in text
    assert f'<script type="module" src="{base}main.js">' in text
    assert text.index("rel: 'preload', as: 'fetch'") < text.index("modulepreload")  # the trace that the address names
    page = json.loads(re.search(r'id="ragged-page">(.*?)</script>', text)[1])
    assert (page["viewer"], page["space"]) == (base, "me/ragged")
    assert page["plotly"] == "vendor/plotly-cartesian-4.1.1.min.js"
    assert [t["name"] for t in page["traces"]] == ["hero"]
    hero = re.search(r'id="ragged-hero">(.*?)</script>', text, re.DOTALL)[1]
    assert json.loads(hero.splitlines()[0])["title"] == "Hero"


def test_a_trace_cannot_break_out_of_its_script_element(folder: Path) -> None:
    path = folder / "traces" / "hero.jsonl"
    path.write_text(path.read_text().replace("Hero", "</script><!--<script>alert(1)"))
    text = head(*(Folder(folder / name) for name in ("viewer", "vendor", "traces")))
    hero = re.search(r'id="ragged-hero">(.*?)</script>', text, re.DOTALL)[1]
    assert "<" not in hero
    assert json.loads(hero.splitlines()[0])["title"] == "</script><!--<script>alert(1)"


def test_a_page_without_any_asset_is_still_built(tmp_path: Path) -> None:
    text = head(*(Folder(tmp_path / name) for name in ("a", "b", "c")))
    assert '"plotly": null' in text
    assert "ragged-hero" not in text


def test_the_head_goes_behind_the_base_element_of_the_first_page_only() -> None:
    html = "<html><head><base href='./'><script></script></head></html>"

    async def page(_request: object) -> HTMLResponse:
        return HTMLResponse(html)

    app = HeadMiddleware(Starlette(routes=[Route("/", page), Route("/other", page)]), "<b>é</b>")
    with serve(app) as url:
        reply = httpx.get(url)
        assert reply.text == "<html><head><base href='./'><b>é</b><script></script></head></html>"
        assert (reply.headers["content-encoding"], reply.headers["cache-control"]) == ("gzip", "no-cache")
        assert httpx.get(url, headers={"Accept-Encoding": "identity"}).text == reply.text
        assert httpx.get(f"{url}/other").text == html
    assert insert(b"<html><head></head>", b"X") == b"<html><head>X</head>"
    gradio = b'<head><base href="./" /><script></script><link rel="stylesheet" href="a.css"></head>'
    first = b'<head><base href="./" /><link rel="stylesheet" href="a.css">X'
    assert insert(gradio, b"X") == first + b"<script></script></head>"


def test_preloaded_is_what_the_first_module_imports_and_no_more(folder: Path) -> None:
    files = {
        "main.js": "import {\n  a,\n  b\n} from './a.js';\nimport './b.js'\nimport('./late.js')\nconst s = 'x'\n",
        "a.js": "export { c } from './c.js';\n",
        "b.js": "import * as m from './main.js'\n",
        "c.js": "// import './none.js'\n",
        "late.js": "",
    }
    for name, text in files.items():
        (folder / "viewer" / name).write_text(text)
    assert imports(Folder(folder / "viewer"), "main.js") == ["main.js", "a.js", "b.js", "c.js"]


def test_settings_come_from_the_environment(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    for name in ("GRADIO_SERVER_NAME", "GRADIO_SERVER_PORT", "SPACE_ID", "RAGGED_DATA", "RAGGED_CACHE"):
        monkeypatch.delenv(name, raising=False)
    assert Settings.read().host == "127.0.0.1"
    assert Settings.read().port == 7860
    monkeypatch.setenv("SPACE_ID", "me/ragged")
    assert Settings.read().host == "0.0.0.0"
    monkeypatch.setenv("GRADIO_SERVER_PORT", "7999")
    monkeypatch.setenv("RAGGED_DATA", str(tmp_path))
    assert (Settings.read().port, Settings.read().data, Settings.read().cache) == (7999, tmp_path, None)


def test_the_real_server_answers_without_a_model_and_ends_on_sigterm(tmp_path: Path) -> None:
    with (
        application(tmp_path, **no_model(tmp_path)) as (url, process),
        httpx.Client(base_url=url, timeout=30) as client,
    ):
        page = client.get("/").text
        assert page.count('id="ragged-page"') == 1
        assert page.index("ragged-page") < page.index("gradio_config")
        assert client.get("/config").json()["title"].startswith("Ragged")
        until(lambda: client.get("/healthz").json()["model"]["phase"] == "failed", 60)
        assert "cache folder" in client.get("/healthz").json()["model"]["text"]
        process.send_signal(signal.SIGTERM)
        assert process.wait(15) == 0


def test_a_port_that_is_taken_is_said_in_one_line(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        env = {**os.environ, "GRADIO_SERVER_PORT": str(taken.getsockname()[1]), "RAGGED_DATA": str(tmp_path)}
        done = subprocess.run([sys.executable, "app.py"], cwd=ROOT, env=env, capture_output=True, text=True, timeout=60)
    assert done.returncode == 1
    assert done.stderr.startswith(f"Ragged cannot start: port {env['GRADIO_SERVER_PORT']} is in use (--host, --port")
    assert "Traceback" not in done.stderr


def test_the_command_line_wins_and_what_it_does_not_know_is_refused(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture
) -> None:
    monkeypatch.setenv("GRADIO_SERVER_PORT", "7999")
    read = Settings.read(["--port", "7931", "--host", "0.0.0.0"])
    assert (read.port, read.host) == (7931, "0.0.0.0")
    with pytest.raises(SystemExit) as ended:
        Settings.read(["--prot", "7931"])
    assert ended.value.code == 2
    said = capsys.readouterr().err
    assert "there is no --prot 7931" in said
    assert all(name in said for name in ("--port N", "--host NAME", "GRADIO_SERVER_PORT", "RAGGED_DATA"))
    for argv, port, name in (["--port", "x"], "", "--port is 'x'"), ([], "70000", "GRADIO_SERVER_PORT is '70000'"):
        monkeypatch.setenv("GRADIO_SERVER_PORT", port)
        with pytest.raises(ValueError, match=f"{name}, and a port is a number from 1 to 65535"):
            Settings.read(argv)


def test_the_writer_of_other_engines_is_taken_from_the_readme() -> None:
    code = 'import json\n# ## no heading\nprint(json.dumps({"event": "header"}))\n'
    text = f"# Ragged\n\n## Your own engine\n\nLike this:\n\n```python\n{code}```\n\n## The map\n\n```\nother\n```\n"
    assert writer(text) == code
    assert writer(text.replace("Your own", "Another")) == ""
    assert writer("# Ragged\n\n## Your own engine\n\nSoon.\n\n## The map\n\n```\nother\n```\n") == ""
