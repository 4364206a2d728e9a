"""Draft lengths that adapt: what each rule decides, what the trace says of it, and what is refused."""

import json
import math

import pytest
import torch

from engine import ConfigError, RunConfig, session
from engine.bench.costs import rounds
from engine.commands.drafting import read_costs
from engine.costs import Costs, expected, problem
from engine.lengths import MEMORY, PRIOR, Lengths, Record, cut, likely
from engine.propose import Draft
from engine.registry import ADAPT
from engine.row import Row
from engine.tetris import select
from engine.trace import Commit, Propose, Spans, Verify
from tests.engine.pairs import pair

#: Verifying is as dear as drafting tokens alone is worth: by rows and drafts, in ms.
CHEAP = tuple((b, k, 10.0 + k) for b in (1, 8) for k in (0, 4))
DEAR = tuple((b, k, 10.0 + 20 * k) for b in (1, 8) for k in (0, 4))


def rows_of(n: int) -> list[Row]:
    return [Row(i, [5, 6], 2, 20, 99, frozenset()) for i in range(n)]


def draft_of(tokens: list[list[int]], q: list[list[float]] | None = None) -> Draft:
    width = max(map(len, tokens))
    full = torch.tensor([t + [0] * (width - len(t)) for t in tokens], dtype=torch.int64).view(len(tokens), width)
    return Draft(full, torch.tensor([len(t) for t in tokens]), ["full"] * len(tokens), ["x"] * len(tokens), q)


def lengths(*adapt: str, **more: object) -> Lengths:
    return Lengths(RunConfig(adapt=frozenset(adapt), **more))


def test_without_a_rule_nothing_is_shortened() -> None:
    rule, rows = lengths(), rows_of(2)
    for _ in range(9):
        rule.observe(rows, [4, 4], [0, 0])
    assert rule.allowed(rows, [4, 2]) == ([4, 2], ["", ""])
    draft = draft_of([[1, 2], [3]], [[0.01, 0.01], [0.01]])
    assert rule.shorten(rows, draft, ["", ""]).listed() == [[1, 2], [3]]


def test_a_row_whose_drafts_are_refused_drafts_less_down_to_nothing_and_another_does_not_care() -> None:
    rule, rows = lengths("acceptance"), rows_of(2)
    seen = []
    for _ in range(6):
        lens, why = rule.allowed(rows, [4, 4])
        seen.append(lens[0])
        assert (lens[1], why[1]) == (4, "")
        assert why[0] == ("acceptance" if lens[0] < 4 else "")
        rule.observe(rows, lens, [0, lens[1]])
    assert seen[0] == 4
    assert sorted(seen, reverse=True)[:3] == seen[:3]
    assert 0 in seen


def test_a_row_that_drafts_nothing_forgets_and_tries_again() -> None:
    rule, rows = lengths("acceptance"), rows_of(1)
    for _ in range(12):
        rule.observe(rows, [4], [0])
    assert rule.allowed(rows, [4])[0] == [0]
    waited = 0
    while rule.allowed(rows, [4])[0] == [0]:
        rule.observe(rows, [0], [0])
        waited += 1
    assert 1 <= waited < 40


def test_a_record_weighs_recent_rounds_more_and_judges_no_draft_behind_a_refused_one() -> None:
    record = Record()
    assert record.rate == PRIOR
    record.add(verified=4, accepted=1)
    assert (record.right, record.judged) == (1, 2)
    record.add(verified=3, accepted=3)
    assert record.right == MEMORY + 3
    assert record.judged == 2 * MEMORY + 3


@pytest.mark.parametrize(("rate", "floor"), [(0.5, 0.2), (0.9, 0.3), (0.1, 0.2), (1.0, 0.9), (0.0, 0.1)])
def test_the_last_draft_that_is_asked_for_is_likely_enough_and_the_next_is_not(rate: float, floor: float) -> None:
    n = likely(rate, 16, floor)
    assert n == 0 or rate**n >= floor
    assert n == 16 or rate ** (n + 1) < floor


def test_cost_takes_the_length_that_gives_most_tokens_per_millisecond() -> None:
    costs = Costs(tuple((2, k, ms) for k, ms in enumerate((10.0, 12.0, 16.0, 30.0))))
    for rates in ([0.9, 0.9], [0.5, 0.1], [0.05, 0.0]):
        speeds = [sum(expected(a, k) for a in rates) / costs.ms(2, k) for k in range(4)]
        assert costs.best(rates, [3, 3]) == speeds.index(max(speeds))
    assert costs.best([0.9, 0.9], [3, 3]) > costs.best([0.5, 0.1], [3, 3]) > costs.best([0.05, 0.0], [3, 3]) == 0


