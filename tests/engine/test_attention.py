"""Attention mass on pads and dead slots: none in exact methods, plenty where the mask shows them."""

import copy

import pytest
import torch

from engine import ConfigError, cli, session
from engine.attention import Mass, attention_mass, chosen, masses
from engine.config import RunConfig
from engine.lane import Lane
from engine.trace import Commit, Event, Verify
from tests.engine import tiny

PROMPTS = [tiny.prompt(n, 3) for n in (9, 3, 14, 6)]
LONGEST = 2
EXACT = {
    "autoregressive": {},
    "eqspec": {},
    "exspec": {"batch": 2, "window": 3},
    "slots": {},
    "bsp": {},  # torn by its positions; its mask is right
    "dsd": {"faults": frozenset({"keep_mismatch", "stale_pads"})},
}


def mass(method: str, step: int, family: str = "llama", **more: object) -> list[Mass]:
    return attention_mass(tiny.pair(family, 0.3), tiny.config(method, max_new=12, **more), PROMPTS, step)


@pytest.mark.parametrize("family", ["llama", "gpt2"])
@pytest.mark.parametrize("method", EXACT)
def test_what_is_masked_gets_exactly_nothing(method: str, family: str) -> None:
    for step in (0, 1, 4):
        found = mass(method, step, family, **EXACT[method])
        assert found
        assert {(m.pads, m.dead) for m in found} == {(0.0, 0.0)}


@pytest.mark.parametrize("family", tiny.FAMILIES)
def test_dsd_attends_its_pads(family: str) -> None:
    found = mass("dsd", 1, family)
    assert {m.layer for m in found} == {0, 1}
    for m in found:
        if m.row == LONGEST:
            assert m.pads == 0, "the longest row has no pad yet"
        else:
            assert 0.02 < m.pads < 1
        assert m.dead == 0
    short, long = (sum(m.pads for m in found if m.row == row) for row in (1, 0))
    assert short > long, "11 pads draw more than 5"


def test_pads_that_are_shown_in_eqspec_draw_mass_and_hidden_entries_none() -> None:
    assert all(m.pads > 0 for m in mass("eqspec", 2, faults=frozenset({"pads_visible"})) if m.row != LONGEST)
    assert all((m.pads, m.dead) == (0, 0) for m in mass("eqspec", 4, "qwen3", faults=frozenset({"stale_mask"})))


def test_entries_of_rejected_drafts_that_are_seen_are_dead() -> None:
    """KV that was not moved: the new mask shows rejected drafts, `check` says so, and this is what they draw."""
    found = mass("eqspec", 4, "qwen3", faults=frozenset({"kv_not_moved"}))
    assert max(m.dead for m in found) > 0.01
    assert max(m.dead + m.pads for m in found) < 1


@torch.inference_mode()
def test_the_shares_are_those_of_a_plain_forward_with_eager_attention() -> None:
    """DSD feeds whole rows, so its weights can be had from transformers alone."""
    pair, seen = tiny.pair("llama", 0.3), []

    def observer(lane: Lane, cache: object, fed: object, mask: torch.Tensor) -> None:
        if lane.step == 1:
            seen.append((fed, [r.row for r in lane.batch_rows]))

    config = tiny.config("dsd", max_new=12)
    list(session({"dsd": config}, PROMPTS, pair=pair, certify=False, observer=observer))
    ((fed, rows),) = seen
    plain = copy.deepcopy(pair.target)
    plain.set_attn_implementation("eager")
    t = fed.tokens.shape[1]
    causal = torch.full((t, t), torch.finfo(torch.float64).min, dtype=torch.float64).triu(1)[None, None]
    for i, row in enumerate(rows):
        n = int((fed.owners[i] >= 0).sum())
        last = int((fed.owners[i] >= 0).nonzero().max()) + 1
        out = plain(
            fed.tokens[i : i + 1, :last],
            attention_mask=causal[..., :last, :last],
            position_ids=fed.positions[i : i + 1, :last],
            output_attentions=True,
        )
        for m in (m for m in mass("dsd", 1) if m.row == row):
            pads = out.attentions[m.layer][0].mean(dim=0)[-n:, : last - n].sum(dim=1).mean()
            assert m.pads == pytest.approx(float(pads), abs=1e-7)


@pytest.mark.parametrize("method", ["eqspec", "slots", "exspec", "dsd"])
def test_a_run_that_is_looked_into_goes_on_as_if_nothing_had_happened(method: str) -> None:
    pair, config = tiny.pair("llama", 0.3), tiny.config(method, max_new=12)

    def events(looks: bool) -> list[Event]:
        @torch.inference_mode()
        def observer(lane: Lane, *of: object) -> None:
            if looks and lane.step < 6:
                assert list(masses(lane, *of))

        found = session({method: config}, PROMPTS, pair=pair, certify=False, observer=observer)
        return [e for e in found if isinstance(e, Verify | Commit)]

    assert events(looks=True) == events(looks=False)
    assert pair.target.config._attn_implementation == "sdpa"


def test_a_layer_and_a_step_that_are_not_there_are_refused() -> None:
    with pytest.raises(ConfigError, match=r"step=99 cannot be used: this run has steps 0 to \d+"):
        mass("eqspec", 99)
    found = mass("eqspec", 1)
    assert {m.layer for m in chosen(found, 1)} == {1}
    assert chosen(found, None) == found
    with pytest.raises(ConfigError, match="layer=2 cannot be used: this model has layers 0 to 1"):
        chosen(found, 2)


def test_the_command_prints_a_line_per_layer_and_row(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def load(config: RunConfig) -> object:
        return tiny.pair("llama", "skip")

    monkeypatch.setattr("engine.models.load_pair", load)
    monkeypatch.setattr("engine.commands.attention.prompts_of", lambda args: PROMPTS)
    line = ["attention", "--prompt", "x", "--proposer", "self_skip", "--dtype", "float64", "--max-new", "8"]
    assert cli.main([*line, "--method", "dsd", "--layer", "1"]) == 0
    head, *rows = [text.split("\t") for text in capsys.readouterr().out.splitlines()]
    assert head == ["layer", "row", "pads", "dead"]
    assert [row[:2] for row in rows] == [["1", str(n)] for n in range(len(PROMPTS))]
    assert float(rows[1][2]) > 0.02
    assert cli.main([*line, "--method", "eqspec"]) == 0
    rows = [text.split("\t") for text in capsys.readouterr().out.splitlines()][1:]
    assert {tuple(row[2:]) for row in rows} == {("0.0000", "0.0000")}
    assert cli.main([*line, "--step", "-1"]) == 2
    assert "step=-1" in capsys.readouterr().err
    assert cli.main([*line, "--layer", "7"]) == 2
    assert "layer=7" in capsys.readouterr().err
