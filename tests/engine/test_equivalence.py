"""Verdicts: equal, bug, or rounding, and rounding only where the noise that was measured explains it."""

import copy
from dataclasses import replace
from functools import cache

import pytest
import torch

from engine import session
from engine.equivalence import FLOOR, Witness, certify, reference_logits
from engine.fold import fold
from engine.models import Pair, pair_of
from engine.trace import Compare
from tests.engine import tiny
from tests.engine.conftest import Tape

PROMPTS = [tiny.prompt(n, 6) for n in (5, 12, 8)]
NEW = 12
TORN = frozenset({"padding_gap", "rejection_gap"})


def pair() -> Pair:
    return replace(tiny.pair("llama", 0.1), stop_ids=frozenset())


@cache
def good() -> tuple[list[int], Witness]:
    """Row 0 as EQSPEC decodes it, and the logits it saw."""
    tape = Tape()
    lanes = {"eqspec": tiny.config(max_new=NEW)}
    state = fold(session(lanes, PROMPTS, pair=pair(), observer=tape))
    return state.lanes["eqspec"].rows[0].ids, tape.lanes["eqspec"][0].witness


def judged(ids: list[int], witness: Witness | None = None, noise: float = 1e-9, **more: object) -> Compare:
    return certify(pair(), 0, ids, len(PROMPTS[0]), witness or good()[1], noise, **more)[0]


def test_an_equal_row_is_equal_and_every_token_of_it_was_checked() -> None:
    found = judged(good()[0])
    assert (found.verdict, found.checked, found.index) == ("equal", NEW, None)


def test_the_noise_of_a_float64_run_is_measured_and_tiny() -> None:
    ids, witness = good()
    _, noise = certify(pair(), 0, ids, len(PROMPTS[0]), witness, 0.0)
    assert 0.0 < noise < 1e-9
    assert len(witness.seen[0]) == NEW, "the lane kept no logits for some tokens"


def test_a_lane_that_may_not_measure_leaves_the_noise_as_it_is() -> None:
    ids, witness = good()
    off = Witness({0: [(c, first + 0.5, s, other) for c, first, s, other in witness.seen[0]]})
    assert certify(pair(), 0, ids, len(PROMPTS[0]), off, 1e-9, measure=False)[1] == 1e-9
    assert certify(pair(), 0, ids, len(PROMPTS[0]), off, 1e-9, measure=True)[1] == pytest.approx(0.5)


def test_another_token_is_a_bug_at_its_index_with_both_candidates() -> None:
    ids, _ = good()
    at = len(PROMPTS[0]) + 4
    other = (ids[at] + 1) % tiny.VOCAB
    found = judged([*ids[:at], other, *ids[at + 1 :]])
    assert (found.verdict, found.index, found.expected, found.actual) == ("bug", 4, ids[at], other)


def test_a_row_that_ran_past_its_stop_id_is_a_bug_where_it_should_have_ended() -> None:
    ids, witness = good()
    p = len(PROMPTS[0])
    stopping = replace(pair(), stop_ids=frozenset({ids[p + 2]}))
    first = ids.index(ids[p + 2], p) - p
    found, _ = certify(stopping, 0, ids, p, witness, 1e-9)
    assert (found.verdict, found.index, found.expected, found.actual) == ("bug", first + 1, -1, ids[p + first + 1])
    short, _ = certify(stopping, 0, ids[: p + first + 1], p, witness, 1e-9, room=NEW)
    assert short.verdict == "equal", "a row that ends with its stop id is complete"


def test_a_row_that_ended_too_early_is_a_bug_and_not_equal_so_far() -> None:
    ids, _ = good()
    found = judged(ids[:-3], room=NEW)
    assert (found.verdict, found.index, found.expected, found.actual) == ("bug", NEW - 3, ids[-3], -1)
    assert judged(ids, room=NEW).verdict == "equal"


# -- rounding: the lane prefers the runner-up by a hair -----------------------------------------------------------


def near_tie(lead: float, apart: float) -> tuple[list[int], Witness, float]:
    """Row 0 with the runner-up as its last token, which the lane saw ahead by `lead`, its logits off by `apart`.

    Returns ids, witness and the reference's own gap between the two.
    """
    ids, _ = good()
    p = len(PROMPTS[0])
    top = reference_logits(pair(), ids, p)[-1].topk(2)
    best, second = top.indices.tolist()
    high, low = top.values.tolist()
    seen = list(good()[1].seen[0])
    seen[NEW - 1] = (second, low + apart, best, low + apart - lead)
    return [*ids[:-1], second], Witness({0: seen}), high - low


