"""look_back: as many KV heads again for an EAGLE-3 head, which find where the newest token stood before and copy on.

A head learns the target's language soon and copying hardly: query, key, value and output have to agree before any of
them gains (Olsson et al. 2022, induction heads). So they start in agreement, in closed form, and are trained like the
rest. Text "the red fox .. the red", the newest pair on the right:

    pair    (red, g of the)   (fox, g of red)   ..   (red, g of the)
    key                        code of red             query   code of red, of the embedding
    value                      fox                     ->      fox's output row
"""

import copy
from functools import partial

import torch
from torch import Tensor
from transformers import PreTrainedModel

from engine.train import canonical
from engine.train.eagle3_head import Eagle3Head
from engine.train.features import Store

SLOW = 7 / 16  # of the rotated pairs, the slowest: over some hundred tokens they hardly turn, so any distance matches
SCORE = 20.0  # attention logit of a match
GAIN = 20.0  # logit of a token that is copied with full attention
SIZE = 0.8  # of each number of the code within the fused state, against the state's median size
UNSEEN = 0.3  # weight of all tokens alike beside those of the text
SHRINK = 0.05  # of the whitening; 0 would blow up directions in which tokens hardly differ


def has(head: Eagle3Head, target: PreTrainedModel) -> bool:
    """Whether it has more KV heads than a layer of the target."""
    return head.config.num_key_value_heads > target.config.num_key_value_heads


