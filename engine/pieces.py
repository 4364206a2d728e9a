"""Pieces: the text and the raw bytes of single tokens, as the trace carries them."""

from collections.abc import Iterable
from functools import cache

from transformers import PreTrainedTokenizerBase

SPACE = "\u2581"  # SentencePiece's mark of a leading space


def pieces(tokenizer: PreTrainedTokenizerBase | None, ids: Iterable[int]) -> list[list]:
    """[id, text, hex] of each token alone; hex is "" when the bytes are the text's UTF-8.

    A byte-level fragment such as one of the three bytes of a kanji decodes to the replacement character and
    has its bytes in hex. Special tokens keep their literal name; an id without a token (or without a tokenizer)
    is "#id".
    """
    if tokenizer is None:
        return [[int(i), f"#{i}", ""] for i in ids]
    byte_level = _is_byte_level(tokenizer)
    literal = tokenizer.added_tokens_decoder
    return [_piece(tokenizer, int(i), byte_level, literal) for i in ids]


def _piece(tokenizer: PreTrainedTokenizerBase, token_id: int, byte_level: bool, literal: dict) -> list:
    if token_id in literal:
        return [token_id, literal[token_id].content, ""]
    token = tokenizer.convert_ids_to_tokens(token_id)
    if token is None:
        return [token_id, f"#{token_id}", ""]
    table = byte_of()
    if byte_level and all(char in table for char in token):
        raw = bytes(table[char] for char in token)
    elif len(token) == 6 and token.startswith("<0x") and token.endswith(">"):
        raw = bytes.fromhex(token[3:5])  # SentencePiece byte fallback
    else:
        raw = token.replace(SPACE, " ").encode()
    text = raw.decode("utf-8", errors="replace")
    return [token_id, text, "" if text.encode() == raw else raw.hex()]


def _is_byte_level(tokenizer: PreTrainedTokenizerBase) -> bool:
    backend = getattr(tokenizer, "backend_tokenizer", None)
    return backend is not None and "ByteLevel" in repr(backend.decoder)


@cache
def byte_of() -> dict[str, int]:
    """GPT-2's alphabet: the printable character that stands for each of the 256 bytes.

    >>> byte_of()["A"], byte_of()["\\u0120"]
    (65, 32)
    """
    plain = [*range(0x21, 0x7F), *range(0xA1, 0xAD), *range(0xAE, 0x100)]
    table = {chr(byte): byte for byte in plain}
    others = (byte for byte in range(256) if byte not in set(plain))
    return table | {chr(256 + n): byte for n, byte in enumerate(others)}
