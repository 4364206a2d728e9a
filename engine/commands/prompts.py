"""Prompts from a file or from the command line, refused with the line that cannot be used."""

import json
from pathlib import Path

from engine.config import ConfigError

WORKS = 'write {"prompt": "..."} or plain text'


def read_prompts(path: Path) -> list[str]:
    """Prompts of a UTF-8 file: JSON lines with a 'prompt' field, or one prompt per line. Raises ConfigError.

    Only a line feed ends a line: other separators (U+2028, a vertical tab) may stand inside a prompt.
    """
    try:
        text = path.read_text(encoding="utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        works = f"a UTF-8 file with one prompt per line, or JSON lines with a 'prompt' field ({error})"
        raise ConfigError("prompts", str(path), works) from None
    prompts = []
    for number, line in enumerate(text.split("\n"), 1):
        line = line.removesuffix("\r")
        if not line.strip():
            continue
        if not line.lstrip().startswith("{"):
            prompts.append(line)
            continue
        try:
            prompt = json.loads(line)["prompt"]
        except (ValueError, KeyError, TypeError, RecursionError):
            prompt = None
        if not isinstance(prompt, str):
            raise ConfigError(f"{path}:{number}", line[:60], WORKS)
        prompts.append(prompt)
    return prompts


def check(prompts: list[str]) -> None:
    """Raise ConfigError for text that no tokenizer takes: half of a character, or bytes that are not UTF-8."""
    for n, prompt in enumerate(prompts):
        if any("\ud800" <= c <= "\udfff" for c in prompt):
            raise ConfigError(f"prompts[{n}]", prompt[:60], "it holds a lone surrogate or bytes that are not UTF-8")
