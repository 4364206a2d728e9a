"""Draft lengths of any rule leave every row's text what the row alone gives; rejection sampling keeps its law."""

from collections import Counter, defaultdict
from dataclasses import replace
from functools import cache

import pytest
import torch
from hypothesis import HealthCheck, Phase, given, seed, settings
from hypothesis import strategies as st

from engine import RunConfig, accept, session
from engine.fold import fold
from engine.lengths import Lengths
from engine.models import pair_of
from engine.row import Row
from engine.trace import Commit, Propose, Schedule, Violation
from tests.engine import pairs
from tests.engine.heads import tiny_pair
from tests.engine.test_rejection import TOKENS, K, Law, autoregressive, distance, one_round, table

METHODS = ("eqspec", "exspec", "slots", "rollback")
TARGET, HEAD = tiny_pair()
HEADED = replace(pair_of(TARGET, None, None, stop_ids={1}, pad_id=1), head=HEAD)
MTP = replace(HEADED, head=tiny_pair(kind="mtp")[1])
DRAFTERS = {
    "ngram": ("llama", None),
    "draft_model": ("gpt2", "tiny"),
    "eagle3": ("head", None),
    "hybrid": ("head", None),
    "mtp": ("mtp", None),
}


@st.composite
def rules(draw: st.DrawFn, k: int) -> dict:
    adapt = draw(st.sets(st.sampled_from(["acceptance", "confidence", "cost"])))
    slope = draw(st.sampled_from([0.5, 4.0, 20.0]))
    costs = tuple((b, n, 10.0 + slope * n * b) for b in (1, 4) for n in range(k + 1)) if "cost" in adapt else ()
    budget = draw(st.sampled_from([None, 1, 2, 5]))
    return {"adapt": adapt, "costs": costs, "budget": budget, "floor": draw(st.sampled_from([0.05, 0.3, 0.8]))}


@st.composite
def cases(draw: st.DrawFn) -> dict:
    k = draw(st.integers(1, 6))
    sampled = draw(st.booleans())
    return {
        "rows": draw(st.lists(st.lists(st.integers(0, 63), min_size=1, max_size=16), min_size=1, max_size=5)),
        "how": {"k": k, "batch": draw(st.sampled_from([None, 1, 2])), **draw(rules(k))},
        "common": {
            "max_new": draw(st.integers(1, 20)),
            "seed": draw(st.integers(0, 3)),
            "sampling": "shared_noise" if sampled else "greedy",
            "temperature": 0.7 if sampled else 0.0,
        },
    }


@cache
def explore(method: str, proposer: str) -> Counter:
    """Run the generated batches; why drafts were as long as they were, and how often there was none by a rule."""
    family, draft = DRAFTERS[proposer]
    pair, seen = {"head": HEADED, "mtp": MTP}.get(family) or pairs.pair(family), Counter()

    def decode(rows: list, **config: object) -> tuple[list, list]:
        events = list(session({"a": RunConfig(dtype="float64", **config)}, rows, pair=pair, certify=False))
        return [r.ids for r in fold(events).lanes["a"].rows.values()], events

    @seed(METHODS.index(method))
    @settings(
        max_examples=10,
        derandomize=True,
        deadline=None,
        database=None,
        phases=[Phase.generate],
        suppress_health_check=list(HealthCheck),
    )
    @given(cases())
    def every_row_equals_the_row_alone(case: dict) -> None:
        alone, _ = decode(case["rows"], method="autoregressive", batch=1, **case["common"])
        found, events = decode(
            case["rows"], method=method, proposer=proposer, draft=draft, **case["how"], **case["common"]
        )
        assert found == alone
        assert not [e for e in events if isinstance(e, Violation)]
        for e in events:
            if isinstance(e, Propose):
                seen.update(e.why)
                seen["nothing, by a rule"] += sum(w in RULES and not t for w, t in zip(e.why, e.tokens, strict=True))

    every_row_equals_the_row_alone()
    return seen


RULES = ("acceptance", "cost", "confidence", "budget")


@pytest.mark.parametrize("proposer", DRAFTERS)
@pytest.mark.parametrize("method", METHODS)
def test_every_row_equals_the_row_run_alone(method: str, proposer: str) -> None:
    assert sum(explore(method, proposer).values()) > 0


def test_every_rule_has_cut_drafts_and_some_to_nothing() -> None:
    seen = sum((explore(m, p) for m in METHODS for p in DRAFTERS), Counter())
    rare = {what: seen[what] for what in (*RULES, "nothing, by a rule", "full", "room") if seen[what] < 20}
    assert not rare, f"seen fewer than 20 times: {rare}; all: {dict(seen)}"


