"""What a visitor types becomes a job or a message that says what, where and what would work."""

import json
from collections.abc import Iterator
from html import escape
from pathlib import Path

import pytest

from engine.config import RunConfig
from engine.registry import FAULTS, METHOD_SAYS, METHODS, POSITION_FAULTS, PROPOSER_SAYS, PROPOSERS
from engine.worker import EngineState
from tests.ui.fakes import ThreadEngine, until
from ui import lanes, pages
from ui.controls import EXAMPLES, begin
from ui.lanes import explained, name_of, on_offer
from ui.request import BadRequest, Offer, job, split, worded
from ui.run import Limits, Run
from ui.runs import RunStore
from ui.status import message, ticket

NAMES = ("text", "proposer", "k", "max_new", "chat", "left", "right", "adapt", "floor", "verified")
GOOD = ("One\nTwo longer", "ngram", 4, 48, True, "eqspec", "bsp", [], 0.2, 0)


def ask(**changes: object) -> dict:
    values = dict(zip(NAMES, GOOD, strict=True)) | changes
    return job(Offer(), **values)


def test_a_job_has_the_three_lanes_with_positions_as_the_only_difference() -> None:
    made = ask()
    assert made["prompts"] == ["One", "Two longer"]
    assert {name: (c.method, c.faults) for name, c in made["lanes"].items()} == {
        "eqspec": ("eqspec", frozenset()),
        "bsp": ("bsp", POSITION_FAULTS),
        "bsp_repaired": ("bsp", frozenset()),
    }
    assert {(c.k, c.max_new, c.proposer, c.chat) for c in made["lanes"].values()} == {(4, 48, "ngram", True)}
    assert all(isinstance(c, RunConfig) for c in made["lanes"].values())


def test_the_form_offers_every_method_and_every_fault_of_the_registry() -> None:
    offered = set(on_offer())
    assert {choice.partition(":")[0] for choice in offered} == set(METHODS)
    for method, faults in FAULTS.items():
        for fault in faults:
            lanes = ask(left="slots", right=f"{method}:{fault}")["lanes"]
            assert {n: (c.method, c.faults) for n, c in lanes.items()} == {
                "slots": ("slots", frozenset()),
                f"{method}_{fault}": (method, {fault}),
            }
    assert set(explained()) == {f"{m}_{f}" for m, faults in FAULTS.items() for f in faults}
    assert not any("papers.md" in text for text in [*on_offer().values(), *explained().values()])


def test_every_method_and_proposer_of_the_registry_is_explained_in_the_form(tmp_path: Path) -> None:
    assert set(METHOD_SAYS) == set(METHODS)
    assert set(PROPOSER_SAYS) == set(PROPOSERS)
    page = pages.blocks(RunStore(tmp_path, ThreadEngine()), Offer())
    config = json.dumps(page.get_config_file(), ensure_ascii=False)
    for said in [*METHOD_SAYS.values(), *(words for _, words in PROPOSER_SAYS.values())]:
        assert escape(said) in config or said in config or said.startswith("a smaller model"), said  # not offered here


def test_a_method_or_proposer_without_words_is_offered_by_its_name(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lanes, "METHODS", (*METHODS, "newest"))
    assert worded((*PROPOSERS, "fresh"))["fresh"] == "fresh"
    assert ("NEWEST", "") in lanes.methods_said()
    assert on_offer()["newest"] == "NEWEST: exact"


@pytest.mark.parametrize("choice", on_offer())
def test_every_choice_is_a_configuration_that_runs_beside_any_other(choice: str) -> None:
    other = "rollback" if choice != "rollback" else "eqspec"
    lanes = ask(left=other, right=choice, text="a\nb\nc\nd")["lanes"]
    assert list(lanes)[:2] == [other, name_of(choice)]
    if choice == "exspec":
        assert lanes["exspec"].batch == 2