def test_the_same_rates_draft_less_where_a_larger_batch_makes_columns_dear() -> None:
    costs = Costs(((1, 0, 10.0), (1, 4, 11.0), (8, 0, 20.0), (8, 4, 80.0)))
    assert costs.best([0.5], [4]) == 4
    assert costs.best([0.5] * 8, [4] * 8) == 0
    assert costs.ms(8, 2) > costs.ms(4, 2) > costs.ms(1, 2)
    assert costs.ms(64, 4) == costs.ms(8, 4)


def test_confidence_cuts_where_the_drafter_s_own_probabilities_fall_below_the_floor() -> None:
    rule, rows = lengths("confidence", floor=0.3), rows_of(3)
    draft = draft_of([[1, 2, 3], [4, 5, 6], [7]], [[0.9, 0.5, 0.5], [0.2, 1.0, 1.0], [0.3]])
    found = rule.shorten(rows, draft, ["", "", ""])
    assert found.listed() == [[1, 2], [], [7]]
    assert found.why == ["confidence", "confidence", "full"]
    assert found.q == [[0.9, 0.5], [], [0.3]]
    assert found.tokens.shape == (3, 2)


def test_a_drafter_without_probabilities_is_judged_by_the_row_s_recent_rate() -> None:
    rule, rows = lengths("confidence", budget=3), rows_of(2)
    for _ in range(20):
        rule.observe(rows, [4, 4], [4, 1])
    found = rule.shorten(rows, draft_of([[1, 2], [3, 4]]), ["", ""])
    assert found.listed() == [[1, 2], [3]]
    assert found.why == ["full", "budget"]


def test_a_limit_given_before_drafting_is_named_only_where_the_drafter_used_it_up() -> None:
    rule, rows = lengths("acceptance"), rows_of(3)
    draft = draft_of([[1, 2], [3], [4, 5]])
    draft.why = ["room", "empty", "eos"]
    assert rule.shorten(rows, draft, ["acceptance", "acceptance", "cost"]).why == ["acceptance", "empty", "eos"]


def test_tetris_keeps_the_likeliest_prefixes_of_the_batch() -> None:
    chances = [[0.9, 0.8, 0.1], [0.85, 0.4], [], [0.3]]
    assert [select(chances, n) for n in (1, 3, 4, 99)] == [[1, 0, 0, 0], [2, 1, 0, 0], [2, 2, 0, 0], [3, 2, 0, 1]]
    best = sorted((c for row in chances for c in row), reverse=True)
    for budget in range(1, 7):
        kept = select(chances, budget)
        assert math.isclose(sum(sum(row[:n]) for row, n in zip(chances, kept, strict=True)), sum(best[:budget]))


def test_ties_go_to_the_earlier_draft_and_then_to_the_earlier_row() -> None:
    assert select([[0.5, 0.5], [0.5, 0.5]], 1) == [1, 0]
    assert select([[0.5, 0.5], [0.5, 0.5]], 2) == [1, 1]
    assert select([[0.5, 0.5], [0.5, 0.5]], 3) == [2, 1]


def test_cut_leaves_what_is_short_enough_alone() -> None:
    draft = draft_of([[1, 2], [3]])
    assert cut(draft, [2, 5], "budget") is draft
    assert cut(draft, [1, 5], "budget").why == ["budget", "full"]


def proposed(**config: object) -> list:
    run = RunConfig(proposer="draft_model", draft="tiny", k=4, max_new=20, dtype="float64", **config)
    return list(session({"a": run}, [[5, 6, 7], [9, 3], [8] * 6], pair=pair("llama"), certify=False))


@pytest.mark.parametrize(
    ("word", "config"),
    [
        ("acceptance", {"adapt": {"acceptance"}, "floor": 0.5}),
        ("confidence", {"adapt": {"confidence"}, "floor": 0.5}),
        ("cost", {"adapt": {"cost"}, "costs": DEAR}),
        ("budget", {"budget": 5}),
    ],
)
def test_the_trace_says_which_limit_applied(word: str, config: dict) -> None:
    events = proposed(**config)
    why = [w for e in events if isinstance(e, Propose) for w in e.why]
    assert word in why
    assert set(why) <= {word, "full", "room", "eos"}
    for e in events:
        if isinstance(e, Propose):
            assert [len(q) for q in e.q] == [len(t) for t in e.tokens]
            assert word != "budget" or sum(map(len, e.tokens)) <= 5


