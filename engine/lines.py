"""Lines: events as JSON lines and back, refused with the line and the field when they are not what we read."""

import json
from collections.abc import Iterable, Iterator
from dataclasses import MISSING, Field, fields

from engine import shape
from engine.trace import EVENTS, SCHEMA, Event, Header


class TraceError(ValueError):
    """A trace that cannot be read: says which line, what was found and what was expected."""


def to_json(event: Event) -> dict:
    """Plain data of one event; fields at their default are left out (a header always names its schema).

    >>> from engine.trace import RowDone
    >>> to_json(RowDone(seq=4, lane="bsp", step=2, row=1, reason="stop", tokens=9))
    {'event': 'row_done', 'seq': 4, 'lane': 'bsp', 'step': 2, 'row': 1, 'reason': 'stop', 'tokens': 9}
    """
    data = {"event": event.kind, "seq": event.seq, "lane": event.lane, "step": event.step}
    for f in fields(event):
        if f.name in data or f.name == "extra":
            continue
        value = getattr(event, f.name)
        if f.name == "schema" or not _is_default(f, value):
            data[f.name] = value
    return {**data, **event.extra}


def from_json(data: dict, where: str = "event") -> Event:
    """One event from plain data. Raises TraceError naming `where` and the field."""
    if not isinstance(data, dict) or "event" not in data:
        raise TraceError(f"{where}: expected an object with an 'event' field")
    cls = EVENTS.get(data["event"]) if isinstance(data["event"], str) else None
    if cls is None:
        raise TraceError(f"{where}: unknown event {data['event']!r}; known: {', '.join(EVENTS)}")
    if cls is Header and data.get("schema") != SCHEMA:
        raise TraceError(f"{where}: trace schema {data.get('schema')!r}; this version reads schema {SCHEMA}")
    known = {f.name: f for f in fields(cls)}
    missing = [n for n, f in known.items() if n not in data and not _has_default(f)]
    if missing:
        raise TraceError(f"{where}: {data['event']} lacks {', '.join(missing)}")
    values = {k: v for k, v in data.items() if k in known and k != "extra"}
    if wrong := shape.problem(cls, values):
        values = shape.whole_numbers(cls, values)
        wrong = shape.problem(cls, values)
    if wrong:
        raise TraceError(f"{where}: {data['event']}: {wrong}")
    extra = {k: v for k, v in data.items() if k not in values and k != "event"}
    return cls(**values, extra=extra)


def dump_line(event: Event) -> str:
    """One event as a compact JSON line without the newline."""
    return json.dumps(to_json(event), separators=(",", ":"), ensure_ascii=False, allow_nan=False)


def read_lines(lines: Iterable[str]) -> Iterator[Event]:
    """Events of a JSON-lines trace. Raises TraceError naming the line; a header comes first, seq rises."""
    first, last = True, -1
    for number, line in enumerate(lines, 1):
        if not line.strip():
            continue
        try:
            data = json.loads(line, parse_constant=_no_constant)
        except (ValueError, RecursionError):
            raise TraceError(f"line {number}: {_not_json(line)}") from None
        event = from_json(data, f"line {number}")
        if first and not isinstance(event, Header):
            raise TraceError(f"line {number}: a trace begins with a header event, found {event.kind!r}")
        if 0 <= event.seq <= last:
            raise TraceError(f"line {number}: seq {event.seq} comes after seq {last}; a trace is written in order")
        first, last = False, max(last, event.seq)
        yield event
    if first:
        raise TraceError("line 1: the trace is empty; it begins with a header event")


def _not_json(line: str) -> str:
    """What is said of a line that is no JSON, in the same words as in the browser (ui/viewer/trace.js).

    >>> _not_json("hello")
    'not JSON: a line is one whole JSON object, and this one is "hello"'
    """
    text = line.rstrip("\r\n")
    shown = json.dumps(text[:40], ensure_ascii=False)
    return (
        f"not JSON: a line is one whole JSON object, and this one {'is' if len(text) <= 40 else 'begins with'} {shown}"
    )


def _no_constant(name: str) -> None:
    raise ValueError(f"{name} is not JSON")


def _has_default(f: Field) -> bool:
    return f.default is not MISSING or f.default_factory is not MISSING


def _is_default(f: Field, value: object) -> bool:
    return value == (f.default if f.default_factory is MISSING else f.default_factory())
