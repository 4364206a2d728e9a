"""Pairs: loading from folders, the vocabulary check, pieces, and every refusal in words."""

import socket
import time
from pathlib import Path

import pytest
import torch
from huggingface_hub import HfApi

from engine import load
from engine.config import RunConfig
from engine.digest import NAME, file_sha256, weights_sha256
from engine.models import ModelError, common_vocabulary, load_pair, pair_of
from engine.propose.self_skip import skip_layers, skipped
from tests.engine.tiny import FAMILIES, WORDS, save, tiny_model, tiny_tokenizer

TEMPLATE = "{% for m in messages %}w0 {{ m['content'] }}<eos>{% endfor %}{% if add_generation_prompt %} w1{% endif %}"


@pytest.fixture
def llama(tmp_path: Path) -> str:
    return save(tmp_path / "llama", tiny_model("llama"), template=TEMPLATE)


def test_a_folder_loads_with_stop_ids_pad_and_shape(llama: str) -> None:
    pair = load_pair(RunConfig(target=llama))
    assert (pair.stop_ids, pair.pad_id, pair.vocab, pair.context) == ({1, 2}, 0, 64, 64)
    assert pair.draft is None
    assert pair.positions == "rotary"
    entry = pair.info["target"]
    assert entry["sha256"] == file_sha256(Path(llama) / "model.safetensors")
    assert {k: entry[k] for k in ("layers", "kv_heads", "head_dim", "vocab")} == {
        "layers": 4,
        "kv_heads": 2,
        "head_dim": 8,
        "vocab": 64,
    }
    assert not any(weight.requires_grad for weight in pair.target.parameters())
    assert not pair.target.training
    assert pair.target.config._attn_implementation == "sdpa"


@pytest.mark.parametrize("family", FAMILIES)
def test_every_family_loads_in_float64_with_its_position_scheme(family: str, tmp_path: Path) -> None:
    pair = load_pair(RunConfig(target=save(tmp_path, tiny_model(family)), dtype="float64"))
    assert pair.target.dtype == torch.float64
    assert pair.positions == ("learned" if family in ("gpt2", "opt") else "rotary")
    assert pair.context == 64


def test_a_draft_with_wider_logits_pairs_by_its_tokenizer(llama: str, tmp_path: Path) -> None:
    wide = save(tmp_path / "wide", tiny_model("gpt2", vocab=80))
    pair = load_pair(RunConfig(target=llama, proposer="draft_model", draft=wide))
    assert pair.vocab == 64
    assert pair.info["draft"]["vocab"] == 80
    assert pair.context == 64


def test_a_larger_target_vocabulary_is_cut_to_the_common_ids(llama: str, tmp_path: Path) -> None:
    big = save(tmp_path / "big", tiny_model("llama", vocab=70), [*WORDS, "extra"])
    assert load_pair(RunConfig(target=big, proposer="draft_model", draft=llama)).vocab == 64


def test_different_vocabularies_are_refused_with_the_first_differing_id(llama: str, tmp_path: Path) -> None:
    other = save(tmp_path / "other", tiny_model("llama"), [*WORDS[:7], "x", *WORDS[8:]])
    with pytest.raises(ModelError, match="id 7 is 'w4' in the first and 'x' in the second"):
        load_pair(RunConfig(target=llama, proposer="draft_model", draft=other))


def test_a_gap_in_one_vocabulary_counts_as_a_difference() -> None:
    class Holed:
        def get_vocab(self) -> dict[str, int]:
            return {word: i for i, word in enumerate(WORDS) if i != 5}

    with pytest.raises(ModelError, match="id 5 is 'w2' in the first and None in the second"):
        common_vocabulary(tiny_tokenizer(), Holed(), "a", "b")


def test_a_missing_folder_an_empty_one_and_one_without_tokenizer_are_named(tmp_path: Path) -> None:
    with pytest.raises(ModelError, match=r"there is no model .*smollm2-135m"):
        load_pair(RunConfig(target=str(tmp_path / "nowhere")))
    with pytest.raises(ModelError, match=r"no config\.json"):
        load_pair(RunConfig(target=str(tmp_path)))
    with pytest.raises(ModelError, match="has no tokenizer that can be read"):
        load_pair(RunConfig(target=save(tmp_path / "bare", tiny_model("llama"), None)))


