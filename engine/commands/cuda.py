"""Compare float32 ids on CUDA with the CPU's, row by row; says so when there is no GPU."""

import argparse
import sys
from dataclasses import replace


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--max-new", type=int, default=48)
    parser.add_argument("--proposer", default="self_skip")


def main(args: argparse.Namespace) -> int:
    """0: equal, or every difference is classed as rounding; 1: a bug-class difference; 3: no CUDA device."""
    import torch

    from engine.bench.methods import PROMPTS
    from engine.config import RunConfig
    from engine.fold import fold
    from engine.stream import run

    if not torch.cuda.is_available():
        print("no CUDA device: nothing was compared", file=sys.stderr)
        return 3
    config = RunConfig(method="eqspec", proposer=args.proposer, max_new=args.max_new, k=5)
    on = {d: fold(run(replace(config, device=d), PROMPTS)).lanes["eqspec"].rows for d in ("cpu", "cuda")}
    worst = 0
    for row in on["cpu"]:
        cpu, cuda = on["cpu"][row], on["cuda"][row]
        same = cpu.ids == cuda.ids
        verdicts = f"cpu {cpu.compare['verdict']}, cuda {cuda.compare['verdict']}"
        print(f"row {row}: {'same ids' if same else 'different ids'}; against the row alone: {verdicts}")
        worst |= int("bug" in (cpu.compare["verdict"], cuda.compare["verdict"]))
    return worst
