"""Bitwise mode: a row in a batch has the bits of the row alone, or the mode is refused with the reason."""

import copy
from collections.abc import Callable

import pytest
import torch

from engine import ConfigError, RunConfig, bitwise, cli, session
from engine.bitwise import BitwiseError, BitwiseRow, Shapes, by_four, same_bits, self_test, shapes_of
from engine.fold import fold
from engine.inspection import Inspector
from engine.models import Pair, pair_of
from engine.report import output, run
from tests.engine import tiny

PROMPTS = [tiny.prompt(n, 8) for n in (9, 3, 14, 6, 11)]


def single(family: str) -> Pair:
    """The tiny pair in float32."""
    double = tiny.pair(family, 0.3)
    models = [copy.deepcopy(model).float() for model in (double.target, double.draft)]
    return pair_of(*models, stop_ids=(tiny.STOP,), pad_id=tiny.STOP)


def config(k: int = 4, **more: object) -> RunConfig:
    return tiny.config("slots", fidelity="bitwise", k=k, max_new=16, dtype="float32", **more)


def holds(pair: Pair, k: int) -> bool:
    """Whether this machine has the property. Where it has not, the refusal is what is tested."""
    try:
        return self_test(pair, shapes_of(config(k), PROMPTS), len(PROMPTS), k) > 0
    except BitwiseError:
        return False


def rows(pair: Pair, **more: object) -> list[BitwiseRow]:
    chosen = config(**more)
    states, witnesses = run({"slots": chosen}, pair, PROMPTS)
    shapes = shapes_of(chosen, PROMPTS)
    return [same_bits(pair, shapes, row, witnesses["slots"]) for row in states["slots"].rows.values()]


@pytest.mark.parametrize(("family", "k"), [*((family, 4) for family in tiny.FAMILIES), ("llama", 3), ("llama", 7)])
def test_every_generated_token_has_the_bits_of_the_row_alone_or_the_mode_is_refused(family: str, k: int) -> None:
    pair = single(family)
    if not holds(pair, k):
        with pytest.raises(BitwiseError, match="bitwise comparison is not possible on this machine"):
            rows(pair, k=k)
        return
    for batch in (None, 2) if family == "llama" else (None,):
        found = rows(pair, k=k, batch=batch)
        assert [r.index for r in found] == [None] * len(PROMPTS), found
        assert sum(r.tokens for r in found) > 40


def test_the_output_is_that_of_the_plain_mode_and_the_trace_is_clean() -> None:
    pair = tiny.pair("llama", 0.3)  # float64: the mode changes shapes, not words
    lanes = {name: tiny.config("slots", max_new=16, fidelity=name) for name in ("exact", "bitwise")}
    inspector = Inspector()
    events = list(session(lanes, PROMPTS, pair=pair))
    for event in events:
        inspector.push(event)
    assert [lane.first for lane in inspector.close()] == [None, None]
    state = fold(events)
    exact, fixed = ([output(r) for r in state.lanes[name].rows.values()] for name in lanes)
    assert exact == fixed
    assert {r.compare["verdict"] for lane in state.lanes.values() for r in lane.rows.values()} == {"equal"}
    widths = {len(row) for f in state.lanes["bitwise"].frames[1:] for row in f.positions}
    assert widths == {8}, "K + 1 = 5 columns became 8"
    assert {len(row) for row in state.lanes["bitwise"].frames[0].positions} == {32}


def spoil(monkeypatch: pytest.MonkeyPatch, when: Callable[[int], bool]) -> None:
    """A kernel whose results depend on the batch: the last bits of the logits change."""
    real = bitwise.forward

    def forward(model: object, ids: torch.Tensor, *args: object, **more: object) -> object:
        out = real(model, ids, *args, **more)
        if when(len(ids)):
            out.logits = out.logits * (1 + 2e-7)
        return out

    for module in ("engine.bitwise", "engine.lane"):
        monkeypatch.setattr(f"{module}.forward", forward)


def test_a_machine_whose_sums_depend_on_the_batch_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    spoil(monkeypatch, lambda rows: rows == 3)
    pair = single("llama")
    assert self_test(pair, shapes_of(config(), PROMPTS), 2, 4) > 0, "batches of two are not affected"
    with pytest.raises(
        BitwiseError, match=r"in a batch of 3 rows, row 0 gets logits .*use --dtype float64 and `verify`"
    ):
        self_test(pair, shapes_of(config(), PROMPTS), 5, 4)
    with pytest.raises(BitwiseError):
        next(session({"slots": config()}, PROMPTS, pair=pair))


def test_a_difference_that_the_self_test_did_not_see_is_reported(monkeypatch: pytest.MonkeyPatch) -> None:
    pair = single("llama")
    monkeypatch.setattr("engine.bitwise.self_test", lambda *args: 1)
    spoil(monkeypatch, lambda rows: rows == 5)
    found = rows(pair)
    assert found[0].index == 0
    assert 0 < found[0].apart < 1e-3


def test_the_mode_is_for_greedy_slots_only() -> None:
    for more in ({"method": "eqspec"}, {"method": "slots", "sampling": "shared_noise", "temperature": 1.0}):
        with pytest.raises(ConfigError, match="fidelity='bitwise' cannot be used: method='slots'"):
            RunConfig(fidelity="bitwise", **more)
    assert shapes_of(RunConfig(method="slots"), PROMPTS) is None


def test_shapes_are_multiples() -> None:
    for k, columns in ((1, 4), (3, 4), (4, 8), (16, 20)):
        shapes = shapes_of(RunConfig(method="slots", fidelity="bitwise", k=k, max_new=1), [[1]])
        assert (shapes.columns, shapes.prompt, shapes.capacity % 32) == (columns, 32, 0)
        assert shapes.capacity >= 2 + 4 * columns
    assert by_four(torch.tensor([2, 5, 9])).tolist() == [2, 5, 9, 9]
    assert by_four(torch.tensor([2, 5, 8, 9])).tolist() == [2, 5, 8, 9]
    assert Shapes(8, 32, 96).columns == 8


def test_the_command_prints_a_line_per_row(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    pair = single("llama")
    monkeypatch.setattr("engine.models.load_pair", lambda config: pair)
    monkeypatch.setattr("engine.commands.bitwise.prompts_of", lambda args: PROMPTS)
    line = ["bitwise", "--prompt", "x", "--proposer", "draft_model", "--draft", "tiny", "--max-new", "8"]
    code = cli.main(line)
    printed = capsys.readouterr()
    if not holds(pair, 4):
        assert (code, printed.out) == (2, "")
        assert "BitwiseError: " in printed.err
        return
    assert code == 0
    assert [text.split("\t")[0] for text in printed.out.splitlines()] == [f"row {n}" for n in range(len(PROMPTS))]
    assert printed.out.count("\tequal, ") == len(PROMPTS)
    assert cli.main([*line, "--method", "eqspec"]) == 2
    assert "method='slots'" in capsys.readouterr().err
    spoil(monkeypatch, lambda rows: rows == 5)
    assert cli.main(line) == 2, "the self-test refuses"
    monkeypatch.setattr("engine.bitwise.self_test", lambda *args: 1)
    assert cli.main(line) == 1
    assert "differs at token 0, by " in capsys.readouterr().out
