"""Sampling as an argmax: Gumbel noise that belongs to (seed, row, index), shared by target, drafter and reference.

token = argmax(warped logits + noise) draws from the softmax of the warped logits (papers.md F). The noise depends on
nothing but seed, row and token index, so every exact method emits the tokens of autoregressive decoding with the
same seed, whatever the batch, the drafts or the order of the rows.
"""

from dataclasses import dataclass, field
from hashlib import blake2b

import torch
from torch import Tensor

#: Score of a token that top-k or top-p has removed: far below any other, and finite.
REMOVED = -1e9


def warp(
    logits: Tensor,  # [..., V]
    temperature: float,
    top_k: int = 0,  # 0: all tokens
    top_p: float = 1.0,
) -> Tensor:  # [..., V]
    """Temperature, then top-k, then top-p, in Hugging Face's order; removed tokens get REMOVED.

    top_p keeps the smallest set of tokens whose probability reaches it, at least one.
    """
    out = logits / temperature
    if top_k:
        kth = out.topk(min(top_k, out.shape[-1]), dim=-1).values[..., -1:]
        out = out.masked_fill(out < kth, REMOVED)
    if top_p < 1.0:
        ranked, order = out.sort(dim=-1, descending=True)
        before = ranked.softmax(dim=-1).cumsum(dim=-1) - ranked.softmax(dim=-1)
        out = out.masked_fill((before >= top_p).scatter(-1, order, before >= top_p), REMOVED)
    return out


def uniform(seed: int, row: int, index: int, role: str) -> float:
    """A number in [0, 1) that belongs to (seed, row, index, role): draws do not depend on batch mates or rounds."""
    digest = blake2b(f"{seed}/{row}/{index}/{role}".encode(), digest_size=8).digest()
    return (int.from_bytes(digest) >> 11) / 2**53


@dataclass(slots=True)
class SharedNoise:
    """Turns logits into scores whose argmax is the sampled token. Noise is kept only for indices still ahead."""

    seed: int
    temperature: float
    top_k: int
    top_p: float
    _kept: dict[tuple[int, int], Tensor] = field(default_factory=dict)

    def scores(
        self,
        logits: Tensor,  # [B, T, V]
        rows: list[int],  # [B] row ids
        index: list[list[int]],  # [B][T] content index of the token being chosen; negative: nobody asks
    ) -> Tensor:  # [B, T, V]
        """Warped logits plus the noise of each (row, index)."""
        noise = torch.stack(
            [
                torch.stack([self._gumbel(row, n, logits.shape[-1]) for n in indices])
                for row, indices in zip(rows, index, strict=True)
            ]
        )
        return warp(logits, self.temperature, self.top_k, self.top_p) + noise.to(logits)

    def forget(self, row: int, before: int) -> None:
        """Drop the noise of a row's indices below `before`: they are decided."""
        for key in [k for k in self._kept if k[0] == row and k[1] < before]:
            del self._kept[key]

    def _gumbel(self, row: int, index: int, vocab: int) -> Tensor:  # [V] float64
        if index < 0:
            return torch.zeros(vocab, dtype=torch.float64)
        if (row, index) not in self._kept:
            digest = blake2b(f"{self.seed}/{row}/{index}".encode(), digest_size=8).digest()
            generator = torch.Generator().manual_seed(int.from_bytes(digest) >> 1)
            uniform = torch.rand(vocab, dtype=torch.float64, generator=generator)
            self._kept[row, index] = -torch.log(-torch.log(uniform.clamp(1e-300, 1 - 1e-16)))
        return self._kept[row, index]
