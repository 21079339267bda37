"""Which models' logits are nothing but hidden states times output embeddings."""

from __future__ import annotations

from typing import Any

import pytest

from simia_gym.rl.small.heads import plain_head

from .libraries import need


@pytest.mark.parametrize(
    ("kind", "given", "plain"),
    [
        ("qwen3", {}, True),
        ("llama", {}, True),
        ("granite", {}, True),
        ("granite", {"logits_scaling": 8.0}, False),
        ("cohere", {}, False),
        ("cohere", {"logit_scale": 1.0}, True),
        ("gemma2", {}, False),
        ("gemma2", {"final_logit_softcapping": None}, True),
        ("gemma3", {}, True),
        ("gemma3", {"text_config": {"final_logit_softcapping": 30.0}}, False),
    ],
)
def test_models_of_transformers(kind: str, given: dict[str, Any], plain: bool) -> None:
    need("torch", "transformers")
    from transformers import AutoConfig

    assert plain_head(AutoConfig.for_model(kind, **given)) is plain