@pytest.mark.parametrize("certain", [False, True], ids=["sampled drafts", "certain drafts"])
def test_lengths_that_follow_acceptance_keep_the_law_of_rejection_sampling(certain: bool) -> None:
    """All paths of three tokens: a path carries its rounds, and the production rule gives the next one's length."""
    target, drafter = table(1), table(51)
    law: Law = defaultdict(float)
    waiting = {((), ()): 1.0}
    lengths_seen = set()
    while waiting:
        (prefix, rounds), weight = min(waiting.items(), key=lambda item: len(item[0][0]))
        del waiting[prefix, rounds]
        lens = length_after(rounds)
        lengths_seen.add(lens)
        for emitted, chance in one_round(prefix, target, drafter, accept.rejection, certain, lens).items():
            longer = prefix + emitted
            if len(longer) >= TOKENS:
                law[longer[:TOKENS]] += weight * chance
            else:
                key = longer, (*rounds, (lens, len(emitted) - 1))
                waiting[key] = waiting.get(key, 0.0) + weight * chance
    assert len(lengths_seen) > 1
    assert distance(autoregressive(target), law) < 1e-12


def length_after(rounds: tuple[tuple[int, int], ...]) -> int:
    rule = Lengths(RunConfig(sampling="rejection", temperature=1.0, adapt={"acceptance"}, floor=0.5))
    row = Row(0, [1], 1, 9, 99, frozenset())
    for verified, accepted in rounds:
        rule.observe([row], [verified], [accepted])
    return rule.allowed([row], [K])[0][0]


def test_under_rejection_sampling_a_row_s_text_and_lengths_do_not_depend_on_its_batch_mates() -> None:
    config = RunConfig(
        proposer="draft_model",
        draft="tiny",
        k=4,
        max_new=16,
        temperature=1.0,
        sampling="rejection",
        adapt={"acceptance"},
        dtype="float64",
    )
    pair, row = pairs.pair("llama"), [5, 6, 7, 5, 6]
    runs = [list(session({"a": config}, rows, pair=pair, certify=False)) for rows in ([row, [9, 9, 9]], [row])]
    mixed, alone = ([len(e.tokens[0]) for e in run if isinstance(e, Propose) and len(e.tokens)] for run in runs)
    assert mixed[: len(alone)] == alone
    assert len({*alone}) > 1
    assert fold(runs[0]).lanes["a"].rows[0].ids == fold(runs[1]).lanes["a"].rows[0].ids


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize(
    "rule",
    [
        {"adapt": {"confidence"}, "floor": 0.02},
        {"budget": 3},
        {"adapt": {"acceptance", "confidence"}, "budget": 5, "floor": 0.02},
    ],
    ids=["confidence", "budget", "all"],
)
def test_a_drafter_whose_drafts_were_cut_goes_on_from_what_was_kept(method: str, rule: dict) -> None:
    """Every draft is what the drafter says behind the row's text alone, nothing cached: so its KV is the row's own."""
    config = RunConfig(method=method, proposer="draft_model", draft="tiny", k=5, max_new=24, dtype="float64", **rule)
    prompts, pair = [[5, 6, 7], [9], [8, 1, 4, 4, 30, 21], [60, 2, 11, 40]], pairs.pair("llama", 0.1)
    texts, order, seen = dict(enumerate(map(list, prompts))), [], Counter()
    for event in session({"a": config}, prompts, pair=pair, certify=False):
        if isinstance(event, Schedule):
            order = event.rows
        elif isinstance(event, Propose):
            for row, tokens, why in zip(order, event.tokens, event.why, strict=True):
                assert tokens == alone(pair.draft, texts[row], len(tokens)), f"step {event.step}, row {row}"
                seen[why] += 1
                seen["drafts"] += len(tokens)
        elif isinstance(event, Commit):
            seen["kept"] += sum(event.accepted)
            for row, tokens in zip(order, event.emitted, strict=True):
                texts[row] = texts[row] + tokens
    assert sum(seen[w] for w in RULES) > 10
    assert 0 < seen["kept"] < seen["drafts"]


def alone(model: torch.nn.Module, ids: list[int], drafts: int) -> list[int]:
    """The model's greedy continuation, every token from a forward over everything before it."""
    out = list(ids)
    for _ in range(drafts):
        out.append(int(model(torch.tensor([out])).logits[0, -1].argmax()))
    return out[len(ids) :]
