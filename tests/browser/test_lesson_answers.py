"""The chapters' answers come from the trace: change the trace and they change."""

import json
from collections.abc import Callable

import pytest

from tests.browser.chapters import CHAPTERS, events, find, plan


def commit(trace: list[dict], row: int, kept: int, step: int = 2, lane: str = "eqspec") -> None:
    """Row `row` of a lane accepts `kept` drafts instead."""
    e = find(trace, "commit", lane, step)
    e["accepted"][row] = kept
    e["emitted"][row] = [*e["emitted"][row][:kept], e["emitted"][row][-1]]
    e["kinds"][row] = "a" * kept + "c"


def fewer_accepted(trace: list[dict]) -> None:
    commit(trace, 0, 1)


def a_shorter_full_round(trace: list[dict]) -> None:
    verify = find(trace, "verify", "eqspec", 4)
    verify["lens"][0] = 3
    e = find(trace, "commit", "eqspec", 4)
    e["accepted"][0] = 3
    e["emitted"][0], e["kinds"][0] = e["emitted"][0][:4], "aaab"


def one_entry_fewer_written(trace: list[dict]) -> None:
    kv = next(
        e for e in trace if e["event"] == "kv" and e["lane"] == "eqspec" and e["step"] == 2 and not e.get("reset")
    )
    run = next(r for r in kv["runs"] if r[0] == 1 and r[2] >= 0)
    run[4] -= 1
    kv["runs"].append([1, run[1] + run[4], -1, 0, 1])


def verdict(lane: str, row: int, to: str) -> Callable[[list[dict]], None]:
    def change(trace: list[dict]) -> None:
        e = next(e for e in trace if (e["event"], e["lane"], e.get("row")) == ("compare", lane, row))
        e["verdict"] = to

    return change


def a_gap_less(trace: list[dict]) -> None:
    """BSP feeds row 1 in round 3 one position nearer."""
    for e in trace:
        if e["lane"] == "bsp" and e["step"] == 3 and e["event"] == "kv" and not e.get("reset"):
            for run in e.get("runs", []):
                if run[0] == 1 and run[2] >= 0:
                    run[3] -= 1


def a_row_fed_nearer(trace: list[dict]) -> None:
    """BSP feeds row 0 one position nearer from round 3 on: its first gap is the next round's."""
    for e in trace:
        if e["lane"] == "bsp" and e["step"] >= 3 and e["event"] == "kv":
            for run in e.get("runs", []):
                if run[0] == 0 and run[2] >= 59:
                    run[3] -= 1


def keys_rotated(trace: list[dict]) -> None:
    """Round 2's realignment leaves row 2 with positions that went along with the slots."""
    for run in find(trace, "kv", "eqspec", 2, model="target", reset=True)["runs"]:
        if run[0] == 2 and run[2] >= 0:
            run[3] += 3


def a_row_moves_though_all_accept_alike(trace: list[dict]) -> None:
    moves = find(trace, "kv_op", "eqspec", 4)["moves"]
    moves[1] = [1, 0, 1, moves[1][3] - 1]


@pytest.mark.parametrize(
    ("chapter", "step", "change", "before", "after"),
    [
        ("row", 0, fewer_accepted, "3", "2"),
        ("row", 2, a_shorter_full_round, "5", "4"),
        ("cleanup", 0, one_entry_fewer_written, "5", "4"),
        ("rectangle", 0, verdict("eqspec", 2, "bug"), "The same as alone", "Other words"),
        ("rectangle", 2, verdict("pads_counted", 2, "bug"), "Learned (GPT-2)", "Both"),
        ("crop", 2, lambda trace: commit(trace, 1, 0, lane="bsp"), "3", "7"),
        ("shortcut", 0, a_gap_less, "x + 3", "x + 2"),
        ("equal", 0, verdict("eqspec", 1, "rounding"), "2", "1"),
        ("realign", 0, keys_rotated, "Copied", "Rotated again"),
        ("realign", 2, a_row_moves_though_all_accept_alike, "0", "1"),
        ("shortcut", 2, a_row_fed_nearer, "6 and 5", "10 and 6"),
    ],
)
def test_another_trace_has_another_answer(
    open_page: Callable, static_site: str, chapter: str, step: int, change: Callable, before: str, after: str
) -> None:
    page = open_page(f"{static_site}/blank")
    n = CHAPTERS.index(chapter)
    trace = events(n)
    asked = plan(page, n)["steps"][step]
    assert asked["words"] == before
    change(trace)
    changed = plan(page, n, "\n".join(map(json.dumps, trace)))["steps"][step]
    assert changed["words"] == after
    assert changed["right"] != asked["right"]


