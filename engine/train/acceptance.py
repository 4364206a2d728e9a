"""acceptance: what a proposer's drafts are worth on held-out prompts, greedy, `python -m engine.train.acceptance`.

The target's greedy text and its states are computed once and kept; rounds are then replayed against that text with
the real proposer, in batches. Greedy decoding is exact, so a replayed round accepts what a live one would.
"""

import argparse
from collections import defaultdict
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

import torch
from torch import Tensor
from tqdm import tqdm

from engine import load, shelf
from engine.propose import Proposer
from engine.propose.eagle3 import Eagle3
from engine.propose.states import States
from engine.row import Row
from engine.train import eagle3_shard, held_out


@dataclass(slots=True)
class Tally:
    """Counts of one kind. `reached[i]`: rounds where drafts 1..i were right and draft i + 1 was there; `right[i]`."""

    rounds: int = 0
    emitted: int = 0
    reached: list[int] = field(default_factory=lambda: [0] * 16)
    right: list[int] = field(default_factory=lambda: [0] * 16)

    def add(self, drafted: int, accepted: int, emitted: int) -> None:
        self.rounds += 1
        self.emitted += emitted
        for i in range(min(accepted + 1, drafted)):
            self.reached[i] += 1
            self.right[i] += i < accepted

    def merge(self, other: "Tally") -> None:
        self.rounds += other.rounds
        self.emitted += other.emitted
        self.reached = [a + b for a, b in zip(self.reached, other.reached, strict=True)]
        self.right = [a + b for a, b in zip(self.right, other.right, strict=True)]

    @property
    def per_round(self) -> float:
        return self.emitted / max(1, self.rounds)

    def by_position(self, k: int) -> list[float]:
        """Share accepted of the drafts at each position whose predecessors were all accepted."""
        return [self.right[i] / max(1, self.reached[i]) for i in range(k)]


def replay(
    scripts: list[held_out.Script], make: Callable[[], Proposer], k: int, batch: int, context: int
) -> dict[str, Tally]:
    """Rounds of `batch` rows together; tallies by kind."""
    tallies: dict[str, Tally] = defaultdict(Tally)
    for start in range(0, len(scripts), batch):
        group = {n: s for n, s in enumerate(scripts[start : start + batch])}
        rows = [Row(n, s.ids[: s.prompt], s.prompt, len(s.ids), context, frozenset()) for n, s in group.items()]
        proposer = make()
        proposer.open(rows, _states([(0, {t: h[: s.prompt] for t, h in s.hidden.items()}) for s in group.values()]))
        for row in rows:
            row.ids.append(group[row.row].ids[row.prompt])
        proposer.observe(rows, [0] * len(rows), [0] * len(rows))
        while rows := [r for r in rows if len(r.ids) < len(group[r.row].ids)]:
            limits = [min(k, len(group[r.row].ids) - len(r.ids) - 1) for r in rows]
            drafts = proposer.propose(rows, limits).listed()
            kept, hidden = [], []
            for row, draft in zip(rows, drafts, strict=True):
                script, c = group[row.row], len(row.ids)
                agree = [d == t for d, t in zip(draft, script.ids[c:], strict=False)]
                j = agree.index(False) if False in agree else len(draft)
                tallies[script.kind].add(len(draft), j, j + 1)
                row.ids.extend(script.ids[c : c + j + 1])
                kept.append(j)
                hidden.append((c - 1, {t: h[c - 1 : c + j] for t, h in script.hidden.items()}))
            proposer.observe(rows, [len(d) for d in drafts], kept, _states(hidden))
    return dict(tallies)


def _states(rows: list[tuple[int, dict[int, Tensor]]]) -> States:
    """One (first token, {layer: [T, H]}) per row, filled up behind."""
    first = torch.tensor([[n] for n, _ in rows])
    lens = torch.tensor([[len(next(iter(s.values())))] for _, s in rows])
    column = torch.arange(int(lens.max()))[None]
    owners = torch.where(column < lens, first + column, -1)
    pad = torch.nn.utils.rnn.pad_sequence
    return States({t: pad([s[t] for _, s in rows], batch_first=True) for t in rows[0][1]}, owners)


def table(tallies: dict[str, Tally], k: int) -> str:
    """Markdown: a line per kind and one for all together."""
    every = Tally()
    for tally in tallies.values():
        every.merge(tally)
    lines = [f"| kind | rounds | tokens per round | {' | '.join(f'draft {i + 1}' for i in range(k))} |"]
    lines.append("|---" * (3 + k) + "|")
    for kind, tally in [*sorted(tallies.items()), ("all", every)]:
        shares = " | ".join(f"{x:.2f}" for x in tally.by_position(k))
        lines.append(f"| {kind} | {tally.rounds} | {tally.per_round:.2f} | {shares} |")
    return "\n".join(lines)


def main(argv: list[str] | None = None) -> str:
    parser = argparse.ArgumentParser(prog="engine train acceptance", description=__doc__)
    parser.add_argument("--target", default=shelf.NAME)
    parser.add_argument("--head", type=Path, default=eagle3_shard.HEAD)
    parser.add_argument("--prompts", type=Path, required=True, help="JSON lines with `kind` and `prompt`")
    parser.add_argument("--count", type=int, default=48)
    parser.add_argument("--new", type=int, default=96)
    parser.add_argument("--k", type=int, default=4)
    parser.add_argument("--kept", type=Path, default=held_out.KEPT)
    args = parser.parse_args(argv)
    scripts = held_out.scripts(args.target, args.prompts, args.count, args.new, args.kept)
    model = load.load_model(load.find(args.target, shelf.CACHE), "float32", "cpu")
    head, embed = eagle3_shard.load(args.head, model), model.get_input_embeddings()
    context = model.config.max_position_embeddings

    def make() -> Eagle3:
        return Eagle3(head, embed, k=args.k, context=context, stop_ids=frozenset(), device="cpu")

    text = table(replay(scripts, make, args.k, 8, context), args.k)
    tqdm.write(text)
    return text


if __name__ == "__main__":
    main()
