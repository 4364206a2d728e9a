"""The small draft model: the target's layers at first, agreement learned, a compact shard and back."""

import pytest
import torch
from transformers import AutoModelForCausalLM

from engine.load import load_tokenizer
from engine.train import draft_small, draft_train, publish
from engine.train.draft_train import score_of, start
from engine.train.export import export_draft
from engine.train.features import Store, extract
from engine.train.loop import Training
from engine.train.publish import restore_draft
from engine.train.recipe import Recipe
from engine.train.turns import Turns
from tests.engine.tiny import save, tiny_model, tiny_tokenizer

TURNS = Turns(opening=[4], closing=[1, 5], end=1)
TALKS = [[9, 8 + n % 7, 1, 5, *range(10 + n % 5, 22 + n % 9)] for n in range(24)]


@pytest.fixture
def target():
    return tiny_model("llama", head_dim=8).requires_grad_(False)


def test_with_all_layers_kept_it_is_the_target(target):
    small = draft_small.from_target(target, (0, 1, 2, 3))
    ids = torch.tensor([[5, 9, 3, 40]])
    assert torch.allclose(small(ids).logits, target(ids).logits, atol=1e-6)


def test_only_layers_and_norm_are_trained_and_the_rest_is_shared(target):
    small = draft_small.from_target(target)
    trained = {name.split(".")[1] for name, p in small.named_parameters() if p.requires_grad}
    assert trained == {"layers", "norm"}
    assert small.get_input_embeddings() is target.get_input_embeddings()
    assert small.lm_head is target.get_output_embeddings()
    assert len(small.model.layers) == 2


def test_training_improves_agreement_and_leaves_the_target_alone(target, tmp_path):
    store = Store(tmp_path / "features", 96)
    extract(target, TURNS, 64, TALKS, store, (2, 2, 1))
    before = {name: w.clone() for name, w in target.state_dict().items()}
    small = draft_small.from_target(target)
    recipe = Recipe(single=40, chain=0, tokens=128, held=4, every=20, warm=2, cool=5, rate=1e-2)
    training = Training(small, score_of(small), recipe, tmp_path / "draft.pt", "cpu")
    first = training.agreement(store.open())
    training.run(store)
    assert len(training.progress.curve) == 2
    assert training.progress.curve[-1][3] > first[0] + 0.05
    for name, weight in target.state_dict().items():
        assert torch.equal(weight, before[name]), name


def test_a_stopped_run_goes_on_from_its_checkpoint_and_then_from_what_was_published(target, tmp_path):
    store = Store(tmp_path / "features", 96)
    extract(target, TURNS, 64, TALKS, store, (2, 2, 1))
    checkpoint = tmp_path / "draft.pt"
    for steps in (5, 8):
        small, _ = start(target, None)
        recipe = Recipe(single=steps, chain=0, tokens=128, held=4, every=4, warm=2, cool=2)
        training = Training(small, score_of(small), recipe, checkpoint, "cpu")
        assert training.resume() == (steps == 8)
        training.run(store.open())
    assert training.progress.step == 8
    found, progress = restore_draft(checkpoint, target)
    ids = torch.tensor([[5, 9, 3, 40]])
    assert torch.equal(found(ids).logits, small(ids).logits)
    draft_small.save(found, tmp_path / "draft", progress)
    again, known = start(target, tmp_path / "draft")
    assert known == training.progress
    assert torch.allclose(again(ids).logits, small(ids).logits, atol=0.3, rtol=0.1)
    assert again.model.norm.weight.requires_grad


def test_publishing_leaves_a_shard_and_a_card(target, tmp_path):
    template = "{% for m in messages %}w1 {{ m.content }} <eos> {% endfor %}{% if add_generation_prompt %}w2{% endif %}"
    name = save(tmp_path / "target", target, template=template)
    store = Store(tmp_path / "features", 96)
    extract(target, TURNS, 64, TALKS, store, (2, 2, 1))
    places = ["--target", name, "--checkpoint", str(tmp_path / "draft.pt")]
    sizes = ["--single", "4", "--tokens", "128", "--held", "4", "--every", "2", "--fresh"]
    draft_train.main([*places, "--features", str(tmp_path / "features"), *sizes])
    publish.main(["--kind", "draft", *places, "--out", str(tmp_path / "out"), "--ended", "time"])
    card = (tmp_path / "out" / "README.md").read_text()
    assert "# Draft model for" in card
    assert "2 decoder layers" in card
    assert "| 4 |" in card
    assert len(draft_small.load(tmp_path / "out", target).model.layers) == 2


def test_a_compact_shard_gives_the_draft_model_back(target, tmp_path):
    small = draft_small.from_target(target, (1, 2))
    file = draft_small.save(small, tmp_path, {})
    again = draft_small.load(tmp_path, target)
    ids = torch.tensor([[5, 9, 3, 40]])
    assert torch.allclose(again(ids).logits, small(ids).logits, atol=0.3, rtol=0.1)
    assert file.stat().st_size < 30_000


def test_the_export_is_an_ordinary_model_directory(target, tmp_path):
    small = draft_small.from_target(target)
    export_draft(small, tiny_tokenizer(), tmp_path)
    again = AutoModelForCausalLM.from_pretrained(tmp_path)
    ids = torch.tensor([[5, 9, 3, 40]])
    assert type(again).__name__ == "LlamaForCausalLM"
    assert again.config.num_hidden_layers == 2
    assert torch.allclose(again(ids).logits, small(ids).logits, atol=1e-5)
    assert load_tokenizer(tmp_path).get_vocab() == tiny_tokenizer().get_vocab()
