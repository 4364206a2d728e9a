"""The small draft model: the target's layers at first, agreement learned, a compact shard and back."""

import pytest
import torch
from transformers import AutoModelForCausalLM

from engine.load import load_tokenizer
from engine.train import draft_small
from engine.train.draft_train import score_of
from engine.train.export import export_draft
from engine.train.features import Store, extract
from engine.train.loop import Recipe, Training
from engine.train.turns import Turns
from tests.engine.tiny import tiny_model, tiny_tokenizer

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
    training = Training(small, score_of(small, torch.arange(0, 64, 2)), recipe, tmp_path / "draft.pt", "cpu")
    first = training.agreement(store.open())
    training.run(store)
    assert len(training.progress.curve) == 2
    assert training.progress.curve[-1][3] > first[0] + 0.05
    for name, weight in target.state_dict().items():
        assert torch.equal(weight, before[name]), name


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
