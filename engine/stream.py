"""A session: one or more lanes on the same prompts, step by step on one clock, as one stream of events."""

import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace

from engine import bitwise, equivalence, trace
from engine.arrivals import arrivals_of
from engine.choice import noise_of
from engine.config import MAX_PROMPTS, MAX_ROWS, ConfigError, RunConfig
from engine.fold import Fold
from engine.header import header_of
from engine.lane import Lane
from engine.methods import METHODS
from engine.models import Pair, load_pair
from engine.propose.build import proposer_of
from engine.row import Row

#: Methods whose rows must equal the row run alone; only these measure the run's rounding noise.
EXACT = {"autoregressive", "eqspec", "exspec", "slots", "rollback"}


def run(config: RunConfig, prompts: Sequence[str], pair: Pair | None = None, **kwargs: object) -> Iterator[trace.Event]:
    """One method on these prompts: a session with a single lane named after the method."""
    yield from session({config.method: config}, prompts, pair=pair, **kwargs)


def session(
    lanes: dict[str, RunConfig],
    prompts: Sequence[str | list[int]],
    *,
    pair: Pair | None = None,
    title: str = "",
    stop: Callable[[], bool] | None = None,
    certify: bool = True,
    observer: object = None,
) -> Iterator[trace.Event]:
    """Run every lane on `prompts` (texts, or token ids), one step of each in turn.

    Yields a header, the lanes' events, a compare event per row (unless `certify` is False) and an end per lane and
    for the session. `stop` is asked before every step. Lanes share target, draft and device of the first lane.
    Raises ConfigError for prompts that cannot run, ModelError for a pair that cannot be loaded, and BitwiseError where
    that mode does not hold on this machine.
    """
    first = next(iter(lanes.values()))
    pair = pair or load_pair(first)
    ids = [encode(pair, p, first, n) for n, p in enumerate(prompts)]
    most = MAX_PROMPTS if all(config.batch for config in lanes.values()) else MAX_ROWS
    if not ids or len(ids) > most:
        raise ConfigError("prompts", len(ids), f"give 1 to {most} prompts")
    arrive = arrivals_of(first, len(ids))
    if other := next((c for c in lanes.values() if arrivals_of(c, len(ids)) != arrive), None):
        raise ConfigError("arrivals", other.arrivals, "the lanes of a session share their requests: give all the same")
    texts = [p if isinstance(p, str) else pair.decode(p) for p in prompts]
    header = header_of(lanes, pair, texts, ids, title, arrive)
    for config in lanes.values():
        if shapes := bitwise.shapes_of(config, ids):
            bitwise.self_test(pair, shapes, min(config.batch or len(ids), len(ids)), config.k)
    yield from Session(lanes, pair, header, stop or (lambda: False), certify, observer)


def encode(pair: Pair, prompt: str | list[int], config: RunConfig, row: int) -> list[int]:
    """Ids of one prompt after templating. Raises ConfigError when it is empty or leaves no room for a token."""
    if isinstance(prompt, str) and not prompt.strip():
        raise ConfigError(f"prompts[{row}]", prompt, "write at least one visible character")
    ids = pair.encode(prompt, config.chat) if isinstance(prompt, str) else list(prompt)
    if not ids:
        raise ConfigError(f"prompts[{row}]", prompt, "it has no tokens; write at least one")
    if len(ids) >= pair.context:
        works = f"it has {len(ids)} tokens after templating; the model's context is {pair.context}, so at most "
        raise ConfigError(f"prompts[{row}]", f"{str(prompt)[:40]}...", f"{works}{pair.context - 1} fit")
    return ids


def decode(
    name: str,
    config: RunConfig,
    pair: Pair,
    header: trace.Header,
    observer: object = None,
    clock: float = 0.0,
    witness: equivalence.Witness | None = None,
) -> Iterator[trace.Event]:
    """One lane: its rows in static batches of `config.batch`, one after the other, steps counted through."""
    endless = bool(config.faults & {"no_stop", "fastest_ends"})
    stop_ids = frozenset() if endless else pair.stop_ids
    rows = [
        Row(p["row"], list(p["ids"]), len(p["ids"]), config.max_new, pair.context, stop_ids, endless, p["arrive"])
        for p in header.prompts
    ]
    pooled = config.method == "exspec" or config.refill  # these make their own batches
    size, step, totals = len(rows) if pooled else config.batch or len(rows), 0, {}
    for batch, at in enumerate(range(0, len(rows), size)):
        part = rows[at : at + size]
        lane = Lane(
            name, config, pair, part, proposer_of(config, pair, part), header, step, batch, observer, clock, witness
        )
        yield from METHODS[config.method](lane)
        step = lane.step + 1
        totals = {k: totals.get(k, 0) + n for k, n in lane.counts.items()}
    yield trace.End(lane=name, step=max(0, step - 1), status="done", totals=totals)


