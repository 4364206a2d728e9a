"""An EAGLE-3 head that is given attention which looks back copies before it is trained at all."""

import torch
from transformers import LlamaConfig

from engine.train import head_shard, look_back
from engine.train.eagle3_head import Eagle3Head
from engine.train.features import Store, extract
from engine.train.head_train import score_of, start
from engine.train.loop import Training
from engine.train.publish import restore
from engine.train.recipe import Recipe
from tests.engine.heads import TAPS, causal, tiny_pair
from tests.engine.test_train_eagle3 import TALKS, TURNS, training
from tests.engine.tiny import tiny_model

VOCAB, WIDTH = 300, 128


def plain_head(draw: torch.Generator) -> tuple[Eagle3Head, torch.Tensor]:
    """A head that passes its uppermost state on, and the embedding [VOCAB, WIDTH] that is its output rows too."""
    embedding = torch.randn(VOCAB, WIDTH, generator=draw) * 0.1
    config = LlamaConfig(
        vocab_size=VOCAB,
        hidden_size=WIDTH,
        intermediate_size=64,
        num_attention_heads=2,
        num_key_value_heads=1,
        head_dim=64,
        rope_parameters={"rope_type": "default", "rope_theta": 100000.0},
    )
    head = Eagle3Head(config, TAPS, VOCAB).requires_grad_(False)
    for name in ("q_proj", "k_proj", "v_proj", "o_proj"):
        head.layers[0].self_attn[name].weight.zero_()
    head.layers[0].mlp["down_proj"].weight.zero_()
    head.fc.weight.zero_()[:, 2 * WIDTH :] = torch.eye(WIDTH)
    head.set_vocabulary(torch.arange(VOCAB), embedding)
    return head, embedding


