"""The browser checks a trace as Python does: the same violations word for word, the same refusals."""

import io
import json
import re
from collections.abc import Callable
from pathlib import Path

import pytest

from engine.frames import Frame, LaneState
from engine.inspection import Inspected, Inspector
from engine.lines import TraceError
from engine.reading import Reading
from engine.trace import Violation
from tests.browser.conftest import HERO
from tests.engine.test_inspect import lines_of, recorded
from tests.engine.test_inspect_hostile import HOSTILE, OPEN, after_header, mutated
from tests.engine.test_writer import engine

SEEDS = 250
INSPECT = """async (texts) => {
  const { inspect } = await import('/viewer/inspection.js');
  const out = [];
  for (const text of texts) {
    try {
      const { lanes, cut } = await inspect(text);
      out.push({ lanes, cut });
    } catch (error) { out.push(error.message); }
  }
  return out;
}"""


PARSE = """async (text) => {
  const { parseTrace } = await import('/viewer/fold.js');
  try { return parseTrace(text); } catch (error) { return error.message; }
}"""


class Keeping(Inspector):
    """The inspector, every violation kept with its step."""

    def __init__(self) -> None:
        super().__init__()
        self.all: dict[str, list[dict]] = {}

    def _check(self, lane: LaneState, frame: Frame, result: Inspected) -> list[Violation]:
        found = super()._check(lane, frame, result)
        self.all.setdefault(lane.name, []).extend({"step": frame.step, **fields_of(v)} for v in found)
        return found


def fields_of(v: Violation) -> dict:
    return {name: getattr(v, name) for name in ("invariant", "row", "slot", "expected", "actual", "message")}


def in_python(text: str) -> dict | str:
    """What `inspect` finds, in the browser's form."""
    inspector, reading = Keeping(), Reading(io.StringIO(text, newline="\n"))
    try:
        for number, event in reading:
            try:
                inspector.push(event)
            except TraceError as error:
                raise TraceError(f"line {number}: {error}") from None
        lanes = [as_data(lane, inspector.all.get(lane.lane, [])) for lane in inspector.close()]
        return {"lanes": lanes, "cut": reading.cut}
    except TraceError as error:
        return str(error)


def as_data(lane: Inspected, violations: list[dict]) -> dict:
    first = lane.first and {
        "step": lane.first.step,
        **fields_of(lane.first.violation),
        "later": lane.first.contaminated,
    }
    return {
        "lane": lane.lane,
        "first": first,
        "counts": lane.counts,
        "steps": lane.steps,
        "unchecked": lane.unchecked,
        "partial": lane.partial,
        "ended": lane.ended,
        "violations": violations,
        "differ": [len(lane.found - lane.claimed), len(lane.claimed - lane.found)],
    }


def in_browser(page: object, texts: list[str]) -> list[dict | str]:
    out = page.evaluate(INSPECT, texts)
    for found in out:
        for lane in found["lanes"] if isinstance(found, dict) else []:
            lane["differ"] = [len(lane["differ"]["missing"]), len(lane["differ"]["forged"])]
    return out


@pytest.fixture
def page(open_page: Callable, static_site: str) -> object:
    return open_page(f"{static_site}/blank")


RECORDED = [*sorted(HERO.parent.glob("*.jsonl")), "exact", "broken"]


@pytest.mark.parametrize("source", RECORDED, ids=[getattr(s, "stem", s) for s in RECORDED])
def test_recorded_traces_have_the_same_violations(source: Path | str, page: object) -> None:
    text = source.read_text() if isinstance(source, Path) else "".join(lines_of(recorded(source)))
    expected = in_python(text)
    assert in_browser(page, [text]) == [expected]
    broken = [lane["lane"] for lane in expected["lanes"] if lane["first"]]
    assert broken == {"hero": ["bsp"], "faults": ["pads_seen"], "exact": [], "broken": ["bsp", "dsd"]}.get(
        getattr(source, "stem", source), broken
    )


FOREIGN = {
    "clean": {},
    "ids_only": {"bare": True},
    "a_gap": {"wrong": (3, 1, 2)},
    "not_rolled_back": {"forget": True},
}


