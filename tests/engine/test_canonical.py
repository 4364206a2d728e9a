"""Two descriptions of the same things: the directions that both can be read from, and how well."""

import torch

from engine.train import canonical


def described(count: int = 4000) -> tuple[torch.Tensor, torch.Tensor]:
    """[N, 6] and [N, 8]: three hidden numbers in both, ever noisier, beside others; means far off."""
    draw = torch.Generator().manual_seed(0)
    hidden = torch.randn(count, 3, generator=draw)
    noise = torch.randn(count, 3, generator=draw) * torch.tensor([0.1, 0.5, 2.0])
    left = torch.cat([hidden, torch.randn(count, 3, generator=draw)], dim=1) @ torch.randn(6, 6, generator=draw) + 5
    right = torch.cat([hidden + noise, torch.randn(count, 5, generator=draw)], dim=1)
    return left, right @ torch.randn(8, 8, generator=draw) - 3


def test_the_best_directions_come_first_and_agree_as_said():
    left, right = described()
    to_left, to_right, agreement = canonical.maps(left, right, torch.ones(len(left)), 3)
    a, b = left @ to_left, right @ to_right
    assert agreement[0] > 0.7  # of 0.99: one direction is lost to the mean
    assert agreement.tolist() == sorted(agreement.tolist(), reverse=True)
    for code in (a, b):
        assert code.mean(dim=0).abs().max() < 0.05, "there is no constant term to take the mean away"
        assert (code.std(dim=0) - 1).abs().max() < 0.15
    measured = torch.corrcoef(torch.cat([a, b], dim=1).T)
    assert torch.allclose(measured[:3, 3:].diagonal(), agreement, atol=0.1)
    assert (measured[:3, 3:] - torch.diag(measured[:3, 3:].diagonal())).abs().max() < 0.1


def test_a_pair_without_weight_does_not_count():
    left, right = described()
    weight = torch.ones(len(left))
    weight[::2] = 0.0
    odd = canonical.maps(left[1::2], right[1::2], torch.ones(len(left) // 2), 3)
    spoiled = left.clone()
    spoiled[::2] = 100.0
    for one, other in zip(canonical.maps(spoiled, right, weight, 3), odd, strict=True):
        assert torch.allclose(one.abs(), other.abs(), atol=1e-3)
