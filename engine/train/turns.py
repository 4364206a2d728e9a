"""The chat turns around self-generated text: which tokens are given, which are sampled, and at what temperature."""

from dataclasses import dataclass

from transformers import PreTrainedTokenizerBase

MARK = "\x00"  # stands for a turn's text while the template is taken apart


@dataclass(frozen=True, slots=True)
class Turns:
    """Token ids of the template around one exchange: `opening` user's text `closing` answer's text `end`.

    SmolLM2: opening = system turn, <|im_start|>user\\n    closing = <|im_end|>\\n<|im_start|>assistant\\n
             end = <|im_end|>
    """

    opening: list[int]
    closing: list[int]
    end: int


def of(tokenizer: PreTrainedTokenizerBase) -> Turns:
    """Take the chat template apart. Raises ValueError for a tokenizer without one."""
    if not tokenizer.chat_template:
        raise ValueError("this tokenizer has no chat template: self-generation needs one to open a user turn")
    turn = [{"role": "user", "content": MARK}]
    text = tokenizer.apply_chat_template(turn, add_generation_prompt=True, tokenize=False)
    opening, closing = (tokenizer.encode(part, add_special_tokens=False) for part in text.split(MARK))
    return Turns(opening, closing, closing[0])
