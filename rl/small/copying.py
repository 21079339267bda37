"""Initialises attention heads that copy.

Agents copy ids, names and options from an observation into an action. In a transformer that takes two layers: one
stores at each token which token precedes it, the other finds an earlier occurrence of the current token and predicts
the token that followed it (an "induction head", Olsson et al. 2022, arXiv 2209.11895). Training finds such a pair late:
a model of a million weights needs tens of millions of tokens before it copies unknown ids, and memorises ids until
then. Here the pair is written into the first heads of the first two layers.

Copying also needs a start: a search starts with the word after "find me a". Heads of the third layer read the one, two
or three tokens before each token and can copy the token. What they look for is learned; their attention is initially so
broad that gradients reach every token.

The initialisation depends on no domain, and training changes these weights like all others.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

PAIRS = 5
"""Number of the fastest pairs of rotary dimensions, by which heads find the preceding tokens."""
MOST_NOTES = 3
"""Maximum number of preceding tokens that are stored at a token."""
_NEAR, _FAR = 3.0, 2.5
"""Weights of the query and key norms, which sharpen attention: to preceding tokens, and to equal tokens."""
_SPREAD = 0.1
"""Standard deviation of the embeddings."""
_FORM = 0.15
"""Offsets in two dimensions of a word's embedding: for a leading space and for a capital letter."""
_NOTED, _TAKEN, _OFFERED = 0.3, 2.0, 0.1
"""Output scales of the heads of the first, second and third layer."""


def notes(width: int, size: int) -> int:
    """Number of preceding tokens that can be stored; the width of three heads is reserved for the token itself."""
    return min(MOST_NOTES, width // size - 3)


def write_copying_heads(model: Any, texts: Sequence[str], *, seed: int) -> None:
    """Write copying heads into a model with random weights.

    Tokens of the same word in different forms, with or without a leading space or a capital letter, get almost equal
    embeddings, so that a word is also found at the start of a title.

    Args:
        model: A ``Qwen3ForCausalLM`` of at least two layers whose width is at least four times that of a head; its
            weights are changed in place.
        texts: The text of each token, in order.
        seed: Seed of the embeddings, and of the projection in which tokens are compared.
    """
    import torch

    config = model.config
    width, size, layers = config.hidden_size, config.head_dim, model.model.layers
    group = config.num_attention_heads // config.num_key_value_heads
    back = min(notes(width, size), config.num_key_value_heads)
    generator = torch.Generator().manual_seed(seed)
    # The residual stream: a constant, the preceding tokens, and the token itself.
    told = 1 + back * size
    noted = [slice(1 + place * size, 1 + (place + 1) * size) for place in range(back)]
    own = slice(told, width)
    with torch.no_grad():
        tokens = model.model.embed_tokens.weight
        tokens.normal_(0, _SPREAD, generator=generator)
        tokens[:, 0], tokens[:, 1:told] = 3 * _SPREAD, 0.0
        first: dict[str, int] = {}
        for place, text in enumerate(texts):
            word = text.removeprefix(" ")
            if word.isalnum():
                tokens[place] = tokens[first.setdefault(word.lower(), place)]
                tokens[place, -2] = _FORM if word != text else -_FORM
                tokens[place, -1] = _FORM if word != word.lower() else -_FORM
        random = torch.randn(width - told, size, generator=generator)
        codes = torch.linalg.qr(random).Q.T  # as many directions as a head has dimensions
        for layer in layers:
            for written in (layer.self_attn.o_proj, layer.mlp.down_proj):
                written.weight[:told] = 0.0

        fast = torch.arange(PAIRS)
        theta = float(config.rope_parameters["rope_theta"])
        angles = theta ** -(2 * fast.float() / size)  # rotation of each pair from one position to the next, in radians
        looking = torch.zeros(size, width)
        looking[fast, 0] = 1.0
        for place in range(back):
            found = torch.zeros(size, width)
            turned = (place + 1) * angles
            found[fast, 0], found[fast + size // 2, 0] = turned.cos(), turned.sin()
            saying = torch.zeros(width, size)
            saying[noted[place]] = _NOTED * torch.eye(size)
            _write(layers[0].self_attn, place, group, size, looking, found, _reading(codes, own, width), saying)
        for norm in (layers[0].self_attn.q_norm, layers[0].self_attn.k_norm):
            norm.weight[fast] = norm.weight[fast + size // 2] = _NEAR

        # These dimensions hardly depend on the position, so that a token is found at any distance.
        slow = torch.cat([torch.arange(size // 4, size // 2), torch.arange(3 * size // 4, size)])
        kept = torch.zeros(size, 1)
        kept[slow] = 1.0
        for depth, layer in enumerate(layers[1:3]):
            loud = _OFFERED if depth else _TAKEN
            for place in range(back if depth else 1):
                looking = kept * _reading(codes, own, width)
                found = kept * _reading(torch.eye(size), noted[place], width)
                saying = torch.zeros(width, size)
                saying[own] = loud * codes.T
                _write(layer.self_attn, place, group, size, looking, found, _reading(codes, own, width), saying)
        for norm in (layers[1].self_attn.q_norm, layers[1].self_attn.k_norm):
            norm.weight[slow] = _FAR


def _reading(rows: Any, place: slice, width: int) -> Any:
    """A projection of one slice of the residual stream."""
    import torch

    weight = torch.zeros(len(rows), width)
    weight[:, place] = rows
    return weight


def _write(attention: Any, place: int, group: int, size: int, query: Any, key: Any, value: Any, output: Any) -> None:
    """Write one head; of several heads that share keys and values, the first one."""
    head, shared = slice(place * group * size, (place * group + 1) * size), slice(place * size, (place + 1) * size)
    attention.q_proj.weight[head] = query
    attention.k_proj.weight[shared] = key
    attention.v_proj.weight[shared] = value
    attention.o_proj.weight[:, head] = output