def states_of(tokens: torch.Tensor, embedding: torch.Tensor, draw: torch.Generator) -> torch.Tensor:
    """[N, 3 * WIDTH]: the lowest state knows its token, the others are noise of some few directions."""
    axes = torch.linalg.qr(torch.randn(WIDTH, WIDTH, generator=draw)).Q[:, : WIDTH // 2]
    noise = torch.randn(len(tokens), WIDTH // 2, generator=draw) @ axes.T
    low = 2 * embedding[tokens] + 0.02 * torch.randn(len(tokens), WIDTH, generator=draw)
    return torch.cat([low, noise, 8 * noise], dim=-1)


def copied_share(head: Eagle3Head, text: torch.Tensor, embedding: torch.Tensor, states: torch.Tensor) -> float:
    """Of a text whose second half repeats the first, the share of that half's tokens that the head names."""
    n = len(text) - 1
    out = head(embedding[text[1:]][None], head.fuse(states)[None, :n], torch.arange(n)[None], causal)[0]
    named, half = head.logits(out).argmax(-1), len(text) // 2
    return float((named[half:-1] == text[half + 2 :]).float().mean())


def test_it_copies_what_followed_the_newest_token_before():
    draw = torch.Generator().manual_seed(0)
    head, embedding = plain_head(draw)
    seen = torch.randint(0, VOCAB, (6000,), generator=draw)
    states = states_of(torch.cat([seen, half := torch.randperm(VOCAB, generator=draw)[:60], half]), embedding, draw)
    wide = look_back.add(head, embedding, seen, states[:6000])
    text = torch.cat([half, half])
    assert copied_share(head, text, embedding, states[6000:]) < 0.1
    assert copied_share(wide, text, embedding, states[6000:]) > 0.9
    unrelated = torch.cat([half, torch.randperm(VOCAB, generator=draw)[:60]])
    assert copied_share(wide, unrelated, embedding, states[6000:]) < 0.1


def test_further_heads_alone_change_nothing():
    _, head = tiny_pair()
    wide = look_back.resized(head, 2 * head.config.num_key_value_heads)
    embedding, hidden = torch.randn(1, 7, 32).double(), torch.randn(1, 7, 32).double()
    positions = torch.arange(7)[None]
    assert wide.config.num_attention_heads == 2 * head.config.num_attention_heads
    found, alone = (each(embedding, hidden, positions, causal) for each in (wide, head))
    torch.testing.assert_close(found, alone, rtol=1e-12, atol=1e-12)  # a wider product may add in another order
    assert torch.equal(wide.d2t, head.d2t)
    back = look_back.resized(wide, head.config.num_key_value_heads)
    assert all(torch.equal(back.state_dict()[name], weight) for name, weight in head.state_dict().items())


def test_a_head_to_train_is_widened_once_and_its_shard_says_so(tmp_path):
    target = tiny_model("llama", head_dim=8).requires_grad_(False)
    store = Store(tmp_path / "features", 96)
    extract(target, TURNS, 64, TALKS, store, TAPS)
    head, _ = start("eagle3", target, torch.arange(64), None, store.open())
    assert look_back.has(head, target)
    head_shard.save(head, tmp_path / "head", {})
    again, _ = start("eagle3", target, torch.arange(64), tmp_path / "head", store)
    assert again.config.num_key_value_heads == head.config.num_key_value_heads
    weight = head.layers[0].self_attn["q_proj"].weight.detach()
    assert torch.allclose(again.layers[0].self_attn["q_proj"].weight, weight, atol=float(weight.abs().max()) / 127)


def test_heads_that_look_back_start_anew_when_asked_and_the_others_stay(tmp_path):
    target = tiny_model("llama", head_dim=8).requires_grad_(False)
    store = Store(tmp_path / "features", 96)
    extract(target, TURNS, 64, TALKS, store, TAPS)
    head, _ = start("eagle3", target, torch.arange(64), None, store.open())
    attention, first = head.layers[0].self_attn, head.config.num_attention_heads // 2 * head.config.head_dim
    with torch.no_grad():
        attention["q_proj"].weight[first:] = 0.0
    head_shard.save(head, tmp_path / "head", {})
    other, _ = start("eagle3", target, torch.arange(64), tmp_path / "head", store, renew=True)
    before, after = (h.layers[0].self_attn["q_proj"].weight.detach() for h in (head, other))
    assert after.shape == before.shape
    assert torch.allclose(after[:first], before[:first], atol=float(before.abs().max()) / 127)
    assert after[first:].abs().max() > 0


def test_a_checkpoint_says_how_many_heads_it_has(tmp_path):
    target = tiny_model("llama", head_dim=8).requires_grad_(False)
    run = training(target, tmp_path / "eagle3.pt")
    run.model = look_back.resized(run.model, 2 * run.model.config.num_key_value_heads)
    run.save()
    head, _ = restore("eagle3", tmp_path / "eagle3.pt", target)
    assert look_back.has(head, target)


def test_held_heads_stay_as_they_are_while_the_others_are_trained(tmp_path):
    target = tiny_model("llama", head_dim=8).requires_grad_(False)
    store = Store(tmp_path / "features", 96)
    extract(target, TURNS, 64, TALKS, store, TAPS)
    head, _ = start("eagle3", target, torch.arange(64), None, store.open())
    look_back.hold(head, target)
    before = {name: w.clone() for name, w in head.state_dict().items()}
    recipe = Recipe(single=2, chain=1, tokens=128, held=4)
    Training(head, score_of(head, target.get_input_embeddings()), recipe, tmp_path / "eagle3.pt", "cpu").run(store)
    kv, d = target.config.num_key_value_heads, head.config.head_dim
    query = target.config.num_attention_heads * d
    for name, first in (("q_proj", query), ("k_proj", kv * d), ("v_proj", kv * d), ("o_proj", query)):
        was, now = (w[f"layers.0.self_attn.{name}.weight"] for w in (before, head.state_dict()))
        was, now = (w.T if name == "o_proj" else w for w in (was, now))
        assert len(now) == 2 * first
        assert torch.equal(now[first:], was[first:]), name
        assert not torch.equal(now[:first], was[:first]), name