def test_the_last_chapter_judges_rows_by_their_verdicts_and_refuses_a_run_that_proves_nothing(
    open_page: Callable, static_site: str
) -> None:
    page = open_page(f"{static_site}/blank")
    assert plan(page, 5)["items"] == ["harmless", "harmful", "harmless"]
    trace = events(5)
    for row in range(3):
        verdict("eqspec", row, "bug")(trace)
    assert plan(page, 5, "\n".join(map(json.dumps, trace)))["items"] == ["harmful", "harmful", "harmless"]
    for row in range(3):
        verdict("bsp_repaired", row, "bug")(trace)
    assert plan(page, 5, "\n".join(map(json.dumps, trace))) is None


def changed(page: object, n: int, change: Callable) -> dict:
    trace = events(n)
    change(trace)
    return plan(page, n, "\n".join(map(json.dumps, trace)))


def test_the_newest_token_was_chosen_in_place_of_the_first_rejected_draft(
    open_page: Callable, static_site: str
) -> None:
    page = open_page(f"{static_site}/blank")
    told = "Chosen by this pass in place of “te”, not fed to it."
    assert plan(page, 1)["steps"][2]["right"] == told
    assert plan(page, 1)["steps"][1]["done"].startswith("2 rejected entries are gone. “h” was chosen too")

    def another_draft(trace: list[dict]) -> None:
        find(trace, "propose", "eqspec")["tokens"][1][2] = 335  # " on"
        find(trace, "verify", "eqspec")["tokens"][1][3] = 335

    assert changed(page, 1, another_draft)["steps"][2]["right"] == told.replace("te", "on")


def test_a_suspect_is_cleared_by_a_row_of_the_trace(open_page: Callable, static_site: str) -> None:
    page = open_page(f"{static_site}/blank")
    bet = plan(page, 5)["steps"][0]["misses"]
    assert "row 1 has no pads between prompt and answer, and goes wrong at token 13" in bet[0]
    assert "row 3 goes wrong at token 3, before it has any dead slot." in bet[1]
    assert bet[2].startswith("EQSPEC masks pads too (10 in row 3)")
    for rows, lane, n in (((0, 1), "bsp", 0), ((2,), "bsp", 1), ((1,), "eqspec", 2)):

        def other(trace: list[dict], rows: tuple = rows, lane: str = lane) -> None:
            for row in rows:
                verdict(lane, row, "bug" if lane == "eqspec" else "equal")(trace)

        unclear = changed(page, 5, other)["steps"][0]["misses"][n]
        assert unclear == "No row of this run clears that one: see what the others do.", n


def test_how_far_rounding_moves_a_logit_is_the_run_s_own_measure(open_page: Callable, static_site: str) -> None:
    page = open_page(f"{static_site}/blank")
    told = plan(page, 7)
    assert "logits moved by at most 0.5." in told["why"]
    assert told["why"].endswith("rounding can undo a lead of 1.")

    def louder(trace: list[dict]) -> None:
        for e in trace:
            if e["event"] == "compare":
                e["noise"] = 0.6

    why = changed(page, 7, louder)["why"]
    assert why.endswith("at most 0.6. Leader down, rival up: rounding can undo a lead of 1.2.")
