"""publish: checkpoint -> compact shard and model card in assets/heads/eagle3, `python -m engine.train.publish`."""

import argparse
from collections.abc import Callable
from pathlib import Path

import torch

from engine import load, shelf
from engine.propose.eagle3 import Eagle3
from engine.train import eagle3_shard, held_out
from engine.train.acceptance import replay, table
from engine.train.eagle3_head import Eagle3Head, aux_layers, layer_config
from engine.train.eagle3_train import CHECKPOINT

ENDED = {
    "time": "**Training ended because the time was spent, not because the curve was flat**: more steps would help.",
    "flat": "Training ended when the curve had become flat.",
}

CARD = """# EAGLE-3 head for {target}

One decoder layer on hidden states {taps} of the target, {size:.1f} M weights, output over {vocab} of the target's
tokens. `head.safetensors` is the compact shard (matrices in 8 bits with a scale per row; embedding and output rows
are the target's). `python -m engine export eagle3 --out DIR` writes the full directory that speculators and vLLM read.

Trained by `python -m engine train generate`, `eagle3` and `publish` on text that the target wrote itself:
{talks} conversations, {tokens} tokens seen in {steps} steps ({seconds:.0f} s of wall time on {device}).
{ended}

## Acceptance on held-out prompts

{about}

{table}

*draft n*: share accepted of the n-th drafts whose predecessors were accepted. *Tokens per round*: accepted + 1.

## Learning curve

Share of held-out answer positions (self-generated, sampled text) where the head names the target's first choice:
*draft 1* on the target's states, later ones on its own output and the text's tokens. Loss is soft cross-entropy on
the training text, of draft 1 alone up to step {single}, of all these drafts from then on.

{curve}
"""


def restore(checkpoint: Path, target: torch.nn.Module) -> tuple[Eagle3Head, dict]:
    """The head of a checkpoint, frozen, and the progress saved with it."""
    saved = torch.load(checkpoint, map_location="cpu", weights_only=True)
    size = len(saved["head"]["d2t"])
    head = Eagle3Head(layer_config(target), aux_layers(target.config.num_hidden_layers), size)
    head.load_state_dict(saved["head"], strict=False)
    head.set_vocabulary(head.t2d.nonzero()[:, 0], target.get_output_embeddings().weight)
    return head.eval().requires_grad_(False), saved["progress"]


def curve(points: list[list[float]]) -> str:
    """Markdown: a line per point of the curve; points of a shallower test have fewer columns."""
    deep = max((len(p) - 3 for p in points), default=1)
    lines = [
        f"| step | tokens seen | loss | {' | '.join(f'draft {n + 1}' for n in range(deep))} |",
        "|---" * (3 + deep) + "|",
    ]
    for step, tokens, loss, *agree in points:
        shares = [f"{x:.3f}" for x in agree] + [""] * (deep - len(agree))
        lines.append(f"| {int(step)} | {int(tokens):,} | {loss:.2f} | {' | '.join(shares)} |")
    return "\n".join(lines)


def main(argv: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(prog="engine train publish", description=__doc__)
    parser.add_argument("--target", default=shelf.NAME)
    parser.add_argument("--checkpoint", type=Path, default=CHECKPOINT)
    parser.add_argument("--out", type=Path, default=eagle3_shard.HEAD)
    parser.add_argument("--prompts", type=Path, help="held-out prompts, JSON lines with `kind` and `prompt`")
    parser.add_argument("--count", type=int, default=48)
    parser.add_argument("--new", type=int, default=64)
    parser.add_argument("--k", type=int, default=4)
    parser.add_argument("--ended", choices=sorted(ENDED), required=True)
    parser.add_argument("--device", default="cpu", help="what it was trained on, for the card")
    args = parser.parse_args(argv)
    target = load.load_model(load.find(args.target, shelf.CACHE), "float32", "cpu")
    head, progress = restore(args.checkpoint, target)
    eagle3_shard.save(head, args.out, progress)
    result = about = "not measured"
    if args.prompts:
        scripts = held_out.scripts(args.target, args.prompts, args.count, args.new)
        context = target.config.max_position_embeddings
        compacted = eagle3_shard.load(args.out, target)
        runs = replay(scripts, _maker(compacted, target, args.k, context), args.k, 8, context)
        result = table(runs, args.k)
        about = (
            f"The first {args.count} prompts of `{args.prompts.name}`, greedy, K = {args.k}, at most {args.new} new "
            "tokens; measured with the compact shard. The prompts share no template text with the training text."
        )
    layers = sum(w.numel() for n, w in head.named_parameters() if n != "lm_head.weight")
    text = CARD.format(
        target=args.target,
        taps=head.taps,
        size=layers / 1e6,
        vocab=head.draft_vocab,
        talks=f"{progress['conversations']:,}",
        tokens=f"{progress['tokens']:,}",
        steps=progress["step"],
        seconds=progress["seconds"],
        device=args.device,
        ended=ENDED[args.ended],
        about=about,
        table=result,
        single=progress.get("single", 0),
        curve=curve(progress["curve"]),
    )
    (args.out / "README.md").write_text(text)


def _maker(head: Eagle3Head, target: torch.nn.Module, k: int, context: int) -> Callable[[], Eagle3]:
    embed = target.get_input_embeddings()
    return lambda: Eagle3(head, embed, k=k, context=context, stop_ids=frozenset(), device="cpu")


if __name__ == "__main__":
    main()
