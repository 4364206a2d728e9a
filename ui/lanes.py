"""The lanes that a visitor can choose: every method of the registry, and every fault that a method can carry.

A choice is "eqspec", "dsd:published", "dsd:none" or "eqspec:stale_mask"; a lane's name is the same in one word.
"""

import re

from engine.config import RunConfig
from engine.registry import FAULTS, METHOD_SAYS, METHODS, POSITION_FAULTS, PUBLISHED_BROKEN

_SOURCE = re.compile(r" \((?:papers\.md )?[A-Z]\.\d[^)]*\)")

#: The page's own broken lane: with the stop rule repaired, positions are its only defect.
SHORTCUT = "bsp"

#: What plain decoding does not need of the settings that all lanes share.
DRAFTS_NOTHING = {"proposer": "ngram", "draft": None, "adapt": frozenset(), "budget": None}


def on_offer() -> dict[str, str]:
    """Choice -> what the form calls it.

    >>> on_offer()["eqspec"], on_offer()["dsd:none"]
    ('EQSPEC: exact', 'DSD with its defects repaired: exact')
    """
    out = {}
    for method in METHODS:
        name = shown(method)
        if method == SHORTCUT:
            out[SHORTCUT] = f"{name}: broken position ids"
        if method in PUBLISHED_BROKEN:
            out[f"{method}:published"] = f"{name} as published: {len(FAULTS[method])} defects"
            out[f"{method}:none"] = f"{name} with its defects repaired: exact"
        else:
            out[method] = f"{name}: exact"
    for method, faults in FAULTS.items():
        out |= {f"{method}:{fault}": f"{method.upper()}, one fault: {plain(why)}" for fault, why in faults.items()}
    return out


def shown(method: str) -> str:
    """A method's name as people read it.

    >>> shown("eqspec"), shown("rollback")
    ('EQSPEC', 'Rollback')
    """
    return method.upper() if len(method) < 8 else method.capitalize()


def methods_said() -> list[tuple[str, str]]:
    """Every method of the registry with its sentence."""
    return [(shown(method), METHOD_SAYS.get(method, "")) for method in METHODS]


def lanes(left: str, right: str, rows: int, common: dict) -> dict[str, RunConfig]:
    """The configurations of two choices by lane name, the left one first. Raises ConfigError.

    Beside the shortcut runs its repaired twin: the same in everything but the position ids.
    """
    out = {name_of(choice): config_of(choice, rows, common) for choice in (left, right)}
    if SHORTCUT in (left, right):
        out[name_of(f"{SHORTCUT}:none")] = config_of(f"{SHORTCUT}:none", rows, common)
    return out


def config_of(choice: str, rows: int, common: dict) -> RunConfig:
    method, _, fault = choice.partition(":")
    faults = {"": None, "published": None, "none": frozenset()}.get(fault, frozenset({fault}))
    if choice == SHORTCUT:
        faults = POSITION_FAULTS
    own = DRAFTS_NOTHING if method == "autoregressive" else {}
    if method == "exspec" and rows > 2:
        own["batch"] = (rows + 1) // 2  # else there is nobody to choose from
    return RunConfig(method=method, faults=faults, **{**common, **own})


def name_of(choice: str) -> str:
    """A choice as a lane's name: letters, digits and underscores.

    >>> name_of("eqspec:stale_mask"), name_of("dsd:none"), name_of("bsp:none")
    ('eqspec_stale_mask', 'dsd_exact', 'bsp_repaired')
    """
    if choice == f"{SHORTCUT}:none":
        return "bsp_repaired"  # the shortcut's twin
    return choice.replace(":none", ":exact").replace(":", "_")


def explained() -> dict[str, str]:
    """Fault -> what it does, for the page."""
    return {f"{method}_{fault}": plain(why) for method, faults in FAULTS.items() for fault, why in faults.items()}


def plain(why: str) -> str:
    """A fault's description without where it was read.

    >>> plain("stop ids are ignored (C.1, 5)"), plain("no mask (papers.md C.2, 2); harmless")
    ('stop ids are ignored', 'no mask; harmless')
    """
    return _SOURCE.sub("", why)