@pytest.mark.parametrize("how", FOREIGN)
def test_another_engine_s_traces_have_the_same_violations(how: str, page: object, tmp_path: Path) -> None:
    """Whole, cut in the middle of a line, and without the KV events: judged by their verify events alone."""
    engine(tmp_path / "x.jsonl", **FOREIGN[how])
    text = (tmp_path / "x.jsonl").read_text()
    bare = "".join(line for line in text.splitlines(keepends=True) if '"kv' not in line)
    texts = [text, text[: len(text) * 2 // 3], text[:-1], bare]
    expected = [in_python(t) for t in texts]
    assert in_browser(page, texts) == expected
    assert [found["cut"] for found in expected] == [False, True, False, False]
    first = expected[0]["lanes"][0]["first"]
    assert bool(first) == (how in ("a_gap", "not_rolled_back"))


@pytest.mark.parametrize("kind", ["exact", "broken"])
def test_mutated_traces_have_the_same_violations(kind: str, page: object) -> None:
    """One or two values changed, lines dropped, doubled, swapped or cut: both judge it alike, or both refuse it."""
    whole = lines_of(recorded(kind))
    lanes = ("dsd", "bsp") if kind == "broken" else ("eqspec", "exspec", "slots")
    small = [whole[0], *(line for line in whole[1:] if any(f'"lane":"{lane}"' in line for lane in lanes))]
    texts = ["".join(mutated(small, seed)) for seed in range(SEEDS)]
    expected, found = [in_python(text) for text in texts], in_browser(page, texts)
    kinds = {"clean": 0, "violated": 0, "refused": 0}
    for seed, (want, got) in enumerate(zip(expected, found, strict=True)):
        if isinstance(want, str):
            assert isinstance(got, str), f"seed {seed}: Python says {want}"
            assert got.startswith("line "), f"seed {seed}"
            assert got == want or "does not fit" not in want + got, f"seed {seed}"
            kinds["refused"] += 1
        else:
            assert got == want, f"seed {seed}"
            kinds["violated" if any(lane["first"] for lane in want["lanes"]) else "clean"] += 1
    assert kinds["refused"] > 5, kinds
    assert kinds["violated"] > 5, kinds
    assert kinds["clean"] > 5 or kind == "broken", kinds


TEXTS = {name: text for name, text in HOSTILE.items() if isinstance(text, str)}


@pytest.mark.parametrize("name", TEXTS)
def test_a_hostile_trace_is_refused_at_the_same_line(name: str, page: object) -> None:
    expected, (found,) = in_python(TEXTS[name]), in_browser(page, [TEXTS[name]])
    assert isinstance(expected, str)
    assert isinstance(found, str), found
    if name != "no_line_end":  # the browser's own limit is the file's size
        assert found.partition(":")[0] == expected.partition(":")[0], (found, expected)
    assert ("does not fit" in found) == ("does not fit" in expected)
    if "does not fit" in found:
        assert found == expected
    assert len(found) < 400
    assert page.evaluate("Object.keys(Object.prototype)") == []


def test_a_refusal_says_what_is_wrong_where_and_what_would_work(page: object) -> None:
    row = "kv of step 0 does not fit what came before it (runs[0]: row -1 is not in step 0, which has rows 0)"
    assert in_browser(page, [TEXTS["runs_of_row_minus_one"]]) == [f"line 4: {row}"]
    positions = "does not fit what came before it (positions has 0 entries for rows 0; give one for each)"
    assert in_browser(page, [TEXTS["no_positions"]]) == [f"line 3: verify of step 0 {positions}"]


NOT_JSON = [
    "hello",
    "{",
    '{"event": NaN}',
    "<!doctype html>",
    '{"a": "\t"}',
    "\U0001f9f5" * 60,
    "{'event': 1}",
    "[" * 3000,
    "\u2028x\x7f",
]


@pytest.mark.parametrize("line", NOT_JSON)
def test_what_is_no_json_is_said_in_the_same_words(line: str, page: object) -> None:
    texts = [f"{after_header()}\n{line}{end}{{}}\n" for end in ("\n", "\r\n")]
    expected = [in_python(text) for text in texts]
    assert in_browser(page, texts) == expected
    assert len(set(expected)) == 1
    assert re.match(r'line 2: not JSON: a line is one whole JSON object, and this one (is|begins with) "', expected[0])
    assert page.evaluate(PARSE, texts[0]) == expected[0]


def whole_as_fraction(value: object) -> object:
    """The same JSON with every whole number as 1.0."""
    if isinstance(value, dict):
        return {name: whole_as_fraction(part) for name, part in value.items()}
    if isinstance(value, list):
        return [whole_as_fraction(part) for part in value]
    return float(value) if type(value) is int else value


@pytest.mark.parametrize("kind", ["exact", "broken"])
def test_a_whole_number_written_as_a_fraction_is_read_alike(kind: str, page: object) -> None:
    whole = "".join(lines_of(recorded(kind)))
    fractions = "".join(json.dumps(whole_as_fraction(json.loads(line))) + "\n" for line in whole.splitlines())
    assert '"step": 1.0' in fractions
    expected = in_python(whole)
    assert isinstance(expected, dict)
    assert in_python(fractions) == expected
    assert in_browser(page, [fractions]) == [expected]
    half = after_header(OPEN, {"event": "row_done", "lane": "eqspec", "row": 0.5, "reason": "stop", "tokens": 1})
    refused = "line 3: row_done: row: expected a whole number, found 0.5"
    assert [in_python(half), *in_browser(page, [half])] == [refused] * 2


@pytest.mark.parametrize("noise", [10**30, 1e30, 2**60, 10**400])
def test_a_number_of_any_size_is_read_alike(noise: float, page: object) -> None:
    """JSON knows one kind of number: where a fraction may stand, a long whole one may."""
    compare = {"event": "compare", "lane": "eqspec", "row": 0, "verdict": "bug", "checked": 1, "noise": noise}
    text = after_header(OPEN, compare)
    expected, (found,) = in_python(text), in_browser(page, [text])
    if noise == 10**400:
        assert {m.partition(", found")[0] for m in (expected, found)} == {
            "line 3: compare: noise: expected a finite number"
        }
    else:
        assert found == expected
        assert isinstance(found, dict)


def test_a_model_of_another_name_cannot_reach_the_prototype(page: object) -> None:
    lines = lines_of(recorded("broken"))
    at = next(n for n, line in enumerate(lines) if '"event":"kv"' in line)
    for name in ("__proto__", "constructor"):
        event = json.loads(lines[at]) | {"model": name}
        text = "".join([*lines[:at], json.dumps(event) + "\n"])
        (found,) = in_browser(page, [text])
        assert isinstance(found, str)
        assert name in found
        assert isinstance(in_python(text), str)
    assert page.evaluate("Object.keys(Object.prototype)") == []
