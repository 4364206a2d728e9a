"""induction: a draft model with twice the heads, the new ones of which copy, as those of `look_back` do.

A plain model's key for a token must tell the token before it, and only a layer below can write that down. So the
first layer notes, in directions that it uses for nothing else, the previous token's code and this token's; the last
layer looks for an earlier place whose previous token is this one, and copies the token that stands there:

    position   3     4     ..   9
    token      red   fox        red      first layer   4 notes: before me `red`, I am `fox`;  9 notes: I am `red`
                                         last layer    9 asks for `before me red`, finds 4, copies `fox`
"""

from collections.abc import Iterator

import torch
from torch import Tensor, nn
from transformers import PreTrainedModel

from engine.train import draft_small
from engine.train.look_back import codes, copied, frequency, least_squares, quiet_directions, slow_dims

FAST = 4  # rotated pairs that tell neighbours apart: the fastest
NEAR = 12.0  # attention logit per such pair at the wanted distance
NOTES = 0.15  # their energy, against that of the state they are added to
SCORE = 11.0  # attention logit of a match
GAIN = 8.0  # logit of a token that is copied with full attention


@torch.no_grad()
def add(small: PreTrainedModel, texts: list[Tensor]) -> PreTrainedModel:  # texts: [T] int64 each
    """A draft model of two layers or more with twice the heads: the first nearly as they were, the others copy."""
    config, embedding, tokens = small.config, small.get_input_embeddings().weight, torch.cat(texts)
    wide = draft_small.from_target(small, tuple(range(config.num_hidden_layers)), 2 * config.num_key_value_heads)
    first, last = wide.model.layers[0], wide.model.layers[-1]
    often = frequency(tokens, len(embedding)).to(embedding)
    normed = first.input_layernorm(embedding)  # as attention reads it
    size = len(slow_dims(config.head_dim))
    words = (config.head_dim - size) * config.num_key_value_heads  # a value has room for both codes
    match, said = codes(normed, often, size, words)  # what is compared, what is copied
    outputs = wide.lm_head.weight * wide.model.norm.weight

    middle = behind(wide, first.post_attention_layernorm, texts, before=True)
    quiet = quiet_directions(2 * size + words, outputs, middle, behind(wide, first, texts))
    note = (NOTES * middle.pow(2).sum(dim=-1).median() / quiet.shape[1]).sqrt()
    keep_clear(first, quiet)
    always = least_squares(normed * often[:, None].sqrt(), often[:, None].sqrt(), ridge=1e-2)  # reads 1 from any token
    take_notes(wide, match, said, always, *(quiet * note).split([size, size, words], dim=1))
    noted = behind(wide, first.post_attention_layernorm, texts, before=True)
    first.post_attention_layernorm.weight.mul_(usual(noted) / usual(middle))

    seen = last.input_layernorm(behind(wide, first, texts))
    starts = torch.tensor([0, *(len(t) for t in texts)]).cumsum(0)[:-1]
    inner = torch.ones(len(tokens), dtype=torch.bool).index_fill(0, starts, False)  # not the first of its text
    wanted = (normed @ match)[tokens.roll(1)], (normed @ match)[tokens], (normed @ said)[tokens]
    reads = [least_squares(seen[inner], code[inner], ridge=1e-6) for code in wanted]
    copy_on(wide, *reads, GAIN * usual(behind(wide, last, texts)) * copied(outputs, normed @ said, often))
    return wide


def behind(model: PreTrainedModel, module: nn.Module, texts: list[Tensor], before: bool = False) -> Tensor:  # [N, H]
    """What this module gives, or is given, for every token of the texts, each read alone."""
    seen: list[Tensor] = []
    hook = module.register_forward_hook(lambda _, given, out: seen.append((given[0] if before else out)[0]))
    for text in texts:
        model.model(input_ids=text[None], use_cache=False)
    hook.remove()
    return torch.cat(seen)


