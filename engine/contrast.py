"""The chapters' second run (stage.md 3, chapter 3): two of the hero's prompts beside a longer one, so that they get
many pads; per lane one thing about the pads is changed.
"""

from collections.abc import Iterator

from engine.config import RunConfig
from engine.fold import fold
from engine.frames import LaneState
from engine.hero import MAX_NEW, PROMPTS, K
from engine.trace import Event

#: The hero's own pads, 3 to 10, do no harm when seen (measured): the longest prompt is longer here.
LONG = (
    "Copy the last sentence: "
    + "The shop is closed today. Tomorrow it opens at nine and sells fresh bread and warm rolls. " * 3
    + "Come early."
)


def lanes(dtype: str = "float32") -> dict[str, RunConfig]:
    """EQSPEC, and whole rows fed again in every round (DSD without its faults), with the pads seen or counted."""
    common = {"proposer": "ngram", "k": K, "max_new": MAX_NEW, "dtype": dtype}
    return {
        "eqspec": RunConfig(method="eqspec", **common),
        "pads_seen": RunConfig(method="dsd", faults=frozenset({"visible_pads"}), **common),
        "pads_counted": RunConfig(method="dsd", faults=frozenset({"slot_positions"}), **common),
    }


def record(dtype: str = "float32") -> list[Event]:
    """Decode the hero prompts with the embedded model."""
    from engine.stream import session

    return list(session(lanes(dtype), [LONG, *PROMPTS[1:]], title="Pads: masked, seen, counted"))


def shortcomings(events: list[Event]) -> Iterator[str]:
    """What this run fails to show."""
    state = fold(events)
    eqspec, seen, counted = (state.lanes[name] for name in lanes())
    for lane in (eqspec, counted):
        if unequal := _unequal(lane):
            yield f"{lane.name}: rows {unequal} differ from the row run alone"
    if not _unequal(seen):
        yield "pads_seen: every row survived"
    if not any(set(_offsets(counted, row)) - {0} for row in counted.rows):
        yield "pads_counted: no row's positions are shifted"


def _unequal(lane: LaneState) -> list[int]:
    return [r for r, row in lane.rows.items() if row.compare["verdict"] != "equal"]


def _offsets(lane: LaneState, row: int) -> Iterator[int]:
    """Position minus content index of every entry that the row's forwards were fed."""
    for frame in lane.frames:
        if row in frame.rows:
            kv = frame.fed[row]
            yield from (p - o for p, o in zip(kv.position, kv.owner, strict=True) if o >= 0)
