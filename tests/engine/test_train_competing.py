"""A step over a sample of the outputs stands for the step over all of them."""

import torch

from engine.train.chain_loss import against, teacher
from engine.train.competing import all_of, sampled


def drawn(count: int, others: int) -> tuple[list[float], float]:
    """(losses over samples, loss over all) of the same four rows of logits over 40 outputs."""
    torch.manual_seed(0)
    logits, top = torch.randn(4, 40), torch.tensor([[1, 7], [7, 3], [30, 1], [3, 30]])
    every = all_of(40, logits.device)
    index, p, known = teacher(top, torch.tensor([[0.7, 0.3]]).log().expand(4, 2), every.ids, 1.0)
    samples = [sampled(index[p > 0], 40, others) for _ in range(count)]
    return [float(against(logits[:, s.ids], index, p, known, s)[0]) for s in samples], float(
        against(logits, index, p, known, every)[0]
    )


def test_labels_always_take_part_and_others_stand_for_those_that_do_not():
    torch.manual_seed(1)
    among = sampled(torch.tensor([[4, 1], [1, 4]]), 6, others=2)
    assert {1, 4} <= set(among.ids.tolist())
    assert len(among.ids) == 4
    assert among.ids.tolist() == sorted(among.ids.tolist())
    weight = dict(zip(among.ids.tolist(), among.shift.exp().tolist(), strict=True))
    assert weight[1] == weight[4] == 1
    assert sum(weight.values()) == 6
    assert [among.slot[i] for i in among.ids] == [0, 1, 2, 3]
    assert (among.slot < 0).sum() == 2


def test_with_enough_others_it_is_the_loss_over_all():
    losses, whole = drawn(1, 40)
    assert abs(losses[0] - whole) < 1e-6


def test_a_sample_of_the_others_gives_about_the_loss_over_all():
    losses, whole = drawn(400, 9)  # a quarter of them: left uncorrected, the loss would be about 1 too low
    assert abs(sum(losses) / len(losses) - whole) < 0.1 < max(abs(x - whole) for x in losses)


def test_unlikely_choices_are_not_taught():
    p = teacher(torch.tensor([[2, 1, 0]]), torch.tensor([[0.9, 0.095, 0.005]]).log(), torch.arange(3), 1.0)[1]
    assert p[0, 2] == 0
    assert torch.allclose(p.sum(), torch.tensor(1.0))
