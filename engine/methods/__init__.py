"""Decoding methods: one generator each, one screen each.

While rows live: schedule, propose, verify, accept, commit, realign; yield an event after each.
"""

from collections.abc import Callable, Iterator

from engine.lane import Lane
from engine.methods.autoregressive import autoregressive
from engine.methods.bsp import bsp
from engine.methods.dsd import dsd
from engine.methods.eqspec import eqspec
from engine.methods.exspec import exspec
from engine.methods.rollback import rollback
from engine.methods.slots import slots
from engine.trace import Event

METHODS: dict[str, Callable[[Lane], Iterator[Event]]] = {
    "autoregressive": autoregressive,
    "eqspec": eqspec,
    "exspec": exspec,
    "slots": slots,
    "rollback": rollback,
    "bsp": bsp,
    "dsd": dsd,
}
