"""Fingerprints: where the entries of a KV cache have gone, found by their values and not by anyone's bookkeeping.

Keys of the last layer depend on token, position and everything before them, so the bytes of one say which entry it
is. Only pads can look alike; they are taken to have stayed where they were.
"""

import torch
from torch import Tensor


def fingerprints(keys: Tensor) -> list[list[bytes]]:  # [B, H, S, D] -> [B][S]
    """The bytes of every entry's key, all heads."""
    rows = keys.detach().transpose(1, 2).contiguous().cpu()
    flat = rows.view(rows.shape[0], rows.shape[1], -1).view(torch.uint8).numpy()
    return [[entry.tobytes() for entry in row] for row in flat]


def sources(before: list[bytes], after: list[bytes]) -> list[int]:
    """The old slot of each entry, -1 where no entry had such a key: rows that stay in place first, then in order.

    >>> sources([b"p", b"x", b"y", b"d"], [b"x", b"y", b"z"])
    [1, 2, -1]
    """
    places: dict[bytes, list[int]] = {}
    for slot, mark in enumerate(before):
        places.setdefault(mark, []).append(slot)
    out: list[int] = []
    for slot, mark in enumerate(after):
        known = places.get(mark, [])
        follows = out[-1] + 1 if out else -1
        out.append(next((s for s in (slot, follows) if s in known), known[0] if known else -1))
    return out


def moves(row: int, found: list[int]) -> list[list[int]]:
    """Runs [row, old slot, new slot, length] of entries that are still there.

    >>> moves(4, [1, 2, -1, 3])
    [[4, 1, 0, 2], [4, 3, 3, 1]]
    """
    runs: list[list[int]] = []
    for slot, source in enumerate(found):
        if source < 0:
            continue
        if runs and source == runs[-1][1] + runs[-1][3] and slot == runs[-1][2] + runs[-1][3]:
            runs[-1][3] += 1
        else:
            runs.append([row, source, slot, 1])
    return runs


def owner_of(row: list[bytes], known: dict[int, list[bytes]], at: int) -> int:
    """Which of the known rows this one is: the one with most of its entries, on a tie that of the same place."""
    here = set(row)
    votes = {n: len(here & set(marks)) for n, marks in known.items()}
    best = max(votes.values(), default=0)
    same = list(known)[at] if at < len(known) else -1
    return same if votes.get(same) == best else next(n for n, v in votes.items() if v == best)