def test_a_run_repeats_itself_given_the_table() -> None:
    def plain(events: list) -> list:
        return [e for e in events if not isinstance(e, Spans)][1:]

    config = {"adapt": {"cost", "acceptance", "confidence"}, "costs": CHEAP, "budget": 7}
    assert plain(proposed(**config)) == plain(proposed(**config))


def test_lengths_follow_the_table_from_all_to_nothing() -> None:
    def widths(costs: tuple) -> list[int]:
        events = proposed(adapt={"cost"}, costs=costs)
        return [max(e.lens) for e in events if isinstance(e, Verify) and e.step]

    assert max(widths(CHEAP)) == 4
    assert 0 in widths(DEAR)
    assert sum(widths(DEAR)) / len(widths(DEAR)) < sum(widths(CHEAP)) / len(widths(CHEAP))


def test_a_drafter_stops_when_no_row_s_draft_is_likely_any_more() -> None:
    fed = []
    model = pair("llama").draft
    hook = model.register_forward_hook(lambda *_: fed.append(1))
    try:
        proposed()
        plain, fed[:] = len(fed), []
        events = proposed(adapt={"confidence"}, floor=0.9)
    finally:
        hook.remove()
    rounds_ = sum(isinstance(e, Commit) for e in events)
    assert len(fed) < plain
    assert len(fed) <= 2 * rounds_


def test_the_rounds_of_a_run_are_what_a_table_is_made_of() -> None:
    cells = list(rounds(proposed()))
    assert cells
    assert all(1 <= b <= 3 and 0 <= k <= 4 and ms > 0 for b, k, ms in cells)
    assert {k for _, k, _ in cells} >= {4}


@pytest.mark.parametrize(
    ("config", "field", "words"),
    [
        ({"adapt": {"mood"}}, "adapt", ADAPT),
        ({"adapt": {"cost"}}, "costs", ["bench --costs"]),
        ({"costs": CHEAP}, "costs", ["adapt={'cost'}"]),
        ({"adapt": {"cost"}, "costs": ((1, 1, 2.0), (1, 4, 3.0))}, "costs", ["for 1 rows", "0 and 4"]),
        ({"adapt": {"cost"}, "costs": CHEAP, "k": 5}, "costs", ["0 to 4", "0 and 5"]),
        ({"adapt": {"cost"}, "costs": ((1, 0, -2.0),)}, "costs", ["milliseconds above 0"]),
        ({"adapt": {"cost"}, "costs": ((1, "0", 2.0),)}, "costs", ["no cell"]),
        ({"adapt": {"cost"}, "costs": (7,)}, "costs", ["7 is no cell"]),
        ({"floor": 0.0}, "floor", ["above 0"]),
        ({"floor": 1.0}, "floor", ["below 1"]),
        ({"budget": 0}, "budget", ["1 to 1024"]),
    ],
)
def test_a_bad_rule_is_refused(config: dict, field: str, words: list[str]) -> None:
    with pytest.raises(ConfigError) as refusal:
        RunConfig(**config)
    assert refusal.value.field == field
    assert all(w in refusal.value.works for w in words)


@pytest.mark.parametrize("config", [{"adapt": {"confidence"}}, {"budget": 8}, {"adapt": {"cost"}, "costs": CHEAP}])
def test_rules_that_would_bias_rejection_sampling_are_refused(config: dict) -> None:
    with pytest.raises(ConfigError, match="rejection sampling is biased"):
        RunConfig(sampling="rejection", temperature=1.0, **config)
    RunConfig(sampling="shared_noise", temperature=1.0, **config)
    RunConfig(sampling="rejection", temperature=1.0, adapt={"acceptance"})


def test_a_table_is_read_from_a_file_and_a_bad_one_refused(tmp_path) -> None:
    file = tmp_path / "costs.json"
    file.write_text(json.dumps(CHEAP))
    assert read_costs(file) == CHEAP
    assert problem(read_costs(file), 4) == ""
    for text in ("", "{}x", "[1, 2]", '[["a", 1, 2]]'):
        file.write_text(text)
        with pytest.raises(ConfigError, match="JSON list"):
            read_costs(file)


def test_a_rule_survives_json() -> None:
    config = RunConfig(adapt={"cost", "acceptance"}, costs=CHEAP, budget=9, floor=0.4)
    assert RunConfig.from_json(json.loads(json.dumps(config.to_json()))) == config
