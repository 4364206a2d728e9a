"""Shards of generated conversations: uint16 token ids on disk, small enough to commit."""

import os
from collections.abc import Iterator
from pathlib import Path

import numpy as np

#: Stands between conversations; no vocabulary that fits in uint16 has this id.
END = 0xFFFF
SHARD_TOKENS = 500_000  # about 1 MB


def path(folder: Path, number: int) -> Path:
    return folder / f"conversations-{number:03d}.u16"


def write(file: Path, conversations: list[list[int]]) -> None:
    """All conversations of one shard, [5, 6] and [7] as 5 6 END 7 END; a reader never sees half a file."""
    flat = [token for ids in conversations for token in (*ids, END)]
    work = file.with_suffix(".part")
    np.asarray(flat, dtype="<u2").tofile(work)
    os.replace(work, file)


def read(file: Path) -> list[list[int]]:
    """The conversations of one shard, in the order they were finished."""
    flat = np.fromfile(file, dtype="<u2")
    ends = np.flatnonzero(flat == END)
    starts = np.concatenate([[0], ends[:-1] + 1]) if len(ends) else ends
    return [flat[a:b].tolist() for a, b in zip(starts, ends, strict=True)]


def files(folder: Path) -> list[Path]:
    return sorted(folder.glob("conversations-*.u16"))


def conversations(folder: Path) -> Iterator[list[int]]:
    """Every conversation of a folder, shard after shard."""
    for file in files(folder):
        yield from read(file)


class Writer:
    """Appends conversations; `flush` makes them safe. Opens on the last shard of the folder, if that has room."""

    def __init__(self, folder: Path, shard_tokens: int = SHARD_TOKENS) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        found = files(folder)
        self.folder, self.shard_tokens = folder, shard_tokens
        self.number = max(0, len(found) - 1)
        self.open = read(found[-1]) if found else []
        earlier = [read(f) for f in found[:-1]]
        self.finished = sum(map(len, earlier)) + len(self.open)  # conversations in all
        self.tokens = sum(len(ids) + 1 for shard in [*earlier, self.open] for ids in shard)
        self.size = sum(len(ids) + 1 for ids in self.open)

    def add(self, ids: list[int]) -> None:
        if self.size >= self.shard_tokens:
            self.flush()
            self.number, self.open, self.size = self.number + 1, [], 0
        self.open.append(ids)
        self.finished += 1
        self.tokens += len(ids) + 1
        self.size += len(ids) + 1

    def flush(self) -> None:
        if self.open:
            write(path(self.folder, self.number), self.open)
