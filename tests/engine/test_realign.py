"""Unpad, append, repad: the worked example, what never moves, and that the shadow moves exactly with the keys."""

import random
from dataclasses import replace
from itertools import takewhile

import pytest
import torch

from engine import session
from engine.cache.padded import PaddedCache
from engine.lane import Lane
from engine.trace import Commit, KvOp, Verify
from tests.engine import tiny

# papers.md A.3: B=3, c=(5,3,4), L=5, p=(0,2,1), K=3, accepted (1,3,0)
CONTENT, ACCEPTED = (5, 3, 4), (1, 3, 0)
SOURCES, TARGETS, LENGTHS, WIDTH = (0, 2, 1), (0, 0, 2), (6, 6, 4), 6
LAYERS, HEADS, DIM = 2, 2, 3


def fingerprint(feed: torch.Tensor, layer: int) -> torch.Tensor:  # feed [B, T, 3] -> [B, H, T, D]
    """Keys that say where they come from: another number for every layer, head, dimension, owner, token, position."""
    owner, token, position = (feed[..., n].double() for n in range(3))
    key = owner * 1e6 + token * 1e3 + position + layer / 4
    heads = torch.arange(HEADS).double()[:, None, None] / 16
    return key[:, None, :, None] + heads + torch.arange(DIM).double() / 256


def write(cache: PaddedCache, owners: torch.Tensor, tokens: torch.Tensor, positions: torch.Tensor) -> None:
    """What a forward does: every layer's update, then the count. Attention must read what the shadow says."""
    cache.plan(owners, tokens, positions)
    feed = torch.stack([owners, tokens, positions], dim=-1)
    for n, layer in enumerate(cache.layers):
        key = fingerprint(feed, n)
        keys, values = layer.update(key, -key)
        agree(cache, n, keys, cache.width + owners.shape[1])
        agree(cache, n, -values, cache.width + owners.shape[1])
    cache.width += owners.shape[1]


def agree(cache: PaddedCache, layer: int, held: torch.Tensor, width: int) -> None:
    """Every written slot holds the fingerprint of its shadow; pads are finite and never visible."""
    shadow, visible = cache.shadow[:, :width], cache.visible[:, :width]
    assert held.shape == (cache.rows, HEADS, width, DIM)
    different = (held != fingerprint(shadow, layer)).any(dim=1).any(dim=-1) & (shadow[..., 2] >= 0)
    wrong = different.nonzero().tolist()
    assert not wrong, f"layer {layer}: (row, slot) {wrong[0]} holds another entry than its shadow says"
    assert held.isfinite().all(), f"layer {layer}: a pad is not finite"
    assert not (visible & (shadow[..., 0] < 0)).any(), "a slot without an owner is visible"
    assert not cache.visible[:, width:].any(), "a slot behind the width is visible"


def left_padded(content: tuple[int, ...], capacity: int, spare: int = 4) -> PaddedCache:
    """A cache after a prefill of these lengths."""
    longest = max(content)
    cache = PaddedCache(LAYERS, len(content), capacity, spare)
    owners = torch.stack([torch.arange(longest) - (longest - c) for c in content]).clamp(min=-1)
    write(cache, owners, torch.randint(97, owners.shape, generator=torch.Generator().manual_seed(1)), owners.clamp(0))
    return cache


def verified(cache: PaddedCache, content: list[int], t: int) -> None:
    """A verify pass of t columns on rows that hold content - 1 entries."""
    owners = torch.tensor([[c - 1 + n for n in range(t)] for c in content])
    write(cache, owners, owners % 89, owners)


def test_the_worked_example_through_the_cache() -> None:
    cache = left_padded(tuple(c - 1 for c in CONTENT), capacity=12)
    assert cache.width == max(CONTENT) - 1
    verified(cache, list(CONTENT), 4)
    before = cache.shadow[:, : cache.width].clone()
    assert before.shape[1] == 8
    delta = [t - s for s, t in zip(SOURCES, TARGETS, strict=True)]
    assert delta == [0, -2, +1]
    cache.realign(torch.arange(3), torch.tensor(SOURCES), torch.tensor(TARGETS), WIDTH)
    assert cache.width == WIDTH
    for i, (s, t, n) in enumerate(zip(SOURCES, TARGETS, LENGTHS, strict=True)):
        assert t + n == WIDTH
        assert torch.equal(cache.shadow[i, t:WIDTH], before[i, s : s + n]), f"row {i}"
        assert cache.shadow[i, t:WIDTH, 0].tolist() == list(range(n)), f"row {i} does not hold tokens 0..{n - 1}"
        assert cache.visible[i, :WIDTH].int().tolist() == [0] * t + [1] * n, f"row {i}"
    verified(cache, [7, 7, 5], 4)  # reads every slot: keys and shadow went together


