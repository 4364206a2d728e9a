"""Event streams over a real socket: they resume without a gap, and nothing blocks."""

import gzip
import logging
import os
import signal
import time
from concurrent.futures import ThreadPoolExecutor

import httpx
from sse_starlette.sse import SendTimeoutError

from engine.config import RunConfig
from engine.lines import read_lines
from engine.worker import Worker
from tests.ui.fakes import JOB, FakeRun, ThreadEngine, until
from tests.ui.serving import listen, read_all
from ui.run import Limits
from ui.stream import quiet


def test_a_stream_opens_at_once_and_brings_every_event_then_bye(site) -> None:
    here = site(ThreadEngine())
    here.engine.gate.clear()
    run = here.store.create(JOB)
    with listen(here.events(run)) as stream:
        first = next(stream)
        assert first.retry == "1500"
        assert len(first.comment) >= 2048
        here.engine.gate.set()
        rest = list(stream)
    *events, bye = rest
    assert [m.id for m in events] == [f"{run.id}:{n}" for n in range(13)]
    assert [m.data for m in events] == run.log.text().splitlines()
    assert bye.event == "bye"
    assert (bye.id, bye.json()) == (f"{run.id}:12", {"run": run.id, "status": "done", "error": ""})


def test_a_stream_is_gzip_for_whom_takes_it_and_plain_for_others(site) -> None:
    here = site(ThreadEngine())
    run = here.store.create(JOB)
    texts = {}
    for takes, encoding in (("gzip, br", "gzip"), ("identity", None), ("gzip;q=0, br", None)):
        with httpx.stream("GET", here.events(run), headers={"Accept-Encoding": takes}, timeout=20) as response:
            assert response.headers.get("content-encoding") == encoding
            raw = b"".join(response.iter_raw())
        texts[takes] = gzip.decompress(raw) if encoding else raw
    plain = texts.pop("identity")
    assert all(text == plain for text in texts.values())
    assert plain.count(b"\ndata: ") == 14  # 13 events and bye


def test_a_dropped_connection_resumes_without_missing_or_repeated_event(site) -> None:
    here = site(ThreadEngine(steps=60, pause=0.003))
    run = here.store.create(JOB)
    seen, last = [], ""
    while True:
        with listen(here.events(run), last) as stream:
            fresh = []
            for message in stream:
                if message.event == "bye":
                    break
                if message.data:
                    fresh.append(message)
                if len(fresh) == 17:
                    break  # cut in mid-run
            seen += [m.seq for m in fresh]
        if message.event == "bye":
            break
        last = fresh[-1].id
    assert seen == list(range(123))


def test_after_and_last_event_id_say_where_to_continue(site) -> None:
    here = site(ThreadEngine())
    run = here.store.create(JOB)
    until(lambda: run.over)
    url = here.events(run)

    def seqs(url: str, last: str = "") -> list[int]:
        return [m.seq for m in read_all(url, last) if m.data and m.event != "bye"]

    assert seqs(f"{url}?after=9") == [10, 11, 12]
    assert seqs(f"{url}?after=2", f"{run.id}:9") == [10, 11, 12]  # the header is newer than the address
    assert seqs(url, "another_run:9") == list(range(13))
    assert seqs(url, "nonsense") == list(range(13))
    assert httpx.get(url, headers={"Last-Event-ID": f"{run.id}:12"}).status_code == 204
    assert httpx.get(url, headers={"Last-Event-ID": f"{run.id}:99"}).status_code == 204
    assert [m.event for m in read_all(f"{url}?after=12") if m.data] == ["bye"]
    reply = httpx.get(f"{url}?after=x")
    assert (reply.status_code, set(reply.json())) == (400, {"error", "works"})


def test_fifty_readers_get_the_same_while_other_routes_answer(site) -> None:
    here = site(ThreadEngine(steps=60, pause=0.005))
    run = here.store.create(JOB)
    with ThreadPoolExecutor(51) as pool:
        readers = [pool.submit(read_all, here.events(run)) for _ in range(50)]
        answers = 0
        while not all(r.done() for r in readers):
            assert httpx.get(f"{here.url}/healthz", timeout=60).json()["status"] == "ok"
            answers += not all(r.done() for r in readers)
            time.sleep(0.05)
    for reader in readers:
        assert [m.seq for m in reader.result() if m.data and m.event != "bye"] == list(range(123))
    assert answers >= 1, "other routes were answered only when the streams were over"
    until(lambda: run.watchers == 0)


def test_an_unknown_run_is_gone_in_the_stream_and_404_elsewhere(site) -> None:
    here = site(ThreadEngine())
    _, gone = read_all(f"{here.url}/runs/{'x' * 22}/events")
    assert gone.event == "gone"
    assert "Start it again" in gone.data
    for method, path in (("GET", "trace.jsonl"), ("GET", "status"), ("POST", "stop")):
        reply = httpx.request(method, f"{here.url}/runs/{'x' * 22}/{path}")
        assert (reply.status_code, set(reply.json())) == (404, {"error", "works"})


