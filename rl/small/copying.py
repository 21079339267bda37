"""Heads that can copy from the start.

An agent copies: ids, names and options go from a page into an action. From random weights that takes two layers that
work together, one that notes at each token which token stood before it, and one that finds where the present token
stood before and takes over what followed (an "induction head", Olsson et al. 2022, arXiv 2209.11895). Gradients find
such a pair late: a model of a million weights reads tens of millions of tokens before it copies what it has never seen,
and until then it remembers ids instead. Here the pair is written into the first head of the first two layers. Nothing
of a domain goes into it, and training changes these weights as it does all others.
"""

from __future__ import annotations

from typing import Any

PAIRS = 5
"""Pairs of dimensions that turn fastest with the position; by these the first head finds the token before."""
_NEAR, _FAR = 3.0, 2.5
"""Weights of the normalisation, which sharpen attention: where the head before looks, and where alike tokens meet."""
_SPREAD = 0.1
"""Standard deviation of the embeddings."""
_NOTED, _TAKEN = 0.3, 2.0
"""How loud the two heads speak beside the tokens themselves."""


def write_copying_heads(model: Any, *, seed: int) -> None:
    """Write the pair of heads into a model with random weights.

    Args:
        model: A ``Qwen3ForCausalLM`` of at least two layers whose width is at least three times that of a head; its
            weights are changed in place.
        seed: Seed of the projection in which tokens are compared.
    """
    import torch

    config = model.config
    width, size = config.hidden_size, config.head_dim
    generator = torch.Generator().manual_seed(seed)
    # The residual stream: a constant, what stood before, and the token itself.
    noted, own = slice(1, 1 + size), slice(1 + size, width)
    with torch.no_grad():
        tokens = model.model.embed_tokens.weight
        tokens.normal_(0, _SPREAD, generator=generator)
        tokens[:, 0], tokens[:, noted] = 3 * _SPREAD, 0.0
        random = torch.randn(width - size - 1, size, generator=generator)
        codes = torch.linalg.qr(random).Q.T  # a head's worth of directions in which tokens differ
        before, finder = (model.model.layers[place].self_attn for place in (0, 1))
        for layer in model.model.layers[:2]:
            for written in (layer.self_attn.o_proj, layer.mlp.down_proj):
                written.weight[: 1 + size] = 0.0

        angles = _angles(config, size)
        fast = torch.arange(PAIRS)
        at = torch.zeros(size)
        at[fast] = 1.0
        one_on = torch.zeros(size)
        one_on[fast], one_on[fast + size // 2] = angles[:PAIRS].cos(), angles[:PAIRS].sin()
        _only(before.q_proj.weight, size, 0, at)
        _only(before.k_proj.weight, size, 0, one_on)
        for norm in (before.q_norm, before.k_norm):
            norm.weight[fast] = norm.weight[fast + size // 2] = _NEAR
        before.v_proj.weight[:size] = 0.0
        before.v_proj.weight[:size, own] = codes
        before.o_proj.weight[:, :size] = 0.0
        before.o_proj.weight[noted, :size] = _NOTED * torch.eye(size)

        # Positions hardly turn these dimensions, so that a token is found however far away it stands.
        slow = torch.cat([torch.arange(size // 4, size // 2), torch.arange(3 * size // 4, size)])
        for projection, place, code in (
            (finder.q_proj, own, codes[slow]),
            (finder.k_proj, noted, torch.eye(size)[slow]),
        ):
            projection.weight[:size] = 0.0
            rows = torch.zeros(len(slow), width)
            rows[:, place] = code
            projection.weight[slow] = rows
        for norm in (finder.q_norm, finder.k_norm):
            norm.weight[slow] = _FAR
        finder.v_proj.weight[:size] = 0.0
        finder.v_proj.weight[:size, own] = codes
        finder.o_proj.weight[:, :size] = 0.0
        finder.o_proj.weight[own, :size] = _TAKEN * codes.T


def _angles(config: Any, size: int) -> Any:
    """By how much each pair of dimensions turns from one position to the next."""
    import torch

    theta = float(config.rope_parameters["rope_theta"])
    return theta ** -(torch.arange(0, size, 2).float() / size)


def _only(weight: Any, size: int, column: int, values: Any) -> None:
    """Let the first head of a projection read one dimension alone."""
    weight[:size] = 0.0
    weight[:size, column] = values
