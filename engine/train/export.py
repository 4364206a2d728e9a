"""export: a shard as the directory that others load, `python -m engine export {eagle3,mtp,draft}`.

eagle3: the speculators format (code.md 2f), which vLLM reads. mtp: speculators' tensor names; vLLM has no
place for a Llama's MTP module. draft: an ordinary Llama directory.
"""

import argparse
import json
from pathlib import Path

import torch
from safetensors.torch import save_file
from transformers import PreTrainedModel, PreTrainedTokenizerBase

from engine import load, shelf
from engine.train import draft_small, head_shard, heads
from engine.train.draft_head import DraftHead
from engine.train.eagle3_head import Eagle3Head
from engine.train.mtp_head import MtpHead

VERSION = "0.9.0"  # of the speculators format this follows


def eagle3_config(head: Eagle3Head, verifier: str, architectures: list[str], k: int = 4) -> dict:
    """config.json. Where readers disagree on a default (norm_before_residual), the value is written out."""
    return {
        "architectures": ["Eagle3DraftModel"],
        "speculators_model_type": "eagle3",
        "speculators_version": VERSION,
        "speculators_config": {
            "algorithm": "eagle3",
            "default_proposal_method": "greedy",
            "proposal_methods": [
                {
                    "proposal_type": "greedy",
                    "speculative_tokens": k,
                    "verifier_accept_k": 1,
                    "accept_tolerance": 0.0,
                }
            ],
            "verifier": {"name_or_path": verifier, "architectures": architectures},
        },
        "transformer_layer_config": layer_config(head),
        "draft_vocab_size": head.draft_vocab,
        "norm_before_residual": False,
        "norm_before_fc": False,
        "fc_norm": False,
        "norm_output": False,
        "target_hidden_size": head.config.hidden_size,
        "eagle_aux_hidden_state_layer_ids": list(head.taps),
        "embed_requires_grad": False,
        "tie_word_embeddings": False,
        "torch_dtype": "float32",
    }


def mtp_config(head: MtpHead, verifier: str, architectures: list[str]) -> dict:
    """config.json: what one needs to rebuild the module. No reader of it is known; see `engine.train.mtp_head`."""
    return {
        "architectures": ["MtpDraftModel"],
        "speculators_model_type": "mtp",
        "speculators_version": VERSION,
        "speculators_config": {
            "algorithm": "mtp",
            "verifier": {"name_or_path": verifier, "architectures": architectures},
        },
        "transformer_layer_config": layer_config(head),
        "num_mtp_layers": 1,
        "draft_vocab_size": head.draft_vocab,
        "hidden_state_layer_id": head.taps[0],
        "torch_dtype": "float32",
    }


def layer_config(head: DraftHead) -> dict:
    """The sizes of the head's decoder layer."""
    layer = head.config.to_diff_dict() | {
        "model_type": "llama",
        "rope_theta": head.config.rope_parameters["rope_theta"],  # older transformers look for it here
    }
    layer.pop("transformers_version", None)
    return layer


def export(head: DraftHead, folder: Path, verifier: str, architectures: list[str], dtype: str = "float32") -> Path:
    """Write config.json and model.safetensors; the embedding is left out: readers take the verifier's."""
    folder.mkdir(parents=True, exist_ok=True)
    config_of = {"eagle3": eagle3_config, "mtp": mtp_config}[head.kind]
    config = config_of(head, verifier, architectures) | {"torch_dtype": dtype}
    (folder / "config.json").write_text(json.dumps(config, indent=2) + "\n")
    kind = getattr(torch, dtype)
    state = head.state_dict()
    tensors = {n: (t.to(kind) if t.is_floating_point() else t).cpu().contiguous() for n, t in state.items()}
    save_file(tensors, folder / "model.safetensors", metadata={"format": "pt"})
    return folder


def export_draft(small: PreTrainedModel, tokenizer: PreTrainedTokenizerBase, folder: Path) -> Path:
    """Write the small draft model as an ordinary model directory, with the target's tokenizer."""
    small.save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    return folder


def main(argv: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(prog="engine export", description=__doc__)
    parser.add_argument("kind", choices=(*heads.HEADS, "draft"))
    parser.add_argument("--target", default=shelf.NAME)
    parser.add_argument("--head", type=Path, help="folder of the compact shard; default: the one in assets")
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--verifier", help="the target's name in config.json; default: its folder")
    parser.add_argument("--dtype", choices=("float32", "float16", "bfloat16"), default="float32")
    args = parser.parse_args(argv)
    place = load.find(args.target, shelf.CACHE)
    target = load.load_model(place, "float32", "cpu")
    if args.kind == "draft":
        small = draft_small.load(args.head or draft_small.DRAFT, target)
        export_draft(small.to(getattr(torch, args.dtype)), load.load_tokenizer(place), args.out)
        return
    head = head_shard.load(args.head or heads.folder(args.kind), target)
    export(head, args.out, args.verifier or str(place), list(target.config.architectures), args.dtype)


if __name__ == "__main__":
    main()
