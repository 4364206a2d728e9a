"""Do the JSON values of an event have the types that its fields say? Asked of every trace that is read, never live.

A checker takes a value and returns "" or where and how it is wrong: `[3][0]: expected a whole number, found 'x'`.
Numbers must be finite, whole ones within 2**53 (what JavaScript can hold), lists no longer than MAX_LIST.
"""

from collections.abc import Callable
from dataclasses import fields
from functools import cache
from math import isfinite
from types import NoneType, UnionType
from typing import get_args, get_origin

MAX_INT = 1 << 53
MAX_LIST = 1 << 17

#: Entries of the innermost lists, where they are records: [row, slot, owner, position, length] and the like.
ENTRIES = {
    ("kv", "runs"): 5,
    ("kv", "hide"): 3,
    ("kv", "show"): 3,
    ("kv_op", "moves"): 4,
    ("verify", "positions"): 2,
    ("pieces", "pieces"): 3,
    ("spans", "spans"): 3,
}

Checker = Callable[[object], str]


def problem(cls: type, values: dict) -> str:
    """What is wrong with the values of an event of this class; "" if nothing is."""
    for name, check in checkers(cls).items():
        if name in values and (found := check(values[name])):
            return f"{name}{found}"
    return _prompts_and_lanes(values) if cls.kind == "header" else ""


def whole_numbers(cls: type, values: dict) -> dict:
    """The values with 1.0 as 1 where a whole number is wanted: JSON knows one kind of number, JavaScript too."""
    kinds = {f.name: f.type for f in fields(cls)}
    out = {name: _settled(value, kinds[name]) for name, value in values.items()}
    if cls.kind == "header" and type(out["prompts"]) is list:
        out["prompts"] = [_settled_prompt(p) if type(p) is dict else p for p in out["prompts"]]
    return out


def _settled_prompt(prompt: dict) -> dict:
    parts = {"row": int, "ids": list[int]}
    return {name: _settled(value, parts[name]) if name in parts else value for name, value in prompt.items()}


def _settled(value: object, kind: object) -> object:
    if isinstance(kind, UnionType):
        kind = next(k for k in get_args(kind) if k is not NoneType)
    if kind is int and type(value) is float and value.is_integer() and -MAX_INT <= value <= MAX_INT:
        return int(value)
    if get_origin(kind) is list and type(value) is list:
        return [_settled(item, *get_args(kind)) for item in value]
    return value


@cache
def checkers(cls: type) -> dict[str, Checker]:
    """A checker for each field of an event class."""
    return {
        f.name: checker(f.type, ENTRIES.get((cls.kind, f.name)), (cls.kind, f.name) == ("verify", "positions"))
        for f in fields(cls)
        if f.name != "extra"
    }


def checker(kind: object, entries: int | None = None, runs: bool = False) -> Checker:
    """The checker of a type annotation: str, bool, int, float, dict, list, list[...], or one of them | None.

    `entries`: length of the innermost lists. `runs`: those are [start, length] and must stay expandable.
    """
    if isinstance(kind, UnionType):
        inner = checker(next(k for k in get_args(kind) if k is not NoneType), entries, runs)
        return lambda value: "" if value is None else inner(value)
    if get_origin(kind) is list:
        (item,) = get_args(kind)
        depth = get_origin(item) is list or item is list
        return _list_of(checker(item, entries, runs), None if depth else entries, runs and _depth(kind) == 2)
    if kind is list:
        return _list_of(lambda value: "", entries, False)
    return {int: _whole, float: _number, str: _text, bool: _flag, dict: _object}[kind]


def _depth(kind: object) -> int:
    return 1 + _depth(get_args(kind)[0]) if get_origin(kind) is list else 0


def _list_of(item: Checker, entries: int | None, runs: bool) -> Checker:
    def check(value: object) -> str:
        if type(value) is not list:
            return f": expected a list, found {short(value)}"
        if len(value) > MAX_LIST:
            return f": {len(value)} entries; at most {MAX_LIST} are read"
        if entries is not None and len(value) != entries:
            return f": expected {entries} entries, found {short(value)}"
        for n, v in enumerate(value):
            if found := item(v):
                return f"[{n}]{found}"
        if runs and sum(abs(length) for _, length in value) > MAX_LIST:
            return f": the runs stand for more than {MAX_LIST} numbers"
        return ""

    return check


def _whole(value: object) -> str:
    if type(value) is int and -MAX_INT <= value <= MAX_INT:
        return ""
    return f": expected a whole number, found {short(value)}"


def _number(value: object) -> str:
    try:
        fits = type(value) in (float, int) and isfinite(value)
    except OverflowError:  # a whole number that no float holds
        fits = False
    return "" if fits else f": expected a finite number, found {short(value)}"


def _text(value: object) -> str:
    return "" if type(value) is str else f": expected a string, found {short(value)}"


def _flag(value: object) -> str:
    return "" if type(value) is bool else f": expected true or false, found {short(value)}"


def _object(value: object) -> str:
    return "" if type(value) is dict else f": expected an object, found {short(value)}"


def _prompts_and_lanes(values: dict) -> str:
    """The parts of a header that everything else refers to."""
    rows: set[int] = set()
    for n, p in enumerate(values["prompts"]):
        if found := _object(p) or _part(p, "row", _whole) or _part(p, "ids", _ids):
            return f"prompts[{n}]{found}"
        if p["row"] in rows or p["row"] < 0 or not p["ids"]:
            return f"prompts[{n}]: row {p['row']} is negative, there twice, or has no ids"
        rows.add(p["row"])
    names: set[str] = set()
    for n, lane in enumerate(values["lanes"]):
        if found := _object(lane) or _part(lane, "lane", _text) or _part(lane, "config", _object):
            return f"lanes[{n}]{found}"
        if lane["lane"] in names or not lane["lane"]:
            return f"lanes[{n}]: the name {lane['lane']!r} is empty or there twice"
        names.add(lane["lane"])
    return ""


def _part(data: dict, name: str, check: Checker) -> str:
    found = check(data.get(name))
    return f".{name}{found}" if found else ""


_ids = checker(list[int])


def short(value: object) -> str:
    """A value in at most 40 characters."""
    text = repr(value) if not isinstance(value, list | dict | str) or len(value) < 40 else f"{type(value).__name__}"
    return text if len(text) <= 40 else f"{text[:37]}..."
