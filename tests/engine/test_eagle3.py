"""The EAGLE-3 proposer: a row's drafts depend on nothing but the row."""

import random

import pytest
import torch

from engine.propose.eagle3 import Eagle3
from engine.propose.states import States
from engine.row import Row
from tests.engine.heads import TAPS, outputs_from_scratch, states_of, tiny_pair

PROMPTS = {0: [5, 9, 3], 1: [7, 7, 11, 40, 2, 8, 13, 1, 60], 2: [4, 30], 3: [21, 22, 23, 24, 25, 26]}


def proposer_of(target, head, k=4, stop_ids=frozenset()):
    embed = target.get_input_embeddings()
    return Eagle3(head, embed, k=k, context=64, stop_ids=stop_ids, device="cpu")


def row_of(n, ids, max_new=40):
    return Row(n, list(ids), len(ids), max_new, 64, frozenset())


def seen(target, fed, side="right"):
    """States of a forward over whole rows, of which the tokens from `first` on count: fed = [(ids, first)]."""
    alone, width = [states_of(target, ids) for ids, _ in fed], max(len(ids) for ids, _ in fed)
    owners = torch.full((len(fed), width), -1)
    layers = {t: torch.full((len(fed), width, 32), 99.0, dtype=torch.float64) for t in TAPS}
    for i, (ids, first) in enumerate(fed):
        n = len(ids) - first
        at = slice(width - n, width) if side == "left" else slice(0, n)
        owners[i, at] = torch.arange(first, len(ids))
        for t in TAPS:
            layers[t][i, at] = alone[i][t][first:]
    return States(layers, owners)


class Decoding:
    """Rows whose targets agree with a random share of each draft; what a row is told depends on the row alone."""

    def __init__(self, target, proposer, rows, side="right"):
        self.target, self.proposer, self.side = target, proposer, side
        self.dice = {r.row: random.Random(r.row) for r in rows}
        self.open(rows)

    def open(self, rows):
        self.dice.update({r.row: random.Random(r.row) for r in rows})
        self.proposer.open(rows, seen(self.target, [(r.ids, 0) for r in rows], self.side))
        for row in rows:
            row.ids.append(self.dice[row.row].randrange(3, 64))
        self.proposer.observe(rows, [0] * len(rows), [0] * len(rows), None)

    def round(self, rows, limits):
        """Drafts per row; afterwards the rows have grown by what was accepted and one token."""
        drafts = self.proposer.propose(rows, limits).listed()
        kept, fed = [], []
        for row, draft in zip(rows, drafts, strict=True):
            dice, before = self.dice[row.row], len(row.ids)
            j = dice.randint(0, len(draft))
            fed.append((row.ids + draft, before - 1))
            row.ids += [*draft[:j], dice.randrange(3, 64)]
            kept.append(j)
        self.proposer.observe(rows, [len(d) for d in drafts], kept, seen(self.target, fed))
        return drafts


@pytest.mark.parametrize("side", ["right", "left"])
def test_drafts_equal_those_recomputed_from_nothing_after_accepted_and_rejected_rounds(side):
    target, head = tiny_pair()
    rows = [row_of(n, ids) for n, ids in PROMPTS.items()]
    decoding = Decoding(target, proposer_of(target, head), rows, side)
    for _ in range(5):
        before = [list(r.ids) for r in rows]
        drafts = decoding.round(rows, [4, 4, 4, 4])
        assert drafts == [outputs_from_scratch(target, head, ids, 4)[0] for ids in before]


@pytest.mark.parametrize("limits", [[4, 4, 4, 4], [1, 4, 0, 2]], ids=["full", "ragged"])
def test_a_row_in_a_batch_drafts_what_it_drafts_alone(limits):
    target, head = tiny_pair(seed=3)
    rows = [row_of(n, ids) for n, ids in PROMPTS.items()]
    together = Decoding(target, proposer_of(target, head), rows)
    batch = [together.round(rows, limits) for _ in range(4)]
    for i, (n, ids) in enumerate(PROMPTS.items()):
        row = row_of(n, ids)
        alone = Decoding(target, proposer_of(target, head), [row])
        assert [alone.round([row], [limits[i]])[0] for _ in range(4)] == [drafts[i] for drafts in batch]
        assert row.ids == rows[i].ids


def test_drafted_entries_are_rolled_back_whether_accepted_or_not():
    target, head = tiny_pair()
    rows = [row_of(n, ids) for n, ids in PROMPTS.items()]
    decoding = Decoding(target, proposer_of(target, head), rows)
    proposer = decoding.proposer
    proposer.propose(rows, [4] * 4)
    counts = [int(proposer.cache.count[proposer.at[r.row]]) for r in rows]
    assert counts == [len(r.ids) - 1 + 3 for r in rows]  # pairs on true states, and three of four drafts
    proposer.observe(rows, [0] * 4, [0] * 4, None)
    assert [int(proposer.cache.count[proposer.at[r.row]]) for r in rows] == [len(r.ids) - 1 for r in rows]


def test_a_row_that_leaves_and_one_that_joins_disturb_nobody():
    target, head = tiny_pair(seed=5)
    rows = [row_of(n, ids) for n, ids in PROMPTS.items()]
    decoding = Decoding(target, proposer_of(target, head), rows[:3])
    decoding.round(rows[:3], [4, 4, 4])
    decoding.proposer.drop(1)
    live = [rows[2], rows[0]]
    decoding.round(live, [4, 3])
    decoding.open([rows[3]])
    longer = row_of(9, [3] * 12, max_new=50)
    decoding.open([longer])  # more room than the cache had
    live = [rows[0], longer, rows[3], rows[2]]
    before = [list(r.ids) for r in live]
    assert decoding.round(live, [4] * 4) == [outputs_from_scratch(target, head, ids, 4)[0] for ids in before]


def test_rounds_without_drafts_only_delay_the_states():
    target, head = tiny_pair()
    rows = [row_of(n, ids) for n, ids in PROMPTS.items()]
    decoding = Decoding(target, proposer_of(target, head), rows)
    for _ in range(3):
        assert decoding.round(rows, [0] * 4) == [[]] * 4
    before = [list(r.ids) for r in rows]
    assert decoding.round(rows, [2] * 4) == [outputs_from_scratch(target, head, ids, 2)[0] for ids in before]


def test_a_draft_ends_behind_a_stop_id_and_says_why():
    target, head = tiny_pair()
    row = row_of(0, PROMPTS[1])
    decoding = Decoding(target, proposer_of(target, head), [row])
    drafts = outputs_from_scratch(target, head, row.ids, 4)[0]
    decoding.proposer.stop_ids = frozenset([drafts[1]])
    draft = decoding.proposer.propose([row], [4])
    cut = drafts.index(drafts[1]) + 1
    assert draft.listed() == [drafts[:cut]]
    assert draft.why == ["eos"]
    assert len(draft.q[0]) == cut
    assert all(0 < x <= 1 for x in draft.q[0])


def test_without_states_it_says_what_it_needs():
    target, head = tiny_pair()
    with pytest.raises(ValueError, match="hidden states"):
        proposer_of(target, head).open([row_of(0, [1, 2, 3])])


def test_states_of_a_token_that_was_not_fed_are_missed_by_name():
    states = States({}, torch.tensor([[-1, 0, 1, 2]]))
    assert states.columns(0, 1, 2) == slice(2, 4)
    with pytest.raises(ValueError, match=r"tokens 2\.\.3 are missing"):
        states.columns(0, 2, 2)
