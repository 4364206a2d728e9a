"""One token from text, by the tokenizer in a model's folder."""

from pathlib import Path

import pytest
from tokenizers import Tokenizer, decoders, models, pre_tokenizers

from engine.one_token import NotOneToken, one_token


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> str:
    """A byte-level tokenizer that has merged " mat" from its left, and "cat", and knows every byte."""
    merges = [("Ġ", "m"), ("Ġm", "a"), ("Ġma", "t"), ("c", "a"), ("ca", "t")]
    known = sorted(pre_tokenizers.ByteLevel.alphabet()) + ["".join(pair) for pair in merges]
    tokenizer = Tokenizer(models.BPE({token: i for i, token in enumerate(known)}, merges))
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    tokenizer.add_special_tokens(["<|end|>"])
    where = tmp_path_factory.mktemp("model")
    tokenizer.save(str(where / "tokenizer.json"))
    return str(where)


def test_text_that_is_one_token_gives_its_id(folder: str) -> None:
    tokenizer = Tokenizer.from_file(f"{folder}/tokenizer.json")
    for text in (" mat", "cat", "q", "<|end|>"):
        assert one_token(folder, text) == tokenizer.encode(text).ids[0]
    assert len({one_token(folder, text) for text in (" mat", "cat", "q", "<|end|>")}) == 4


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("cat mat", ["“cat mat” is 2 tokens, “cat” (#", "“ mat” (#", "type one of them, or # and an id"]),
        ("mat", ["“mat” is 3 tokens", "with a space in front it is one (#"]),
        ("xyzxyzxyzxyz", ["is 12 tokens", "and 4 more: type one of them"]),
        ("", ["has 0 characters: type 1 to 200"]),
        ("q" * 201, ["has 201 characters"]),
        ("\ud83d", ["half of a character"]),
    ],
)
def test_other_text_is_refused_and_its_tokens_are_named(folder: str, text: str, words: list[str]) -> None:
    with pytest.raises(NotOneToken) as refusal:
        one_token(folder, text)
    assert all(word in str(refusal.value) for word in words), refusal.value


def test_without_a_tokenizer_an_id_is_asked_for(tmp_path: Path) -> None:
    for folder in ("", str(tmp_path)):
        with pytest.raises(NotOneToken, match="give # and an id"):
            one_token(folder, "cat")
