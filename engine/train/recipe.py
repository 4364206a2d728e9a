"""Recipe: how long, how fast and on what a drafter is trained; each of its fields is an option of the command."""

from argparse import ArgumentParser, Namespace
from dataclasses import asdict, dataclass, fields
from pathlib import Path

from engine import shelf
from engine.train.features import FOLDER


@dataclass(frozen=True, slots=True, kw_only=True)
class Recipe:
    """`single`, `chain`: steps of the two phases. The rate rises over `warm` steps and falls over the last `cool`.

    `start`: first token of a conversation that is predicted; behind the opening, user turns are learned too.
    """

    single: int = 1500
    chain: int = 400
    depth: int = 3  # steps of the training-time test in the second phase: drafts beyond it are guesses
    cool: int = 500
    warm: int = 20
    tokens: int = 2560  # per step
    rate: float = 4e-3
    optimizer: str = "muon"
    temperature: float = 0.7
    start: int = 0  # 0: answers only
    held: int = 48  # conversations kept for the curve
    every: int = 100  # steps between two points of the curve
    seed: int = 0

    @property
    def steps(self) -> int:
        return self.single + self.chain

    def rate_at(self, step: int) -> float:
        left = self.steps - step
        return self.rate * min(1.0, (step + 1) / self.warm, max(left / self.cool, 0.01))


def arguments(parser: ArgumentParser, defaults: Recipe) -> ArgumentParser:
    """The options that every drafter's training takes."""
    parser.add_argument("--target", default=shelf.NAME)
    parser.add_argument("--features", type=Path, default=FOLDER)
    parser.add_argument("--checkpoint", type=Path, help="default: NAME.pt in the cache folder")
    parser.add_argument("--device", default="cpu")
    for name, value in asdict(defaults).items():
        parser.add_argument(f"--{name}", type=type(value), default=value)
    return parser


def recipe_of(args: Namespace) -> Recipe:
    return Recipe(**{f.name: getattr(args, f.name) for f in fields(Recipe)})
