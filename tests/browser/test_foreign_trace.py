"""A trace written by README's 20 lines opens on the page like any other."""

from collections.abc import Callable
from pathlib import Path

import pytest

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
    page.wait_for_function("window.__ragged.tensors.idle()")
