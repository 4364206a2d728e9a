"""The RunStore: nothing acknowledged is lost, one run at a time, nothing runs unwatched, the disk stays small."""

import asyncio
import json
import os
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.ui.fakes import JOB, ThreadEngine, finish, until
from ui.disk import tidy
from ui.log import RESTARTED, RunLog
from ui.run import Limits, Run
from ui.runs import RunStore, StoreFull

Make = Callable[..., RunStore]


@pytest.fixture
def make(tmp_path: Path) -> Iterator[Make]:
    stores = []

    def build(engine: ThreadEngine | None = None, **limits: float) -> RunStore:
        stores.append(RunStore(tmp_path / "runs", engine or ThreadEngine(), Limits(**limits)))
        return stores[-1]

    yield build
    for store in stores:
        store.engine.gate.set()
        store.close(wait=0.5)


def held() -> ThreadEngine:
    """An engine that waits after each event until its gate opens or it is stopped."""
    engine = ThreadEngine()
    engine.gate.clear()
    return engine


def lines(run: Run) -> list[dict]:
    return [json.loads(line) for line in run.log.text().splitlines()]


def test_a_run_goes_through_queued_running_done_and_its_file_is_the_trace(make: Make) -> None:
    store = make(held())
    run = store.create(JOB)
    assert run.status in ("queued", "running")
    until(lambda: run.log.last == 0)
    assert run.status == "running"
    store.engine.gate.set()
    until(lambda: run.over)
    assert run.status == "done"
    events = lines(run)
    assert [e["seq"] for e in events] == list(range(13))
    assert events[-1]["totals"] == {"steps": 4}
    assert (store.folder / f"{run.id}.jsonl").read_text() == run.log.text()


def test_ids_cannot_be_guessed_and_paths_cannot_be_asked_for(make: Make) -> None:
    store = make()
    ids = {store.create(JOB).id for _ in range(8)}
    assert len(ids) == 8
    assert all(len(i) >= 22 for i in ids)
    (store.folder.parent / "secret.jsonl").write_text('{"event":"end","seq":0,"lane":"","status":"done"}\n')
    assert [store.get(i) for i in ("", "../secret", "x" * 22, "a/../../secret")] == [None] * 4


def test_every_line_is_in_the_file_before_a_reader_sees_it(make: Make) -> None:
    store = make(ThreadEngine(steps=50, pause=0.002))
    run = store.create(JOB)
    path = store.folder / f"{run.id}.jsonl"

    async def read() -> int:
        count = 0
        async for _, line in run.log.follow():
            assert line in path.read_text()
            count += 1
        return count

    assert finish(read()) == 103


def test_readers_come_at_any_time_and_continue_anywhere(make: Make) -> None:
    store = make(ThreadEngine(steps=40, pause=0.002))
    run = store.create(JOB)

    async def read(after: int, wait: float) -> list[int]:
        await asyncio.sleep(wait)
        return [seq async for seq, _ in run.log.follow(after)]

    async def all_readers() -> list[list[int]]:
        return await asyncio.gather(*(read(after, after / 400) for after in range(-1, 99, 10)))

    for after, seqs in zip(range(-1, 99, 10), finish(all_readers()), strict=True):
        assert seqs == list(range(after + 1, 83))


def test_a_reader_ahead_of_the_log_waits_for_what_it_does_not_know(make: Make) -> None:
    store = make(held())
    run = store.create(JOB)
    until(lambda: run.log.last == 0)

    async def read() -> list[int]:
        seqs = asyncio.create_task(collect())
        await asyncio.sleep(0.05)
        store.engine.gate.set()
        return await seqs

    async def collect() -> list[int]:
        return [seq async for seq, _ in run.log.follow(7)]

    assert finish(read()) == list(range(8, 13))


def test_one_run_at_a_time_and_the_others_know_their_place(make: Make) -> None:
    store = make(held())
    runs = [store.create(JOB) for _ in range(3)]
    until(lambda: runs[0].status == "running")
    assert [store.position(r) for r in runs] == [0, 1, 2]
    store.stop(runs[1])
    assert runs[1].status == "stopped"
    assert [store.position(r) for r in runs] == [0, 0, 1]
    store.engine.gate.set()
    until(lambda: runs[2].over)
    assert [r.status for r in runs] == ["done", "stopped", "done"]
    assert [e["event"] for e in lines(runs[1])] == ["end"]


def test_a_full_queue_says_what_to_do(make: Make) -> None:
    store = make(held(), queue=1)
    first = store.create(JOB)
    until(lambda: first.status == "running")
    store.create(JOB)
    with pytest.raises(StoreFull, match="try again"):
        store.create(JOB)


