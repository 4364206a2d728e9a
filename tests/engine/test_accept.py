"""Greedy acceptance: the longest agreeing prefix, and the target's own token behind it."""

import pytest
import torch

from engine.accept import greedy
from engine.best_two import best_two


def accept(draft: list[list[int]], lens: list[int], choice: list[list[int]]) -> tuple[list[int], list[int]]:
    tensors = (torch.tensor(x, dtype=torch.int64) for x in (draft, lens, choice))
    accepted, token = greedy(*tensors)
    return accepted.tolist(), token.tolist()


@pytest.mark.parametrize(
    ("draft", "length", "choice", "accepted", "token"),
    [
        pytest.param([], 0, [8], 0, 8, id="no_draft_at_all_is_a_plain_step"),
        pytest.param([5], 1, [5, 9], 1, 9, id="k_1_accepts_and_takes_the_bonus"),
        pytest.param([5], 1, [6, 9], 0, 6, id="k_1_rejects_and_takes_the_correction"),
        pytest.param([4, 5, 6], 3, [4, 5, 6, 1], 3, 1, id="all_match_gives_the_true_bonus"),
        pytest.param([4, 5, 6], 3, [4, 5, 9, 1], 2, 9, id="the_last_draft_is_wrong"),
        pytest.param([4, 5, 6], 3, [7, 5, 6, 1], 0, 7, id="the_first_draft_is_wrong_and_later_ones_match"),
        pytest.param([4, 5, 6], 3, [4, 9, 6, 1], 1, 9, id="a_match_behind_a_mismatch_does_not_count"),
        pytest.param([4, 5, 0], 2, [4, 5, 0, 3], 2, 0, id="filler_never_counts_even_if_it_matches"),
        pytest.param([0, 0, 0], 0, [0, 0, 0, 3], 0, 0, id="a_row_of_filler_alone"),
        pytest.param([2, 2, 2], 3, [2, 2, 2, 2], 3, 2, id="stop_ids_are_no_business_of_acceptance"),
    ],
)
def test_a_row_keeps_its_agreeing_prefix_and_the_targets_next_token(
    draft: list[int], length: int, choice: list[int], accepted: int, token: int
) -> None:
    assert accept([draft], [length], [choice]) == ([accepted], [token])


def test_rows_of_one_batch_do_not_touch_each_other() -> None:
    assert accept([[4, 5, 6], [4, 5, 0]], [3, 2], [[4, 5, 9, 1], [4, 5, 7, 3]]) == ([2, 2], [9, 7])


def test_random_batches_agree_with_a_loop_over_tokens() -> None:
    generator = torch.Generator().manual_seed(0)
    everything = set()
    for _ in range(200):
        b, k = int(torch.randint(1, 5, (), generator=generator)), int(torch.randint(0, 6, (), generator=generator))
        draft = torch.randint(0, 2, (b, k), generator=generator)
        choice = torch.randint(0, 2, (b, k + 1), generator=generator)
        lens = torch.randint(0, k + 1, (b,), generator=generator)
        accepted, token = greedy(draft, lens, choice)
        for i in range(b):
            n = 0
            while n < lens[i] and draft[i, n] == choice[i, n]:
                n += 1
            assert (int(accepted[i]), int(token[i])) == (n, int(choice[i, n])), (draft[i], lens[i], choice[i])
            everything.add("all" if n == lens[i] else "part" if n else "none")
    assert everything == {"all", "part", "none"}


@pytest.mark.parametrize("vocab", [3, 511, 512, 600, 1024, 2000])
def test_the_two_best_are_the_two_best_wherever_they_lie(vocab: int) -> None:
    chance = torch.Generator().manual_seed(vocab)
    for spread in (1, 1000):  # few different values: ties within and across chunks
        wide = torch.randint(0, 3 * spread, (5, 4, vocab + 7), generator=chance).float()
        logits = wide[..., :vocab]  # as the engine slices to the shared vocabulary
        ids, values = best_two(logits)
        assert torch.equal(ids[..., 0], logits.argmax(dim=-1))
        assert torch.equal(values.float(), logits.sort(dim=-1, descending=True).values[..., :2])
        assert torch.equal(logits.gather(-1, ids), values.float())
        assert (ids[..., 0] != ids[..., 1]).all()


def test_in_a_tie_the_recorded_choice_is_the_argmax_that_decoding_took() -> None:
    for logits in ([2.0, 5.0, 5.0], [5.0, 5.0, 5.0, 1.0], [1.0, 0.0], [0.0] * 40):
        row = torch.tensor([logits])
        ids, values = best_two(row)
        assert int(ids[0, 0]) == int(row.argmax())
        assert int(ids[0, 1]) != int(ids[0, 0])
        assert values[0].tolist() == sorted(logits, reverse=True)[:2]
