"""BSP is broken exactly by its faults: beside the same rows alone, with all of them and with none."""

import random
from dataclasses import dataclass
from functools import cache

import pytest

from engine import session
from engine.equivalence import reference_logits
from engine.fold import Fold, fold
from engine.models import Pair
from engine.trace import Event, Kv, Violation
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
