"""BSP is broken exactly by its faults: each does what its description says, and without them it is exact."""

import random
from dataclasses import dataclass, replace
from functools import cache
from importlib import import_module
from itertools import takewhile

import pytest
import torch

from engine import session
from engine.equivalence import reference_logits
from engine.fold import Fold, fold
from engine.models import Pair
from engine.trace import Event, Kv, Verify, Violation
from tests.engine import tiny
from tests.engine.conftest import Shot, Tape

FAMILIES = ("llama", "qwen3", "gpt2", "neox")
FAULTS = {
    "published": None,
    "padding": frozenset({"padding_gap"}),
    "rejection": frozenset({"rejection_gap"}),
    "repaired": frozenset(),
}
NOISES = (0.05, 0.1, 0.2, 0.0)  # with the last one every draft is accepted: only the padding can tear
BATCHES = 6  # per family


@dataclass(frozen=True)
class Played:
    """One batch decoded with every set of faults of FAULTS, beside the same rows alone."""

    pair: Pair
    events: list[Event]
    state: Fold
    tape: Tape


@cache
def played(family: str, n: int) -> Played:
    """Batch n of a family. Every fourth has rows of equal length."""
    chance = random.Random(f"{family} {n}")
    equal = n % 4 == 3
    length = chance.randint(2, 30)
    lengths = [length if equal else chance.randint(1, 40) for _ in range(chance.randint(2, 5))]
    prompts = [tiny.prompt(length, variant) for variant, length in enumerate(lengths)]
    pair = tiny.pair(family, NOISES[n % 4], eos=0.5)
    k = chance.randint(1, 5)
    lanes = {name: tiny.config("bsp", faults=faults, k=k, max_new=14) for name, faults in FAULTS.items()}
    lanes["alone"] = tiny.config("autoregressive", batch=1, max_new=14)
    tape = Tape()
    events = list(session(lanes, prompts, pair=pair, observer=tape))
    return Played(pair, events, fold(events), tape)


def all_played() -> list[tuple[str, int, Played]]:
    return [(family, n, played(family, n)) for family in FAMILIES for n in range(BATCHES)]


def gap(shot: Shot, i: int, learned: bool) -> tuple[int, int, int] | None:
    """(slot, expected, actual position) of the first tear among what row i's last real query sees."""
    seen = shot.mask[i, int(shot.fed.lens[i])] if shot.step else shot.visible[i]
    owner, _, position = shot.shadow[i].T.tolist()
    entries = sorted((owner[s], position[s], s) for s in seen.nonzero()[:, 0].tolist())
    start = 0 if learned else entries[0][1]
    return next(((s, start + o, p) for o, p, s in entries if p != start + o), None)


def first_gaps(run: Played, lane: str) -> dict[int, tuple[int, int, int, int]]:
    """row -> (step, slot, expected, actual) of its first tear, from the engine's own tensors."""
    found: dict[int, tuple[int, int, int, int]] = {}
    for (name, step), shot in run.tape.shots.items():
        for i, row in enumerate(shot.rows if name == lane else ()):
            torn = gap(shot, i, run.pair.positions == "learned")
            if torn and row not in found:
                found[row] = (step, *torn)
    return found


@pytest.mark.parametrize("family", FAMILIES)
def test_a_contiguity_violation_is_reported_if_and_only_if_a_gap_exists(family: str) -> None:
    for n in range(BATCHES):
        run = played(family, n)
        for lane in (*FAULTS, "alone"):
            reported = {
                e.row: (e.step, e.slot, e.expected, e.actual)
                for e in run.events
                if isinstance(e, Violation) and e.lane == lane
            }
            others = [e for e in run.events if isinstance(e, Violation) and e.invariant != "contiguity"]
            assert not others, f"{family} batch {n} {lane}: {others[0]}"
            assert reported == first_gaps(run, lane), f"{family} batch {n} {lane}"


