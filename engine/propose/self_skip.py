"""self_skip: the target drafts for itself with a few of its layers left out. No weight is copied."""

import copy

from torch.nn import Module, ModuleList

#: Where the decoder and its list of layers live, by architecture: Llama and Qwen, GPT-2, GPT-NeoX, OPT.
PLACES = (("model", "layers"), ("transformer", "h"), ("gpt_neox", "layers"), ("model", "decoder", "layers"))


def skipped(depth: int) -> range:
    """The layers that a model of `depth` layers leaves out; at least one layer stays.

    >>> skipped(30), skipped(2), skipped(1)
    (range(12, 16), range(1, 2), range(0, 0))
    """
    start = round(0.4 * depth)
    count = min(max(1, round(depth / 8)), depth - 1)
    start = min(start, depth - count)
    return range(start, start + count)


def skip_layers(model: Module) -> Module:
    """A shallow copy of `model` that shares its weights and skips `skipped(depth)` layers.

    The copy keeps the target's config and each attention keeps its `layer_idx`: a cache built from the config has
    one layer per *original* index, and the skipped ones stay empty. Raises ValueError when no layer list is found.
    """
    *path, last = _place(model)
    chain = [model]
    for name in path:
        chain.append(getattr(chain[-1], name))
    layers = getattr(chain[-1], last)
    gone = set(skipped(len(layers)))
    copies = [_shallow(module) for module in chain]
    copies[-1]._modules[last] = ModuleList(layer for index, layer in enumerate(layers) if index not in gone)
    for outer, name, inner in zip(copies[:-1], path, copies[1:], strict=True):
        outer._modules[name] = inner
    return copies[0]


def layers_of(model: Module) -> dict[tuple[str, ...], ModuleList]:
    """The model's list of decoder layers, keyed by where it is; empty for an unknown architecture."""
    found = {}
    for place in PLACES:
        module = model
        for name in place:
            module = getattr(module, name, None)
        if isinstance(module, ModuleList):
            found[place] = module
    return found


def _place(model: Module) -> tuple[str, ...]:
    for place in layers_of(model):
        return place
    works = ", ".join(".".join(place) for place in PLACES)
    raise ValueError(f"self_skip: {type(model).__name__} has no layer list at {works}; choose proposer='ngram'")


def _shallow(module: Module) -> Module:
    """A copy with its own dict of submodules; parameters, buffers and submodules are the same objects."""
    twin = copy.copy(module)
    twin._modules = dict(module._modules)
    return twin
