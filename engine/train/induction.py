"""induction: two layers of attention with which a small draft model copies on, `python -m engine train draft --copies`.

Little text does not teach it to find where its newest tokens stood before and to name what followed there: two layers
have to agree before either gains (Olsson et al. 2022, induction heads). So they are given in closed form, one before
the last layer and one behind it, and trained like the rest. Text "the red fox .. the red", the newest on the right:

    layer      at fox                        at the newest red
    notes      code of red, the one before   its own code, and that of the, the one before
    (last)     neither hears the notes nor writes over them
    copies     key: code of red              query: its own code; value: fox, written as fox's output row
"""

import copy

import torch
from torch import Tensor, nn
from transformers import PreTrainedModel

from engine.train import canonical
from engine.train.features import Store
from engine.train.look_back import copied, quiet_directions, slow_dims
from engine.train.readings import Text, arranged, fit, states, told

ONE, TWO = 18, 9  # numbers of the code of the token before, and of the one before that
NEAR, FAST = 30.0, 4  # attention logit of the token that is noted; rotated pairs that tell it from others, the fastest
LESS = 3.55  # of the FAST cosines: the tokens beside it are left with less than nothing
MATCH, FURTHER = 26.0, 14.0  # attention logit of a match of the newest token, and of the one before it
NOTHING = 22.0  # attention logit of the first of all tokens: where nothing matches, nothing is copied
GAIN = 9.0  # of a copied token's logit, in units of the final state
NOTES = 0.1  # energy of the notes, of that of the state they are written into


def has(small: PreTrainedModel) -> bool:
    """Whether it has layers that note and copy."""
    return any(silent(layer) for layer in small.model.layers)


def silent(layer: nn.Module) -> bool:
    """Whether its MLP adds nothing. Without weights it has no gradient, so it stays so, and is not saved."""
    return not layer.mlp.down_proj.weight.any()


@torch.no_grad()
def silence(layer: nn.Module) -> None:
    """Let a layer be attention alone, of ones as its norm and without weights yet."""
    for name, weight in layer.named_parameters():
        weight.fill_(float("norm" in name))
    for weight in (*layer.mlp.parameters(), *layer.post_attention_layernorm.parameters()):
        weight.requires_grad_(False)


