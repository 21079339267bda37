"""Detects whether a model's logits are a plain matrix product of its hidden states."""

from __future__ import annotations

from typing import Any

_NEUTRAL: dict[str, tuple[float | None, ...]] = {
    "logits_scaling": (None, 1.0),
    "logit_scale": (None, 1.0),
    "final_logit_softcapping": (None,),
}
"""Config keys of operations on logits, and the values with which they have no effect."""


def plain_logits(config: Any) -> bool:
    """Whether a model's logits are its hidden states times its output embeddings, and nothing more.

    Granite divides the logits, Cohere multiplies them, and Gemma 2 caps them.
    """
    text = getattr(config, "get_text_config", None)
    configs = [config] if text is None else [config, text()]
    return all(getattr(one, key, None) in values for one in configs for key, values in _NEUTRAL.items())
