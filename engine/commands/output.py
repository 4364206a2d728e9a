"""Files that a command writes: refused before the work begins, and never emptied by a command that is refused."""

from pathlib import Path

from engine.config import ConfigError


def writable(path: Path | None, field: str, apart_from: Path | None = None) -> None:
    """Raise ConfigError when `path` cannot be written, or is the file that is read. What it holds stays as it is."""
    if path is None:
        return
    if apart_from is not None and path.exists() and apart_from.exists() and path.samefile(apart_from):
        raise ConfigError(field, str(path), "that is the file which is read: choose another one")
    new = not path.exists()
    try:
        with path.open("ab"):
            pass
    except OSError as error:
        raise ConfigError(field, str(path), f"choose a file that can be written ({error.strerror})") from None
    if new:
        path.unlink()
