"""convert: the shelf's GGUF to safetensors in float32, with a tokenizer and a generation config that are complete.

Run by `engine.shelf` as a child process; writes the fraction done to stdout, one number a line.
"""

import sys
from collections.abc import Callable
from pathlib import Path

import torch
from tokenizers import pre_tokenizers
from transformers import AutoModelForCausalLM, AutoTokenizer, GenerationConfig, GgufConfig, PreTrainedTokenizerBase

from engine.digest import weights_sha256


def convert(gguf: Path, out: Path, done: Callable[[float], None]) -> None:
    """Write the folder `out`. Raises ValueError when the GGUF lacks a chat template or an end-of-sequence id."""
    done(0.2)
    tokenizer = complete(AutoTokenizer.from_pretrained(gguf.parent, gguf_file=gguf.name), gguf)
    done(0.4)
    model = AutoModelForCausalLM.from_pretrained(
        gguf.parent,
        gguf_file=gguf.name,
        dtype=torch.float32,
        quantization_config=GgufConfig(dequantize=True),  # else the result counts as quantised and cannot be saved
    )
    done(0.9)
    model.config._name_or_path = out.parent.name
    model.generation_config = GenerationConfig(
        bos_token_id=tokenizer.bos_token_id, eos_token_id=tokenizer.eos_token_id, pad_token_id=tokenizer.pad_token_id
    )
    tokenizer.save_pretrained(out)
    model.save_pretrained(out)
    weights_sha256(out)
    done(1.0)


def complete(tokenizer: PreTrainedTokenizerBase, gguf: Path) -> PreTrainedTokenizerBase:
    """Put back what the GGUF import leaves out: digits are split one by one before the byte-level pattern.

    `tokenizer.ggml.pre = smollm` says so, transformers does not read it: "\\n\\n1" would give two tokens for the
    two newlines where the model was trained on one.
    """
    if tokenizer.chat_template is None or tokenizer.eos_token_id is None:
        raise ValueError(f"{gguf.name}: the metadata has no chat template or no end-of-sequence id")
    tokenizer.backend_tokenizer.pre_tokenizer = pre_tokenizers.Sequence(
        [pre_tokenizers.Digits(individual_digits=True), pre_tokenizers.ByteLevel(add_prefix_space=False)]
    )
    return tokenizer


def _report(fraction: float) -> None:
    sys.stdout.write(f"{fraction}\n")
    sys.stdout.flush()


if __name__ == "__main__":
    convert(Path(sys.argv[1]), Path(sys.argv[2]), _report)
