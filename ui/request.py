"""From what a visitor typed to a job for the engine, or to a message that says what, where and what would work."""

import re
from collections.abc import Iterable
from dataclasses import dataclass

from engine import registry
from engine.config import FLOOR, MAX_K, ConfigError
from engine.shipped import SHARDS, lacking
from ui import lanes

MAX_PROMPTS = 8
MAX_NEW = 256
MAX_CHARS = 20_000  # a prompt; the engine checks tokens against its context


def worded(names: Iterable[str]) -> dict[str, str]:
    """What the form calls each proposer, in its own order; one without words in the registry goes by its name.

    >>> list(worded(["fresh", "eagle3", "ngram"]).values())[1:]
    ["EAGLE-3: one small layer on the model's own inner states, trained here", 'fresh']
    """
    names = list(names)
    said = {name: ": ".join(words) for name, words in registry.PROPOSER_SAYS.items() if name in names}
    return said | {name: name for name in names if name not in said}


PROPOSERS = worded(registry.PROPOSERS)

#: What draft lengths can follow here. A table of measured costs is a file, which the form does not take.
LENGTHS = {
    "acceptance": "how many of the row's drafts were right lately",
    "confidence": "how sure the drafter is",
}

_RULE = re.compile(r"^[ \t]*---[ \t]*$", re.MULTILINE)


class BadRequest(ValueError):
    """Input that cannot run: the message names the field and what would work."""


@dataclass(frozen=True, slots=True)
class Offer:
    """What this server can run: the pair, and its draft model's name where there is one."""

    target: str = "smollm2-135m"
    draft: str | None = None
    device: str = "cpu"

    def unavailable(self) -> dict[str, str]:
        """Proposers that cannot be chosen, with the reason."""
        reasons = {name: why for name in PROPOSERS if (why := lacking(name, self.target))}
        if not self.draft:
            reasons["draft_model"] = f"no smaller model with the vocabulary of {self.target} is on this server"
        return reasons

    def closed(self) -> str:
        """What the form says of them."""
        reasons = self.unavailable()
        name = {proposer: text.partition(":")[0] for proposer, text in PROPOSERS.items()}
        missing = [p for p in reasons if p in SHARDS and not SHARDS[p].is_file()]
        said = [f"This build has no weights for: {', '.join(name[p] for p in missing)}."] if missing else []
        return " ".join([*said, *(f"Not here: {name[p]} ({why})." for p, why in reasons.items() if p not in missing)])


def split(text: str) -> list[str]:
    """One prompt per line; where a line holds only `---`, such lines separate prompts of any number of lines.

    >>> split("Hello\\n\\nName a colour."), split("Two\\nlines\\n---\\nOne")
    (['Hello', 'Name a colour.'], ['Two\\nlines', 'One'])
    """
    if _RULE.search(text):
        return [part.strip("\n") for part in _RULE.split(text)]
    return [line for line in text.splitlines() if line.strip()]


def job(
    offer: Offer,
    text: str,
    proposer: str,
    k: float,
    max_new: float,
    chat: bool,
    left: str = "eqspec",
    right: str = lanes.SHORTCUT,
    adapt: list[str] = (),
    floor: float = FLOOR,
    verified: float = 0,
) -> dict:
    """The job of two lanes (three with the shortcut's repaired twin) for the engine. Raises BadRequest."""
    prompts = split(text or "")
    _check_prompts(prompts)
    works = ", ".join(name for name in PROPOSERS if name not in offer.unavailable())
    if reason := offer.unavailable().get(proposer):
        raise BadRequest(f"Drafts from {proposer}: {reason}. What works: {works}.")
    if proposer not in PROPOSERS:
        raise BadRequest(f"Drafts from {proposer!r}: there is no such proposer. What works: {works}.")
    known = lanes.on_offer()
    for name, choice in (("Upper lane", left), ("Lower lane", right)):
        if choice not in known:
            raise BadRequest(f"{name}: there is no method {choice!r}. What works: {', '.join(known)}.")
    if left == right:
        raise BadRequest(f"Both lanes are {known[left]}. Choose two different ones.")
    common = {
        "target": offer.target,
        "draft": offer.draft if proposer == "draft_model" else None,
        "device": offer.device,
        "proposer": proposer,
        "k": _whole("Drafts per round (K)", k, 1, MAX_K),
        "max_new": _whole("New tokens per row", max_new, 1, MAX_NEW),
        "chat": bool(chat),
        "adapt": _known("Drafts follow", adapt, LENGTHS),
        "floor": _share("Least chance of a draft", floor),
        "budget": _whole("Most drafts a round", verified, 0, MAX_PROMPTS * MAX_K) or None,  # TETRIS
    }
    try:
        chosen = lanes.lanes(left, right, len(prompts), common)
    except ConfigError as error:
        raise BadRequest(f"{error}.") from error
    return {"lanes": chosen, "prompts": prompts, "title": _title(prompts)}


def plain(error: str) -> str:
    """The engine's message in the form's words.

    >>> plain("prompts[0]='Once upon...' cannot be used: it has 9000 tokens")
    'Prompt 1: it has 9000 tokens'
    """
    return re.sub(r"^prompts\[(\d+)\]=.*? cannot be used: ", lambda m: f"Prompt {int(m[1]) + 1}: ", error)


def _check_prompts(prompts: list[str]) -> None:
    if not any(p.strip() for p in prompts):
        raise BadRequest("Prompts: there is none yet. Write one per line; two or three of different length show most.")
    if len(prompts) > MAX_PROMPTS:
        raise BadRequest(f"Prompts: these are {len(prompts)}, at most {MAX_PROMPTS} fit in a batch here. Remove some.")
    for n, prompt in enumerate(prompts, 1):
        if not prompt.strip():
            raise BadRequest(f"Prompt {n} is empty. Write something between the --- lines, or remove one of them.")
        if any("\ud800" <= c <= "\udfff" for c in prompt):
            raise BadRequest(f"Prompt {n} holds half of a character (a lone surrogate). Delete and retype that place.")
        if len(prompt) > MAX_CHARS:
            raise BadRequest(f"Prompt {n} has {len(prompt):,} characters, at most {MAX_CHARS:,} can be sent. Cut it.")


def _whole(name: str, value: object, low: int, high: int) -> int:
    number = isinstance(value, int | float) and not isinstance(value, bool)
    if not number or value != value or value not in range(low, high + 1):
        shown = "empty" if value is None or value == "" else f"{value:g}" if number else repr(value)
        raise BadRequest(f"{name} is {shown}; choose a whole number from {low} to {high}.")
    return int(value)


def _share(name: str, value: object) -> float:
    if not isinstance(value, int | float) or isinstance(value, bool) or not 0 < value < 1:
        raise BadRequest(f"{name} is {'empty' if value is None else value!r}; choose a number above 0 and below 1.")
    return float(value)


def _known(name: str, values: object, choices: dict[str, str]) -> frozenset[str]:
    if not isinstance(values, list | tuple) or any(v not in list(choices) for v in values):
        raise BadRequest(f"{name} {values!r:.60}: choose of {', '.join(choices)}, or nothing.")
    return frozenset(values)


def _title(prompts: list[str]) -> str:
    first = " ".join(prompts[0].split())
    first = first if len(first) <= 40 else first[:39].rstrip() + "…"
    return first if len(prompts) == 1 else f"{first} (+{len(prompts) - 1})"
