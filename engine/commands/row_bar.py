"""A bar of the rows that are done, on stderr; where that is no terminal, a line for each thing that is begun."""

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn


@contextmanager
def row_bar(rows: int) -> Iterator[Callable[[str, int], None]]:
    """Gives `progress(text, done)`: `done` of `rows` are done of what `text` names. Other lines come out above it."""
    console = Console(stderr=True)
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TextColumn("rows"))
    bar = Progress(*columns, TimeElapsedColumn(), console=console, transient=True, disable=not console.is_terminal)
    now = ""
    with bar:
        task = bar.add_task("", total=rows)

        def progress(text: str, done: int) -> None:
            nonlocal now
            if text != now:
                now = text
                bar.reset(task, description=text)
                if bar.disable:
                    print(text, file=sys.stderr)
            bar.update(task, completed=done)

        yield progress
