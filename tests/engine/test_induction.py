"""A small draft model that is given two layers of attention copies before it is trained at all."""

import pytest
import torch
from transformers import LlamaConfig, LlamaForCausalLM

from engine.train import compact, draft_small, induction
from engine.train.draft_train import score_of, start
from engine.train.features import Store, extract
from engine.train.loop import Training
from engine.train.publish import restore_draft
from engine.train.recipe import Recipe
from tests.engine.test_train_draft import TALKS, TURNS
from tests.engine.tiny import tiny_model

VOCAB, WIDTH = 300, 192
IDS = torch.tensor([[5, 9, 3, 40]])


def plain_model(draw: torch.Generator) -> LlamaForCausalLM:
    """Two layers that look at one token alone: what it names has nothing to do with the text."""
    torch.manual_seed(0)
    config = LlamaConfig(
        vocab_size=VOCAB,
        hidden_size=WIDTH,
        intermediate_size=64,
        num_hidden_layers=2,
        num_attention_heads=6,
        num_key_value_heads=2,
        head_dim=64,
        rope_parameters={"rope_type": "default", "rope_theta": 100000.0},
    )
    model = LlamaForCausalLM(config).eval().requires_grad_(False)
    for rows in (model.get_input_embeddings(), model.lm_head):
        rows.weight.copy_(torch.randn(VOCAB, WIDTH, generator=draw) * 0.1)
    model.get_input_embeddings().weight[:, 0] = 0.5  # as of any model, they have something in common
    for layer in model.model.layers:
        layer.self_attn.o_proj.weight.zero_()
    model.model.layers[0].mlp.down_proj.weight.mul_(1000)  # from the first layer on a state is more than an embedding
    return model


def talk(draw: torch.Generator, *parts: torch.Tensor) -> torch.Tensor:
    """A conversation: what all begin with, then some text without repetition, or these parts."""
    return torch.cat([torch.tensor([0, 1, 2]), *(parts or [torch.randperm(VOCAB - 3, generator=draw)[:200] + 3])])


def copied_share(model: LlamaForCausalLM, text: torch.Tensor, after: int) -> float:
    """Share of the tokens behind position `after` that it names."""
    return float((model(text[None]).logits[0].argmax(-1)[after:-1] == text[after + 1 :]).float().mean())


@torch.no_grad()
def test_it_copies_what_followed_the_newest_token_before():
    draw = torch.Generator().manual_seed(0)
    small = plain_model(draw)
    deep = induction.add(small, [talk(draw) for _ in range(40)])
    assert len(deep.model.layers) == 4
    assert induction.has(deep)
    assert not induction.has(small)
    half, other = ((torch.randperm(VOCAB - 3, generator=draw) + 3)[:60] for _ in range(2))
    again, unrelated = talk(draw, half, half), talk(draw, half, other)
    assert copied_share(small, again, 63) < 0.1
    assert copied_share(deep, again, 63) > 0.7
    assert copied_share(deep, unrelated, 63) < 0.1


def test_the_layers_alone_change_nothing():
    small = draft_small.from_target(tiny_model("llama", head_dim=8))
    deep = induction.deepened(small)
    assert torch.allclose(deep(IDS).logits, small(IDS).logits, atol=1e-6)
    assert deep.lm_head is small.lm_head


def test_three_tokens_need_three_heads():
    with pytest.raises(ValueError, match="this model has 2 of them"):
        induction.add(draft_small.from_target(tiny_model("llama", head_dim=8)), [torch.arange(9)])


def test_they_are_trained_but_for_what_they_lack_and_kept_without_it(tmp_path):
    target = tiny_model("llama", head_dim=8).requires_grad_(False)
    store = Store(tmp_path / "features", 96)
    extract(target, TURNS, 64, TALKS, store, (2, 2, 1))
    deep = induction.deepened(draft_small.from_target(target))
    with torch.no_grad():
        for n in (1, 3):
            for weight in deep.model.layers[n].self_attn.parameters():
                weight.normal_(std=0.1, generator=torch.Generator().manual_seed(n))
    before = {name: w.clone() for name, w in deep.state_dict().items()}
    recipe = Recipe(single=3, chain=0, tokens=128, held=4)
    training = Training(deep, score_of(deep), recipe, tmp_path / "draft.pt", "cpu")
    training.run(store.open())
    changed = {name for name, w in deep.state_dict().items() if not torch.equal(w, before[name])}
    assert changed == set(draft_small.kept(deep))
    for n in (1, 3):
        assert f"model.layers.{n}.self_attn.o_proj.weight" in changed
        assert induction.silent(deep.model.layers[n])

    found, progress = restore_draft(tmp_path / "draft.pt", target)
    assert torch.equal(found(IDS).logits, deep.eval()(IDS).logits)
    draft_small.save(found, tmp_path / "draft", progress)
    assert not [name for name in compact.read(tmp_path / "draft" / draft_small.FILE) if ".1.mlp" in name]
    for again in (draft_small.load(tmp_path / "draft", target), start(target, tmp_path / "draft")[0].eval()):
        assert torch.allclose(again(IDS).logits, deep(IDS).logits, atol=0.3, rtol=0.1)
        assert [induction.silent(layer) for layer in again.model.layers] == [False, True, False, True]