def test_batches_with_and_without_a_gap_were_both_seen() -> None:
    torn = {lane: [bool(first_gaps(run, lane)) for _, _, run in all_played()] for lane in FAULTS}
    assert not any(torn["repaired"])
    for lane in ("published", "padding", "rejection"):
        assert sum(torn[lane]) >= 12, f"{lane}: only {sum(torn[lane])} batches were torn"
        assert not all(torn[lane]), f"{lane}: no batch came through whole"


@pytest.mark.parametrize("family", FAMILIES)
def test_logits_differ_from_the_row_alone_from_its_first_gap_on_and_not_before(family: str) -> None:
    for n in range(BATCHES):
        run = played(family, n)
        for lane in FAULTS:
            gaps = first_gaps(run, lane)
            for row, state in run.state.lanes[lane].rows.items():
                seen = run.tape.lanes[lane][-1].witness.seen[row]
                alone = reference_logits(run.pair, state.ids, state.prompt)
                apart = [abs(float(alone[t, chosen]) - logit) for t, (chosen, logit, _, _) in enumerate(seen)]
                steps = emitted_in(run.events, lane, row)
                assert len(apart) == len(steps) == len(state.ids) - state.prompt
                step = gaps[row][0] if row in gaps else max(steps) + 1
                before = [d for d, s in zip(apart, steps, strict=True) if s < step]
                after = [d for d, s in zip(apart, steps, strict=True) if s >= step]
                where = f"{family} batch {n} {lane} row {row}"
                assert max(before, default=0.0) < 1e-9, f"{where}: logits off by {max(before)} before any gap"
                assert min(after, default=1.0) > 1e-7, f"{where}: logits equal after the gap in step {step}"


def emitted_in(events: list[Event], lane: str, row: int) -> list[int]:
    """The step in which each generated token of a row was emitted."""
    steps: list[int] = []
    rows: list[int] = []
    for e in events:
        if e.lane == lane and e.kind == "schedule":
            rows = e.rows
        elif e.lane == lane and e.kind == "commit" and row in rows:
            steps += [e.step] * len(e.emitted[rows.index(row)])
    return steps


def test_ids_differ_in_at_least_half_of_the_torn_batches() -> None:
    for lane in ("published", "padding", "rejection"):
        torn = [run for _, _, run in all_played() if first_gaps(run, lane)]
        wrong = [run for run in torn if differs(run, lane)]
        assert 2 * len(wrong) >= len(torn), f"{lane}: ids differ in {len(wrong)} of {len(torn)} torn batches"


def differs(run: Played, lane: str) -> bool:
    """Whether any row's ids differ as far as the row alone goes (BSP runs on past stop ids)."""
    return any(out[: len(ref)] != ref for out, ref in zip(outputs(run, lane), outputs(run, "alone"), strict=True))


def outputs(run: Played, lane: str) -> list[list[int]]:
    rows = run.state.lanes[lane].rows.values()
    return [r.ids[r.prompt : r.prompt + r.final] for r in rows]


@pytest.mark.parametrize("family", FAMILIES)
def test_with_every_fault_removed_every_row_equals_the_row_alone(family: str) -> None:
    for n in range(BATCHES):
        run = played(family, n)
        assert outputs(run, "repaired") == outputs(run, "alone"), f"{family} batch {n}"
        verdicts = {r.compare["verdict"] for r in run.state.lanes["repaired"].rows.values()}
        assert verdicts == {"equal"}, f"{family} batch {n}"


def test_holes_under_contiguous_positions_are_harmless() -> None:
    holes = sum(
        length
        for _, _, run in all_played()
        for e in run.events
        if isinstance(e, Kv) and e.lane == "repaired"
        for _, _, length in e.hide
    )
    assert holes > 100, f"only {holes} dead slots in all repaired runs: the tests above show nothing"


# -- each fault alone -----------------------------------------------------------------------------------------------


def shots(tape: Tape, lane: str = "bsp") -> list[Shot]:
    """The rounds of a lane, the prefill left out."""
    return [shot for (name, step), shot in tape.shots.items() if name == lane and step]


def alone(pair: Pair, prompts: list[list[int]], new: int) -> list[list[int]]:
    plain = tiny.config("autoregressive", batch=1, max_new=new)
    rows = fold(session({"ar": plain}, prompts, pair=pair)).lanes["ar"].rows.values()
    return [r.ids[r.prompt :] for r in rows]


