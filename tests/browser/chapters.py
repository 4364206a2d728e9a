"""A chapter as its tests see it: the panel, what its steps ask and answer, the trace that it reads."""

import json
from collections.abc import Callable

from tests.browser.conftest import HERO

PANEL = "#ragged-lesson"
FEED = f"{PANEL} .r-feed"
FAULTS = HERO.with_name("faults.jsonl")
ROUNDING = HERO.with_name("rounding.jsonl")
CHAPTERS = ["row", "cleanup", "rectangle", "crop", "shortcut", "defect", "realign", "equal"]
STEPS = """async ([text, n]) => {
  const { CHAPTERS } = await import('/viewer/lesson_list.js');
  const { fold, parseTrace } = await import('/viewer/fold.js');
  const { answerOf } = await import('/viewer/lesson_step.js');
  const { proseOf } = await import('/viewer/lesson_strings.js');
  const facts = CHAPTERS[n].facts(fold(parseTrace(text)));
  if (!facts) return null;
  return {
    key: CHAPTERS[n].key, lead: proseOf(CHAPTERS[n].key, facts)[0], why: proseOf(CHAPTERS[n].key, facts)[1],
    keep: facts.keep ?? facts.min + 1, round: facts.round,
    row: facts.one?.row, gap: facts.one?.gap?.before, delta: facts.delta,
    items: (facts.items ?? []).map((item) => item.answer),
    steps: CHAPTERS[n].steps(facts).map((s) => ({
      kind: s.kind, ask: s.ask, answer: String(s.answer), words: s.kind === 'act' ? '' : answerOf(s),
      right: s.right ?? '', done: s.done ?? '', misses: (s.options ?? []).map((o) => s.miss(o.value)),
      options: (s.options ?? []).map((o) => [String(o.value), o.text]),
    })),
  };
}"""


def text_of(n: int) -> str:
    own = {"rectangle": FAULTS, "equal": ROUNDING}
    return own.get(CHAPTERS[n], HERO).read_text(encoding="utf-8")


def events(n: int) -> list[dict]:
    return [json.loads(line) for line in text_of(n).splitlines()]


def find(trace: list[dict], kind: str, lane: str, step: int = 2, **fields: object) -> dict:
    return next(
        e
        for e in trace
        if (e["event"], e["lane"], e["step"]) == (kind, lane, step) and all(e.get(k) == v for k, v in fields.items())
    )


def plan(page: object, n: int, text: str | None = None) -> dict | None:
    return page.evaluate(STEPS, [text or text_of(n), n])


def opened(open_page: Callable, site: str, n: int, **options: object) -> object:
    page = open_page(f"{site}/?ch={n + 1}", **options)
    page.wait_for_selector(f"{PANEL}:not([hidden]) .r-ask")
    return page


def state(page: object, *keys: str) -> list:
    return page.evaluate("keys => keys.map(k => window.__ragged.store.get()[k] ?? null)", list(keys))


def stage_is(page: object, patch: dict) -> None:
    page.wait_for_function(
        "p => Object.entries(p).every(([k, v]) => window.__ragged.store.get()[k] === v)", arg=patch, timeout=5000
    )
