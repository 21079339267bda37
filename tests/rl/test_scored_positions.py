"""Logits only where the policy spoke: the same numbers and gradients as verl's own way of scoring everything."""

from __future__ import annotations

import warnings
from types import SimpleNamespace
from typing import Any

import pytest

from .libraries import need

need("torch", "ray", "verl")

import torch
import verl.models.transformers.monkey_patch as monkey_patch
from tensordict import TensorDict
from verl.utils import tensordict_utils

import simia_gym.rl.verl_plugin.load as plug_in
from simia_gym.rl.verl_plugin import scored_positions

with warnings.catch_warnings():
    warnings.simplefilter("ignore")  # about engines that are not installed
    import verl.workers.engine.fsdp.transformer_impl as engine

from .tiny import make_model

PROMPTS, RESPONSES = [3, 5, 2], [[1, 0, 0, 1, 1], [1, 1], [0, 0, 1, 0]]
"""Lengths of three prompts, and which tokens of their responses are the policy's."""


def jagged(rows: list[Any]) -> Any:
    return torch.nested.as_nested_tensor([torch.as_tensor(row) for row in rows], layout=torch.jagged)


def micro_batch(responses: list[list[int]], *, fused: bool) -> Any:
    generator = torch.Generator().manual_seed(1)
    lengths = [prompt + len(mask) for prompt, mask in zip(PROMPTS, responses, strict=True)]
    ids = [torch.randint(10, 300, (length,), generator=generator) for length in lengths]
    tensors = {
        "input_ids": jagged(ids),
        "position_ids": jagged([torch.arange(length) for length in lengths]),
        "prompts": jagged([row[:prompt] for row, prompt in zip(ids, PROMPTS, strict=True)]),
        "responses": jagged([row[prompt:] for row, prompt in zip(ids, PROMPTS, strict=True)]),
        "response_mask": jagged(responses),
    }
    batch = TensorDict(tensors, batch_size=[len(ids)])
    words = {"use_remove_padding": False, "use_fused_kernels": fused, "temperature": 0.7, "calculate_entropy": True}
    tensordict_utils.assign_non_tensor(batch, **words)
    return batch


def outputs(kind: str, responses: list[list[int]], *, fused: bool) -> tuple[Any, dict[str, Any], Any]:
    """Inputs of the model, outputs of verl's engine, and a gradient of the policy's tokens."""
    model = make_model(kind)
    own = type(model).forward
    monkey_patch.patch_forward_with_backends(model, use_fused_kernels=fused, fused_kernels_backend="torch")
    try:
        batch = micro_batch(responses, fused=fused)
        # The engine without its shards, on which these two methods do not depend.
        part: Any = SimpleNamespace(module=model, pad_to_length=0)
        part.engine_config = SimpleNamespace(entropy_checkpointing=False)
        inputs, more = engine.FSDPEngineWithLMHead.prepare_model_inputs(part, micro_batch=batch)
        found = engine.FSDPEngineWithLMHead.prepare_model_outputs(
            part, model(**inputs, use_cache=False), more, batch, None
        )
        scored = spoken(found["log_probs"], responses)
        (scored * torch.arange(1, len(scored) + 1)).sum().backward()
        gradient = torch.cat([value.grad.flatten() for value in model.parameters() if value.grad is not None])
        return inputs, found, gradient
    finally:
        type(model).forward = own


def spoken(values: Any, responses: list[list[int]]) -> Any:
    """The values of the positions that predict the policy's tokens."""
    rows = zip(values.unbind(), responses, strict=True)
    return torch.cat([row[-len(mask) - 1 : -1][torch.tensor(mask).bool()] for row, mask in rows])


@pytest.mark.parametrize("kind", ["qwen3", "llama", "gpt_neox"])
@pytest.mark.parametrize("most", [2**24, 1000])
def test_the_numbers_and_the_gradient_are_those_of_all_positions(
    kind: str, most: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Within 1e-5, of logits that are computed at once or in parts."""
    assert plug_in.on_cpu()
    monkeypatch.setattr(scored_positions, "_MOST_LOGITS", most)
    _, everything, wanted = outputs(kind, RESPONSES, fused=False)
    inputs, found, gradient = outputs(kind, RESPONSES, fused=True)
    assert inputs["attention_mask"] is None
    assert int(inputs[scored_positions.SCORED].sum()) == sum(map(sum, RESPONSES))
    for name in ("log_probs", "entropy"):
        torch.testing.assert_close(
            spoken(found[name], RESPONSES), spoken(everything[name], RESPONSES), rtol=1e-5, atol=1e-5
        )
        assert (found[name].values() != 0).sum() == sum(map(sum, RESPONSES))
    # Sums in another order: a small number among large ones is off by what the large ones are rounded to.
    torch.testing.assert_close(gradient, wanted, rtol=0, atol=1e-5 * float(wanted.abs().max()))


def test_a_batch_in_which_the_policy_says_nothing_has_a_gradient_of_zero() -> None:
    _, found, gradient = outputs("qwen3", [[0, 0], [0], [0, 0, 0]], fused=True)
    assert not found["log_probs"].values().any()
    assert not gradient.any()