RAGGED = [tiny.prompt(length, 3) for length in (9, 4, 1)]


def run(faults: set[str], tape: Tape, prompts: list[list[int]] = RAGGED, noise: float = 0.1, **more: object) -> Fold:
    pair = tiny.pair("llama", noise)
    config = tiny.config("bsp", faults=frozenset(faults), **{"max_new": 12, **more})
    return fold(tape.beside(session({"bsp": config}, prompts, pair=pair, observer=tape)))


def test_padding_gap_alone_shifts_generated_tokens_by_the_rows_pads(tape: Tape) -> None:
    run({"padding_gap"}, tape)
    for shot in shots(tape):
        for i, row in enumerate(shot.rows):
            real = shot.fed.owners[i] >= 0
            expected = shot.fed.owners[i][real] + 9 - len(RAGGED[row])
            assert torch.equal(shot.fed.positions[i][real], expected), f"step {shot.step} row {row}"


def test_padding_gap_alone_is_harmless_at_equal_lengths(tape: Tape) -> None:
    prompts = [tiny.prompt(8, variant) for variant in range(4)]
    state = run({"padding_gap"}, tape, prompts)
    assert {r.compare["verdict"] for r in state.lanes["bsp"].rows.values()} == {"equal"}
    assert any(shot.before > 8 + shot.step for shot in shots(tape)), "no draft was rejected"


def test_rejection_gap_alone_counts_the_dead_slots_of_the_row(tape: Tape) -> None:
    run({"rejection_gap"}, tape)
    jumped = False
    for shot in shots(tape):
        for i, row in enumerate(shot.rows):
            slot_if_unpadded = shot.before - 9 + len(RAGGED[row])
            assert int(shot.fed.positions[i, 0]) == slot_if_unpadded, f"step {shot.step} row {row}"
            jumped |= slot_if_unpadded > int(shot.fed.owners[i, 0])
    assert jumped, "no draft was rejected"


def test_both_gaps_together_make_the_position_the_slot(tape: Tape) -> None:
    run({"padding_gap", "rejection_gap"}, tape)
    for shot in shots(tape):
        real = shot.fed.owners >= 0
        slots = torch.arange(shot.before, shot.mask.shape[2]).expand_as(real)
        assert torch.equal(shot.fed.positions[real], slots[real]), f"step {shot.step}"


def test_draft_positions_alone_shifts_the_drafter_and_leaves_the_ids_alone(tape: Tape) -> None:
    state = run({"draft_positions"}, tape)
    drifted = 0
    for (_, step), entries in tape.drafter.items():
        shot = tape.shots["bsp", step]
        for i, row in enumerate(shot.rows):
            owner, _, position = entries[row].T
            prompt = len(RAGGED[row])
            assert torch.equal(position[:prompt], owner[:prompt]), f"step {step} row {row}: the prompt was shifted"
            newest = int(shot.fed.owners[i, 0])  # the token fed first in this round
            if newest < len(owner):
                assert int(position[newest]) == shot.before, f"step {step} row {row}: not the slot of its batch"
                drifted += shot.before > newest
        assert torch.equal(shot.fed.positions[:, 0], shot.fed.owners[:, 0]), f"step {step}: the target drifts too"
    assert drifted, "nothing drifted"
    assert {r.compare["verdict"] for r in state.lanes["bsp"].rows.values()} == {"equal"}


def test_the_drafters_positions_are_right_without_its_fault(tape: Tape) -> None:
    run({"padding_gap", "rejection_gap"}, tape)
    for (_, step), entries in tape.drafter.items():
        for row, entry in entries.items():
            assert torch.equal(entry[:, 2], entry[:, 0]), f"step {step} row {row}"