def test_weights_that_lack_a_tensor_are_refused_not_filled_with_noise(tmp_path: Path) -> None:
    folder = save(tmp_path, tiny_model("llama", layers=2))
    config = tmp_path / "config.json"
    config.write_text(config.read_text().replace('"num_hidden_layers": 2', '"num_hidden_layers": 3'))
    with pytest.raises(ModelError, match=r"lack 9 tensors of the model, first model\.layers\.2"):
        load_pair(RunConfig(target=folder))


def test_a_device_that_is_not_there_is_refused(llama: str) -> None:
    with pytest.raises(ModelError, match=r"device 'cuda:99' cannot be used here .*'cpu' works"):
        load_pair(RunConfig(target=llama, device="cuda:99"))


def test_a_hub_that_never_answers_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    with socket.create_server(("127.0.0.1", 0)) as silent:
        endpoint = f"http://127.0.0.1:{silent.getsockname()[1]}"
        monkeypatch.setattr(load, "HfApi", lambda: HfApi(endpoint=endpoint))
        monkeypatch.setattr(load, "PROBE_S", 0.3)
        start = time.monotonic()
        with pytest.raises(ModelError, match="the hub cannot be reached"):
            load_pair(RunConfig(target="nobody/no-such-model"))
        assert time.monotonic() - start < 10.0


def test_the_folder_hash_is_remembered_until_the_file_changes(llama: str) -> None:
    folder = Path(llama)
    first = weights_sha256(folder)
    assert (folder / NAME).is_file()
    with (folder / "model.safetensors").open("ab") as stream:
        stream.write(b"\0")
    assert weights_sha256(folder) == file_sha256(folder / "model.safetensors") != first


def test_prompts_go_through_the_template_when_there_is_one(llama: str, tmp_path: Path) -> None:
    pair = load_pair(RunConfig(target=llama))
    assert pair.templated
    assert pair.decode(pair.encode("w5 w6", chat=True)) == "w0 w5 w6 <eos> w1"
    assert pair.encode("w5 w6", chat=False) == [8, 9]
    plain = pair_of(tiny_model("llama"), tokenizer=tiny_tokenizer())
    assert not plain.templated
    assert plain.encode("w5 w6", chat=True) == [8, 9]
    with pytest.raises(ModelError, match="has no tokens"):
        plain.encode("", chat=False)
    with pytest.raises(ModelError, match="no tokenizer"):
        pair_of(tiny_model("llama")).encode("w5", chat=False)


def test_a_pair_in_memory_takes_ids_from_its_arguments_or_its_config() -> None:
    pair = pair_of(tiny_model("gpt2"), tiny_model("llama", vocab=50), stop_ids=[7], pad_id=3)
    assert (pair.stop_ids, pair.pad_id, pair.vocab, pair.positions) == ({7}, 3, 50, "learned")
    assert pair_of(tiny_model("gpt2")).stop_ids == {1}
    assert pair_of(tiny_model("gpt2")).pieces([4, 63]) == [[4, "#4", ""], [63, "#63", ""]]


@pytest.mark.parametrize("family", FAMILIES)
def test_self_skip_runs_shares_weights_and_leaves_the_target_alone(family: str) -> None:
    target = tiny_model(family)
    ids = torch.arange(3, 13)[None]
    before = target(ids).logits
    draft = skip_layers(target)
    assert not torch.equal(draft(ids).logits, before)
    assert torch.equal(target(ids).logits, before)
    assert {id(weight) for weight in draft.parameters()} < {id(weight) for weight in target.parameters()}
    assert pair_of(target, draft).info["draft"]["layers"] == 3
    kept = draft(ids, use_cache=True).cache.layers
    assert [layer.keys is None for layer in kept] == [False, False, True, False]


def test_self_skip_keeps_at_least_one_layer_at_any_depth() -> None:
    assert skipped(30) == range(12, 16)
    for depth in range(1, 100):
        gone = skipped(depth)
        assert 0 <= gone.start <= gone.stop <= depth
        assert len(gone) == min(max(1, round(depth / 8)), depth - 1)


def test_self_skip_is_loaded_by_name(llama: str) -> None:
    pair = load_pair(RunConfig(target=llama, proposer="self_skip"))
    assert pair.draft is not None
    assert pair.info["draft"]["sha256"] == pair.info["target"]["sha256"]