def test_stop_ends_a_run_and_its_stream_says_so(site) -> None:
    here = site(ThreadEngine(steps=1000, pause=0.01))
    run = here.store.create(JOB)
    with listen(here.events(run)) as stream:
        next(stream)
        assert httpx.post(f"{here.url}/runs/{run.id}/stop").json()["run"] == run.id
        assert list(stream)[-1].json()["status"] == "stopped"


def test_a_reader_that_leaves_is_counted_out_and_the_run_stops(site) -> None:
    here = site(ThreadEngine(steps=10_000, pause=0.01))
    here.store.limits = Limits(grace=0.3)
    run = here.store.create(JOB)
    with listen(here.events(run)) as stream:
        next(stream)
        time.sleep(0.8)
        assert (run.watchers, run.status) == (1, "running")
    until(lambda: run.over)
    assert run.error.startswith("nobody watched")


def test_asking_for_the_status_keeps_a_run_alive_without_a_stream(site) -> None:
    here = site(ThreadEngine(steps=10_000, pause=0.01))
    here.store.limits = Limits(grace=2.0)
    run = here.store.create(JOB)
    for _ in range(12):
        told = httpx.get(f"{here.url}/runs/{run.id}/status")
        assert told.headers["cache-control"] == "no-store"
        time.sleep(0.3)
    assert told.json() == {"run": run.id, "status": "running", "message": "Running."}
    until(lambda: run.over)
    assert httpx.get(f"{here.url}/runs/{run.id}/status").json()["message"].startswith("Stopped: nobody watched")


def test_kill_9_of_the_engine_process_ends_the_run_and_nothing_else(site) -> None:
    here = site(Worker(RunConfig(), FakeRun()))
    run = here.store.create({**JOB, "title": "long"})
    with listen(here.events(run)) as stream:
        next(stream)
        seen = [next(stream) for _ in range(20)]
        os.kill(here.engine.pid, signal.SIGKILL)
        seen += stream
    *events, bye = seen
    assert [m.seq for m in events] == list(range(len(events)))
    assert bye.json()["error"] == "the engine process ended unexpectedly (signal 9)"
    again = here.store.create(JOB)
    assert read_all(here.events(again))[-1].json()["status"] == "done"


def test_a_restarted_server_still_serves_what_it_acknowledged(site) -> None:
    before = site(ThreadEngine(steps=10_000, pause=0.005))
    run = before.store.create(JOB)
    with listen(before.events(run)) as stream:
        next(stream)
        seen = [next(stream) for _ in range(40)]
    path = before.store.folder / f"{run.id}.jsonl"
    until(lambda: path.read_bytes().count(b"\n") > len(seen))
    copy = path.with_name("restarted_run_01234567.jsonl")
    copy.write_bytes(path.read_bytes()[:-7])  # as a crash leaves it: the last line torn
    after = site(ThreadEngine())
    rest = read_all(f"{after.url}/runs/{copy.stem}/events", f"{copy.stem}:{seen[29].seq}")
    lines = [m for m in rest if m.data and m.event != "bye"]
    assert [m.data for m in lines[:10]] == [m.data for m in seen[30:]]
    assert (lines[-1].json()["event"], lines[-1].json()["status"]) == ("end", "failed")
    assert "server restarted" in rest[-1].json()["error"]


def test_a_trace_downloads_as_a_file_that_the_engine_reads(site) -> None:
    here = site(ThreadEngine())
    run = here.store.create(JOB)
    until(lambda: run.over)
    reply = httpx.get(f"{here.url}/runs/{run.id}/trace.jsonl")
    assert reply.headers["content-disposition"] == f'attachment; filename="ragged-{run.id[:8]}.jsonl"'
    assert len(list(read_lines(reply.text.splitlines()))) == 13


def test_line_separators_of_other_standards_stay_inside_an_event(site) -> None:
    here = site(ThreadEngine())
    title = "a\u2028b\u2029c\u0085d \x0b\x0c e\r\nf"
    run = here.store.create({**JOB, "title": title})
    events = [m for m in read_all(here.events(run)) if m.data]
    assert events[0].json()["title"] == title
    assert len(events) == 14


def test_a_reader_that_stopped_reading_is_no_error_in_the_log() -> None:
    def record(error: BaseException) -> logging.LogRecord:
        return logging.LogRecord("uvicorn.error", 40, "", 0, "", None, (type(error), error, None))

    assert not quiet(record(SendTimeoutError()))
    assert quiet(record(ValueError()))
