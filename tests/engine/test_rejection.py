"""Rejection sampling: the production rule, enumerated over the cells of its uniforms, gives the target's own law."""

import itertools
import math
from collections import defaultdict
from collections.abc import Callable
from dataclasses import replace

import pytest
import torch

from engine import ConfigError, RunConfig, accept, session
from engine.equivalence import reference_logits
from engine.fold import fold
from engine.sampling import warp
from tests.engine.pairs import pair

V, K, TOKENS = 3, 2, 3
PAIR = replace(pair("llama"), stop_ids=frozenset())
Rule = Callable[..., tuple[torch.Tensor, torch.Tensor]]
Law = dict[tuple[int, ...], float]


def table(seed: int) -> Callable[[tuple[int, ...]], torch.Tensor]:
    """A model: a distribution over V tokens for every prefix, some of them with a zero."""

    def next_token(prefix: tuple[int, ...]) -> torch.Tensor:
        generator = torch.Generator().manual_seed(seed * 1000 + sum((t + 1) * 7**n for n, t in enumerate(prefix)))
        weights = torch.rand(V, dtype=torch.float64, generator=generator)
        weights[weights < 0.15] = 0
        return weights / weights.sum()

    return next_token


def autoregressive(target: Callable) -> Law:
    law: Law = defaultdict(float)
    for seq in itertools.product(range(V), repeat=TOKENS):
        law[seq] = 1.0
        for n in range(TOKENS):
            law[seq] *= float(target(seq[:n])[seq[n]])
    return law


def speculative(target: Callable, drafter: Callable, rule: Rule, certain: bool, lens: int = K) -> Law:
    """The joint law of the first TOKENS tokens when every round drafts, accepts and emits by `rule`."""
    law: Law = defaultdict(float)
    waiting: Law = defaultdict(float, {(): 1.0})
    while waiting:
        prefix, weight = min(waiting.items(), key=lambda item: len(item[0]))
        del waiting[prefix]
        for emitted, chance in one_round(prefix, target, drafter, rule, certain, lens).items():
            longer = prefix + emitted
            done = len(longer) >= TOKENS
            (law if done else waiting)[longer[:TOKENS]] += weight * chance
    return law


def one_round(prefix: tuple, target: Callable, drafter: Callable, rule: Rule, certain: bool, lens: int) -> Law:
    """What one round emits behind `prefix`, and how likely: all drafts and all cells of u and v in one batch."""
    batch = []
    for draft in itertools.product(range(V), repeat=K):
        qs = [drafter(prefix + draft[:n]) for n in range(K)]
        chance = 1.0
        for q, d in zip(qs, draft, strict=True):
            chance *= float(int(q.argmax()) == d) if certain else float(q[d])
        if not chance:
            continue
        ps, q = torch.stack([target(prefix + draft[:n]) for n in range(K + 1)]), torch.stack(qs)
        cells = []
        for n, d in enumerate(draft):
            edge = min(1.0, float(ps[n, d]) / (1.0 if certain else float(q[n, d])))
            cells.append([(lo, hi) for lo, hi in ((0.0, edge), (edge, 1.0)) if hi > lo])
        grid = sorted({0.0, 1.0, *edges(ps, None if certain else q)})
        for us in itertools.product(*cells):
            share = chance
            for lo, hi in us:
                share *= hi - lo
            middle = [(lo + hi) / 2 for lo, hi in us]
            batch.extend(
                (draft, ps, q, middle, (lo + hi) / 2, share * (hi - lo)) for lo, hi in itertools.pairwise(grid)
            )
    drafts, ps, q, u, v, shares = zip(*batch, strict=True)
    u, v = torch.tensor(u, dtype=torch.float64), torch.tensor(v, dtype=torch.float64)
    n = torch.full((len(batch),), lens)
    j, token = rule(torch.tensor(drafts), n, torch.stack(ps), None if certain else torch.stack(q), u, v)
    law: Law = defaultdict(float)
    for draft, kept, last, share in zip(drafts, j.tolist(), token.tolist(), shares, strict=True):
        law[(*draft[:kept], last)] += share
    return law


def edges(ps: torch.Tensor, qs: torch.Tensor | None) -> list[float]:
    """Every place where the emitted token may change with v, for any outcome of the round."""
    found = []
    for n in range(K + 1):
        candidates = [ps[n]]
        if n < K:
            others = [qs[n]] if qs is not None else [torch.eye(V, dtype=torch.float64)[d] for d in range(V)]
            candidates += [(ps[n] - q).clamp(min=0) for q in others] + others
        for weights in candidates:
            if weights.sum() > 0:
                found.extend((weights.cumsum(0) / weights.sum()).tolist())
    return [e for e in found if 0 < e < 1]


def distance(one: Law, two: Law) -> float:
    return max(abs(one.get(s, 0) - two.get(s, 0)) for s in {*one, *two})


@pytest.mark.parametrize("certain", [False, True], ids=["sampled drafts", "certain drafts"])
@pytest.mark.parametrize("seed", [1, 2])
def test_the_joint_law_of_three_tokens_is_the_targets(seed: int, certain: bool) -> None:
    target, drafter = table(seed), table(seed + 50)
    assert distance(autoregressive(target), speculative(target, drafter, accept.rejection, certain)) < 1e-12


