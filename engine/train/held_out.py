"""Held-out prompts and the target's greedy text on them, with its states: what drafts are measured against."""

import json
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import torch
from torch import Tensor
from tqdm import tqdm
from transformers import PreTrainedModel

from engine import load, shelf
from engine.cache.slots import SlotCache
from engine.forward import forward
from engine.train.draft_head import aux_layers
from engine.train.turns import of

KEPT = shelf.CACHE / "acceptance.pt"
ROWS = 12


@dataclass(slots=True)
class Script:
    """One prompt's greedy run: `ids` of prompt and output, states of every token but the last."""

    kind: str
    prompt: int
    ids: list[int]
    hidden: dict[int, Tensor]  # {layer: [len(ids) - 1, H]}


@torch.inference_mode()
def run(
    model: PreTrainedModel, prompts: list[tuple[str, list[int]]], taps: tuple[int, ...], stop: int, new: int
) -> list[Script]:
    """Greedy runs of up to `new` tokens, all prompts in one slot cache; a row that has stopped is fed on and cut."""
    lengths = torch.tensor([len(ids) for _, ids in prompts])
    rows, longest = torch.arange(len(prompts)), int(lengths.max())
    cache = SlotCache(model.config.num_hidden_layers, len(prompts), longest + new)
    tokens = torch.zeros(len(prompts), longest, dtype=torch.int64)
    for i, (_, ids) in enumerate(prompts):
        tokens[i, : len(ids)] = torch.tensor(ids)
    slots = torch.arange(longest)[None].expand(len(prompts), -1)
    keep, column = (lengths - 1).unique(return_inverse=True)
    written, states = [], []
    for n in range(new):
        mask = cache.plan(rows, slots, slots, tokens, slots)
        out = forward(model, tokens, slots, mask, cache, vocab=model.config.vocab_size, keep=keep, layers=taps)
        states.append(out.hidden)
        tokens = out.logits[rows, column].argmax(dim=-1)[:, None]
        written.append(tokens[:, 0])
        slots, keep, column = (lengths + n)[:, None], torch.tensor([0]), torch.zeros_like(rows)
    scripts = []
    for i, (kind, ids) in enumerate(prompts):
        output = [int(t[i]) for t in written]
        output = output[: output.index(stop) + 1] if stop in output else output
        hidden = {
            t: torch.cat([states[0][t][i, : len(ids)], *(s[t][i] for s in states[1 : len(output)])]).clone()
            for t in taps
        }
        scripts.append(Script(kind, len(ids), ids + output, hidden))
    return scripts


def read(file: Path, count: int, encode: Callable[[str], list[int]]) -> list[tuple[str, list[int]]]:
    """(kind, ids) of the file's first `count` prompts."""
    lines = [json.loads(line) for line in file.read_text().splitlines()[:count]]
    return [(line["kind"], encode(line["prompt"])) for line in lines]


def scripts(target: str, prompts: Path, count: int, new: int, kept: Path = KEPT) -> list[Script]:
    """The greedy runs of the held-out prompts, read from `kept` or computed and kept there."""
    key = [target, count, new, prompts.read_text()]
    if kept.is_file():
        saved = torch.load(kept, weights_only=True)
        if saved["key"] == key:
            return [Script(*s) for s in saved["scripts"]]
    place = load.find(target, shelf.CACHE)
    tokenizer, model = load.load_tokenizer(place), load.load_model(place, "float32", "cpu")
    turns = of(tokenizer)

    def encode(text: str) -> list[int]:
        return turns.opening + tokenizer.encode(text, add_special_tokens=False) + turns.closing

    taps = aux_layers(model.config.num_hidden_layers)
    todo = read(prompts, count, encode)
    order = sorted(range(len(todo)), key=lambda i: len(todo[i][1]))
    found: dict[int, Script] = {}
    for start in tqdm(range(0, len(order), ROWS), unit="batch"):
        some = order[start : start + ROWS]
        found.update(zip(some, run(model, [todo[i] for i in some], taps, turns.end, new), strict=True))
    result = [found[i] for i in range(len(todo))]
    plain = [[s.kind, s.prompt, s.ids, {t: h.bfloat16() for t, h in s.hidden.items()}] for s in result]
    torch.save({"key": key, "scripts": plain}, kept)
    return [Script(*s) for s in plain]
