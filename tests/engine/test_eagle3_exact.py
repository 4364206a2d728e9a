"""EAGLE-3 drafts in every exact method: ids equal to the row run alone, whatever the head says."""

from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from engine import RunConfig, session
from engine.config import PUBLISHED_EXACT
from engine.fold import fold
from engine.models import pair_of
from engine.trace import Violation
from tests.engine.heads import tiny_pair

TARGET, HEAD = tiny_pair()
PAIR = replace(pair_of(TARGET, None, None, stop_ids={1}, pad_id=1), head=HEAD)
prompts = st.lists(st.lists(st.integers(0, 63), min_size=1, max_size=12), min_size=1, max_size=4)


def decode(rows: list[list[int]], **config: object) -> tuple[list[list[int]], list, dict]:
    events = list(session({"a": RunConfig(dtype="float64", **config)}, rows, pair=PAIR, certify=False))
    lane = fold(events).lanes["a"]
    return [r.ids for r in lane.rows.values()], [e for e in events if isinstance(e, Violation)], lane.totals


@pytest.mark.parametrize("method", ["eqspec", "exspec", "slots", "rollback"])
@settings(max_examples=10, deadline=None, derandomize=True)
@given(
    rows=prompts,
    k=st.integers(1, 5),
    max_new=st.integers(1, 14),
    batch=st.sampled_from([None, 1, 2]),
    paper=st.booleans(),
)
def test_ids_equal_the_row_run_alone(
    method: str, rows: list, k: int, max_new: int, batch: int | None, paper: bool
) -> None:
    alone, _, _ = decode(rows, method="autoregressive", batch=1, max_new=max_new)
    fidelity = "paper" if paper and method in PUBLISHED_EXACT else "exact"
    own = {"method": method, "proposer": "eagle3", "k": k, "batch": batch, "fidelity": fidelity}
    drafted, violations, _ = decode(rows, max_new=max_new, **own)
    assert drafted == alone
    assert violations == []


def test_a_random_head_has_some_draft_accepted_and_some_rejected() -> None:
    rows = [[n, n + 1, n + 2] for n in range(0, 40, 2)]
    _, _, totals = decode(rows, method="eqspec", proposer="eagle3", k=3, max_new=20)
    assert 0 < totals["accepted"] < totals["drafted"]
