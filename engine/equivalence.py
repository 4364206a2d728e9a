"""Is a row what plain decoding of that row alone would give? If not: rounding, or a bug? (code.md 2i, papers.md A.9)"""

from dataclasses import dataclass, field

import torch
from torch import Tensor
from transformers.cache_utils import DynamicCache

from engine.fold import Fold
from engine.forward import forward
from engine.models import Pair
from engine.sampling import SharedNoise
from engine.trace import Commit, Compare, Event, Schedule, Verify

#: Assumed logit noise by dtype until the run itself has measured some.
FLOOR = {torch.float64: 1e-9, torch.float32: 2e-4, torch.float16: 0.1, torch.bfloat16: 0.4}


@dataclass(slots=True)
class Witness:
    """The lane's own logits at every generated token: (chosen id, its logit, second id, its logit) per row.

    They come from the lane and not from its events, whose logits are rounded: noise is measured, not made.
    """

    seen: dict[int, list[tuple[int, float, int, float]]] = field(default_factory=dict)
    _top: tuple[list, list] = ((), ())

    def saw(self, ids: list[list[list[int]]], values: list[list[list[float]]]) -> None:
        """One verified forward: [B][T][2] ids and logits of the two best tokens."""
        self._top = (ids, values)

    def kept(self, rows: list[int], emitted: list[list[int]]) -> None:
        """The tokens that each row of that forward took from it."""
        for row, ids, values, tokens in zip(rows, *self._top, emitted, strict=True):
            found = [(i[0], v[0], i[1], v[1]) for i, v in zip(ids, values, strict=True)]
            self.seen.setdefault(row, []).extend(found[: len(tokens)])


def reference_logits(
    pair: Pair, ids: list[int], prompt: int, row: int = 0, sampling: SharedNoise | None = None
) -> Tensor:  # [N, V], N = len(ids) - prompt
    """Logits (with `sampling`: scores) that judge each generated token, from one forward over the row alone."""
    fed = torch.tensor([ids[:-1]], device=pair.target.device)
    t = fed.shape[1]
    positions = torch.arange(t, device=fed.device)[None]
    mask = torch.ones(1, t, t, dtype=torch.bool, device=fed.device).tril()
    keep = torch.arange(prompt - 1, t, device=fed.device)
    cache = DynamicCache(config=pair.target.config)
    logits = forward(pair.target, fed, positions, mask, cache, vocab=pair.vocab, keep=keep).logits
    return (sampling.scores(logits, [row], [list(range(prompt, len(ids)))]) if sampling else logits)[0]


def certify(
    pair: Pair,
    row: int,
    ids: list[int],
    prompt: int,
    witness: Witness,
    noise: float,
    measure: bool = True,
    room: int | None = None,
    sampling: SharedNoise | None = None,
) -> tuple[Compare, float]:
    """Compare one row's output with the row decoded alone; returns the event and the noise seen on equal prefixes.

    `measure`: whether this row may raise the noise. A lane that is torn on purpose may not: its logits are wrong,
    not rounded. `room`: tokens that the row alone may emit; fewer without a stop id are a difference too.

    One forward suffices: where every argmax equals the next token, the outputs are equal by induction, and the
    first argmax that does not is the first difference. Rounding is only claimed when the logits of both candidates
    at that prefix differ between the runs by no more than the measured noise, and the gap is at most twice that.
    """
    logits = reference_logits(pair, ids, prompt, row, sampling)
    best = logits.argmax(dim=-1).tolist()
    output, seen = ids[prompt:], witness.seen.get(row, [])
    index = next((n for n, t in enumerate(output) if t != best[n] or _stopped(pair, output, n)), None)
    same = output if index is None else output[:index]
    for n in range(min(len(same), len(seen)) if measure else 0):
        noise = max(noise, abs(float(logits[n, same[n]]) - seen[n][1]))
    if index is None and room is not None and len(output) < room and not _stopped(pair, output, len(output)):
        more = int(reference_logits(pair, [*ids, ids[-1]], prompt, row, sampling)[-1].argmax())
        event = Compare(row=row, verdict="bug", checked=len(output), index=len(output), expected=more, actual=-1)
        return event, noise
    if index is None:
        return Compare(row=row, verdict="equal", checked=len(output), noise=noise), noise
    if _stopped(pair, output, index):
        event = Compare(row=row, verdict="bug", checked=len(output), index=index, expected=-1, actual=output[index])
        return event, noise
    expected, actual = best[index], output[index]
    reference = [float(logits[index, expected]), float(logits[index, actual])]
    known, other = ({}, float("-inf")) if index >= len(seen) else _pair_of(seen[index])
    lane = [known.get(token, other) for token in (expected, actual)]  # what is not among the best two is below them
    if not known:  # a trace that carries ids only
        both = {"reference": [round(x, 4) for x in reference]}
        event = Compare(
            row=row, verdict="bug", checked=len(output), index=index, expected=expected, actual=actual, logits=both
        )
        return event, noise
    apart = max(abs(a - b) for a, b in zip(reference, lane, strict=True))
    gap = max(reference[0] - reference[1], lane[1] - lane[0])
    rounding = {expected, actual} <= set(known) and apart <= noise and gap <= 2 * noise
    return Compare(
        row=row,
        verdict="rounding" if rounding else "bug",
        checked=len(output),
        index=index,
        expected=expected,
        actual=actual,
        logits={"reference": [round(x, 4) for x in reference], "lane": [round(x, 4) for x in lane]},
        noise=noise,
    ), noise


def witness_of(events: list[Event], lane: str) -> Witness:
    """What a recorded lane says of its own logits: the choices and top two of its verify events."""
    witness, rows = Witness(), []
    for e in events:
        if e.lane != lane:
            continue
        if isinstance(e, Schedule):
            rows = e.rows
            witness.saw([[]] * len(rows), [[]] * len(rows))  # until a verify event says more
        elif isinstance(e, Verify):
            pairs = [list(zip(c, t, strict=False)) for c, t in zip(e.choice, e.top2, strict=True)]
            ids = [[[chosen, int(top[0])] for chosen, top in row] for row in pairs]
            witness.saw(ids, [[[top[1], top[2]] for _, top in row] for row in pairs])
        elif isinstance(e, Commit):
            witness.kept(rows, e.emitted)
    return witness


def _pair_of(seen: tuple[int, float, int, float]) -> tuple[dict[int, float], float]:
    chosen, first, second, other = seen
    return {chosen: first, second: other}, other


def compare_lane(
    pair: Pair,
    fold: Fold,
    lane: str,
    witness: Witness,
    noise: float,
    measure: bool,
    sampling: SharedNoise | None = None,
) -> tuple[list[Compare], float]:
    """Certify every row of a lane that has ended; returns the events and the noise seen so far."""
    events = []
    for state in fold.lanes[lane].rows.values():
        ids = state.ids if state.final < 0 else state.ids[: state.prompt + state.final]
        if len(ids) > state.prompt:
            budget = fold.lanes[lane].config["max_new"]
            room = None if state.done == "stopped" else min(budget, pair.context - state.prompt)
            event, noise = certify(pair, state.row, ids, state.prompt, witness, noise, measure, room, sampling)
            events.append(event)
    return events, noise


def _stopped(pair: Pair, output: list[int], n: int) -> bool:
    """Whether plain decoding had already ended before generated token n."""
    return n > 0 and output[n - 1] in pair.stop_ids