def sample(store: Store, tokens: int = 25_000) -> list[Tensor]:
    """Conversations from all over the store."""
    return [store[n].tokens for n in range(0, len(store), -(-store.ends[-1] // tokens))]


@torch.no_grad()
def add(small: PreTrainedModel, pieces: list[Tensor]) -> PreTrainedModel:
    """A model with the two layers more. Raises ValueError when its query heads do not come in threes at least."""
    config = small.config
    group = config.num_attention_heads // config.num_key_value_heads
    if group < 3:
        raise ValueError(f"three tokens are noted by the query heads of one KV head; this model has {group} of them")
    deep, text, out = deepened(small), arranged(pieces), small.get_output_embeddings().weight
    *others, notes, last, _ = deep.model.layers
    norms = [notes.input_layernorm, last.input_layernorm, last.post_attention_layernorm, deep.model.norm]
    before = states(deep, norms, text.pieces)
    quiet = quiet_directions(2 * ONE + TWO, out * deep.model.norm.weight, before[0], before[2], before[3])
    for layer in (*others, last):
        for linear in (layer.self_attn.o_proj, layer.mlp.down_proj):
            linear.weight.sub_(quiet @ (quiet.T @ linear.weight))
    attention = last.self_attn
    deafen(last.input_layernorm, [attention.q_proj, attention.k_proj, attention.v_proj], quiet)
    deafen(last.post_attention_layernorm, [last.mlp.gate_proj, last.mlp.up_proj], quiet)
    code = write_notes(deep, text, quiet, before[0])
    for norm, was, now in zip(norms[1:], before[1:], states(deep, norms[1:], text.pieces), strict=True):
        norm.weight.mul_((now.pow(2).mean(dim=-1) / was.pow(2).mean(dim=-1)).sqrt().median())
    copy_on(deep, text, code, GAIN * before[3].pow(2).mean(dim=-1).median().sqrt())
    return deep


def deepened(small: PreTrainedModel) -> PreTrainedModel:
    """The same function: a silent layer before the last one and one behind it."""
    config = copy.deepcopy(small.config)
    config.num_hidden_layers += 2
    deep = type(small)(config).to(small.lm_head.weight)
    deep.set_input_embeddings(small.get_input_embeddings())
    deep.lm_head = small.get_output_embeddings()
    *others, notes, last, copies = deep.model.layers
    for mine, old in zip([*others, last], small.model.layers, strict=True):
        mine.load_state_dict(old.state_dict())
    deep.model.norm.load_state_dict(small.model.norm.state_dict())
    for layer in (notes, copies):
        silence(layer)
    return deep


def deafen(norm: nn.Module, linears: list[nn.Linear], quiet: Tensor) -> None:
    """Let what reads behind this norm not hear the quiet directions."""
    for linear in linears:
        linear.weight.sub_(((linear.weight * norm.weight) @ quiet) @ quiet.T / norm.weight)


def write_notes(deep: PreTrainedModel, text: Text, quiet: Tensor, before: Tensor) -> Tensor:  # -> [N, ONE]
    """The layer that notes, and the code of every token.

    Nothing but the embedding writes into the quiet directions before it, so a code read there is of the token alone.
    """
    layer, d = deep.model.layers[-3], deep.config.head_dim
    embedding, attention = deep.get_input_embeddings().weight, layer.self_attn
    (state,) = states(deep, [layer.input_layernorm], text.pieces)
    state = layer.input_layernorm(state)
    plain = embedding @ quiet - (embedding @ quiet).mean(dim=0)  # all tokens alike: codes of like size
    values, axes = torch.linalg.eigh(plain.T @ plain / len(plain))
    white = axes[:, -ONE:] @ torch.diag(values[-ONE:].rsqrt()) @ turned(ONE, 4)
    code = plain[text.tokens] @ white
    read = quiet @ fit(state[text.inner] @ quiet, code[text.inner], text.rare, 1e-6)
    always = told(state, ~text.first, text) * (NEAR * d**0.5) ** 0.5
    attention.k_proj.weight[:FAST], attention.k_proj.weight[d // 2 - 1] = always, always
    attention.v_proj.weight[:ONE] = read.T
    size = (NOTES * before[text.inner].pow(2).sum(dim=-1).median() / quiet.shape[1]).sqrt()
    turn = deep.model.rotary_emb.inv_freq[:FAST, None]
    for n, (back, where) in enumerate(zip((1, 2, 0), quiet.split([ONE, TWO, ONE], dim=1), strict=True)):
        query = attention.q_proj.weight[n * d : (n + 1) * d]
        query[:FAST], query[d // 2 : d // 2 + FAST] = torch.cos(back * turn) * always, -torch.sin(back * turn) * always
        query[d // 2 - 1] = -LESS * always
        attention.o_proj.weight[:, n * d : n * d + where.shape[1]] = size * where
    return code


def copy_on(deep: PreTrainedModel, text: Text, code: Tensor, gain: Tensor) -> None:
    """The layer that compares the notes and copies."""
    layer, d, kv = deep.model.layers[-1], deep.config.head_dim, deep.config.num_key_value_heads
    embedding, attention, inner = deep.get_input_embeddings().weight, layer.self_attn, text.inner
    group, flat = deep.config.num_attention_heads // kv, torch.full((len(embedding),), 1 / len(embedding))
    (state,) = states(deep, [layer.input_layernorm], text.pieces)
    state = layer.input_layernorm(state)
    wanted = [code, code.roll(1, 0), code.roll(1, 0)[:, :TWO], code.roll(2, 0)[:, :TWO]]
    own, one, own_two, two = (fit(state[inner], w[inner], text.rare, 1e-6).T for w in wanted)
    normed = deep.model.layers[0].input_layernorm(embedding)
    said, held, agreement = canonical.maps(normed[text.tokens][inner], state[inner], text.rare[:, 0] ** 2, kv * d)
    mix = turned(kv * d, 2)
    alone = state[text.first].mean(dim=0)
    value = held @ mix
    value = value - alone[:, None] * (alone @ value) / (alone @ alone)  # a first token says nothing
    written = gain * copied(deep.lm_head.weight * deep.model.norm.weight, normed @ (said * agreement @ mix), flat)
    first, always = told(state, text.first, text), fit(state[inner], torch.ones(int(inner.sum()), 1), 1.0, 1e-3).T
    slow = slow_dims(d)
    slow = slow[torch.randperm(len(slow), generator=torch.Generator().manual_seed(3))]
    a, b, c = slow[:ONE], slow[ONE : ONE + TWO], slow[ONE + TWO]
    for n in range(kv):
        key, part = attention.k_proj.weight[n * d : (n + 1) * d], slice(n * d, (n + 1) * d)
        key[a], key[b], key[c] = one, two, first[0]
        attention.v_proj.weight[part] = value.T[part]
        for i, sharp in enumerate((torch.linspace(0.8, 1.2, group) * (0.8 + 0.2 * n)).tolist()):  # equal ones stay so
            at = (n * group + i) * d
            query = attention.q_proj.weight[at : at + d]
            query[a], query[b] = own * MATCH / ONE * sharp * d**0.5, own_two * FURTHER / TWO * sharp * d**0.5
            query[c] = always[0] * NOTHING * sharp * d**0.5
            attention.o_proj.weight[:, at : at + d] = written[:, part] / group


def turned(size: int, seed: int) -> Tensor:  # [size, size]
    """A rotation, so that no number of a code matters more than another."""
    return torch.linalg.qr(torch.randn(size, size, generator=torch.Generator().manual_seed(seed))).Q