def test_adaptive_lengths_reach_every_lane_that_drafts() -> None:
    lanes = ask(left="autoregressive", right="exspec", adapt=["confidence", "acceptance"], floor=0.4, verified=6)[
        "lanes"
    ]
    plain, exspec = lanes["autoregressive"], lanes["exspec"]
    assert (exspec.adapt, exspec.floor, exspec.budget) == ({"acceptance", "confidence"}, 0.4, 6)
    assert (plain.adapt, plain.budget) == (frozenset(), None)
    untouched = RunConfig()
    assert {(c.adapt, c.floor, c.budget) for c in ask()["lanes"].values()} == {
        (untouched.adapt, untouched.floor, untouched.budget)
    }


def test_published_methods_carry_all_their_defects() -> None:
    lanes = ask(left="bsp:published", right="dsd:published")["lanes"]
    assert {n: c.faults for n, c in lanes.items()} == {
        "bsp_published": frozenset(FAULTS["bsp"]),
        "dsd_published": frozenset(FAULTS["dsd"]),
    }


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"text": ""}, ["Prompts", "one per line"]),
        ({"text": " \n\t\n"}, ["Prompts", "one per line"]),
        ({"text": "\n".join("abcdefghi")}, ["Prompts", "9", "8", "Remove"]),
        ({"text": "One\n---\n  \n---\nThree"}, ["Prompt 2 is empty"]),
        ({"text": "One\n" + "x" * 20_001}, ["Prompt 2", "20,001", "20,000"]),
        ({"k": 0}, ["K", "is 0", "1 to 16"]),
        ({"k": 99}, ["K", "is 99", "1 to 16"]),
        ({"k": 2.5}, ["K", "is 2.5", "whole number"]),
        ({"k": None}, ["K", "is empty", "1 to 16"]),
        ({"k": "4"}, ["K", "'4'"]),
        ({"k": True}, ["K", "True"]),
        ({"k": float("nan")}, ["K", "nan"]),
        ({"k": float("inf")}, ["K", "inf"]),
        ({"max_new": 0}, ["New tokens per row", "is 0", "1 to 256"]),
        ({"max_new": 257}, ["New tokens per row", "257", "1 to 256"]),
        ({"proposer": "draft_model"}, ["draft_model", "no smaller model", "ngram, eagle3, hybrid"]),
        ({"proposer": "medusa"}, ["'medusa'", "ngram, eagle3, hybrid"]),
        ({"proposer": None}, ["None", "ngram"]),
        ({"left": "mtp"}, ["Upper lane", "'mtp'", "eqspec", "exspec", "slots"]),
        ({"right": "eqspec:no_such_fault"}, ["Lower lane", "no_such_fault", "eqspec:stale_mask"]),
        ({"right": None}, ["Lower lane", "None"]),
        ({"floor": 1}, ["Least chance", "is 1", "below 1"]),
        ({"floor": None}, ["Least chance", "empty"]),
        ({"floor": "0.5"}, ["Least chance", "'0.5'"]),
        ({"floor": float("nan")}, ["Least chance", "nan"]),
        ({"verified": 129}, ["Most drafts a round", "is 129", "0 to 128"]),
        ({"verified": 2.5}, ["Most drafts a round", "2.5"]),
        ({"adapt": ["cost"]}, ["Drafts follow", "cost", "acceptance, confidence"]),
        ({"adapt": [["acceptance"]]}, ["Drafts follow", "acceptance, confidence"]),
        ({"adapt": None}, ["Drafts follow", "None"]),
        ({"left": "slots", "right": "slots"}, ["Both lanes", "SLOTS", "different"]),
    ],
)
def test_bad_input_is_refused_in_words(changes: dict, words: list[str]) -> None:
    with pytest.raises(BadRequest) as caught:
        ask(**changes)
    assert [w for w in words if w not in str(caught.value)] == []


