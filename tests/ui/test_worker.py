"""The engine process: it loads once, obeys stop, and takes only its own job with it when it dies."""

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import replace

import pytest

from engine.config import RunConfig
from engine.process import explain
from engine.worker import EngineError, Worker
from tests.ui.fakes import JOB, FakeRun, until


@pytest.fixture
def worker() -> Iterator[Worker]:
    worker = Worker(RunConfig(), FakeRun())
    yield worker
    worker.close()


def job(title: str, target: str = "smollm2-135m") -> dict:
    return {**JOB, "title": title, "lanes": {"eqspec": RunConfig(target=target)}}


def test_a_job_is_a_whole_trace_and_the_pair_is_loaded_once_per_name(worker: Worker) -> None:
    titles = []
    for target in ("one", "one", "two"):
        events = [json.loads(line) for line in worker.submit(job("short", target))]
        assert [e["seq"] for e in events] == list(range(len(events)))
        assert events[-1]["event"] == "end"
        assert events[-1]["status"] == "done"
        titles.append(events[0]["title"])
    assert titles == ["('one', 2)", "('one', 2)", "('two', 3)"]  # load 1 was the start's own pair


def test_the_model_loads_in_the_background_and_says_how_far_it_is() -> None:
    worker = Worker(RunConfig(), FakeRun(load_s=0.5))
    assert worker.state.phase == "off"
    worker.start()
    until(lambda: worker.state.text == "download")
    assert (worker.state.phase, worker.state.fraction) == ("loading", 0.5)
    until(lambda: worker.state.phase == "ready")
    worker.close()


def test_stop_ends_the_job_at_its_next_step_and_not_the_one_after(worker: Worker) -> None:
    lines = worker.submit(job("long"))
    next(lines)
    worker.stop()
    assert json.loads(list(lines)[-1])["status"] == "stopped"
    assert json.loads(list(worker.submit(job("short")))[-1])["status"] == "done"


def test_a_job_left_early_is_over_before_the_next_begins(worker: Worker) -> None:
    lines = worker.submit(job("long"))
    next(lines)
    lines.close()
    events = [json.loads(line) for line in worker.submit(job("short"))]
    assert [e["seq"] for e in events] == list(range(len(events)))


def test_a_killed_process_fails_its_job_and_the_next_job_gets_a_fresh_one(worker: Worker) -> None:
    lines = worker.submit(job("long"))
    first, pid = json.loads(next(lines)), worker.pid
    assert first["event"] == "header"
    os.kill(pid, signal.SIGKILL)
    with pytest.raises(EngineError, match=r"ended unexpectedly \(signal 9\)"):
        list(lines)
    assert worker.state.phase == "off"
    assert len(list(worker.submit(job("short")))) > 5
    assert worker.pid != pid


def test_a_failed_job_says_no_internals_and_the_process_lives(worker: Worker) -> None:
    with pytest.raises(EngineError, match="internal error") as caught:
        list(worker.submit(job("boom")))
    assert "secret" not in str(caught.value)
    pid = worker.pid
    assert list(worker.submit(job("short")))
    assert worker.pid == pid


def test_a_missing_model_is_named_at_once_and_again_by_each_job() -> None:
    worker = Worker(replace(RunConfig(), target="nowhere"), FakeRun())
    worker.start()
    until(lambda: worker.state.phase == "failed")
    assert "smollm2.whl" in worker.state.text
    with pytest.raises(EngineError, match=r"smollm2\.whl could not be fetched: put it in the cache folder"):
        list(worker.submit(job("short", "nowhere")))
    assert list(worker.submit(job("short")))
    worker.close()


def test_out_of_memory_has_its_own_words() -> None:
    assert explain(MemoryError()) == "the engine ran out of memory: use fewer or shorter prompts"


def test_the_process_ends_when_its_server_is_killed() -> None:
    code = """
import sys
from engine.config import RunConfig
from engine.worker import Worker
from tests.ui.fakes import FakeRun
if __name__ == "__main__":
    worker = Worker(RunConfig(), FakeRun())
    worker.start()
    print(worker.pid, "torch" in sys.modules, flush=True)
    sys.stdin.read()
"""
    server = subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, stdin=subprocess.PIPE, text=True)
    pid, torch = server.stdout.readline().split()
    assert torch == "False"
    server.kill()
    server.wait()

    def gone() -> bool:
        try:
            with open(f"/proc/{pid}/stat") as stat:
                return stat.read().split()[2] == "Z"  # nobody may be there to collect it
        except OSError:
            return True

    until(gone)
