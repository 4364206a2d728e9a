"""EAGLE-3, MTP and hybrid drafts in every exact method: ids equal to the row run alone, whatever the head says."""

from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from engine import RunConfig, session
from engine.config import PUBLISHED_EXACT
from engine.fold import fold
from engine.models import pair_of
from engine.trace import Propose, Violation
from tests.engine.heads import tiny_pair

TARGET, HEAD = tiny_pair()
PAIR = replace(pair_of(TARGET, None, None, stop_ids={1}, pad_id=1), head=HEAD)
MTP = replace(PAIR, head=tiny_pair(kind="mtp")[1])
prompts = st.lists(st.lists(st.integers(0, 63), min_size=1, max_size=12), min_size=1, max_size=4)


def decode(rows: list[list[int]], **config: object) -> tuple[list[list[int]], list, dict]:
    pair = MTP if config.get("proposer") == "mtp" else PAIR
    events = list(session({"a": RunConfig(dtype="float64", **config)}, rows, pair=pair, certify=False))
    lane = fold(events).lanes["a"]
    return [r.ids for r in lane.rows.values()], [e for e in events if isinstance(e, Violation)], lane.totals


@pytest.mark.parametrize("proposer", ["eagle3", "mtp", "hybrid"])
@pytest.mark.parametrize("method", ["eqspec", "exspec", "slots", "rollback"])
@settings(max_examples=10, deadline=None, derandomize=True)
@given(
    rows=prompts,
    k=st.integers(1, 5),
    match=st.integers(1, 3),
    max_new=st.integers(1, 14),
    batch=st.sampled_from([None, 1, 2]),
    paper=st.booleans(),
)
def test_ids_equal_the_row_run_alone(
    method: str, proposer: str, rows: list, k: int, match: int, max_new: int, batch: int | None, paper: bool
) -> None:
    alone, _, _ = decode(rows, method="autoregressive", batch=1, max_new=max_new)
    fidelity = "paper" if paper and method in PUBLISHED_EXACT else "exact"
    config = {"proposer": proposer, "k": k, "match": match, "max_new": max_new, "batch": batch, "fidelity": fidelity}
    drafted, violations, _ = decode(rows, method=method, **config)
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
    proposed = [e for e in session({"a": config}, rows, pair=PAIR, certify=False) if isinstance(e, Propose)]
    drafts = [(s, t, q) for e in proposed for s, t, q in zip(e.source, e.tokens, e.q, strict=True) if t]
    assert {source for source, _, _ in drafts} == {"ngram", "eagle3"}
    assert all(len(q) == (len(t) if source == "eagle3" else 0) for source, t, q in drafts)
