"""Batch speculative decoding, exact and broken, as a stream of trace events.

The shape alphabet, used in every signature of this package:

    B  rows in the batch            T  query tokens per forward (K + 1 when verifying)
    K  draft tokens per round       S  KV slots (the padded width)
    V  vocabulary                   H  KV heads        D  head dimension

Names are loaded on first use, so that `engine.trace`, `engine.fold` and `engine.check`
can be imported (by the page, by a script) without importing torch.
"""

import importlib

_HOME = {
    "RunConfig": "engine.config",
    "ConfigError": "engine.config",
    "METHODS": "engine.registry",
    "run": "engine.stream",
    "session": "engine.stream",
    "load_pair": "engine.models",
}

__all__ = ["METHODS", "ConfigError", "RunConfig", "load_pair", "run", "session"]


def __getattr__(name: str) -> object:
    if name not in _HOME:
        raise AttributeError(f"module 'engine' has no attribute {name!r}")
    return getattr(importlib.import_module(_HOME[name]), name)
