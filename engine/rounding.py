"""The chapters' third run (stage.md 3, chapter 8): EQSPEC and BSP in bfloat16, where equal is not always identical.

Beside two of the hero's prompts stand two free answers, in which two tokens are as good as equal now and then.
"""

from collections.abc import Iterator

from engine.config import RunConfig
from engine.fold import Fold, fold
from engine.hero import PROMPTS, K
from engine.registry import POSITION_FAULTS
from engine.trace import Event

MAX_NEW = 28
FREE = ("Name three uses of a hammer.", "Give me a recipe for pancakes.")


def lanes(dtype: str = "bfloat16") -> dict[str, RunConfig]:
    """EQSPEC without a fault, and BSP with its torn positions."""
    common = {"proposer": "ngram", "k": K, "max_new": MAX_NEW, "dtype": dtype}
    return {
        "eqspec": RunConfig(method="eqspec", **common),
        "bsp": RunConfig(method="bsp", faults=POSITION_FAULTS, **common),
    }


def prompts() -> list[str]:
    return [PROMPTS[2], PROMPTS[0], *FREE]


def record(dtype: str = "bfloat16") -> list[Event]:
    """Decode the prompts with the embedded model."""
    from engine.stream import session

    return list(session(lanes(dtype), prompts(), title="bfloat16: rounding or a bug"))


def shortcomings(events: list[Event]) -> Iterator[str]:
    """What this run fails to show."""
    state = fold(events)
    compares = {name: [row.compare for row in lane.rows.values()] for name, lane in state.lanes.items()}
    eqspec, bsp = (compares[name] for name in lanes())
    if any(frame.violations for frame in state.lanes["eqspec"].frames):
        yield "eqspec: an invariant is broken"
    if any(c["verdict"] == "bug" for c in eqspec):
        yield "eqspec: a difference that rounding does not explain"
    ties = [c for c in eqspec if c["verdict"] == "rounding"]
    if len(ties) < 1 or min(abs(c["logits"]["reference"][0] - c["logits"]["reference"][1]) for c in ties) > 0:
        yield "eqspec: no row ends in an exact tie"
    if all(c["verdict"] != "equal" for c in eqspec):
        yield "eqspec: no row is equal"
    if sum(c["verdict"] == "bug" for c in bsp) < 2:
        yield "bsp: fewer than two bugs"
    for row, n in disputed(state):
        yield f"row {row}: both lanes pass for the row run alone at token {n}, with different tokens"


def disputed(state: Fold) -> Iterator[tuple[int, int]]:
    """Rows and generated tokens where the lanes differ though each equals its own reference so far.

    Each lane is certified by a forward over its own output; where rounding decides, two such references may disagree,
    and "the row run alone" would be two things on one screen.
    """
    left, right = (state.lanes[name].rows for name in lanes())
    for row, a in left.items():
        b = right[row]
        one, other = a.ids[a.prompt :], b.ids[b.prompt :]
        ends = [r.compare["index"] for r in (a, b) if r.compare["index"] is not None]
        n = next((n for n in range(max(len(one), len(other))) if one[n : n + 1] != other[n : n + 1]), None)
        if n is not None and all(n < end for end in ends):
            yield row, n
