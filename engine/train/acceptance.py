"""acceptance: what a proposer's drafts are worth on held-out prompts, greedy, `python -m engine train acceptance`.

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
from transformers import PreTrainedModel

from engine import load, shelf, shipped
from engine.propose import Proposer
from engine.propose.draft_model import DraftModel
from engine.propose.eagle3 import Eagle3
from engine.propose.hybrid import Hybrid
from engine.propose.mtp import Mtp
from engine.propose.ngram import NGram
from engine.propose.states import States
from engine.row import Row
from engine.train import draft_small, head_shard, held_out


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


def beside(runs: dict[str, dict[str, Tally]]) -> str:
    """Markdown: tokens per round of several proposers on the same prompts, a line per kind and one for all together."""
    names, every = list(runs), {}
    for name, tallies in runs.items():
        every[name] = Tally()
        for tally in tallies.values():
            every[name].merge(tally)
    lines = [f"| kind | {' | '.join(names)} |", "|---" * (1 + len(names)) + "|"]
    for kind in sorted(runs[names[0]]):
        lines.append(f"| {kind} | {' | '.join(f'{runs[n][kind].per_round:.2f}' for n in names)} |")
    lines.append(f"| all | {' | '.join(f'{every[n].per_round:.2f}' for n in names)} |")
    return "\n".join(lines)


def maker(
    proposer: str, target: PreTrainedModel, folder: Path | None, scripts: list[held_out.Script], k: int, match: int = 2
) -> Callable[[], Proposer]:
    """Makes this proposer for rows of the scripts, with the shard of `folder`, else the shipped one."""
    vocab, context = target.config.vocab_size, target.config.max_position_embeddings
    limits = {"k": k, "context": context, "stop_ids": frozenset(), "device": "cpu"}
    if proposer == "ngram":
        return lambda: NGram(k, "cpu")
    folder = folder or shipped.SHARDS[proposer].parent
    if proposer == "draft_small":
        small, longest = draft_small.load(folder, target), max(len(s.ids) for s in scripts)
        return lambda: DraftModel(small, vocab=vocab, capacity=longest, name=proposer, **limits)
    head, embed = head_shard.load(folder, target), target.get_input_embeddings()
    if proposer == "hybrid":
        return lambda: Hybrid(Eagle3(head, embed, **limits), match)
    return lambda: {"eagle3": Eagle3, "mtp": Mtp}[proposer](head, embed, **limits)


def main(argv: list[str] | None = None) -> str:
    parser = argparse.ArgumentParser(prog="engine train acceptance", description=__doc__)
    parser.add_argument("--target", default=shelf.NAME)
    parser.add_argument("--proposer", choices=("ngram", *shipped.SHARDS), default="eagle3")
    parser.add_argument("--head", type=Path, help="folder of a shard; default: the shipped one")
    parser.add_argument("--match", type=int, default=2, help="hybrid: tokens that must repeat for n-gram")
    parser.add_argument("--prompts", type=Path, required=True, help="JSON lines with `kind` and `prompt`")
    parser.add_argument("--count", type=int, default=48)
    parser.add_argument("--new", type=int, default=96)
    parser.add_argument("--k", type=int, default=4)
    parser.add_argument("--kept", type=Path, default=held_out.KEPT)
    args = parser.parse_args(argv)
    scripts = held_out.scripts(args.target, args.prompts, args.count, args.new, args.kept)
    target = load.load_model(load.find(args.target, shelf.CACHE), "float32", "cpu")
    make = maker(args.proposer, target, args.head, scripts, args.k, args.match)
    text = table(replay(scripts, make, args.k, 8, target.config.max_position_embeddings), args.k)
    tqdm.write(text)
    return text


if __name__ == "__main__":
    main()
