"""EAGLE-3, MTP and hybrid drafts in every exact method: ids equal to the row run alone, whatever the head says."""

from dataclasses import replace
from functools import cache

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from engine import RunConfig, session
from engine.fold import fold
from engine.models import Pair, pair_of
from engine.registry import PUBLISHED_EXACT, REFILLING
from engine.trace import Propose, Violation
from tests.engine.heads import tiny_pair
from tests.engine.tiny import tiny_model

FAMILIES = ("llama", "qwen3", "gpt2", "neox")
HEADS = {kind: tiny_pair(kind=kind)[1] for kind in ("eagle3", "mtp")}
prompts = st.lists(st.lists(st.integers(0, 63), min_size=1, max_size=12), min_size=1, max_size=4)


@cache
def pair(family: str, kind: str) -> Pair:
    """A random target of a family with a random head: one head serves all, their sizes are the same."""
    target = tiny_model(family, **({"head_dim": 8} if family == "llama" else {})).double().requires_grad_(False)
    return replace(pair_of(target, None, None, stop_ids={1}, pad_id=1), head=HEADS[kind])


def decode(rows: list[list[int]], family: str = "llama", **config: object) -> tuple[list[list[int]], list, dict]:
    chosen = pair(family, "mtp" if config.get("proposer") == "mtp" else "eagle3")
    events = list(session({"a": RunConfig(dtype="float64", **config)}, rows, pair=chosen, certify=False))
    lane = fold(events).lanes["a"]
    return [r.ids for r in lane.rows.values()], [e for e in events if isinstance(e, Violation)], lane.totals


@pytest.mark.parametrize("proposer", ["eagle3", "mtp", "hybrid"])
@pytest.mark.parametrize("method", ["eqspec", "exspec", "slots", "rollback"])
@settings(max_examples=16, deadline=None, derandomize=True)
@given(
    family=st.sampled_from(FAMILIES),
    rows=prompts,
    k=st.integers(1, 5),
    match=st.integers(1, 3),
    max_new=st.integers(1, 14),
    batch=st.sampled_from([None, 1, 2]),
    form=st.sampled_from(["plain", "paper", "arrivals"]),
    noise=st.booleans(),
)
def test_ids_equal_the_row_run_alone(
    method: str,
    proposer: str,
    family: str,
    rows: list,
    k: int,
    match: int,
    max_new: int,
    batch: int | None,
    form: str,
    noise: bool,
) -> None:
    sampling = {"sampling": "shared_noise", "temperature": 0.8, "seed": 7} if noise else {}
    alone, _, _ = decode(rows, family, method="autoregressive", batch=1, max_new=max_new, **sampling)
    own = {"proposer": proposer, "k": k, "match": match, "max_new": max_new, "batch": batch}
    if form == "paper" and method in PUBLISHED_EXACT:
        own["fidelity"] = "paper"
    elif form == "arrivals" and method != "rollback":
        own |= {"arrivals": tuple(2.0 * n for n in range(len(rows))), "refill": method in REFILLING}
    drafted, violations, _ = decode(rows, family, method=method, **own, **sampling)
    assert drafted == alone
    assert violations == []


@pytest.mark.parametrize("proposer", ["eagle3", "mtp"])
def test_a_random_head_has_some_draft_accepted_and_some_rejected(proposer: str) -> None:
    rows = [[n, n + 1, n + 2] for n in range(0, 40, 2)]
    _, _, totals = decode(rows, method="eqspec", proposer=proposer, k=3, max_new=20)
    assert 0 < totals["accepted"] < totals["drafted"]


def test_the_trace_names_the_source_of_each_row_s_draft() -> None:
    rows = [[n, n + 1, n + 2, n, n + 1] for n in range(0, 20, 2)]
    config = RunConfig(dtype="float64", proposer="hybrid", k=3, max_new=20)
    proposed = [
        e for e in session({"a": config}, rows, pair=pair("llama", "eagle3"), certify=False) if isinstance(e, Propose)
    ]
    drafts = [(s, t, q) for e in proposed for s, t, q in zip(e.source, e.tokens, e.q, strict=True) if t]
    assert {source for source, _, _ in drafts} == {"ngram", "eagle3"}
    assert all(len(q) == (len(t) if source == "eagle3" else 0) for source, t, q in drafts)
