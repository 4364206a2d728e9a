"""The six screens on which every item of the page is driven, and what holds on each of them whatever is open."""

from collections.abc import Callable
from typing import NamedTuple

import pytest


class Screen(NamedTuple):
    """A window and the theme that its system asks for."""

    width: int
    theme: str

    @property
    def options(self) -> dict:
        """For `open_page`; the narrow one is held in a hand."""
        height = 844 if self.width == 390 else 900
        viewport = {"width": self.width, "height": height}
        return {"viewport": viewport, "color_scheme": self.theme, "has_touch": self.width == 390}


SCREENS = [Screen(width, theme) for width in (1440, 1024, 390) for theme in ("light", "dark")]


def on(*widths: int) -> Callable:
    """Runs a test on the screens of these widths."""
    screens = [screen for screen in SCREENS if screen.width in widths]
    return pytest.mark.parametrize("screen", screens, ids=[f"{s.width}-{s.theme}" for s in screens])


every_screen, wide_screens, phone_screens = on(1440, 1024, 390), on(1440, 1024), on(390)

#: What is cut off: it sticks out of the window and stands in no scroller that lies inside. Ellipses may hide text only.
CUT = """(roots) => {
  const inside = ({ left, right }) => left > -1 && right < innerWidth + 1;
  const reached = (node, control) => {
    for (let up = node.parentElement; up; up = up.parentElement) {
      const { overflowX } = getComputedStyle(up);
      const cuts = control ? /auto|scroll/ : /auto|scroll|hidden|clip/;
      if (cuts.test(overflowX)) return inside(up.getBoundingClientRect());
    }
    return false;
  };
  return [...document.querySelectorAll(roots.map((root) => `${root}, ${root} *`).join())].filter((node) => {
    if (!node.checkVisibility({ visibilityProperty: true }) || node.closest('.r-hidden, .rg-tn-sr, defs')) return false;
    const box = node.getBoundingClientRect();
    return box.width > 0 && !inside(box) && !reached(node, node.matches('button, a, input, select, textarea, summary'));
  }).map((node) => node.outerHTML.slice(0, 160));
}"""

#: The relative luminance of each root's ink, and of the paper below all tints.
LIGHT = """(roots) => roots.map((root) => {
  const linear = (c) => (c <= 0.04045 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4);
  const light = (color) => {
    const [r, g, b] = color.match(/[\\d.]+/g).map((channel) => linear(channel / 255));
    return 0.2126 * r + 0.7152 * g + 0.0722 * b;
  };
  const node = document.querySelector(root);
  const opaque = (at) => getComputedStyle(at).backgroundColor.startsWith('rgb(');
  let paper = node;
  while (paper.parentElement && !opaque(paper)) paper = paper.parentElement;
  return [light(getComputedStyle(node).color), light(getComputedStyle(paper).backgroundColor)];
})"""


def looks_right(page: object, screen: Screen, *roots: str) -> None:
    """The page is no wider than the window; each root is seen whole, in the colours of the theme, and can be read."""
    assert page.evaluate("document.documentElement.scrollWidth") <= screen.width, page.evaluate(CUT, [".r-stage"])
    cut = page.evaluate(CUT, list(roots))
    assert not cut, cut
    for root, (ink, paper) in zip(roots, page.evaluate(LIGHT, list(roots)), strict=True):
        assert (paper < 0.05) == (screen.theme == "dark"), f"{root}: paper {paper:.2f}"
        low, high = sorted((ink, paper))
        assert (high + 0.05) / (low + 0.05) >= 4.5, f"{root}: ink {ink:.2f} on {paper:.2f}"
