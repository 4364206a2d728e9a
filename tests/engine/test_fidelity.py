"""fidelity="paper": EQSPEC and EXSPEC as published. Every row is still the row alone; the waste is in the trace."""

from collections import Counter
from dataclasses import replace
from functools import cache

import pytest
import torch
from hypothesis import HealthCheck, Phase, given, seed, settings
from hypothesis import strategies as st

from engine import session
from engine.cache.padded import PaddedCache
from engine.config import ConfigError, RunConfig
from engine.fold import Fold, fold
from engine.methods.published import without_bonus
from engine.propose import ragged
from engine.registry import METHODS, PUBLISHED_EXACT
from engine.trace import Commit, Event, KvOp, Propose, Schedule, Verify, Violation
from tests.engine import tiny
from tests.engine.test_exact import FAMILIES, FAVOUR, STOPS, Case, alone, cases, limited
from tests.engine.test_methods_exact import pools
from tests.engine.test_realign import left_padded, verified
from tests.engine.watch import Watch

EXAMPLES = 20  # per family; each runs two lanes

#: What must have been seen at least 10 times before "every time" means anything.
WANTED = (
    "eqspec: a finished row stays in the batch",
    "eqspec: a finished row is moved",
    "eqspec: a live row shortens everybody's draft",
    "eqspec: all drafts agreed, no bonus",
    "eqspec: copied although no row shifts",
    "eqspec: filler verified",
    "exspec: all drafts agreed, no bonus",
    "exspec: join",
    "exspec: grouped",
    "exspec: fallback",
    "one-token budget",
    "ended by stop",
    "ended by context",
)


@st.composite
def runs(draw: st.DrawFn) -> tuple[Case, dict]:
    case = draw(cases())
    return case, draw(pools(len(case.rows)))


@cache
def explore(family: str) -> Counter:
    """Run the generated batches of one family; what was seen in them."""
    seen: Counter = Counter()

    @seed(200 + FAMILIES.index(family))
    @settings(
        max_examples=EXAMPLES,
        derandomize=True,
        deadline=None,
        database=None,
        phases=[Phase.explicit, Phase.generate],
        suppress_health_check=list(HealthCheck),
    )
    @given(runs())
    def every_row_equals_the_row_alone(run: tuple[Case, dict]) -> None:
        case, pool = run
        noise = 0.0 if case.drafter == "ngram" else case.drafter
        pair = replace(tiny.pair(family, noise, eos=FAVOUR), context=case.context)
        proposer = {"ngram": "ngram", "skip": "self_skip"}.get(case.drafter, "draft_model")
        common = {"proposer": proposer, "k": case.k, "max_new": case.max_new, "fidelity": "paper"}
        lanes = {
            "eqspec": tiny.config("eqspec", batch=case.batch, **common),
            "exspec": tiny.config("exspec", **common, **pool),
        }
        prompts, watch = [tiny.prompt(*row, STOPS) for row in case.rows], Watch()
        events = list(session(lanes, prompts, pair=pair, observer=watch, certify=False))
        state = fold(events)
        for name, lane in state.lanes.items():
            for n, (length, variant) in enumerate(case.rows):
                expected = limited(alone(family, length, variant), min(case.max_new, case.context - length))
                found = lane.rows[n].ids[length:]
                assert found == expected, f"{family} {name} row {n}: {found} instead of {expected}; {run}"
                assert lane.rows[n].final == len(expected), f"{family} {name} row {n} ended with {lane.rows[n].final}"
        broken = [e for e in events if isinstance(e, Violation)]
        assert not broken, f"{family}: {broken[0]}; {run}"
        watch.assert_equals(state)
        seen["one-token budget"] += case.max_new == 1
        count(seen, events, state)

    every_row_equals_the_row_alone()
    return seen


def count(seen: Counter, events: list[Event], state: Fold) -> None:
    """Add what one run went through; and hold every round to the published rules."""
    rows = {name: [] for name in state.lanes}
    drafts: dict[str, list] = {}
    ended: set[tuple[str, int]] = set()
    for e in events:
        if isinstance(e, Schedule):
            rows[e.lane], drafts[e.lane] = e.rows, []
            seen[f"{e.lane}: a finished row stays in the batch"] += sum((e.lane, r) in ended for r in e.rows)
            assert e.lane == "eqspec" or not any((e.lane, r) in ended for r in e.rows)
        elif isinstance(e, Propose):
            drafts[e.lane] = e.tokens
            seen[f"{e.lane}: a live row shortens everybody's draft"] += e.why.count("room") > 1
            assert [w == "done" for w in e.why] == [(e.lane, r) in ended for r in rows[e.lane]]
        elif isinstance(e, Verify) and e.tokens:
            width = len(e.tokens[0]) - 1
            assert width >= 1, "the published code always drafts"
            seen[f"{e.lane}: filler verified"] += sum(width - n for n in e.lens)
        elif isinstance(e, Commit) and drafts[e.lane]:
            for draft, accepted, emitted, kinds in zip(drafts[e.lane], e.accepted, e.emitted, e.kinds, strict=True):
                if len(draft) == width and accepted == width and not e.cut:
                    seen[f"{e.lane}: all drafts agreed, no bonus"] += 1
                    assert emitted == draft
                    assert kinds == "a" * width
        elif isinstance(e, KvOp):
            seen[f"{e.lane}: {e.op}"] += 1
            if e.lane == "eqspec" and e.op != "grow":
                assert e.op == "realign", "nothing is ever only cropped, and no row leaves"
                assert e.rows == rows["eqspec"]
                seen["eqspec: copied although no row shifts"] += e.bytes > 0 and all(a == b for _, a, b, _ in e.moves)
                seen["eqspec: a finished row is moved"] += sum((e.lane, m[0]) in ended for m in e.moves)
        elif e.kind == "row_done":
            assert (e.lane, e.row) not in ended, "a row ends once"
            ended.add((e.lane, e.row))
            seen[f"ended by {e.reason}"] += 1
    seen["exspec: grouped"] += state.lanes["exspec"].totals["grouped"]
    seen["exspec: fallback"] += state.lanes["exspec"].totals["fallback"]


