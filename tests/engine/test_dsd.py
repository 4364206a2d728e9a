"""DSD's faults one at a time: which of them breaks the output, which invariant reports it, which is harmless."""

from dataclasses import replace
from functools import cache

import pytest

from engine import session
from engine.equivalence import reference_logits
from engine.fold import Fold, LaneState, fold
from engine.models import Pair
from engine.trace import Violation
from tests.engine import tiny
from tests.engine.watch import Watch

FAMILIES = ("llama", "qwen3", "gpt2", "neox")
PROMPTS = [tiny.prompt(n, 1) for n in (4, 13, 8)]
NEW = 12


def pair_of(family: str, noise: float = 0.1, **more: object) -> Pair:
    return replace(tiny.pair(family, noise), **{"stop_ids": frozenset(), **more})


@cache
def played(
    family: str, faults: tuple[str, ...] | None, noise: float = 0.1, batch: int | None = None, k: int = 3
) -> tuple[Fold, Watch]:
    """One run of the prompts with these faults (None: as published)."""
    chosen = None if faults is None else frozenset(faults)
    lanes = {"dsd": tiny.config("dsd", faults=chosen, k=k, max_new=NEW, batch=batch)}
    watch = Watch()
    return fold(session(lanes, PROMPTS, pair=pair_of(family, noise), observer=watch)), watch


def alone(pair: Pair, prompts: list[list[int]] = PROMPTS, new: int = NEW) -> list[list[int]]:
    """What plain decoding of each row alone gives."""
    lanes = {"ar": tiny.config("autoregressive", batch=1, max_new=new)}
    rows = fold(session(lanes, prompts, pair=pair, certify=False)).lanes["ar"].rows.values()
    return [r.ids[r.prompt :] for r in rows]


def outputs(lane: LaneState) -> list[list[int]]:
    return [r.ids[r.prompt : r.prompt + r.final] for r in lane.rows.values()]


def reported(state: Fold) -> set[str]:
    return {v["invariant"] for f in state.lanes["dsd"].frames for v in f.violations}


def apart(family: str, run: tuple[Fold, Watch]) -> dict[int, list[float]]:
    """How far the logit of each generated token is from that of the row alone at the same prefix."""
    state, watch = run
    found = {}
    for row in state.lanes["dsd"].rows.values():
        seen = watch.lanes["dsd"].witness.seen[row.row]
        logits = reference_logits(pair_of(family), row.ids, row.prompt)
        found[row.row] = [abs(float(logits[n, chosen]) - logit) for n, (chosen, logit, _, _) in enumerate(seen)]
    return found


def verdicts(state: Fold) -> dict[int, str]:
    return {r.row: r.compare["verdict"] for r in state.lanes["dsd"].rows.values()}


@pytest.mark.parametrize("family", FAMILIES)
def test_without_faults_it_is_exact_and_silent(family: str) -> None:
    state, watch = run = played(family, ())
    assert outputs(state.lanes["dsd"]) == alone(pair_of(family))
    assert set(verdicts(state).values()) == {"equal"}
    assert not reported(state)
    assert max(max(row) for row in apart(family, run).values()) < 1e-9
    assert watch.assert_equals(state) > 3


@pytest.mark.parametrize("family", FAMILIES)
def test_visible_pads_change_ids_and_logits_and_are_reported_as_mask(family: str) -> None:
    state, watch = run = played(family, ("visible_pads",))
    assert reported(state) == {"mask"}
    assert "bug" in verdicts(state).values()
    off = apart(family, run)
    assert max(off[1]) < 1e-9, "the longest row has no pads"
    assert all(max(off[row][1:]) > 1e-3 for row in (0, 2)), off
    assert all(off[row][0] < 1e-9 for row in off), "the prefill still masks"
    watch.assert_equals(state)


@pytest.mark.parametrize("family", ["llama", "qwen3", "neox"])
def test_slot_positions_are_a_constant_offset_and_harmless_on_rotary_models(family: str) -> None:
    state, watch = run = played(family, ("slot_positions",))
    fed = [s for (_, step), s in watch.seen.items() if step]
    ends = [(int(s.fed.positions[i, -1]), int(s.fed.owners[i, -1])) for s in fed for i in range(len(s.rows))]
    assert any(position != owner >= 0 for position, owner in ends), "no position was shifted"
    assert outputs(state.lanes["dsd"]) == alone(pair_of(family))
    # the model computes its rotation tables in float32 even when its weights are float64: not 1e-9
    assert max(max(row) for row in apart(family, run).values()) < 1e-6
    assert not reported(state)


def test_slot_positions_break_learned_positions_and_are_reported_as_contiguity() -> None:
    state, _ = run = played("gpt2", ("slot_positions",))
    assert reported(state) == {"contiguity"}
    assert "bug" in verdicts(state).values()
    off = apart("gpt2", run)
    assert max(off[1]) < 1e-9, "the longest row has no pads: its positions are right"
    assert all(max(off[row][1:]) > 1e-3 for row in (0, 2)), off


