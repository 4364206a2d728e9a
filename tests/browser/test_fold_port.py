"""The browser folds a trace into the same frames as Python: field by field, mask by mask, refusal by refusal."""

import dataclasses
import json

import pytest

from engine.config import RunConfig
from engine.fold import Fold, fold
from engine.lines import TraceError, dump_line, read_lines
from engine.stream import session
from tests.browser.conftest import HERO
from tests.engine.pairs import pair

PROMPTS = [[5, 9, 7, 3, 5, 9, 7], [11, 12], [2, 30, 31, 32, 30], [8]]
OWN = {"proposer": "draft_model", "draft": "tiny", "k": 3, "max_new": 14, "dtype": "float64"}
SESSIONS = {
    "draft-model": ("llama", {"eqspec": OWN, "bsp": OWN, "bsp_repaired": {**OWN, "faults": frozenset()}}),
    "published": (
        "llama",
        {"eqspec": {**OWN, "fidelity": "paper"}, "exspec": {**OWN, "fidelity": "paper", "batch": 2}},
    ),
    "learned-positions": ("gpt2", {"eqspec": OWN, "bsp": {**OWN, "method": "bsp"}}),
    "two-batches": (
        "qwen3",
        {"eqspec": {**OWN, "batch": 2, "proposer": "ngram", "draft": None}, "autoregressive": {**OWN, "batch": 3}},
    ),
}

JS = """async (text) => {
  const { fold, parseTrace, maskOf } = await import('/viewer/fold.js');
  const state = fold(parseTrace(text));
  const masks = {};
  for (const [name, lane] of Object.entries(state.lanes)) {
    masks[name] = lane.frames.map((frame) => 
      (frame.positions.length ? frame.rows.map((_, i) => maskOf(frame, i)) : []));
  }
  const { header, ...rest } = state;
  return JSON.stringify({ ...rest, masks });
}"""

PARSE = """async (text) => {
  const { parseTrace } = await import('/viewer/fold.js');
  try { parseTrace(text); return null; } catch (error) { return error.message; }
}"""


def lane_config(name: str, fields: dict) -> RunConfig:
    return RunConfig(**{"method": name.split("_")[0], **fields})


@pytest.fixture(scope="module")
def recorded() -> dict[str, str]:
    """Trace texts: the hero, and sessions of tiny models that use every event the engine emits."""
    out = {}
    out["hero"] = HERO.read_text()
    for name, (family, lanes) in SESSIONS.items():
        configs = {lane: lane_config(lane, fields) for lane, fields in lanes.items()}
        events = session(configs, PROMPTS, pair=pair(family))
        out[name] = "".join(dump_line(event) + "\n" for event in events)
    return out


def as_data(state: Fold) -> dict:
    """The Python fold as the JavaScript fold shows it; object keys are strings there."""
    lanes = {name: dataclasses.asdict(lane) for name, lane in state.lanes.items()}
    masks = {
        name: [[f.mask(i) for i in range(len(f.rows))] if f.positions else [] for f in lane.frames]
        for name, lane in state.lanes.items()
    }
    whole = {"pieces": state.pieces, "lanes": lanes, "masks": masks, "status": state.status}
    return json.loads(json.dumps({**whole, "error": state.error, "last_seq": state.last_seq}))


@pytest.mark.parametrize("name", ["hero", *SESSIONS])
def test_both_folds_give_the_same_frames(name: str, recorded: dict, open_page: object, static_site: str) -> None:
    text = recorded[name]
    expected = as_data(fold(read_lines(text.splitlines())))
    found = json.loads(open_page(f"{static_site}/blank").evaluate(JS, text))
    assert found.keys() == expected.keys()
    for lane, state in expected["lanes"].items():
        for want, got in zip(state["frames"], found["lanes"][lane]["frames"], strict=True):
            assert got == want, f"{lane}, step {want['step']}"
    assert found == expected


@pytest.mark.parametrize("upto", [0.3, 0.7])
def test_a_trace_that_is_still_arriving_folds_the_same(
    upto: float, recorded: dict, open_page: object, static_site: str
) -> None:
    lines = recorded["draft-model"].splitlines()
    part = lines[: int(len(lines) * upto)]
    expected = as_data(fold(read_lines(part)))
    assert json.loads(open_page(f"{static_site}/blank").evaluate(JS, "\n".join(part))) == expected


BROKEN = {
    "empty": "",
    "not json": "{",
    "no header": '{"event":"schedule","seq":0,"lane":"x","step":0,"rows":[0]}',
    "future schema": '{"event":"header","seq":0,"lane":"","step":0,"schema":99}',
    "no schema": '{"event":"header","seq":0,"lane":"","step":0}',
    "unknown event": '{"event":"banana","seq":0}',
    "a field is missing": '{"event":"header","seq":0,"lane":"","step":0,"schema":1,"models":{},"dtype":"x"}',
    "a list": "[1, 2]",
    "a name that is a list": '{"event":["header"],"schema":1}',
}


@pytest.mark.parametrize("text", BROKEN.values(), ids=BROKEN.keys())
def test_a_trace_that_cannot_be_read_is_refused_by_both(text: str, open_page: object, static_site: str) -> None:
    with pytest.raises(TraceError) as caught:
        list(read_lines(text.splitlines()))
    message = open_page(f"{static_site}/blank").evaluate(PARSE, text)
    where = str(caught.value).partition(":")[0]
    assert message
    assert message.startswith(where)


def test_all_required_fields_are_the_same(open_page: object, static_site: str, recorded: dict) -> None:
    """Each event of a real trace, without one of its fields, is read or refused by both alike."""
    page = open_page(f"{static_site}/blank")
    lines = recorded["draft-model"].splitlines()
    first_of_kind = {json.loads(line)["event"]: json.loads(line) for line in reversed(lines)}
    cases = []
    for kind, event in first_of_kind.items():
        for name in event.keys() - {"event", "seq", "lane", "step"}:
            less = json.dumps({k: v for k, v in event.items() if k != name})
            cases.append(less if kind == "header" else f"{lines[0]}\n{less}")
    found = page.evaluate(
        """async (cases) => {
          const { parseTrace } = await import('/viewer/fold.js');
          return cases.map((text) => { try { parseTrace(text); return true; } catch { return false; } });
        }""",
        cases,
    )
    assert found == [reads(text) for text in cases]


def reads(text: str) -> bool:
    try:
        list(read_lines(text.splitlines()))
    except TraceError:
        return False
    return True


def test_a_hostile_trace_cannot_reach_the_prototype(open_page: object, static_site: str) -> None:
    message = open_page(f"{static_site}/blank").evaluate(PARSE, '{"event":"constructor"}')
    assert "unknown event" in message
