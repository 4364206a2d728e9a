"""An engine process that is killed in the middle of a live run."""

import json
import os
import signal
from collections.abc import Callable
from pathlib import Path

from tests.browser.your_prompts import MINUTE, ended, start, visit
from tests.ui.serving import application


def test_a_killed_engine_ends_its_run_in_words_and_the_next_run_gets_a_new_one(
    open_page: Callable, tmp_path: Path, real_cache: Path
) -> None:
    with application(tmp_path, RAGGED_CACHE=str(real_cache)) as (url, process):
        page = visit(open_page, url)
        start(page, new=256, k=1)
        page.wait_for_function("window.tap.seqs.length > 12", timeout=4 * MINUTE)
        [engine] = children(process.pid, "spawn_main")
        os.kill(engine, signal.SIGKILL)
        assert ended(page) == "Failed: the engine process ended unexpectedly (signal 9)."
        seqs = page.evaluate("window.tap.seqs")
        assert seqs == list(range(len(seqs)))
        [kept] = [json.loads(line) for line in _last_line(tmp_path / "runs")]
        assert (kept["seq"], kept["status"]) == (seqs[-1], "failed")
        start(page, prompts="Say: one two one two", new=2)
        assert ended(page) == "Finished."


def children(pid: int, word: str) -> list[int]:
    """Child processes of `pid` whose command line holds `word`."""
    found = []
    for task in Path(f"/proc/{pid}/task").iterdir():
        for child in (task / "children").read_text().split():
            if word in Path(f"/proc/{child}/cmdline").read_text():
                found.append(int(child))
    return found


def _last_line(folder: Path) -> list[str]:
    [file] = folder.glob("*.jsonl")
    return file.read_text().splitlines()[-1:]