@pytest.mark.parametrize("family", FAMILIES)
def test_every_row_of_the_published_code_equals_the_row_run_alone(family: str) -> None:
    assert explore(family)["eqspec: filler verified"] > 0, "the examples of this family never ran"


def test_the_examples_went_through_every_waste() -> None:
    seen = sum((explore(family) for family in FAMILIES), Counter())
    rare = {what: seen[what] for what in WANTED if seen[what] < 10}
    assert not rare, f"seen fewer than 10 times: {rare}; all: {dict(seen)}"


def both(prompts: list[list[int]], noise: float = 0.1, **more: object) -> dict[str, list[Event]]:
    """EQSPEC as it can be and as published, on the same rows."""
    lanes = {f: tiny.config("eqspec", fidelity=f, **more) for f in ("exact", "paper")}
    events = list(session(lanes, prompts, pair=tiny.pair("llama", noise, stop_ids=()), certify=False))
    return {name: [e for e in events if e.lane == name] for name in lanes}


def test_with_one_draft_a_round_nothing_is_ever_gained() -> None:
    lanes = both([tiny.prompt(6, 1), tiny.prompt(9, 2)], noise=0.0, k=1, max_new=8)
    emitted = {name: {len(t) for e in of if isinstance(e, Commit) for t in e.emitted} for name, of in lanes.items()}
    assert emitted == {"exact": {1, 2}, "paper": {1}}, "the drafter is the target, so every draft agrees"


def test_the_waste_is_in_the_trace() -> None:
    lanes = both([tiny.prompt(n, n) for n in (3, 9, 21)], noise=0.1, max_new=20)
    totals = {name: of[-1].totals for name, of in lanes.items()}
    assert totals["paper"]["emitted"] == totals["exact"]["emitted"] == 60
    assert totals["paper"]["fed"] > totals["exact"]["fed"], "finished rows and filler are fed"
    assert totals["paper"]["kv_avoided"] == 0 < totals["exact"]["kv_avoided"]
    for e in (e for e in lanes["paper"] if isinstance(e, KvOp) and e.op == "realign"):
        entry = 2 * 2 * 2 * 8 * 8  # keys and values, 2 layers, 2 heads of 8 float64
        assert e.bytes == entry * sum(m[3] for m in e.moves), "what is counted is what is copied"


@pytest.mark.parametrize("seed", range(6))
def test_copying_row_by_row_gives_what_one_gather_gives(seed: int) -> None:
    content = [3 + seed, 7, 2 + 2 * seed]
    caches = []
    for by_row in (False, True):
        cache: PaddedCache = left_padded(tuple(content), capacity=32)
        verified(cache, [c + 1 for c in content], 3)
        kept = [c + 1 + (n + seed) % 3 for n, c in enumerate(content)]
        width = max(kept)
        source = torch.tensor([max(content) - c for c in content])
        cache.realign(torch.arange(3), source, torch.tensor([width - n for n in kept]), width, by_row)
        caches.append(cache)
    fast, slow = caches
    assert torch.equal(fast.shadow, slow.shadow)
    assert torch.equal(fast.visible, slow.visible)
    for a, b in zip(fast.layers, slow.layers, strict=True):
        for name in ("keys", "values"):
            assert torch.equal(getattr(a, name)[fast.visible], getattr(b, name)[fast.visible])
            assert getattr(b, name)[~fast.visible].abs().sum() == 0, "the published code pads with zeros"


def test_the_last_of_all_agreeing_drafts_passes_for_the_targets_token() -> None:
    draft = ragged([[5, 6, 7], [5, 6, 7], [5]], [3, 3, 3], 3, "ngram", "cpu")
    kept, token = without_bonus(draft, torch.tensor([3, 1, 1]), torch.tensor([8, 9, 4]))
    assert kept.tolist() == [2, 1, 1]
    assert token.tolist() == [7, 9, 4], "a short draft that agrees is followed by the target's own token"


@pytest.mark.parametrize("method", sorted(set(METHODS) - set(PUBLISHED_EXACT)))
def test_methods_without_an_exact_published_code_refuse_it_by_name(method: str) -> None:
    with pytest.raises(ConfigError, match="fidelity='paper' cannot be used: eqspec and exspec have a published code"):
        RunConfig(method=method, fidelity="paper")


def test_what_would_not_go_together_is_refused() -> None:
    with pytest.raises(ConfigError, match="faults"):
        RunConfig(fidelity="paper", faults=frozenset({"stale_mask"}))
    with pytest.raises(ConfigError, match="shares one draft length over the batch"):
        RunConfig(fidelity="paper", sampling="rejection", temperature=1.0)
