"""Runs: regular integer sequences as [start, length]. The opposite direction is `engine.fold.expand`."""


def compress(values: list[int]) -> list[list[int]]:
    """Consecutive increasing numbers become [start, length]; repeats of one number become [start, -length].

    >>> compress([3, 4, 5, 0, 0])
    [[3, 3], [0, -2]]
    """
    runs: list[list[int]] = []
    for v in values:
        if runs:
            start, n = runs[-1]
            if n > 0 and v == start + n:
                runs[-1][1] += 1
                continue
            if v == start and (n < 0 or n == 1):
                runs[-1][1] = -2 if n == 1 else n - 1
                continue
        runs.append([v, 1])
    return runs


def kv_runs(
    row: int,
    first: int,
    owners: list[int],
    positions: list[int],
) -> list[list[int]]:
    """KV entries of slots first, first + 1, ... as [row, slot, owner, position, length]; empty slots are left out.

    >>> kv_runs(7, 0, [-1, -1, 0, 1], [0, 0, 0, 1])
    [[7, 0, -1, 0, 2], [7, 2, 0, 0, 2]]
    """
    runs: list[list[int]] = []
    for slot, (owner, position) in enumerate(zip(owners, positions, strict=True), first):
        if position < 0:
            continue
        if runs:
            _, s, o, p, n = runs[-1]
            step = 0 if o < 0 else n
            if slot == s + n and position == p + step and owner == (o if o < 0 else o + n):
                runs[-1][4] += 1
                continue
        runs.append([row, slot, owner, position, 1])
    return runs
