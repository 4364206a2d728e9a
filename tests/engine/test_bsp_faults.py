"""Each fault of BSP alone does what its description says, and no more."""

from dataclasses import replace
from importlib import import_module
from itertools import takewhile

import pytest
import torch

from engine import session
from engine.fold import Fold, fold
from engine.models import Pair
from engine.trace import Kv, Verify
from tests.engine import tiny
from tests.engine.conftest import Shot, Tape


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
