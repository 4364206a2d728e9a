"""Files over a real socket: their types, names that change with the contents, and errors that are JSON."""

import json
from pathlib import Path

import httpx

from tests.ui.fakes import JOB, ThreadEngine, until
from ui.static import Folder, trace_list


def test_recorded_traces_are_served_by_name_only(site) -> None:
    here = site(ThreadEngine())
    reply = httpx.get(f"{here.url}/traces/hero.jsonl")
    assert reply.headers["content-type"].startswith("application/x-ndjson")
    assert reply.headers["content-encoding"] == "gzip"
    assert json.loads(reply.text.splitlines()[0])["title"] == "Hero"
    for name in ("nothing", "..%2Fviewer%2Fmain", "%2e%2e"):
        reply = httpx.get(f"{here.url}/traces/{name}.jsonl")
        assert reply.status_code == 404
    reply = httpx.get(f"{here.url}/traces/nothing.jsonl")
    assert reply.json()["works"] == "one of: broken, hero"


def test_viewer_files_have_their_type_and_never_change_under_a_name(site) -> None:
    here = site(ThreadEngine())
    base = f"{here.url}/viewer/{here.viewer.hash}"
    for name, mime in (("main.js", "text/javascript"), ("stage.css", "text/css")):
        reply = httpx.get(f"{base}/{name}")
        assert reply.headers["content-type"].startswith(mime)
        assert "immutable" in reply.headers["cache-control"]
    assert httpx.get(f"{base}/notes.txt").status_code == 404
    stale = httpx.get(f"{here.url}/viewer/000000000000/main.js")
    assert (stale.status_code, stale.json()["works"]) == (404, "reload the page")
    assert httpx.get(f"{here.url}/vendor/plotly-cartesian-4.1.1.min.js").status_code == 200


def test_a_changed_file_changes_the_hash(folder: Path) -> None:
    before = Folder(folder / "viewer").hash
    assert before == Folder(folder / "viewer").hash
    (folder / "viewer" / "fold.js").write_text("export const x = 2\n")
    assert Folder(folder / "viewer").hash != before


def test_whatever_is_asked_the_answer_is_json_or_the_thing_itself(site) -> None:
    here = site(ThreadEngine())
    run = here.store.create(JOB)
    until(lambda: run.over)
    parts = [run.id, "x", "x" * 500, "%00", "%ff%fe", "é", "..", "%2e%2e%2f", "'", "<b>", "%0d%0a", "-1"]
    shapes = ["/runs/{}/events", "/runs/{}/trace.jsonl", "/runs/{}/stop", "/traces/{}.jsonl", "/vendor/{}"]
    shapes.append("/viewer/{}/{}")
    with httpx.Client(base_url=here.url, timeout=20) as client:
        for shape in shapes:
            for part in parts:
                for method in ("GET", "POST", "PUT", "DELETE", "HEAD"):
                    reply = client.request(method, shape.replace("{}", part))
                    assert reply.status_code in (200, 307, 400, 404, 405), (method, shape, part)
                    assert "Traceback" not in reply.text
                    if reply.status_code in (400, 405) and method != "HEAD":
                        assert set(reply.json()) == {"error", "works"}
        for after in ("", " ", "1e9", "9" * 40, "null", "%00"):
            assert client.get(f"/runs/{run.id}/events?after={after}").status_code in (200, 400)
        assert client.get("/healthz").json()["status"] == "ok"


def test_the_page_is_offered_real_traces_only(folder: Path) -> None:
    [hero] = trace_list(Folder(folder / "traces"))
    assert hero == {"name": "hero", "title": "Hero", "created": "", "lanes": ["eqspec"], "rows": 1}


def test_a_missing_folder_is_an_empty_one(tmp_path: Path) -> None:
    assert Folder(tmp_path / "nothing").files == {}
