"""digest: the sha256 of a model folder's weights, remembered beside them so that a start stays fast."""

import contextlib
import hashlib
import json
from pathlib import Path

NAME = "weights.sha256.json"


def weights_sha256(folder: Path) -> str:
    """Hex sha256 of the folder's safetensors (of the list of their hashes when there are several), "" without any.

    The result is kept in `weights.sha256.json` with the files' sizes and times, and computed again when these change.
    """
    files = sorted(folder.glob("*.safetensors"))
    if not files:
        return ""
    seen = [[file.name, file.stat().st_size, file.stat().st_mtime_ns] for file in files]
    note = folder / NAME
    with contextlib.suppress(OSError, ValueError, KeyError, TypeError):
        known = json.loads(note.read_text())
        if known["files"] == seen:
            return str(known["sha256"])
    hashes = [file_sha256(file) for file in files]
    value = hashes[0] if len(hashes) == 1 else hashlib.sha256("\n".join(hashes).encode()).hexdigest()
    with contextlib.suppress(OSError):  # a read-only folder is hashed at every start
        note.write_text(json.dumps({"sha256": value, "files": seen}))
    return value


def file_sha256(file: Path) -> str:
    """Hex sha256 of one file."""
    with file.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()