class Session:
    """Interleaves the lanes, numbers the events, adds token pieces and comparisons."""

    def __init__(
        self,
        lanes: dict[str, RunConfig],
        pair: Pair,
        header: trace.Header,
        stop: Callable[[], bool],
        certify: bool,
        observer: object,
    ) -> None:
        self.lanes, self.pair, self.header, self.stop, self.certify = lanes, pair, header, stop, certify
        clock = time.perf_counter()
        self.fold, self.witness = Fold(), {name: equivalence.Witness() for name in lanes}
        self.sources = {
            name: decode(name, config, pair, header, observer, clock, self.witness[name])
            for name, config in lanes.items()
        }
        self.seq, self.known = 0, set()
        self.steps: dict[str, int] = {}  # the last step of each lane
        self.noise = equivalence.FLOOR[pair.target.dtype]

    def __iter__(self) -> Iterator[trace.Event]:
        yield self._number(self.header)
        yield from self._pieces(i for p in self.header.prompts for i in p["ids"])
        live, status = list(self.lanes), "done"
        while live:
            if self.stop():
                status = "stopped"
                break
            for name in list(live):
                yield from self._step(name, live)
        for name in live:
            yield from self._cut_short(name, status)
        yield self._number(trace.End(status=status))

    def _cut_short(self, name: str, status: str) -> Iterator[trace.Event]:
        """End a lane in mid-run: its open rows are done, and what they have is compared."""
        self.sources[name].close()
        step, rows = self.steps.get(name, 0), self.fold.lanes[name].rows.values()
        for row in [r for r in rows if not r.done]:
            tokens = len(row.ids) - row.prompt
            yield self._number(trace.RowDone(lane=name, step=step, row=row.row, reason="stopped", tokens=tokens))
        if self.certify and self.lanes[name].sampling != "rejection":
            yield from self._compare(name, step)
        yield self._number(trace.End(lane=name, step=step, status=status))

    def _step(self, name: str, live: list[str]) -> Iterator[trace.Event]:
        for event in self.sources[name]:
            if isinstance(event, trace.End):
                live.remove(name)
                if self.certify and self.lanes[name].sampling != "rejection":  # its law is the target's, not its text
                    yield from self._compare(name, event.step)
                yield self._number(event)
                return
            yield from self._pieces(ids_in(event))
            yield self._number(event)
            self.steps[name] = event.step
            if isinstance(event, trace.Spans):
                self.fold.lanes[name].frames.clear()
                return

    def _compare(self, name: str, step: int) -> Iterator[trace.Event]:
        measure = self.lanes[name].method in EXACT and not self.lanes[name].faults
        witness, noise = self.witness[name], self.noise
        events, self.noise = equivalence.compare_lane(
            self.pair, self.fold, name, witness, noise, measure, noise_of(self.lanes[name])
        )
        for event in events:
            yield from self._pieces(i for i in (event.expected,) if i is not None and i >= 0)
            yield self._number(replace(event, lane=name, step=step))

    def _pieces(self, ids: Iterable[int]) -> Iterator[trace.Event]:
        if new := sorted(set(ids) - self.known):
            self.known.update(new)
            yield self._number(trace.Pieces(pieces=self.pair.pieces(new)))

    def _number(self, event: trace.Event) -> trace.Event:
        event = replace(event, seq=self.seq)
        self.seq += 1
        self.fold.push(event)
        return event


def ids_in(event: trace.Event) -> Iterator[int]:
    """Token ids that an event mentions."""
    if isinstance(event, trace.Propose):
        yield from (t for row in event.tokens for t in row)
    elif isinstance(event, trace.Verify):
        yield from (t for row in event.choice for t in row)
        yield from (int(top[0]) for row in event.top2 for top in row)
