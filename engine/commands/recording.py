"""Write a recording of the page's, or say what it fails to show."""

import sys
from collections.abc import Iterable
from pathlib import Path

from engine.lines import dump_line
from engine.trace import Event


def write(events: list[Event], missing: Iterable[str], out: Path) -> int:
    """The exit code: 1, and no file, where something is missing."""
    if missing := list(missing):
        for what in missing:
            print(f"not written, it does not show what it must: {what}", file=sys.stderr)
        return 1
    out.parent.mkdir(parents=True, exist_ok=True)
    out.write_text("".join(dump_line(e) + "\n" for e in events), encoding="utf-8")
    print(f"{out}: {len(events)} events, {out.stat().st_size / 1024:.0f} KB", file=sys.stderr)
    return 0