def usual(states: Tensor) -> Tensor:  # [N, H] -> []
    """Median root mean square; a text's first token is an outlier."""
    return states.pow(2).mean(dim=-1).median().sqrt()


def keep_clear(layer: nn.Module, quiet: Tensor) -> None:  # [H, M] orthonormal
    """The layer's old parts write nothing there, and its MLP does not read it."""
    for linear in (layer.self_attn.o_proj, layer.mlp.down_proj):
        linear.weight.sub_(quiet @ (quiet.T @ linear.weight))
    scale = layer.post_attention_layernorm.weight
    for linear in (layer.mlp.gate_proj, layer.mlp.up_proj):
        linear.weight.sub_(((linear.weight * scale) @ quiet) @ quiet.T / scale)


def new_heads(model: PreTrainedModel) -> Iterator[tuple[int, int, list[int]]]:
    """(number, first row of the KV head, first rows of its query heads) of every KV head of the second half."""
    kv, d = model.config.num_key_value_heads, model.config.head_dim
    group = model.config.num_attention_heads // kv
    for n in range(kv // 2, kv):
        yield n - kv // 2, n * d, [(n * group + i) * d for i in range(group)]


def take_notes(
    wide: PreTrainedModel,
    match: Tensor,  # [H, C] code of an embedding that is compared
    said: Tensor,  # [H, M] code that is copied, shared out over the heads
    always: Tensor,  # [H, 1]
    before: Tensor,  # [H, C] where the code of the token before is noted
    here: Tensor,  # [H, C] and this token's
    word: Tensor,  # [H, M]
) -> None:
    """First layer: of each new KV head, one query head looks one token back, the next at the token itself."""
    layer, d = wide.model.layers[0], wide.config.head_dim
    attention, heads, turn = layer.self_attn, wide.config.num_key_value_heads // 2, wide.model.rotary_emb.inv_freq
    turn, always = turn[:FAST, None], always.T * (NEAR * d**0.5) ** 0.5
    for n, key, queries in new_heads(wide):
        value = torch.cat([match, said.chunk(heads, dim=1)[n]], dim=1)
        attention.k_proj.weight[key : key + FAST] = always
        attention.v_proj.weight[key : key + value.shape[1]] = value.T
        for back, q, written in ((1, queries[0], before), (0, queries[-1], here)):
            attention.q_proj.weight[q : q + FAST] = torch.cos(back * turn) * always
            attention.q_proj.weight[q + d // 2 : q + d // 2 + FAST] = -torch.sin(back * turn) * always
            attention.o_proj.weight[:, q : q + match.shape[1]] = written / heads
        attention.o_proj.weight[:, q + match.shape[1] : q + value.shape[1]] = word.chunk(heads, dim=1)[n]


def copy_on(
    wide: PreTrainedModel,
    earlier: Tensor,  # [H, C] reads the code of the token before from what attention reads
    this: Tensor,  # [H, C] and this token's
    word: Tensor,  # [H, M]
    written: Tensor,  # [H, M] makes logits of what was copied
) -> None:
    """Last layer: where the token before is the one that is now the newest, take the token that stands there."""
    layer, slow, d = wide.model.layers[-1], slow_dims(wide.config.head_dim), wide.config.head_dim
    attention, heads = layer.self_attn, wide.config.num_key_value_heads // 2
    for n, key, queries in new_heads(wide):
        value, out = word.chunk(heads, dim=1)[n], written.chunk(heads, dim=1)[n]
        attention.k_proj.weight[key + slow] = earlier.T
        attention.v_proj.weight[key : key + value.shape[1]] = value.T
        for i, q in enumerate(queries):
            sharp = (0.7 + 0.35 * i) * (0.8 + 0.2 * n)  # equal heads would stay equal
            attention.q_proj.weight[q + slow] = this.T * sharp * SCORE * d**0.5 / len(slow)
            attention.o_proj.weight[:, q : q + out.shape[1]] = out / len(queries)
