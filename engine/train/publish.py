"""publish: checkpoint -> compact shard and model card in assets/heads, `python -m engine train publish --kind KIND`."""

import argparse
from pathlib import Path

import torch
from transformers import PretrainedConfig

from engine import load, shelf
from engine.train import draft_small, head_shard, heads, held_out, induction
from engine.train.acceptance import beside, maker, replay, table
from engine.train.draft_head import DraftHead, aux_layers, kv_heads, layer_config
from engine.train.draft_train import CHECKPOINT
from engine.train.loop import Progress

ENDED = {
    "time": "**Training ended because the time was spent, not because the curve was flat**: more steps would help.",
    "flat": "Training ended when the curve had become flat.",
}

WHAT = {
    "eagle3": """# EAGLE-3 head for {target}

One decoder layer on hidden states {taps} of the target, {size:.1f} M weights, output over {vocab} of the target's
tokens. {heads}
`head.safetensors` is the compact shard (matrices in 8 bits with a scale per row; embedding and output rows are the
target's). `python -m engine export eagle3 --out DIR` writes the full directory that speculators and vLLM read.
""",
    "mtp": """# MTP module for {target}

One decoder layer, reused for every draft, on hidden state {taps[0]} of the target: {size:.1f} M weights, output over
{vocab} of the target's tokens. `head.safetensors` is the compact shard (matrices in 8 bits with a scale per row;
embedding and output rows are the target's). `python -m engine export mtp --out DIR` writes all tensors, under the names
that speculators uses. vLLM serves MTP only as native weights of some families, so not this one.
""",
    "draft": """# Draft model for {target}

{layers} decoder layers between the target's own embedding and output rows, {size:.1f} M weights.{copies}
`draft.safetensors` is the compact shard (matrices in 8 bits with a scale per row). `python -m engine export draft --out
DIR` writes an ordinary `LlamaForCausalLM` directory; as a proposer it is `draft_small`.
""",
}

COPYING = "It has {now} attention heads where the target has {before}: the further ones began as attention that copies."

NOTING = "\n{n} of them are attention alone, which began as attention that copies."

CARD = """{what}
Trained by `python -m engine train generate`, `tasks`, `copies`, `{kind}` and `publish` on text of the target's own:
{talks} conversations, {tokens} tokens seen in {steps} steps ({seconds:.0f} s of wall time on {device}).
{ended}

## Acceptance on held-out prompts

{about}

{table}

*draft n*: share accepted of the n-th drafts whose predecessors were accepted. *Tokens per round*: accepted + 1.

Tokens per round on the same prompts, beside copying{hybrid}:

{others}

## Learning curve

Share of held-out answer positions (self-generated, sampled text) where it names the target's first choice{chained}.
Loss is soft cross-entropy on the training text{phases}.

{curve}
"""


def restore(kind: str, checkpoint: Path, target: torch.nn.Module) -> tuple[DraftHead, dict]:
    """The head of a checkpoint, frozen, and the progress saved with it."""
    saved = torch.load(checkpoint, map_location="cpu", weights_only=True)
    size = len(saved["head"]["d2t"])
    config = layer_config(target, kv_heads(saved["head"], target))
    head = heads.HEADS[kind](config, aux_layers(target.config.num_hidden_layers), size)
    head.load_state_dict(saved["head"], strict=False)
    head.set_vocabulary(head.t2d.nonzero()[:, 0], target.get_output_embeddings().weight)
    return head.eval().requires_grad_(False), saved["progress"]


def restore_draft(checkpoint: Path, target: torch.nn.Module) -> tuple[torch.nn.Module, dict]:
    """The draft model of a checkpoint, frozen, and the progress saved with it."""
    saved = torch.load(checkpoint, map_location="cpu", weights_only=True)
    small = draft_small.shaped(target, saved["head"])
    small.load_state_dict(saved["head"], strict=False)
    return small.eval().requires_grad_(False), saved["progress"]