@pytest.mark.parametrize(
    ("noise_in_gaps", "verdict"),
    [
        pytest.param(1.01, "rounding", id="both_runs_within_the_noise"),
        pytest.param(0.99, "bug", id="logits_further_apart_than_the_noise"),
    ],
)
def test_a_near_tie_is_rounding_only_within_the_measured_noise(noise_in_gaps: float, verdict: str) -> None:
    ids, witness, gap = near_tie(lead=0.0, apart=0.0)
    found = judged(ids, witness, noise=noise_in_gaps * gap)
    assert found.verdict == verdict, f"gap {gap}, noise {found.noise}"
    assert (found.index, found.actual) == (NEW - 1, ids[-1])
    assert found.logits["reference"][0] - found.logits["reference"][1] == pytest.approx(gap, abs=2e-4)


def test_a_lead_of_more_than_twice_the_noise_is_a_bug() -> None:
    ids, witness, gap = near_tie(lead=0.0, apart=0.0)
    lead = 2.1 * gap
    ids, witness, _ = near_tie(lead=lead, apart=gap)
    assert judged(ids, witness, noise=1.05 * gap).verdict == "bug"


def test_a_candidate_that_the_lane_did_not_rank_second_is_never_rounding() -> None:
    ids, witness, gap = near_tie(lead=0.0, apart=0.0)
    chosen, first, best, other = witness.seen[0][-1]
    witness.seen[0][-1] = (chosen, first, (best + 1) % tiny.VOCAB, other)
    assert judged(ids, witness, noise=10 * gap).verdict == "bug"


# -- whole sessions ------------------------------------------------------------------------------------------------


def with_twins(off: float) -> Pair:
    """A model in which two tokens tie exactly; a batch of rows sees one ahead by `off`, a row alone the other."""
    model = copy.deepcopy(tiny.target("llama"))
    row, new = good()[0], len(PROMPTS[0])
    twin = next(t for t in range(tiny.VOCAB) if t not in row)
    token = row[new + 5]
    head = model.get_output_embeddings()
    with torch.no_grad():
        head.weight[twin] = head.weight[token]

    def tilt(module: torch.nn.Module, args: tuple, logits: torch.Tensor) -> torch.Tensor:
        logits = logits.clone()
        logits[..., twin if len(logits) > 1 else token] += off
        return logits

    head.register_forward_hook(tilt)
    return pair_of(model, tiny.pair("llama", 0.1).draft, stop_ids=(), pad_id=tiny.STOP)


@pytest.mark.parametrize(
    ("off", "verdict"),
    [
        pytest.param(1e-10, "rounding", id="within_the_noise_of_float64"),
        pytest.param(1e-6, "bug", id="far_beyond_it"),
    ],
)
def test_a_session_classes_a_tie_that_fell_the_other_way(off: float, verdict: str) -> None:
    lanes = {"eqspec": tiny.config(max_new=NEW)}
    row = fold(session(lanes, PROMPTS, pair=with_twins(off))).lanes["eqspec"].rows[0]
    assert row.compare["verdict"] == verdict, row.compare
    assert row.compare["noise"] == FLOOR[torch.float64]
    assert None not in (row.compare["index"], row.compare["logits"])


@pytest.mark.parametrize("order", [("bsp", "eqspec"), ("eqspec", "bsp")], ids="-then-".join)
def test_a_torn_lane_cannot_raise_the_noise(order: tuple[str, str]) -> None:
    lanes = {"bsp": tiny.config("bsp", faults=TORN, max_new=NEW), "eqspec": tiny.config(max_new=NEW)}
    state = fold(session({name: lanes[name] for name in order}, PROMPTS, pair=pair()))
    verdicts = {name: {r.compare["verdict"] for r in state.lanes[name].rows.values()} for name in order}
    assert verdicts["eqspec"] == {"equal"}
    assert "bug" in verdicts["bsp"], "the torn lane is right: nothing was shown"
    noise = {r.compare["noise"] for lane in state.lanes.values() for r in lane.rows.values() if r.compare["noise"]}
    assert noise == {FLOOR[torch.float64]}


def test_a_different_row_carries_the_logits_of_both_candidates_in_both_runs() -> None:
    lanes = {"bsp": tiny.config("bsp", faults=TORN, max_new=NEW)}
    state = fold(session(lanes, PROMPTS, pair=pair()))
    wrong = [r.compare for r in state.lanes["bsp"].rows.values() if r.compare["verdict"] == "bug"]
    assert wrong
    for found in wrong:
        reference, lane = found["logits"]["reference"], found["logits"]["lane"]
        assert reference[0] > reference[1], f"the row alone does not prefer {found['expected']}"
        assert lane[1] >= lane[0], f"the lane does not prefer {found['actual']}"
