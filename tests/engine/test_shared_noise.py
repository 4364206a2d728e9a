"""Sampling with shared noise: token-identical to autoregressive sampling with the same seed, in every exact method."""

import math

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from engine import RunConfig, session
from engine.fold import fold
from engine.registry import PUBLISHED_EXACT
from engine.sampling import REMOVED, SharedNoise, warp
from tests.engine.pairs import VOCAB, pair

EXACT = ("eqspec", "exspec", "slots", "rollback")
prompts = st.lists(st.lists(st.integers(0, VOCAB - 1), min_size=1, max_size=20), min_size=1, max_size=4)


def outputs(family: str, rows: list[list[int]], **config: object) -> list[list[int]]:
    chosen = RunConfig(sampling="shared_noise", dtype="float64", **config)
    lane = fold(session({"lane": chosen}, rows, pair=pair(family), certify=False)).lanes["lane"]
    return [r.ids[r.prompt :] for r in lane.rows.values()]


@pytest.mark.parametrize(
    ("method", "fidelity"), [*((m, "exact") for m in EXACT), *((m, "paper") for m in PUBLISHED_EXACT)]
)
@pytest.mark.parametrize("family", ["llama", "gpt2"])
@settings(max_examples=6, deadline=None, derandomize=True)
@given(
    rows=prompts,
    seed=st.integers(0, 3),
    temperature=st.sampled_from([0.3, 1.0, 2.5]),
    top=st.sampled_from([(0, 1.0), (5, 1.0), (0, 0.7), (20, 0.9)]),
    proposer=st.sampled_from(["ngram", "draft_model"]),
)
def test_every_exact_method_samples_what_each_row_samples_alone(
    method: str, fidelity: str, family: str, rows: list, seed: int, temperature: float, top: tuple, proposer: str
) -> None:
    common = {"max_new": 12, "seed": seed, "temperature": temperature, "top_k": top[0], "top_p": top[1]}
    alone = outputs(family, rows, method="autoregressive", batch=1, **common)
    own = {"method": method, "fidelity": fidelity, "proposer": proposer, "draft": "tiny", "k": 3}
    batched = outputs(family, rows, **own, **common)
    assert batched == alone


def test_certification_of_a_sampled_run_knows_the_noise() -> None:
    config = RunConfig(
        method="eqspec", proposer="draft_model", draft="tiny", max_new=16, sampling="shared_noise", temperature=1.0
    )
    lane = fold(session({"a": config}, [[5, 6, 7], [9]], pair=pair("llama"))).lanes["a"]
    assert [r.compare["verdict"] for r in lane.rows.values()] == ["equal", "equal"]


def test_different_seeds_and_rows_sample_different_texts() -> None:
    common = {"method": "eqspec", "max_new": 12, "temperature": 1.5}
    one, two = (outputs("llama", [[5, 6, 7], [5, 6, 7]], seed=s, **common) for s in (0, 1))
    assert one != two
    assert one[0] != one[1], "equal prompts in two rows must not share their noise"


def test_the_noise_draws_from_the_softmax_of_the_warped_logits() -> None:
    """5000 draws: each frequency within five standard deviations (a false alarm about once in 300,000 runs)."""
    logits = torch.tensor([1.0, 0.0, -1.0, 2.0], dtype=torch.float64)
    expected = (logits / 0.7).softmax(0)
    noise = SharedNoise(seed=4, temperature=0.7, top_k=0, top_p=1.0)
    draws = noise.scores(logits.expand(1, 5000, 4), [0], [list(range(5000))])[0].argmax(-1)
    for token in range(4):
        p = float(expected[token])
        assert abs(float((draws == token).double().mean()) - p) < 5 * math.sqrt(p * (1 - p) / 5000)


def test_top_k_and_top_p_remove_the_tail_and_never_everything() -> None:
    logits = torch.log(torch.tensor([[0.5, 0.3, 0.15, 0.05]], dtype=torch.float64))
    assert (warp(logits, 1.0, top_k=2) > REMOVED).tolist() == [[True, True, False, False]]
    assert (warp(logits, 1.0, top_p=0.6) > REMOVED).tolist() == [[True, True, False, False]]
    assert (warp(logits, 1.0, top_p=0.01) > REMOVED).tolist() == [[True, False, False, False]]