def test_a_row_with_fewer_drafts_than_its_batch_is_lossless_too() -> None:
    target, drafter = table(3), table(9)
    assert distance(autoregressive(target), speculative(target, drafter, accept.rejection, False, lens=1)) < 1e-12


def drawn(weights: torch.Tensor, v: torch.Tensor) -> torch.Tensor:
    """Inverse-CDF draw from each row of weights."""
    edge = weights.cumsum(1)
    return torch.searchsorted(edge, (v * edge[:, -1])[:, None], right=True)[:, 0].clamp(max=V - 1)


def bonus_from_q(d, n, p, q, u, v):
    j, token = accept.rejection(d, n, p, q, u, v)
    return j, torch.where(j == K, drawn(q[:, -1], v), token)


def dsd(d, n, p, q, u, v):
    j, token = accept.rejection(d, n, p, q, u, v)
    return j, torch.where(j < K, d.gather(1, j.clamp(max=K - 1)[:, None])[:, 0], token)


def no_residual(d, n, p, q, u, v):
    j, _ = accept.rejection(d, n, p, q, u, v)
    return j, drawn(p[torch.arange(len(j)), j], v)


def mixed_warpers(d, n, p, q, u, v):
    cold = q**2 / (q**2).sum(-1, keepdim=True)
    return accept.rejection(d, n, p, cold, u, v)


def value_dependent_cut(d, n, p, q, u, v):
    sure = q.gather(2, d[..., None])[..., 0] >= 0.4
    return accept.rejection(d, sure.long().cumprod(1).sum(1), p, q, u, v)


@pytest.mark.parametrize("wrong", [bonus_from_q, dsd, no_residual, mixed_warpers, value_dependent_cut])
def test_a_wrong_rule_gives_another_law(wrong: Rule) -> None:
    target, drafter = table(1), table(51)
    assert distance(autoregressive(target), speculative(target, drafter, wrong, False)) > 1e-3


def test_a_token_of_probability_zero_never_passes_not_even_at_u_zero() -> None:
    p = torch.tensor([[[0.0, 1.0], [0.5, 0.5]]], dtype=torch.float64)
    zero = torch.zeros(1, 1, dtype=torch.float64)
    j, token = accept.rejection(torch.tensor([[0]]), torch.tensor([1]), p, None, zero, zero[:, 0])
    assert (int(j), int(token)) == (0, 1)


def test_no_draft_at_all_is_plain_sampling() -> None:
    p = torch.tensor([[[0.25, 0.75]]], dtype=torch.float64)
    none = torch.zeros(1, 0, dtype=torch.int64)
    u = torch.zeros(1, 0, dtype=torch.float64)
    for v, expected in ((0.0, 0), (0.24, 0), (0.26, 1), (0.999, 1)):
        j, token = accept.rejection(none, torch.tensor([0]), p, None, u, torch.tensor([v], dtype=torch.float64))
        assert (int(j), int(token)) == (0, expected)


@pytest.mark.parametrize("method", ["eqspec", "slots", "exspec"])
def test_a_decoded_batch_follows_the_law_of_each_row_alone(method: str) -> None:
    """Second tokens of 1024 rows with one prompt, top-k 3: within 5 standard deviations of the model's own law."""
    prompt, rows = [5, 6, 7, 5, 6], 64
    common = {"max_new": 3, "temperature": 1.5, "top_k": 3, "sampling": "rejection", "dtype": "float64"}
    drafted = {"proposer": "draft_model", "draft": "tiny", "k": 2}
    counts: dict[tuple[int, int], int] = defaultdict(int)
    for seed in range(16):
        config = RunConfig(method=method, seed=seed, **common, **drafted)
        lane = fold(session({"a": config}, [prompt] * rows, pair=PAIR, certify=False)).lanes["a"]
        for row in lane.rows.values():
            counts[tuple(row.ids[len(prompt) : len(prompt) + 2])] += 1
    n = sum(counts.values())
    for first, p in law_of(prompt).items():
        for second, q in law_of([*prompt, first]).items():
            expected = p * q
            sigma = math.sqrt(expected * (1 - expected) / n)
            assert abs(counts[first, second] / n - expected) < 5 * sigma + 1e-9, (first, second)


def law_of(ids: list[int]) -> dict[int, float]:
    """The target's warped distribution after these ids."""
    logits = reference_logits(PAIR, [*ids, 0], len(ids))[0].double()
    p = warp(logits, 1.5, 3).softmax(0)
    return {t: float(p[t]) for t in range(len(p)) if p[t] > 0}


def test_a_rows_text_does_not_depend_on_its_batch_mates() -> None:
    config = RunConfig(method="eqspec", max_new=12, temperature=1.0, sampling="rejection", dtype="float64")
    mixed = fold(session({"a": config}, [[5, 6, 7, 5, 6], [9, 9, 9]], pair=PAIR, certify=False)).lanes["a"]
    alone = fold(session({"a": config}, [[5, 6, 7, 5, 6]], pair=PAIR, certify=False)).lanes["a"]
    assert mixed.rows[0].ids == alone.rows[0].ids


@pytest.mark.parametrize("method", ["rollback", "bsp", "dsd"])
def test_methods_that_cut_a_row_for_anothers_sake_refuse_rejection_sampling(method: str) -> None:
    with pytest.raises(ConfigError, match="rounds depend on that row alone"):
        RunConfig(method=method, sampling="rejection", temperature=1.0)
