"""Draws tokens, one row of logits for each conversation."""

from __future__ import annotations

import hashlib
import random
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import torch

from simia_gym.errors import InputError


@dataclass(frozen=True)
class Sampling:
    """How one turn is sampled.

    Attributes:
        temperature: Divides the logits; 0 is greedy.
        top_p: Draw from the most probable tokens with this total probability; 1 for all tokens.
        top_k: Draw from this number of most probable tokens; 0 for all tokens.
        max_tokens: Maximum tokens of the turn.
        stop_token_ids: Tokens that end the turn, besides those that end every turn.
        seed: Random seed of this turn. By default derived from the generator's seed, the conversation's id and the
            number of the turn.
    """

    temperature: float = 1.0
    top_p: float = 1.0
    top_k: int = 0
    max_tokens: int = 256
    stop_token_ids: Sequence[int] = ()
    seed: int | None = None

    def __post_init__(self) -> None:
        """Check the values."""
        checks = (
            ("temperature", self.temperature, self.temperature >= 0, "Give 0 or more."),
            ("top_p", self.top_p, 0 < self.top_p <= 1, "Give a number above 0 and at most 1."),
            ("top_k", self.top_k, self.top_k >= 0, "Give 0 or more."),
            ("max_tokens", self.max_tokens, self.max_tokens >= 1, "Give at least 1."),
        )
        for name, value, good, fix in checks:
            if not good:
                raise InputError(f"{name} is {value}", where="sampling", fix=fix)


def chance(seed: int, request_id: str, turn: int) -> random.Random:
    """The random number generator of one turn, which depends on no other request."""
    digest = hashlib.sha256(f"{seed}/{turn}/{request_id}".encode()).digest()
    return random.Random(int.from_bytes(digest[:8], "big"))


def draw(logits: Any, how: Sequence[Sampling], chances: Sequence[random.Random]) -> tuple[list[int], list[float]]:
    """Draw one token for each row of ``rows x vocabulary`` logits; return the tokens and their log-probabilities.

    Each row is drawn by inverting its cumulative distribution at one random number of its own generator, so it depends
    on no other row; only the rounding of the logits, which depends on the shape of the batch, can change a draw that
    falls on the edge between two tokens.
    """
    if logits.device.type == "mps":  # it has no float64
        logits = logits.cpu()
    logits = logits.float()
    temperatures = [one.temperature if one.temperature > 0 else 1.0 for one in how]
    if any(value != 1.0 for value in temperatures):
        logits = logits / torch.tensor(temperatures, device=logits.device)[:, None]
    logprobs = torch.log_softmax(logits, dim=-1)
    if all(one.temperature == 0 for one in how):
        drawn = logprobs.argmax(dim=-1)
        return drawn.tolist(), logprobs.gather(1, drawn[:, None])[:, 0].tolist()
    numbers = torch.tensor(
        [own.random() if one.temperature > 0 else 0.0 for one, own in zip(how, chances, strict=True)],
        dtype=torch.float64,
        device=logits.device,
    )
    if any(one.top_k or one.top_p < 1 for one in how):
        drawn = _draw_among_the_best(logprobs, how, numbers)
    else:
        drawn = _invert(logprobs.exp(), numbers)
    if any(one.temperature == 0 for one in how):
        greedy = torch.tensor([one.temperature == 0 for one in how], device=logits.device)
        drawn = torch.where(greedy, logprobs.argmax(dim=-1), drawn)
    return drawn.tolist(), logprobs.gather(1, drawn[:, None])[:, 0].tolist()


def _invert(probabilities: Any, numbers: Any) -> Any:
    """The first index at which the cumulative probability exceeds the random number times the sum."""
    cumulated = probabilities.double().cumsum(dim=-1)
    total = cumulated[:, -1:]
    # Below the sum itself, so that no token of probability 0 after the last possible one is drawn.
    wanted = torch.minimum(numbers[:, None] * total, total * (1 - 2**-52))
    return torch.searchsorted(cumulated, wanted, right=True)[:, 0].clamp_(max=probabilities.shape[-1] - 1)


def _draw_among_the_best(logprobs: Any, how: Sequence[Sampling], numbers: Any) -> Any:
    ordered, tokens = logprobs.exp().sort(dim=-1, descending=True, stable=True)
    size = ordered.shape[-1]
    most = torch.tensor([one.top_k or size for one in how], device=ordered.device)[:, None]
    share = torch.tensor([one.top_p for one in how], dtype=torch.float64, device=ordered.device)[:, None]
    ordered = ordered.masked_fill(torch.arange(size, device=ordered.device)[None] >= most, 0.0)
    before = ordered.double().cumsum(dim=-1) - ordered
    # top_p applies to the probability that remains after top_k, as in vLLM and transformers.
    kept = before < share * ordered.double().sum(dim=-1, keepdim=True)
    kept[:, 0] = True
    return tokens.gather(1, _invert(ordered * kept, numbers)[:, None])[:, 0]
