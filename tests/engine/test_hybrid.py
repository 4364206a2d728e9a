"""Hybrid: who drafts is decided per row and round by the match; the drafter that was passed over loses nothing."""

import pytest

from engine.propose.hybrid import Hybrid
from engine.propose.ngram import lookup
from tests.engine.heads import outputs_from_scratch, tiny_pair
from tests.engine.test_eagle3 import Decoding, proposer_of, row_of

REPEATS = [5, 6, 7, 8, 9, 5]
PLAIN = [11, 12, 13, 14]


@pytest.mark.parametrize(
    ("match", "sources"),
    [(1, ["ngram", "ngram", "eagle3"]), (2, ["ngram", "eagle3", "eagle3"]), (3, ["eagle3"] * 3)],
)
def test_n_gram_drafts_where_so_many_tokens_repeat_and_the_head_elsewhere(match, sources):
    target, head = tiny_pair()
    rows = [row_of(0, REPEATS), row_of(1, REPEATS), row_of(2, PLAIN)]
    decoding = Decoding(target, Hybrid(proposer_of(target, head), match), rows)
    for row, token in zip(rows, (6, 8, 15), strict=True):  # repeats two tokens, one, none
        row.ids[-1] = token
    draft = decoding.proposer.propose(rows, [4, 4, 4])
    assert draft.source == sources
    for row, tokens, source, q in zip(rows, draft.listed(), draft.source, draft.q, strict=True):
        if source == "ngram":
            assert tokens == lookup(row.ids, 4)
            assert q == []
        else:
            assert tokens == outputs_from_scratch(target, head, row.ids, 4)[0]
            assert len(q) == 4
    assert draft.lens.tolist() == [len(t) for t in draft.listed()]


def test_rounds_in_which_it_was_not_asked_only_delay_the_head():
    target, head = tiny_pair(seed=4)
    rows = [row_of(0, REPEATS), row_of(1, PLAIN)]
    decoding = Decoding(target, Hybrid(proposer_of(target, head), 1), rows)
    asked = 0
    for n in range(8):
        for row in rows[: n % 3]:
            row.ids[-1] = row.ids[0]  # a token that has occurred: n-gram's turn
        before = [list(r.ids) for r in rows]
        for ids, drafts in zip(before, decoding.round(rows, [4, 3]), strict=True):
            if not lookup(ids, 1):
                asked += 1
                assert drafts == outputs_from_scratch(target, head, ids, len(drafts))[0]
    assert 0 < asked < 16


def test_a_row_without_room_is_nobodys_turn():
    target, head = tiny_pair()
    rows = [row_of(0, PLAIN), row_of(1, REPEATS)]
    decoding = Decoding(target, Hybrid(proposer_of(target, head)), rows)
    draft = decoding.proposer.propose(rows, [0, 0])
    assert draft.listed() == [[], []]
    assert draft.why == ["room", "room"]
    assert draft.tokens.shape == (2, 0)