def sample(store: Store, tokens: int = 200_000) -> tuple[Tensor, Tensor]:  # [N], [N, taps * H]
    """Tokens and states of conversations from all over the store, without the first token, an outlier."""
    pieces = [store[n] for n in range(0, len(store), -(-store.ends[-1] // tokens))]
    return torch.cat([p.tokens[1:] for p in pieces]), torch.cat([p.states[1:] for p in pieces])


def resized(head: Eagle3Head, kv_heads: int) -> Eagle3Head:
    """A head with the first of its heads only, or with silent ones behind its own, which is the same function."""
    config = copy.deepcopy(head.config)
    group = config.num_attention_heads // config.num_key_value_heads
    config.num_attention_heads, config.num_key_value_heads = group * kv_heads, kv_heads
    other = Eagle3Head(config, head.taps, head.draft_vocab).to(head.fc.weight)
    for name, weight in other.state_dict().items():
        old = head.state_dict()[name]
        both = tuple(slice(min(a, b)) for a, b in zip(weight.shape, old.shape, strict=True))
        weight.zero_()[both] = old[both]
    return other


def hold(head: Eagle3Head, target: PreTrainedModel) -> None:
    """Keep the heads that look back as they are; what is around them is trained. Text that is learned by heart need
    not be copied, so training on it weakens them, and unknown text is where they are wanted.
    """
    d = head.config.head_dim
    queries, keys = target.config.num_attention_heads * d, target.config.num_key_value_heads * d  # behind them they are
    for name, first in (("q_proj", queries), ("k_proj", keys), ("v_proj", keys), ("o_proj", queries)):
        weight = head.layers[0].self_attn[name].weight
        free = torch.ones_like(weight)
        (free.T if name == "o_proj" else free)[first:] = 0
        weight.register_hook(partial(torch.mul, free))


@torch.no_grad()
def add(
    head: Eagle3Head,
    embedding: Tensor,  # [vocab, H]
    tokens: Tensor,  # [N] int64, some of the training text
    states: Tensor,  # [N, taps * H], the target's at these tokens
) -> Eagle3Head:
    """A head with twice the heads, as a Llama's hidden size is a multiple of their number: the others look back."""
    wide, h, d = resized(head, 2 * head.config.num_key_value_heads), head.config.hidden_size, head.config.head_dim
    layer, attention = wide.layers[0], wide.layers[0].self_attn
    kv, group = head.config.num_key_value_heads, head.config.num_attention_heads // head.config.num_key_value_heads
    slow, often = slow_dims(d), frequency(tokens, len(embedding)).to(embedding)
    normed = layer.input_layernorm(embedding)  # as attention reads it
    tokens, states = tokens.to(embedding.device), states.to(embedding)
    match, read = shared_code(normed, tokens, states[:, :h], kv * len(slow))  # what is compared
    said = code(normed, often, kv * d)  # what is copied
    fused = head.fuse(states)
    size = fused.pow(2).mean(dim=-1).median().sqrt()
    outputs, ids = head.lm_head.weight * head.norm.weight, head.t2d.nonzero()[:, 0]
    quiet = quiet_directions(match.shape[1], outputs, fused)
    written = GAIN * size * copied(outputs, (normed @ said)[ids], often[ids])

    wide.fc.weight[:, :h] += SIZE * size * quiet @ read.T
    query = match.T * SCORE * d**0.5 / len(slow)
    key = quiet.T / layer.hidden_norm.weight / SIZE
    for n in range(kv):
        own, part = slice(n * len(slow), (n + 1) * len(slow)), slice(n * d, (n + 1) * d)
        attention["k_proj"].weight[slow + (kv + n) * d, h:] = key[own]
        attention["v_proj"].weight[(kv + n) * d : (kv + n + 1) * d, :h] = said.T[part]
        for i, sharp in enumerate(torch.linspace(0.7, 1.4, group).tolist()):  # equal heads would stay equal
            q = (kv + n) * group + i
            attention["q_proj"].weight[slow + q * d, :h] = query[own] * sharp
            attention["o_proj"].weight[:, q * d : (q + 1) * d] = written[:, part] / group
    return wide


def slow_dims(head_dim: int) -> Tensor:
    """The dims of a head that hardly turn with the position: of 64, dims i and i + 32 turn together."""
    pairs, half = int(head_dim // 2 * SLOW), head_dim // 2
    return torch.tensor([*range(half - pairs, half), *range(head_dim - pairs, head_dim)])


def frequency(tokens: Tensor, vocab: int) -> Tensor:  # [vocab]
    """Share of each token of the text, a part of it spread over all tokens."""
    counts = torch.bincount(tokens, minlength=vocab).double()
    return (counts / counts.sum() + UNSEEN / vocab) / (1 + UNSEEN)


def shared_code(normed: Tensor, tokens: Tensor, states: Tensor, count: int) -> tuple[Tensor, Tensor]:
    """Maps [H, count] from a token's normed embedding and from its lowest state to the same code.

    Rare tokens count more than they are frequent: they are what cannot be guessed. The best directions are mixed, so
    that every head gets as good ones, and other ones than the others: where they agree, it is the right token.
    """
    rare = torch.bincount(tokens, minlength=len(normed))[tokens].double().rsqrt()
    asked, held, agreement = canonical.maps(normed[tokens], states, rare, count)
    mix = torch.linalg.qr(torch.randn(count, count, generator=torch.Generator().manual_seed(1))).Q.to(normed)
    return asked * (agreement / agreement.mean()) @ mix, held @ mix


def code(
    normed: Tensor,  # [vocab, H] embeddings as attention reads them
    often: Tensor,  # [vocab] share of each token
    count: int,
) -> Tensor:  # [H, count]
    """A map whose outputs have mean zero and unit variance over the text and are uncorrelated: a code of the token."""
    white, mean = canonical.whitening(normed, often[:, None], SHRINK)
    random = torch.randn(len(mean), count, generator=torch.Generator().manual_seed(1)).to(normed)
    return white @ torch.linalg.qr(random - mean[:, None] * (mean @ random)).Q


def quiet_directions(count: int, outputs: Tensor, *states: Tensor) -> Tensor:  # [O, H], [N, H] each -> [H, count]
    """Orthonormal directions in which these states vary least and output rows hardly look."""
    gram = 0.3 * outputs.T @ outputs / outputs.pow(2).sum()
    for seen in states:
        away = seen - seen.mean(dim=0)
        gram += away.T @ away / away.pow(2).sum()
    return torch.linalg.eigh(gram).eigenvectors[:, :count]


def copied(rows: Tensor, code: Tensor, often: Tensor) -> Tensor:  # [vocab, H], [vocab, M], [vocab] -> [H, M]
    """Turns a token's code into a state whose logit for that token is 1 on average, and small for the others."""
    weighed = rows * often[:, None]
    gram = weighed.T @ rows
    back = torch.linalg.solve(gram + 0.1 * gram.diagonal().mean() * torch.eye(len(gram)).to(gram), weighed.T @ code)
    return back / (often @ ((rows @ back) * code).sum(dim=1))
