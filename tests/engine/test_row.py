"""When a row ends and what it keeps: the corner cases of papers.md A.9."""

import pytest

from engine.row import Row

STOPS = frozenset({2, 9})


def row(prompt: list[int], max_new: int = 5, context: int = 100, **more: object) -> Row:
    return Row(0, list(prompt), len(prompt), max_new, context, STOPS, **more)


@pytest.mark.parametrize(
    ("limits", "tokens", "kept", "cut", "done"),
    [
        pytest.param({}, [7], [7], "", "", id="one_token_and_room_for_more"),
        pytest.param({}, [7, 2, 8], [7, 2], "stop", "stop", id="stop_id_in_the_middle_of_an_accepted_span"),
        pytest.param({}, [7, 2], [7, 2], "", "stop", id="stop_id_at_the_end_drops_nothing"),
        pytest.param({}, [7, 9, 2], [7, 9], "stop", "stop", id="any_id_of_the_stop_set_ends_the_row"),
        pytest.param({"max_new": 1}, [7], [7], "", "budget", id="budget_of_one"),
        pytest.param({"max_new": 2}, [7, 8, 6], [7, 8], "budget", "budget", id="budget_ends_inside_the_span"),
        pytest.param({"max_new": 2}, [7, 2, 6], [7, 2], "stop", "stop", id="stop_and_budget_together_are_a_stop"),
        pytest.param(
            {"max_new": 2}, [7, 8, 2], [7, 8], "budget", "budget", id="a_stop_id_behind_the_budget_is_dropped"
        ),
        pytest.param({"context": 5}, [7, 8, 6], [7, 8], "context", "context", id="context_ends_inside_the_span"),
        pytest.param({"context": 5}, [7, 8], [7, 8], "", "context", id="context_is_met_exactly"),
        pytest.param({"context": 5, "max_new": 2}, [7, 8], [7, 8], "", "context", id="both_limits_at_once"),
    ],
)
def test_a_row_keeps_what_its_limits_allow_and_says_why(
    limits: dict, tokens: list[int], kept: list[int], cut: str, done: str
) -> None:
    r = row([3, 4, 5], **limits)
    assert r.commit(tokens) == (kept, cut)
    assert r.ids == [3, 4, 5, *kept]
    assert r.done == done


@pytest.mark.parametrize("prompt", [[2, 9, 2], [2, 5], [5, 2, 5, 9]], ids=["all", "in_front", "inside"])
def test_stop_and_pad_ids_in_the_prompt_end_nothing(prompt: list[int]) -> None:
    r = row(prompt)
    assert r.commit([7, 8]) == ([7, 8], "")
    assert (r.done, r.generated, r.prompt) == ("", 2, len(prompt))


def test_room_counts_what_may_still_be_emitted() -> None:
    r = row([3, 4], max_new=5, context=6)
    assert r.room == 4
    r.commit([7])
    assert (r.room, r.generated) == (3, 1)
    r.commit([7, 7, 7])
    assert (r.room, r.done) == (0, "context")


def test_a_row_without_a_stop_rule_runs_past_its_budget_but_outputs_only_that() -> None:
    r = Row(0, [3, 4], 2, 2, 10, frozenset(), endless=True)
    r.commit([7, 2, 8, 6])
    assert (r.done, r.ids, r.output) == ("", [3, 4, 7, 2, 8, 6], [7, 2])
    r.commit([5, 5, 5, 5])
    assert r.done == "context", "the position table still ends it"
