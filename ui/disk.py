"""The folder of run files stays small: old ones go first."""

import time
from pathlib import Path


def tidy(folder: Path, limit: int, ttl: float, keep: set[str]) -> list[str]:
    """Delete run files not used for `ttl` seconds, then the least recently used until `limit` bytes are left.

    Names in `keep` stay. Returns the names deleted. A file that vanishes meanwhile is nobody's problem; any other
    failure to delete raises OSError.
    """
    stats = [(path, path.stat()) for path in folder.glob("*.jsonl")]
    stats.sort(key=lambda item: item[1].st_mtime)
    total, gone = sum(stat.st_size for _, stat in stats), []
    for path, stat in stats:
        old = time.time() - stat.st_mtime > ttl
        if path.stem in keep or not (old or total > limit):
            continue
        path.unlink(missing_ok=True)
        total -= stat.st_size
        gone.append(path.stem)
    return gone
