"""The panel that checks a trace: opened, a file let go over it, and what the page then holds."""

from collections.abc import Callable
from pathlib import Path

import pytest

from tests.engine.test_inspect import lines_of, recorded

PANEL = "#ragged-drop"
STATE = "(({fold, ...rest}) => rest)(window.__ragged.store.get())"


@pytest.fixture(scope="module", name="broken")
def broken_file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A trace of three lanes: a good one, BSP and DSD."""
    path = tmp_path_factory.mktemp("files") / "mine.jsonl"
    path.write_text("".join(lines_of(recorded("broken"))))
    return path


def visit(open_page: Callable, url: str, **options: object) -> object:
    page = open_page(url, **options)
    page.wait_for_selector(".r-lane .r-word")
    page.get_by_role("button", name="Check a trace").click()
    page.wait_for_selector(PANEL)
    return page


def drop(page: object, file: Path) -> None:
    """As the mouse does it: the file in a drag's data, over the page and let go."""
    page.evaluate(
        """([name, bytes]) => {
          const data = new DataTransfer();
          data.items.add(new File([new Uint8Array(bytes)], name));
          for (const type of ['dragover', 'drop']) {
            document.body.dispatchEvent(new DragEvent(type, { dataTransfer: data, bubbles: true, cancelable: true }));
          }
        }""",
        [file.name, list(file.read_bytes())],
    )


def shown(page: object) -> dict:
    page.evaluate("() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))")
    return page.evaluate(STATE)
