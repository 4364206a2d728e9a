"""A draft model that is given attention which copies does so before it is trained at all."""

import torch
from transformers import LlamaConfig, LlamaForCausalLM

from engine.train import draft_small, induction
from engine.train.draft_train import start
from engine.train.features import Store, extract
from tests.engine.test_train_draft import TALKS, TURNS
from tests.engine.tiny import tiny_model

VOCAB, WIDTH = 300, 256


def plain_model() -> LlamaForCausalLM:
    """Two layers that hardly do anything; embeddings have something in common, as all models' have."""
    torch.manual_seed(0)
    config = LlamaConfig(
        vocab_size=VOCAB,
        hidden_size=WIDTH,
        intermediate_size=64,
        num_hidden_layers=2,
        num_attention_heads=4,
        num_key_value_heads=2,
        head_dim=64,
        rope_parameters={"rope_type": "default", "rope_theta": 100000.0},
    )
    model = LlamaForCausalLM(config).requires_grad_(False)
    model.model.embed_tokens.weight.normal_(std=0.1).add_(torch.randn(WIDTH) * 0.1)
    model.lm_head.weight.normal_(std=0.1)
    return model


def texts(count: int, draw: torch.Generator) -> list[torch.Tensor]:
    """Texts of 60 tokens, none twice, half of them said twice."""
    pieces = [torch.randperm(VOCAB, generator=draw)[:60] for _ in range(count)]
    return [torch.cat([p, p]) if n % 2 else p for n, p in enumerate(pieces)]


def copied_share(model: LlamaForCausalLM, text: torch.Tensor) -> float:
    """Of a text said twice, the share of the second time that the model names."""
    named, half = model(input_ids=text[None]).logits[0].argmax(-1), len(text) // 2
    return float((named[half:-1] == text[half + 1 :]).float().mean())


def test_it_copies_what_followed_the_newest_token_before():
    draw = torch.Generator().manual_seed(1)
    model = plain_model()
    wide = induction.add(model, texts(60, draw))
    piece = torch.randperm(VOCAB, generator=draw)[:60]
    assert copied_share(model, torch.cat([piece, piece])) < 0.1
    assert copied_share(wide, torch.cat([piece, piece])) > 0.4  # against what the plain model wants to say
    other = torch.randperm(VOCAB, generator=draw)[:60]
    assert copied_share(wide, torch.cat([piece, other])) < 0.1


def test_further_heads_alone_change_nothing():
    target = tiny_model("llama", head_dim=8).requires_grad_(False)
    small = draft_small.from_target(target)
    wide = draft_small.from_target(small, (0, 1), 2 * target.config.num_key_value_heads)
    ids = torch.tensor([[5, 9, 3, 40]])
    assert wide.config.num_attention_heads == 2 * small.config.num_attention_heads
    assert torch.allclose(wide(ids).logits, small(ids).logits, atol=1e-6)


def test_a_model_to_train_is_widened_once_and_its_shard_says_so(tmp_path):
    target = tiny_model("llama", head_dim=8).requires_grad_(False)
    store = Store(tmp_path / "features", 96)
    extract(target, TURNS, 64, TALKS, store, (2, 2, 1))
    small, _ = start(target, None, store.open())
    assert small.config.num_key_value_heads == 2 * target.config.num_key_value_heads
    assert small.model.norm.weight.requires_grad
    assert not small.lm_head.weight.requires_grad
    draft_small.save(small, tmp_path / "draft", {})
    again, _ = start(target, tmp_path / "draft", store)
    assert again.config.num_key_value_heads == small.config.num_key_value_heads
