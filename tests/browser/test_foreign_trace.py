"""Traces of other engines, by README's 20 lines and by the recorder, are on the page what they are in Python."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from engine.fold import fold
from engine.lines import read_lines
from engine.recorder import Recorder
from tests.browser.test_fold_port import JS, as_data
from tests.engine import tiny
from tests.engine.loops import speculative
from tests.engine.test_writer import PROMPTS, engine


@pytest.mark.parametrize("bare", [False, True], ids=["with_kv", "ids_only"])
def test_it_plays_without_an_error(bare: bool, open_page: Callable, static_site: str, traces: Path) -> None:
    name = f"foreign_{int(bare)}"
    engine(traces / f"{name}.jsonl", bare=bare)
    page = open_page(f"{static_site}/?t={name}&r=3&open=debug&view=positions")
    page.wait_for_selector(".r-lane .r-word")
    state = page.evaluate("(({fold, ...rest}) => rest)(window.__ragged.store.get())")
    assert (state["source"]["name"], state["step"], state["message"]) == (name, 3, "")
    assert page.locator("q.r-prompt").count() == len(PROMPTS)
    page.wait_for_selector("#ragged-debugger")
    page.locator("#ragged-tensors").scroll_into_view_if_needed()
    page.wait_for_function("window.__ragged?.tensors?.idle()")
    assert page.locator("#ragged-tensors .rg-tn-panel:visible").count() == 1  # its one lane is not drawn twice


@pytest.mark.parametrize("kind", ["written", "recorded"])
def test_the_browser_folds_it_into_the_same_frames(
    kind: str, open_page: Callable, static_site: str, tmp_path: Path
) -> None:
    path = tmp_path / "t.jsonl"
    if kind == "written":
        engine(path, forget=True)
    else:
        with Recorder(tiny.target("llama"), path) as recorder:
            speculative(tiny.target("llama"), recorder)
    text = path.read_text()
    expected = as_data(fold(read_lines(text.splitlines())))
    found = json.loads(open_page(f"{static_site}/blank").evaluate(JS, text))
    for name, lane in expected["lanes"].items():
        for want, got in zip(lane["frames"], found["lanes"][name]["frames"], strict=True):
            assert got == want, f"step {want['step']}"
    del expected["last_seq"], found["last_seq"]  # README's writer does not number its events
    assert found == expected