def copying(config: PretrainedConfig, target: torch.nn.Module) -> str:
    """What the card says of heads beyond the target's, see `look_back`."""
    now, before = config.num_attention_heads, target.config.num_attention_heads
    return COPYING.format(now=now, before=before) if now > before else f"It has the target's {before} attention heads."


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
    parser.add_argument("--kind", choices=WHAT, default="eagle3")
    parser.add_argument("--target", default=shelf.NAME)
    parser.add_argument("--checkpoint", type=Path, help="default: the one that training writes")
    parser.add_argument("--out", type=Path, help="default: its folder in assets/heads")
    parser.add_argument("--prompts", type=Path, help="held-out prompts, JSON lines with `kind` and `prompt`")
    parser.add_argument("--count", type=int, default=48)
    parser.add_argument("--new", type=int, default=64)
    parser.add_argument("--k", type=int, default=4)
    parser.add_argument("--ended", choices=sorted(ENDED), required=True)
    parser.add_argument("--device", default="cpu", help="what it was trained on, for the card")
    args = parser.parse_args(argv)
    target = load.load_model(load.find(args.target, shelf.CACHE), "float32", "cpu")
    if args.kind == "draft":
        out = args.out or draft_small.DRAFT
        small, progress = restore_draft(args.checkpoint or CHECKPOINT, target)
        draft_small.save(small, out, progress)
        size = sum(w.numel() for w in draft_small.kept(small).values())
        few = sum(map(induction.silent, small.model.layers))
        facts = {"layers": small.config.num_hidden_layers, "copies": NOTING.format(n=few) if few else ""}
    else:
        out = args.out or heads.folder(args.kind)
        head, progress = restore(args.kind, args.checkpoint or heads.checkpoint(args.kind), target)
        head_shard.save(head, out, progress)
        size = sum(w.numel() for n, w in head.named_parameters() if n != "lm_head.weight")
        facts = {"taps": head.taps, "vocab": head.draft_vocab, "heads": copying(head.config, target)}
    result = about = others = "not measured"
    if args.prompts:
        scripts = held_out.scripts(args.target, args.prompts, args.count, args.new)
        proposer = "draft_small" if args.kind == "draft" else args.kind
        runs = {}
        for name in (proposer, "ngram", *(["hybrid"] if args.kind == "eagle3" else [])):
            make = maker(name, target, out, scripts, args.k)
            runs[name] = replay(scripts, make, args.k, 8, target.config.max_position_embeddings)
        result, others = table(runs[proposer], args.k), beside(runs)
        about = (
            f"The first {args.count} prompts of `{args.prompts.name}`, greedy, K = {args.k}, at most {args.new} new\n"
            "tokens; measured with the compact shard. The prompts share no template text with the training text."
        )
    (out / "README.md").write_text(card(args, progress, {**facts, "size": size / 1e6}, about, result, others))


def card(args: argparse.Namespace, progress: dict, facts: dict, about: str, result: str, others: str) -> str:
    """The model card of a shard."""
    chained = args.kind != "draft"
    single = progress.get("single", Progress().single)
    return CARD.format(
        what=WHAT[args.kind].format(target=args.target, **facts),
        kind=args.kind,
        talks=f"{progress['conversations']:,}",
        tokens=f"{progress['tokens']:,}",
        steps=progress["step"],
        seconds=progress["seconds"],
        device=args.device,
        ended=ENDED[args.ended],
        about=about,
        table=result,
        others=others,
        hybrid=" (`hybrid`: n-gram where two tokens repeat, else this head)" * (args.kind == "eagle3"),
        chained=":\n*draft 1* on the target's states, later ones on its own output and the text's tokens" * chained,
        phases=f", of draft 1 alone up to step {single}, of all these drafts from then on" * chained,
        curve=curve(progress["curve"]),
    )


if __name__ == "__main__":
    main()
