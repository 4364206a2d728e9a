"""One token from text: what a visitor typed, as the model's own tokenizer reads it. Imports no torch."""

from functools import cache
from pathlib import Path

from tokenizers import Tokenizer

MAX_CHARS = 200


class NotOneToken(ValueError):
    """Text that is no single token: which tokens it is, and what would work. The message has no full stop."""


def one_token(folder: str, text: str) -> int:
    """The id of the token that `text` is in the tokenizer of `folder`. Raises NotOneToken."""
    tokenizer = _tokenizer(folder)
    if not 0 < len(text) <= MAX_CHARS:
        raise NotOneToken(f"the text has {len(text)} characters: type 1 to {MAX_CHARS}, or # and an id")
    if any("\ud800" <= c <= "\udfff" for c in text):
        raise NotOneToken("the text holds half of a character (a lone surrogate): type it again")
    ids = tokenizer.encode(text, add_special_tokens=False).ids
    if len(ids) == 1:
        return ids[0]
    parts = ", ".join(f"“{tokenizer.decode([i], skip_special_tokens=False)}” (#{i})" for i in ids[:8])
    more = f" and {len(ids) - 8} more" if len(ids) > 8 else ""
    spaced = tokenizer.encode(f" {text}", add_special_tokens=False).ids
    works = (
        f"with a space in front it is one (#{spaced[0]})" if len(spaced) == 1 else "type one of them, or # and an id"
    )
    raise NotOneToken(f"“{text[:40]}” is {len(ids)} tokens, {parts}{more}: {works}")


@cache
def _tokenizer(folder: str) -> Tokenizer:
    file = Path(folder) / "tokenizer.json"
    if not folder or not file.is_file():
        raise NotOneToken("this model's tokenizer cannot read text here: give # and an id")
    return Tokenizer.from_file(str(file))