@pytest.mark.parametrize("family", FAMILIES)
def test_a_kept_mismatch_is_reported_as_emission(family: str) -> None:
    state, _ = played(family, ("keep_mismatch",), noise=0.2)
    assert reported(state) == {"emission"}
    assert "bug" in verdicts(state).values()
    kinds = "".join(r.kinds for r in state.lanes["dsd"].rows.values())
    assert "m" in kinds
    assert "b" not in kinds, "there is no bonus"


@pytest.mark.parametrize("family", FAMILIES)
def test_with_one_draft_per_round_a_kept_mismatch_gives_the_drafters_own_text(family: str) -> None:
    """All but the first token (the target's, from the prefill) and the last (no room for a draft) are the drafter's."""
    state, _ = played(family, ("keep_mismatch",), noise=3.0, k=1)
    pair = pair_of(family, 3.0)
    drafter = replace(pair, target=pair.draft)
    first = [out[:1] for out in alone(pair)]
    starts = [p + f for p, f in zip(PROMPTS, first, strict=True)]
    text = alone(drafter, starts, NEW - 2)
    got = outputs(state.lanes["dsd"])
    assert [out[:-1] for out in got] == [f + t for f, t in zip(first, text, strict=True)]
    assert got != alone(pair)


@pytest.mark.parametrize("family", FAMILIES)
def test_stale_pads_alone_are_waste_and_nothing_else(family: str) -> None:
    state, watch = run = played(family, ("stale_pads",))
    assert outputs(state.lanes["dsd"]) == alone(pair_of(family))
    assert max(max(row) for row in apart(family, run).values()) < 1e-9
    assert not reported(state)
    clean = played(family, ())[1]
    widths = [max(s.mask.shape[2] for s in w.seen.values()) for w in (watch, clean)]
    assert widths[0] > widths[1], "no pad was left behind"
    watch.assert_equals(state)


def test_the_run_that_ends_with_its_fastest_row_cuts_the_slower_ones_short() -> None:
    family = "llama"
    state, _ = played(family, ("fastest_ends",))
    rows, expected = state.lanes["dsd"].rows.values(), alone(pair_of(family))
    assert not reported(state)
    assert {r.done for r in rows} == {"budget", "fastest"}
    for row, out, whole in zip(rows, outputs(state.lanes["dsd"]), expected, strict=True):
        assert out == whole[: len(out)], f"row {row.row} has other tokens"
        assert (len(out) == NEW) == (row.done == "budget")
        assert (row.compare["verdict"] == "equal") == (row.done == "budget")
    short = next(r for r in rows if r.done == "fastest")
    assert (short.compare["expected"], short.compare["actual"]) == (expected[short.row][short.final], -1)


def test_the_run_that_ends_with_its_fastest_row_ignores_stop_ids() -> None:
    pair = tiny.pair("gpt2", 0.1, eos=1.5)
    lanes = {"dsd": tiny.config("dsd", faults=frozenset({"fastest_ends"}), max_new=NEW)}
    rows = fold(session(lanes, PROMPTS, pair=pair)).lanes["dsd"].rows.values()
    assert any(tiny.STOP in r.ids[r.prompt : r.prompt + r.final - 1] for r in rows), "no row met a stop id"
    assert {r.done for r in rows} <= {"budget", "fastest"}


@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.parametrize("batch", [None, 1])
def test_the_published_preset_is_wrong_even_at_batch_one(family: str, batch: int | None) -> None:
    state, watch = played(family, None, noise=0.2, batch=batch)
    assert "bug" in verdicts(state).values()
    assert "emission" in reported(state)
    if batch is None:
        assert "mask" in reported(state)
    watch.assert_equals(state)


@pytest.mark.parametrize("family", ["llama", "gpt2"])
@pytest.mark.parametrize("faults", [None, ("stale_pads", "slot_positions"), ("slot_positions",), ("stale_pads",), ()])
def test_no_position_ever_runs_past_the_models_table(family: str, faults: tuple[str, ...] | None) -> None:
    """Pads that are never removed fill the table before the budget: such a row ends with "context"."""
    pair, watch = pair_of(family, 0.2, context=24), Watch()
    chosen = None if faults is None else frozenset(faults)
    lanes = {"dsd": tiny.config("dsd", faults=chosen, k=3, max_new=40)}
    events = list(session(lanes, [tiny.prompt(18, 1), tiny.prompt(3, 1)], pair=pair, observer=watch))
    state = fold(events)
    assert max(int(s.fed.positions.max()) for s in watch.seen.values()) < 24
    assert max(len(r.ids) for r in state.lanes["dsd"].rows.values()) <= 24
    assert all(r.done for r in state.lanes["dsd"].rows.values())
    if not faults and faults is not None:
        assert not any(isinstance(e, Violation) for e in events)
        assert [r.done for r in state.lanes["dsd"].rows.values()] == ["context", "context"]
