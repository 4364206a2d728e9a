"""Shrink a failure to the smallest batch that still fails, and write it as a test.

What is taken away, as long as the failure stays: rows, tokens per row (`max_new`), drafts per round (`k`), the front
of each prompt; again from the start until nothing more can go (delta debugging, Zeller and Hildebrandt 2002).
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import MISSING, dataclass, fields, replace

from engine.config import RunConfig
from engine.models import Pair
from engine.stream import encode, session
from engine.trace import Compare, Violation

MAX_TRIES = 400


class ShrinkError(ValueError):
    """A run that cannot be reduced, because it does not fail."""


@dataclass(frozen=True, slots=True)
class Case:
    """A run that fails. `prompts`: token ids."""

    config: RunConfig
    prompts: tuple[tuple[int, ...], ...]


def case_of(pair: Pair, config: RunConfig, prompts: Sequence[str | list[int]]) -> Case:
    """The run of these prompts as token ids."""
    return Case(config, tuple(tuple(encode(pair, p, config, n)) for n, p in enumerate(prompts)))


def failures(pair: Pair, config: RunConfig, prompts: Sequence[Sequence[int]]) -> list[str]:
    """What is wrong with a run, one line each: rows that are not what they are alone, then broken invariants."""
    found = []
    for event in session({config.method: config}, [list(p) for p in prompts], pair=pair):
        if isinstance(event, Compare) and event.verdict == "bug":
            expected, actual = ("end" if i < 0 else i for i in (event.expected, event.actual))
            found.append(f"output: row {event.row}, token {event.index}: expected {expected}, found {actual}")
        elif isinstance(event, Violation):
            where = f"step {event.step}, row {event.row}, slot {event.slot}"
            found.append(f"{event.invariant}: {where}: {event.message}")
    return sorted(found, key=lambda line: not line.startswith("output"))


def shrink(pair: Pair, case: Case, progress: Callable[[str], None] = lambda text: None) -> Case:
    """The smallest case found that fails in the same way: by a wrong output if there is one, else by that invariant.

    Raises ShrinkError when `case` does not fail at all.
    """
    kinds = [line.split(":")[0] for line in failures(pair, case.config, case.prompts)]
    if not kinds:
        raise ShrinkError("the run of these rows alone does not fail: there is nothing to shrink")
    kind, tried = "output" if "output" in kinds else kinds[0], {case}

    def fails(other: Case) -> bool:
        if other in tried or len(tried) > MAX_TRIES:
            return False
        tried.add(other)
        return any(line.split(":")[0] == kind for line in failures(pair, other.config, other.prompts))

    while found := next(filter(fails, candidates(case)), None):
        case = found
        progress(f"{len(tried)} tries: {in_words(case)}")
    return case


def candidates(case: Case) -> Iterator[Case]:
    """Smaller cases, the boldest cuts of each kind first."""
    config, prompts = case.config, case.prompts
    for n in smaller(config.max_new):
        yield Case(replace(config, max_new=n), prompts)
    if config.batch and config.batch >= len(prompts):
        yield Case(replace(config, batch=None, window=None), prompts)
    for size in halves(len(prompts)):  # this many rows go, or all others
        for at in range(0, len(prompts), size):
            part = prompts[at : at + size]
            rest = prompts[:at] + prompts[at + size :]
            yield from (Case(config, rows) for rows in (part, rest) if 0 < len(rows) < len(prompts))
    for n in smaller(config.k):
        yield Case(replace(config, k=n), prompts)
    for i, ids in enumerate(prompts):
        for n in smaller(len(ids)):
            yield Case(config, (*prompts[:i], ids[-n:], *prompts[i + 1 :]))
    if config.batch:
        for n in smaller(config.batch):
            yield Case(replace(config, batch=n, window=None), prompts)


def halves(n: int) -> Iterator[int]:
    """n // 2, n // 4, ..., 1."""
    while n > 1:
        n //= 2
        yield n


def smaller(n: int) -> list[int]:
    """Numbers below n: 1, then n less a half, a quarter, ..., one.

    >>> smaller(12), smaller(1)
    ([1, 6, 9, 11], [])
    """
    cuts = [n >> bit for bit in range(1, n.bit_length())]
    return list(dict.fromkeys([1, *(n - cut for cut in cuts)])) if n > 1 else []


def in_words(case: Case) -> str:
    """The size of a case."""
    lengths = ", ".join(str(len(p)) for p in case.prompts)
    rows = f"{len(case.prompts)} rows" if len(case.prompts) > 1 else "1 row"
    return f"{rows}, prompts of {lengths} tokens, max_new {case.config.max_new}, K {case.config.k}"


def as_test(pair: Pair, case: Case) -> str:
    """A pytest file that fails as long as the case does."""
    found = failures(pair, case.config, case.prompts)
    listed = "\n".join(f"    {line}" for line in found)
    prompts = ",\n".join(f"    {list(p)}" for p in case.prompts)
    return f'''"""{case.config.method} on the smallest batch on which it failed: {in_words(case)}.

{listed}

Written by `python -m engine verify --shrink`. Run it with pytest in the folder that holds `engine`.
"""

from engine import RunConfig, load_pair
from engine.shrink import failures

CONFIG = RunConfig(
{settings(case.config)})
PROMPTS = [
{prompts},
]


def test_{case.config.method}_gives_every_row_what_it_gives_it_alone() -> None:
    assert failures(load_pair(CONFIG), CONFIG, PROMPTS) == []
'''


def settings(config: RunConfig) -> str:
    """The fields that are not at their defaults, as source lines."""
    plain = RunConfig(method=config.method)
    lines = []
    for f in fields(config):
        value = getattr(config, f.name)
        default = plain.faults if f.name == "faults" else None if f.default is MISSING else f.default
        if f.name == "method" or value != default:
            shown = f"frozenset({sorted(value)})" if isinstance(value, frozenset) else repr(value)
            lines.append(f"    {f.name}={shown},\n")
    return "".join(lines)