def test_a_run_that_nobody_watches_stops_after_the_grace(make: Make) -> None:
    store = make(held(), grace=0.3)
    watched, waiting = store.create(JOB), store.create(JOB)
    with store.watch(watched):
        until(lambda: waiting.over)  # also in the queue
        time.sleep(0.4)
        assert watched.status == "running"
    until(lambda: watched.over)
    assert (watched.status, watched.error) == ("stopped", "nobody watched for 0 seconds")


def test_a_run_over_its_deadline_ends_and_a_deaf_engine_is_killed(make: Make) -> None:
    store = make(held(), deadline=0.2, grace=100.0, patience=0.5)
    run = store.create({**JOB, "title": "deaf"})
    until(lambda: run.over)
    assert run.status == "deadline"
    assert "limit" in run.error


def test_stop_asked_before_the_engine_has_begun_still_stops(make: Make) -> None:
    engine = ThreadEngine(steps=1000, pause=0.01)
    store = make(engine)
    run = store.create(JOB)
    until(lambda: run.status == "running")
    store.stop(run)
    store.stop(run)
    until(lambda: run.over)
    assert run.status == "stopped"


def test_an_engine_that_dies_leaves_a_failed_run_and_the_next_one_works(make: Make) -> None:
    store = make(held())
    run = store.create(JOB)
    until(lambda: run.log.last == 0)
    store.engine.kill()
    until(lambda: run.over)
    end = lines(run)[-1]
    assert (end["seq"], end["status"]) == (1, "failed")
    assert end["error"] == "the engine process ended unexpectedly (signal 9)"
    store.engine.gate.set()
    again = store.create(JOB)
    until(lambda: again.over)
    assert again.status == "done"


def test_a_disk_that_is_full_fails_the_run_and_shows_nothing_unwritten(make: Make, monkeypatch) -> None:
    store = make(ThreadEngine(steps=3))

    def full(self: RunLog, line: str, seq: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(RunLog, "append", full)
    run = store.create(JOB)
    until(lambda: run.over)
    assert [e["event"] for e in lines(run)] == ["end"]
    assert run.error == "the run's file could not be written (No space left on device)"


def test_after_a_restart_finished_runs_are_whole_and_interrupted_ones_say_so(make: Make) -> None:
    store = make()
    done = store.create(JOB)
    until(lambda: done.over)
    cut = store.folder / "interrupted_run_012345.jsonl"
    whole = done.log.text().splitlines(keepends=True)
    cut.write_text("".join(whole[:4]) + whole[4][:20])  # the last write was torn: nobody has seen it
    later = make()
    again = later.get(done.id)
    assert again.status == "done"
    assert again.log.text() == done.log.text()
    broken = later.get(cut.stem)
    assert (broken.status, broken.error, broken.log.last) == ("failed", RESTARTED, 4)
    assert broken.log.text().startswith("".join(whole[:4]))
    assert later.get(cut.stem) is broken


def test_an_empty_or_foreign_file_is_no_run_or_a_failed_one(make: Make) -> None:
    store = make()
    (store.folder / "empty_run_0123456789.jsonl").write_text("")
    (store.folder / "noise_run_0123456789.jsonl").write_text("hello\nworld\n")
    assert store.get("empty_run_0123456789").status == "failed"
    assert store.get("noise_run_0123456789") is None


def test_closing_stops_every_run_and_takes_no_more(make: Make) -> None:
    store = make(held())
    runs = [store.create(JOB), store.create(JOB)]
    until(lambda: runs[0].status == "running")
    store.close()
    assert [r.status for r in runs] == ["stopped", "stopped"]
    assert {r.error for r in runs} == {"the server was shut down"}
    with pytest.raises(StoreFull):
        store.create(JOB)


def test_finished_runs_leave_memory_but_not_the_disk(make: Make) -> None:
    store = make(held=2)
    runs = [store.create(JOB) for _ in range(6)]
    until(lambda: all(r.over for r in runs))
    until(lambda: len(store._runs) <= 2)
    back = store.get(runs[0].id)
    assert back is not runs[0]
    assert back.log.text() == runs[0].log.text()


def test_old_files_go_first_and_kept_ones_stay(tmp_path: Path) -> None:
    now = time.time()
    for age, name in enumerate(["new", "mid", "old", "kept", "ancient"]):
        path = tmp_path / f"{name}.jsonl"
        path.write_bytes(b"x" * 100)
        os.utime(path, (now - age * 100, now - age * 100))
    assert tidy(tmp_path, limit=250, ttl=350.0, keep={"kept"}) == ["ancient", "old", "mid"]
    assert sorted(p.stem for p in tmp_path.iterdir()) == ["kept", "new"]
