"""Layers stacked in one tensor: every run lands in its place in every layer, and unlike layers are kept apart."""

from types import SimpleNamespace

import torch
from hypothesis import given
from hypothesis import strategies as st

from engine.cache.stack import Buffers, stacks_of


def layer(rows: int, slots: int, heads: int = 2, seed: int = 0) -> SimpleNamespace:
    random = torch.Generator().manual_seed(seed)
    keys, values = torch.randn(2, rows, slots, heads, 3, generator=random)
    return SimpleNamespace(keys=keys, values=values, is_initialized=True)


@st.composite
def moves(draw: st.DrawFn) -> tuple[int, int, list[list[tuple[int, int, int, int]]]]:
    """Rows, slots, and some copies in a row, each of runs that fit in what the one before has left."""
    rows, slots = draw(st.integers(1, 4)), draw(st.integers(1, 9))
    first, copies = (rows, slots), []
    for _ in range(draw(st.integers(1, 4))):
        wide = draw(st.integers(1, 12))
        runs = []
        for _ in range(draw(st.integers(1, rows))):
            length = draw(st.integers(0, min(slots, wide)))
            source, target = draw(st.integers(0, slots - length)), draw(st.integers(0, wide - length))
            runs.append((draw(st.integers(0, rows - 1)), source, target, length))
        copies.append((wide, runs))
        rows, slots = len(runs), wide
    return *first, copies


@given(moves())
def test_every_run_lands_in_its_place_in_every_layer(case: tuple) -> None:
    rows, slots, copies = case
    layers = [layer(rows, slots, seed=n) for n in range(3)]
    expected = [(x.keys, x.values) for x in layers]
    (stack,) = stacks_of(layers, layers)
    for wide, runs in copies:
        stack.copy(runs, wide)
        moved = []
        for found, was in zip(layers, expected, strict=True):
            pair = (found.keys.clone(), found.values.clone())
            for new, old in zip(pair, was, strict=True):
                assert new.shape == (len(runs), wide, 2, 3)
                assert new.isfinite().all()
                for i, (row, source, target, length) in enumerate(runs):
                    assert torch.equal(new[i, target : target + length], old[row, source : source + length])
            moved.append(pair)
        expected = moved


def test_unlike_layers_are_stacked_apart_and_a_store_is_copied_in() -> None:
    store = [layer(2, 5, heads, seed) for seed, heads in enumerate((2, 1, 2))]
    layers = [SimpleNamespace(is_initialized=False) for _ in store]
    stacks = stacks_of(layers, store)
    assert [stack.at for stack in stacks] == [[0, 2], [1]]
    for stack in stacks:
        stack.copy([(1, 0, 2, 3)], 6, store)
    for found, origin in zip(layers, store, strict=True):
        assert found.is_initialized
        assert torch.equal(found.keys[0, 2:5], origin.keys[1, :3])
        assert torch.equal(found.values[0, 2:5], origin.values[1, :3])


def test_buffers_take_turns_and_are_kept() -> None:
    buffers = Buffers(torch.zeros(1))
    first, second = buffers.turn((2, 3)), buffers.turn((2, 3))
    assert first.data_ptr() != second.data_ptr()
    assert buffers.turn((3, 2)).data_ptr() == first.data_ptr()
