"""Train an EAGLE-3 head or an MTP module on kept features, `python -m engine train eagle3` and `... train mtp`.

Goes on from its checkpoint, else from the published head (so that training outlives a machine), else starts anew.

A single-step phase first, because it is three times as cheap, then the training-time test over three steps while the
learning rate falls. A checkpoint every two minutes; a run that is started again goes on from it, with other limits too.
"""

import argparse
from dataclasses import fields
from pathlib import Path

import torch
from transformers import PreTrainedModel

from engine import load, shelf
from engine.train import compact, data, head_shard, heads, look_back
from engine.train.chain_loss import score
from engine.train.draft_head import DraftHead
from engine.train.features import Store
from engine.train.loop import Progress, Score, ScoreOf, Training
from engine.train.recipe import Recipe, arguments, recipe_of

DRAFT_VOCAB = 32768


def score_of(head: DraftHead, embed: torch.nn.Module) -> ScoreOf:
    """The loss of this head; its vocabulary must be final."""
    slot = torch.full((len(head.t2d),), -1, dtype=torch.int64, device=head.t2d.device)
    slot[head.t2d] = torch.arange(head.draft_vocab, device=slot.device)

    def of_batch(batch: data.Batch, steps: int, temperature: float) -> Score:
        return score(head, embed, batch, slot, steps, temperature)

    return of_batch


def start(
    kind: str,
    target: PreTrainedModel,
    ids: torch.Tensor,  # [draft_vocab] that it can draft, ascending
    folder: Path | None,
    store: Store | None = None,
    renew: bool = False,
) -> tuple[DraftHead, Progress]:
    """A head to train: the published one of `folder`, where there is one, with what its card tells; else a new one.

    With `store`, an EAGLE-3 head that cannot look back yet is given KV heads for it; `renew`: other ones than it has.
    """
    if folder is None or not (folder / head_shard.FILE).is_file():
        head, progress = heads.HEADS[kind].from_target(target, ids), Progress()
    else:
        head, about = head_shard.load(folder, target), compact.about(folder / head_shard.FILE)
        head.set_vocabulary(ids, target.get_output_embeddings().weight)
        progress = Progress(**{f.name: about[f.name] for f in fields(Progress) if f.name in about})
    if renew and look_back.has(head, target):
        head = look_back.resized(head, target.config.num_key_value_heads)
    if store is not None and kind == "eagle3" and not look_back.has(head, target):
        head = look_back.add(head, target.get_input_embeddings().weight, *look_back.sample(store))
    head.requires_grad_(True).lm_head.requires_grad_(False)
    return head, progress


def main(argv: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(prog="engine train eagle3", description=__doc__)
    parser.add_argument("--kind", choices=heads.HEADS, default="eagle3")
    parser.add_argument("--head", type=Path, help="folder of a published head to start from; default: in assets/heads")
    parser.add_argument("--fresh", action="store_true", help="start anew, from the target's last layer")
    parser.add_argument("--renew", action="store_true", help="eagle3: the heads that look back start anew")
    parser.add_argument("--hold", action="store_true", help="eagle3: the heads that look back are not trained")
    args = arguments(parser, Recipe()).parse_args(argv)
    if (args.renew or args.hold) and args.kind != "eagle3":
        parser.error(f"{'--renew' if args.renew else '--hold'} is for eagle3: {args.kind} has no heads that look back")
    published, checkpoint = args.head or heads.folder(args.kind), args.checkpoint or heads.checkpoint(args.kind)
    torch.manual_seed(args.seed)
    target = load.load_model(load.find(args.target, shelf.CACHE), "float32", args.device)
    store = Store(args.features, 3 * target.config.hidden_size).open()
    ids = data.frequent(store, DRAFT_VOCAB, target.config.vocab_size).to(args.device)
    head, progress = start(args.kind, target, ids, None if args.fresh else published, store, args.renew)
    if args.hold:
        look_back.hold(head, target)
    embed = target.get_input_embeddings()
    del target
    training = Training(head, score_of(head, embed), recipe_of(args), checkpoint, args.device)
    training.progress = progress
    if not (args.fresh or args.renew):
        training.resume()
    training.stop_on_signals()
    training.run(store)


if __name__ == "__main__":
    main()
