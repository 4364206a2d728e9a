"""The page's first run: recorded by the real engine, refused unless it shows what a stranger must see (stage.md 2)."""

from collections.abc import Iterator

from engine.config import RunConfig
from engine.fold import Fold, fold
from engine.frames import LaneState
from engine.registry import POSITION_FAULTS
from engine.trace import Event

#: Longest, middle, shortest after templating. Copying and editing, since n-gram drafts nothing on free chat.
PROMPTS = (
    "Copy the second sentence: The shop is closed today. "
    "Tomorrow it opens at nine and sells fresh bread and warm rolls.",
    "Fix the spelling: The cat sat on teh mat and looked at the birds in the garden.",
    "Replace tea with coffee: She drinks tea in the morning and reads the news.",
)
K, MAX_NEW = 4, 24


def lanes(dtype: str = "float32") -> dict[str, RunConfig]:
    """EQSPEC; BSP with its missing stop rule repaired, so that positions are its only defect; and that one repaired."""
    common = {"proposer": "ngram", "k": K, "max_new": MAX_NEW, "dtype": dtype}
    return {
        "eqspec": RunConfig(method="eqspec", **common),
        "bsp": RunConfig(method="bsp", faults=POSITION_FAULTS, **common),
        "bsp_repaired": RunConfig(method="bsp", faults=frozenset(), **common),
    }


def record(dtype: str = "float32") -> list[Event]:
    """Decode the hero prompts with the embedded model."""
    from engine.stream import session

    return list(session(lanes(dtype), list(PROMPTS), title="Three prompts, one model"))


def shortcomings(events: list[Event]) -> list[str]:
    """What this run fails to show; empty when it may be the hero."""
    return list(_shortcomings(fold(events)))


def _shortcomings(state: Fold) -> Iterator[str]:
    eqspec, bsp, repaired = (state.lanes[name] for name in ("eqspec", "bsp", "bsp_repaired"))
    if len(eqspec.rows) != 3:
        yield f"{len(eqspec.rows)} rows instead of 3"
    for name in ("eqspec", "bsp_repaired"):
        unequal = [r for r, row in state.lanes[name].rows.items() if row.compare["verdict"] != "equal"]
        if unequal:
            yield f"{name}: rows {unequal} differ from the row run alone"
    for row in eqspec.rows.values():
        if repeated := repeated_ngram(row.ids[row.prompt :], 4):
            yield f"row {row.row}: the reference repeats {repeated}"
    accepted = {j for frame in eqspec.frames[1:] for j in frame.accepted}
    if not {0, K} <= accepted or not accepted & set(range(1, K)):
        yield f"accepted counts {sorted(accepted)} lack 0, {K} or something between"
    full = [f.accepted for f in eqspec.frames[1:] if len(f.rows) == 3]
    if not any(len(set(a)) == 3 for a in full):
        yield "no round in which all rows accept a different number"
    if len(eqspec.frames) - 1 > 10:
        yield f"{len(eqspec.frames) - 1} rounds; at most 10 fit the screen"
    wrong = [row for row in bsp.rows.values() if early(bsp, row.row, row.compare)]
    if len(wrong) < 2:
        yield "BSP's first wrong token is in rounds 2-6 with a gap over 1 logit in fewer than 2 rows"
    for row in bsp.rows.values():
        at = first_gap(bsp, row.row)
        if at is None or at > 10:
            yield f"row {row.row}: BSP's first gap is at column {at}, not within 10"
    if any(v for frame in repaired.frames for v in frame.violations):
        yield "the repaired BSP violates an invariant"


def early(lane: LaneState, row: int, compare: dict) -> bool:
    """Whether the row's first wrong token came in rounds 2-6, with the reference more than 1 logit apart."""
    if compare["index"] is None or not compare["logits"]:
        return False
    reference = compare["logits"]["reference"]
    return 2 <= round_of(lane, row, compare["index"]) <= 6 and reference[0] - reference[1] > 1


def round_of(lane: LaneState, row: int, index: int) -> int:
    """The round that emitted generated token `index` of a row; -1 if none did."""
    prompt = lane.rows[row].prompt
    return next((f.step for f in lane.frames if row in f.rows and f.length[row] - prompt > index), -1)


def first_gap(lane: LaneState, row: int) -> int | None:
    """Generated tokens before the row's first contiguity violation, or None."""
    for frame in lane.frames:
        for violation in frame.violations:
            if violation["row"] == row and violation["invariant"] == "contiguity":
                return violation["expected"] - lane.rows[row].prompt
    return None


def repeated_ngram(ids: list[int], n: int) -> list[int]:
    """The first n-gram that occurs twice, or an empty list."""
    seen: set[tuple[int, ...]] = set()
    for at in range(len(ids) - n + 1):
        gram = tuple(ids[at : at + n])
        if gram in seen:
            return list(gram)
        seen.add(gram)
    return []