def test_prompts_of_several_lines_are_separated_by_a_rule() -> None:
    assert split("One\n\n two \nThree") == ["One", " two ", "Three"]
    assert split("First\n\nstill first\n --- \nSecond\n") == ["First\n\nstill first", "Second"]
    assert split("a --- b\nc") == ["a --- b", "c"]
    for text in EXAMPLES.values():
        assert 2 <= len(split(text)) <= 8


@pytest.fixture
def store(tmp_path: Path) -> Iterator[RunStore]:
    store = RunStore(tmp_path, ThreadEngine(steps=10, pause=0.01), Limits(queue=1))
    yield store
    store.engine.gate.set()
    store.close(wait=0.5)


def ask_for(store: RunStore, **changes: object) -> dict:
    values = dict(zip((*NAMES, "held"), (*GOOD, {}), strict=True)) | changes
    return begin(store, Offer(), *values.values())


def test_a_good_request_queues_a_run_and_gives_its_ticket(store: RunStore) -> None:
    given = ask_for(store)
    run = store.get(given["run"])
    assert given["status"] in ("queued", "running")
    until(lambda: run.over)
    assert ticket(store, run) == {"run": run.id, "status": "done", "message": "Finished."}


@pytest.mark.parametrize("held", [None, {}, {"run": ""}, {"run": "x" * 22}, {"run": 7}])
def test_a_refusal_is_a_ticket_without_a_run(store: RunStore, held: object) -> None:
    given = ask_for(store, text="", held=held)
    assert (given["run"], given["status"]) == ("", "refused")
    assert "Prompts" in given["message"]


def test_a_visitor_s_next_run_replaces_the_one_that_goes_on(store: RunStore) -> None:
    store.engine.gate.clear()
    first = store.get(ask_for(store)["run"])
    until(lambda: first.status == "running")
    refused = ask_for(store, text="", held={"run": first.id})
    assert (refused["status"], first.asked) == ("refused", 0.0)
    given = ask_for(store, held={"run": first.id})
    until(lambda: first.over)
    assert (first.status, first.error) == ("stopped", "you started another run")
    store.engine.gate.set()
    until(lambda: store.get(given["run"]).status == "done")


def test_a_full_queue_is_a_refusal(store: RunStore) -> None:
    store.engine.gate.clear()
    first = store.create(ask())
    until(lambda: first.status == "running")
    waiting = store.create(ask())
    assert "try again" in ask_for(store)["message"]
    assert message(store, waiting) == "Waiting: 1 run before yours."


def test_a_disk_that_takes_no_file_is_a_refusal(store: RunStore, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(job: dict, held: str) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(store, "create", full)
    assert ask_for(store)["message"] == "The run's file cannot be made (No space left on device)."


def test_the_status_line_tells_the_model_s_progress_and_each_kind_of_end(store: RunStore) -> None:
    run = Run("x", store.create(ask()).log)
    run.log._seqs.clear()
    run.status, store.engine.state = "running", EngineState("loading", "download", 0.42)
    assert message(store, run) == "The model is getting ready: downloading, 42%."
    store.engine.state = EngineState("loading", "load", 0.0)
    assert message(store, run) == "The model is getting ready: loading the weights."
    store.engine.state = EngineState("loading", "Starting the engine.", 0.0)
    assert message(store, run) == "The model is getting ready: Starting the engine."
    store.engine.state = EngineState("ready", "", 1.0)
    assert message(store, run) == "Starting."
    run.asked = 1.0
    assert message(store, run) == "Stopping at the next step."
    ends = {
        ("done", ""): "Finished.",
        ("failed", "x.whl could not be fetched"): "Failed: x.whl could not be fetched.",
        ("failed", "prompts[1]='A...' cannot be used: it is too long"): "Failed: Prompt 2: it is too long.",
        ("stopped", ""): "Stopped.",
        ("deadline", "the limit of 600 seconds was reached"): "Stopped: the limit of 600 seconds was reached.",
    }
    for (run.status, run.error), words in ends.items():
        assert message(store, run) == words