def test_the_worked_example_through_the_trace(monkeypatch: pytest.MonkeyPatch) -> None:
    script = iter([(ACCEPTED, (7, 8, 9)), ((0, 0, 0), (7, 8, 9))])
    choose = Lane.choose

    def scripted(lane: Lane, *args: object) -> object:
        return map(torch.tensor, next(script)) if lane.step else choose(lane, *args)

    monkeypatch.setattr(Lane, "choose", scripted)
    pair = replace(tiny.pair("llama", 0.1), stop_ids=frozenset())
    prompts = [tiny.prompt(c - 1, 5) for c in CONTENT]  # the prefill adds the token that is fed first
    stream = session({"eqspec": tiny.config(k=3)}, prompts, pair=pair, certify=False)
    events = list(takewhile(lambda e: e.step < 2 or not isinstance(e, Commit), stream))
    first, second = (e for e in events if isinstance(e, Verify) and e.step)
    assert first.slots == [4, 4, 4]
    assert first.lens == [3, 3, 3]
    assert [runs for runs in first.positions] == [[[4, 4]], [[2, 4]], [[3, 4]]]
    moved = next(e for e in events if isinstance(e, KvOp) and e.step == 1)
    assert moved.op == "realign"
    assert moved.moves == [[n, s, t, m] for n, (s, t, m) in enumerate(zip(SOURCES, TARGETS, LENGTHS, strict=True))]
    assert moved.width == WIDTH
    assert second.owners == [6, 6, 4]
    assert [runs[0][0] for runs in second.positions] == [6, 6, 4]
    assert second.slots == [6, 6, 6]


@pytest.mark.parametrize("seed", range(12))
def test_shadow_and_keys_agree_after_any_sequence_of_moves(seed: int) -> None:
    chance = random.Random(seed)
    content = [chance.randint(1, 9) for _ in range(chance.randint(1, 5))]
    cache = left_padded(tuple(content), capacity=chance.choice([max(content), 16]), spare=chance.randint(0, 5))
    content = [c + 1 for c in content]
    done: set[str] = set()
    for _ in range(12):
        t, capacity = chance.randint(1, 5), cache.capacity
        verified(cache, content, t)
        done |= {"grow"} if cache.capacity > capacity else set()
        kept = [chance.randint(0, t - 1) for _ in content]
        stay = sorted(chance.sample(range(len(content)), chance.randint(max(1, len(content) - 1), len(content))))
        content = [content[i] + kept[i] + 1 for i in stay]
        width = max(content) - 1
        source = [int((cache.shadow[i, :, 0] == 0).int().argmax()) for i in stay]
        target = [width + 1 - c for c in content]
        if len(stay) < cache.rows and chance.random() < 0.5:
            cache.select(torch.tensor(stay))
            done.add("select")
            stay = list(range(len(stay)))
        if source == target and len(stay) == cache.rows:
            cache.crop(width)
            done.add("crop")
        else:
            cache.realign(torch.tensor(stay), torch.tensor(source), torch.tensor(target), width)
            done.add("realign")
        owners = [row[row >= 0].tolist() for row in cache.shadow[:, :width, 0]]
        assert owners == [list(range(c - 1)) for c in content], "a row lost or kept an entry that it should not"
    assert "realign" in done or len(content) == 1, f"the sequence only did {done}"


def test_what_is_hidden_stays_hidden_when_it_moves() -> None:
    cache = left_padded((3, 5), capacity=8)
    cache.hide(3, torch.tensor([[True, False], [False, True]]))
    assert cache.visible[:, :5].int().tolist() == [[0, 0, 1, 0, 1], [1, 1, 1, 1, 0]]
    cache.realign(torch.tensor([0, 1]), torch.tensor([2, 0]), torch.tensor([3, 1]), 6)
    assert cache.visible[:, :6].int().tolist() == [[0, 0, 0, 1, 0, 1], [0, 1, 1, 1, 1, 0]]


def test_growing_keeps_every_entry_and_counts_the_copy() -> None:
    cache = left_padded((3, 5), capacity=6)
    before = cache.shadow[:, :5].clone()
    owners = torch.arange(4).expand(2, 4) + 5
    copied = cache.plan(owners, owners, owners)
    assert copied == 2 * 5 * cache.slot_bytes
    assert cache.capacity >= 9
    assert torch.equal(cache.shadow[:, :5], before)
    write(cache, owners, owners, owners)


def test_the_bytes_of_a_slot_are_keys_and_values_of_all_layers() -> None:
    cache = left_padded((3, 5), capacity=6)
    assert cache.slot_bytes == 2 * LAYERS * HEADS * DIM * 8


def played(noise: float, lengths: tuple[int, ...], **more: object) -> list:
    pair = replace(tiny.pair("qwen3", noise), stop_ids=frozenset(), context=more.pop("context", tiny.CONTEXT))
    return list(session({"eqspec": tiny.config(**more)}, [tiny.prompt(n, 2) for n in lengths], pair=pair))


def test_equal_acceptance_moves_nothing_whatever_the_paddings() -> None:
    events = played(0.0, (2, 11, 7))  # the drafter is the target: every row accepts every draft
    copies = [e for e in events if isinstance(e, KvOp) and e.op != "grow"]  # making room moves nothing
    assert len(copies) > 3
    assert {(e.op, e.bytes) for e in copies} == {("crop", 0)}
    assert all(e.avoided > 0 for e in copies)
    assert all(source == to for e in copies for _, source, to, _ in e.moves)


def test_a_single_row_never_moves() -> None:
    events = played(0.1, (9,))
    accepted = {n for e in events if isinstance(e, Commit) and e.step for n in e.accepted}
    assert len(accepted) > 1, "every round accepted the same: nothing could have moved"
    assert {(e.op, e.bytes) for e in events if isinstance(e, KvOp) and e.op != "grow"} == {("crop", 0)}


def test_the_rectangle_shrinks_when_its_longest_row_leaves() -> None:
    events = played(0.1, (30, 4), context=36)
    widths = [e.width for e in events if isinstance(e, KvOp)]
    leaving = next(e for e in events if isinstance(e, KvOp) and e.op == "compact")
    assert leaving.rows == [1]
    assert leaving.width < 30 <= widths[0]
    assert leaving.moves[0][2] == 0, "the row that stays still has pads in front"
