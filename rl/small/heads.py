"""What a model does with its hidden states at the end: whether a matrix product says all of it."""

from __future__ import annotations

from typing import Any

_NEUTRAL: dict[str, tuple[float | None, ...]] = {
    "logits_scaling": (None, 1.0),
    "logit_scale": (None, 1.0),
    "final_logit_softcapping": (None,),
}
"""What models do to their logits, by the key of their config, and the values that leave them as they are."""


def plain_head(config: Any) -> bool:
    """Whether a model's logits are its hidden states times its output embeddings, and nothing more.

    Granite divides them, Cohere multiplies them, and Gemma 2 keeps them within bounds.

    Args:
        config: The model's config, as transformers has it.
    """
    text = getattr(config, "get_text_config", None)
    configs = [config] if text is None else [config, text()]
    return all(getattr(one, key, None) in values for one in configs for key, values in _NEUTRAL.items())
