"""TETRIS: which drafts of the whole batch are verified when there is room for `budget` of them (papers.md E.4)."""


def select(chances: list[list[float]], budget: int) -> list[int]:
    """Drafts that each row keeps: the `budget` likeliest of the batch.

    `chances[i][n]`: that row i's drafts 1..n + 1 are all accepted. It never rises along a row, so what is kept is a
    prefix of it. Of equals the earlier draft wins, then the earlier row.

    >>> select([[0.9, 0.5, 0.4], [0.6, 0.1]], 3), select([[0.2], [0.9, 0.8]], 2)
    ([2, 1], [0, 2])
    """
    ranked = sorted((-chance, n, i) for i, row in enumerate(chances) for n, chance in enumerate(row))
    kept = [0] * len(chances)
    for _, _, i in ranked[:budget]:
        kept[i] += 1
    return kept
