"""The numeric check finds a misplaced entry in the keys and values themselves; what it tolerates is measured."""

import copy
from dataclasses import replace
from pathlib import Path

import pytest
import torch
from torch import Tensor

from engine import ConfigError, cli
from engine.cache.padded import PaddedLayer
from engine.cache.stack import Stack
from engine.kvcheck import MARGIN, Checked, kvcheck
from engine.models import Pair, pair_of
from tests.engine import tiny

PROMPTS = [tiny.prompt(n, 3) for n in (9, 3, 14, 6)]
METHODS = {
    "autoregressive": {},
    "eqspec": {},
    "exspec": {"batch": 2, "window": 3},
    "slots": {},
    "rollback": {},
    "bsp": {"faults": frozenset()},
    "dsd": {"faults": frozenset()},
}


def single(family: str) -> Pair:
    """The tiny pair in float32."""
    double = tiny.pair(family, 0.3)
    models = [copy.deepcopy(model).float() for model in (double.target, double.draft)]
    return pair_of(*models, stop_ids=(tiny.STOP,), pad_id=tiny.STOP)


def checked(method: str, family: str = "llama", step: int | None = None, **more: object) -> Checked:
    config = tiny.config(method, max_new=10, **{**METHODS[method], **more})
    pair = single(family) if config.dtype == "float32" else tiny.pair(family, 0.3)
    return kvcheck(pair, config, PROMPTS, step)


@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize("method", METHODS)
def test_exact_methods_are_clean_with_room_to_spare(method: str, dtype: str) -> None:
    for family in ("llama", "gpt2"):
        found = checked(method, family, dtype=dtype)
        assert found.differences == []
        assert 0 < found.largest < found.tolerance / 2
        assert found.steps == list(range(len(found.steps)))
        low, high = (1e-17, 1e-12) if dtype == "float64" else (1e-8, 1e-3)
        assert low < found.noise < high
        assert found.tolerance == MARGIN * found.noise


@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_kv_that_was_not_moved_is_found_at_its_layer_and_slot(dtype: str) -> None:
    found = checked("eqspec", dtype=dtype, faults=frozenset(["kv_not_moved"]))
    first = found.differences[0]
    assert first.layer == 0
    assert min(first.keys, first.values) > 1e3 * found.tolerance
    assert first.seen == first.content, "the mask was rebuilt: only the numbers are wrong"
    assert first.slot == first.token + 1, "the row should have lost a pad"
    before = checked("eqspec", step=first.step - 1, dtype=dtype, faults=frozenset(["kv_not_moved"]))
    assert before.differences == []
    there = checked("eqspec", step=first.step, dtype=dtype, faults=frozenset(["kv_not_moved"]))
    assert there.steps == [first.step]
    assert there.differences[0].row == first.row


def test_wrong_positions_are_wrong_keys_and_right_values() -> None:
    for method, faults in (("eqspec", ["slot_positions"]), ("bsp", ["padding_gap"])):
        first = checked(method, faults=frozenset(faults)).differences[0]
        assert first.keys > 1e-2
        assert first.values < 1e-12


def test_attended_pads_are_more_slots_than_tokens() -> None:
    for row in checked("dsd", faults=frozenset(["visible_pads"])).differences:
        assert (row.layer, row.slot, row.token) == (0, 0, 0)
        assert row.seen > row.content


def test_a_wrong_choice_leaves_the_cache_right() -> None:
    assert checked("eqspec", faults=frozenset(["mismatch_kept"])).differences == []


@pytest.mark.parametrize("layer", [0, 1])
def test_the_evidence_is_the_numbers_and_not_the_shadow(layer: int, monkeypatch: pytest.MonkeyPatch) -> None:
    real = Stack.copy

    def one_off(self: Stack, *args: object) -> None:
        real(self, *args)
        for stacked in self.stacked.values():
            stacked[self.at.index(layer)] = stacked[self.at.index(layer)].roll(1, dims=1)

    monkeypatch.setattr(Stack, "copy", one_off)
    found = checked("eqspec").differences[0]
    assert found.layer == layer


def test_a_number_that_is_not_one_is_a_difference(monkeypatch: pytest.MonkeyPatch) -> None:
    real = PaddedLayer.update

    def update(self: PaddedLayer, key_states: Tensor, value_states: Tensor, *args: object, **kwargs: object) -> tuple:
        out = real(self, key_states, value_states, *args, **kwargs)
        if not self.first:
            self.values[2, self.owner.width] = torch.nan
        return out

    monkeypatch.setattr(PaddedLayer, "update", update)
    found = checked("autoregressive", step=0).differences
    assert [(d.row, d.layer, d.slot) for d in found] == [(2, 1, 0)]


def test_a_step_that_the_run_does_not_have_is_refused() -> None:
    with pytest.raises(ConfigError, match=r"step=99 cannot be used: this run has steps 0 to \d+"):
        checked("eqspec", step=99)


# -- the command ----------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def line(tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    target = tiny.save(tmp_path_factory.mktemp("kvcheck") / "model", tiny.tiny_model("llama", layers=6))
    rows = [f"--prompt={text}" for text in ("w1 w2 w3 w1 w2", "w9 w8", "w4 w5 w6 w7 w4 w5 w6 w7 w4")]
    return ["kvcheck", *rows, "--target", target, "--max-new", "10", "--proposer", "self_skip"]


def test_the_command_says_clean_or_where_it_is_not(line: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(line) == 0
    out = capsys.readouterr().out
    assert out.startswith("clean: ")
    assert ", 8 times what batch and chunk shapes change here)" in out
    assert cli.main([*line, "--fault", "kv_not_moved"]) == 1
    out = capsys.readouterr().out
    assert out.startswith("step ")
    assert "layer 0, slot " in out
    assert "in a fresh prefill; it sees" in out
    assert cli.main([*line, "--step", "99"]) == 2
    assert "step=99" in capsys.readouterr().err
    assert cli.main([*line, "--step", "-1"]) == 2


def test_a_reading_with_too_few_slots_is_a_difference() -> None:
    from engine.kvcheck import RowEntries, difference

    entries = RowEntries(3, 1, [0, 1, 4], [7, 8, 9, 5], torch.zeros(2, 2, 3, dtype=torch.float64))
    found = difference(entries, 1e-9)
    assert (found.layer, found.slot, found.seen, found.content) == (-1, -1, 3, 4)
    found = difference(replace(entries, slots=[0, 1, 2, 3, 6], apart=torch.zeros(2, 2, 4)), 1e-9)
    assert (found.layer, found.slot, found.seen, found.content) == (-1, 6, 5, 4)
    assert difference(replace(entries, slots=[0, 1, 2, 3], apart=torch.zeros(2, 2, 4)), 1e-9) is None


def test_the_command_is_in_the_readme() -> None:
    text = (Path(__file__).resolve().parents[2] / "README.md").read_text(encoding="utf-8")
    assert all(f"python -m engine {name}" in text for name in ("verify", "inspect", "certify", "kvcheck"))
