"""axe-core finds no serious or critical violation on the stage, whatever is open on it."""

from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path

import pytest

from tests.browser.screens import SCREENS
from tests.engine.test_inspect import lines_of, recorded

AXE = """async ([root, only]) => {
  const { violations } = await axe.run(root, { resultTypes: ['violations'], ...(only && { runOnly: only }) });
  return violations.filter(({ impact }) => ['serious', 'critical'].includes(impact))
    .map(({ id, nodes }) => `${id}: ${nodes.slice(0, 4).map(({ html }) => html.slice(0, 160)).join(' | ')}`);
}"""

#: What a change of theme can break. By name: the whole category also holds enhanced contrast, which is off by default.
COLOURS = ["color-contrast", "link-in-text-block"]


@pytest.fixture(scope="module")
def axe() -> str:
    """axe.min.js, as the package axe-playwright-python carries it."""
    spec = find_spec("axe_playwright_python")
    if not spec or not spec.origin:
        pytest.skip("axe-playwright-python is not installed")
    return str(Path(spec.origin).with_name("axe.min.js"))


def nothing(page: object) -> None:
    pass


def tensors(page: object) -> None:
    page.locator("#ragged-tensors").scroll_into_view_if_needed()
    page.wait_for_function("window.__ragged?.tensors?.idle()")


def panels(page: object) -> None:
    page.wait_for_selector("#ragged-inspector:not([hidden])")
    page.get_by_role("button", name="Add a note").click()


def dropped(page: object) -> None:
    page.get_by_role("button", name="Check a trace").click()
    text = "".join(lines_of(recorded("broken")))
    page.set_input_files("#r-drop-file", {"name": "x.jsonl", "mimeType": "text/plain", "buffer": text.encode()})
    page.wait_for_selector("#ragged-drop .r-checked")


def export(page: object) -> None:
    page.get_by_role("button", name="Export").click()


def shift(page: object) -> None:
    page.click("#ragged-lesson .r-options > [data-value=copied]")
    page.wait_for_selector(".r-shift")


def microscope(page: object) -> None:
    page.wait_for_selector("#ragged-microscope:not([hidden])")


VIEWS = {
    "hero": ("?r=4", nothing),
    "tensors": ("?r=4&view=positions", tensors),
    "panels": ("?r=3&row=1&cell=bsp.1.56&open=debug.cell.round", panels),
    "dropped": ("?r=0", dropped),
    "microscope": ("?r=2&open=round&note=bsp.1.56.Here", microscope),
    "export": ("?r=2", export),
    "chapter": ("?ch=4", nothing),
    "shift": ("?ch=7", shift),
    "sorting": ("?ch=8", nothing),
    "presenter": ("?r=2&present=1", nothing),
    "embedded": ("?r=2&embed=1", nothing),
}


@pytest.mark.parametrize("width", sorted({screen.width for screen in SCREENS}))
@pytest.mark.parametrize("view", VIEWS)
def test_nothing_serious(open_page: Callable, static_site: str, axe: str, view: str, width: int) -> None:
    query, act = VIEWS[view]
    first, *rest = [screen for screen in SCREENS if screen.width == width]
    page = open_page(f"{static_site}/{query}", **first.options)
    page.wait_for_selector(".r-lane .r-word")
    page.wait_for_timeout(300)
    act(page)
    page.add_script_tag(path=axe)
    assert page.evaluate(AXE, ["#ragged-stage", None]) == []
    for screen in rest:  # the theme changes under whatever is open, and changes colours only
        page.evaluate("dark => document.body.classList.toggle('dark', dark)", screen.theme == "dark")
        if act is tensors:
            act(page)  # they are drawn anew
        assert page.evaluate(AXE, ["#ragged-stage", COLOURS]) == []