def test_no_stop_alone_runs_past_stop_ids_until_the_slowest_row_is_done(tape: Tape) -> None:
    family = "gpt2"
    favoured = tiny.pair(family, 0.1, eos=1.5)
    config = tiny.config("bsp", faults=frozenset({"no_stop"}), max_new=12)
    rows = fold(session({"bsp": config}, RAGGED, pair=favoured, observer=tape)).lanes["bsp"].rows.values()
    endless = replace(favoured, stop_ids=frozenset())
    expected = alone(endless, RAGGED, 12)
    assert [r.ids[r.prompt : r.prompt + r.final] for r in rows] == expected
    assert {(r.done, r.final) for r in rows} == {("budget", 12)}
    assert any(tiny.STOP in out[:-1] for out in expected), "no row met a stop id"
    assert min(len(r.ids) - r.prompt for r in rows) < 12 + 4, "all rows ran on after the slowest was done"
    assert max(len(r.ids) - r.prompt for r in rows) > 12, "no row ran ahead"


def test_without_no_stop_rows_end_like_the_row_alone(tape: Tape) -> None:
    rows = run({"padding_gap"}, tape, [tiny.prompt(8, v) for v in range(4)]).lanes["bsp"].rows.values()
    assert [r.ids[r.prompt :] for r in rows] == alone(
        tiny.pair("llama", 0.1), [tiny.prompt(8, v) for v in range(4)], 12
    )


def test_a_row_that_drifts_out_of_the_position_table_ends_with_context(tape: Tape) -> None:
    pair = replace(tiny.pair("gpt2", 3.0), context=40)
    prompts = [tiny.prompt(20, 1), tiny.prompt(2, 1)]
    events = list(session({"bsp": tiny.config("bsp", max_new=24)}, prompts, pair=pair, observer=tape))
    rows = fold(events).lanes["bsp"].rows
    assert {r.done for r in rows.values()} == {"context"}
    assert max(int(shot.fed.positions.max()) for shot in tape.shots.values()) <= 39


@pytest.mark.parametrize(
    ("faults", "slots", "positions"),
    [
        pytest.param({"padding_gap", "rejection_gap"}, [[5, 5], [9, 9]], [[5, 5], [9, 9]], id="published"),
        pytest.param(set(), [[5, 5], [9, 9]], [[5, 3], [7, 7]], id="repaired"),
        pytest.param({"padding_gap"}, [[5, 5], [9, 9]], [[5, 5], [7, 9]], id="padding_gap"),
        pytest.param({"rejection_gap"}, [[5, 5], [9, 9]], [[5, 3], [9, 7]], id="rejection_gap"),
    ],
)
def test_the_published_example(
    faults: set[str], slots: list, positions: list, tape: Tape, monkeypatch: pytest.MonkeyPatch
) -> None:
    """papers.md C.1: P=5, c=(5, 3), K=3, accepted (1, 3): next slot 9, positions 9 and 9, true 7 and 7."""
    script = iter([([1, 3], [11, 12]), ([0, 0], [13, 14])])
    monkeypatch.setattr(
        import_module("engine.methods.bsp"), "greedy_choice", lambda logits, draft: map(torch.tensor, next(script))
    )
    pair = replace(tiny.pair("llama", 0.1), stop_ids=frozenset())
    config = tiny.config("bsp", k=3, max_new=9, faults=frozenset(faults))
    prompts = [tiny.prompt(5, 1), tiny.prompt(3, 1)]
    stream = session({"bsp": config}, prompts, pair=pair, observer=tape, certify=False)
    events = list(takewhile(lambda e: e.step < 2 or e.kind != "commit", stream))
    fed = [e for e in events if isinstance(e, Verify) and e.step in (1, 2)]
    assert [e.slots for e in fed] == slots
    assert [[runs[0][0] for runs in e.positions] for e in fed] == positions
    hidden = [e.hide for e in events if isinstance(e, Kv) and e.step == 1 and e.hide]
    assert hidden == [[[0, 7, 2]]], "row 0 loses its second and third draft, row 1 nothing"
    old = tape.shots["bsp", 2].mask[:, 0, :9].int().tolist()
    assert old == [[1, 1, 1, 1, 1, 1, 1, 0, 0], [1, 1, 1, 0, 0, 1, 1, 1, 1]]
