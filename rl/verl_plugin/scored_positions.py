"""Training on processors computes logits only where the policy spoke, and looks only to the left.

A policy's own tokens are a few in a hundred of a trajectory, the rest is what the world said. verl's engine scores
every position, which on a processor costs more than the model itself, and it hands over a mask of what is padding, for
which attention on a processor gives up its causal half. Padding stands at the right here, where nobody looks.

verl has a seam for this: with ``use_fused_kernels`` a model's forward pass returns log-probabilities and entropies in
place of logits. The forward pass here is one more of that kind; values where nothing is scored are zeros.
"""

from __future__ import annotations

import functools
from types import ModuleType
from typing import Any

from simia_gym.rl.verl_plugin.after_import import after_import

SCORED = "scored"
_INPUTS = {"input_ids", "attention_mask", "position_ids", "temperature", "return_dict"}
"""What verl hands to a model of text; with anything else it is left to verl."""


def scored_mask(input_ids: Any, response_mask: Any) -> Any:
    """Which positions predict a token of the policy.

    Args:
        input_ids: Token ids of prompts and responses, a jagged nested tensor of ``batch`` rows.
        response_mask: 1 at the policy's tokens of the responses, jagged as well; each row no longer than its ids.

    Returns:
        A boolean tensor of shape ``(batch, longest row)``; position ``t`` is the one whose logits predict ``t + 1``.
    """
    import torch

    ends = input_ids.offsets().diff().tolist()
    masks = response_mask.unbind()
    scored = torch.zeros(len(ends), max(ends), dtype=torch.bool, device=input_ids.device)
    for row, (end, mask) in enumerate(zip(ends, masks, strict=True)):
        scored[row, end - len(mask) - 1 : end - 1] = mask.bool()
    return scored


def _forward(original: Any) -> Any:
    """A forward pass in the place of verl's own for ``impl_backend: torch``."""
    import torch
    from verl.models.transformers.dense_common import CausalLMOutputForPPO
    from verl.utils.torch_functional import entropy_from_logits

    @functools.wraps(original)
    def forward(self: Any, input_ids: Any = None, temperature: float = 1.0, scored: Any = None, **kwargs: Any) -> Any:
        if scored is None:
            return original(self, input_ids=input_ids, temperature=temperature, **kwargs)
        hidden = self.base_model(input_ids=input_ids, use_cache=False).last_hidden_state
        logits = self.get_output_embeddings()(hidden[scored]).float() / temperature
        labels = torch.roll(input_ids, shifts=-1, dims=-1)[scored]
        chances = logits.log_softmax(dim=-1)
        values = chances.gather(-1, labels.unsqueeze(-1)).squeeze(-1)
        empty = torch.zeros(input_ids.shape, dtype=values.dtype, device=values.device)
        log_probs = empty.masked_scatter(scored, values)
        entropy = empty.masked_scatter(scored, entropy_from_logits(logits))
        return CausalLMOutputForPPO(log_probs=log_probs, entropy=entropy)

    forward.takes_scored = True  # type: ignore[attr-defined]
    return forward


def own_forward(module: ModuleType) -> None:
    """Put the forward pass where verl's choice of backends finds it."""
    module.forward_with_torch_backend = _forward(module.forward_with_torch_backend)  # type: ignore[attr-defined]


def own_inputs(module: ModuleType) -> None:
    """Let the engine say which positions are scored, and leave out the mask of what is padding."""
    engine = module.FSDPEngineWithLMHead
    original = engine.prepare_model_inputs

    @functools.wraps(original)
    def prepare_model_inputs(self: Any, micro_batch: Any) -> Any:
        inputs, outputs = original(self, micro_batch=micro_batch)
        takes = getattr(type(self.module).forward, "takes_scored", False)
        mask = micro_batch.get("response_mask", None)
        if takes and mask is not None and mask.is_nested and set(inputs) == _INPUTS:
            inputs["attention_mask"] = inputs["position_ids"] = None
            inputs[SCORED] = scored_mask(micro_batch["input_ids"], mask)
        return inputs, outputs

    engine.prepare_model_inputs = prepare_model_inputs


def install() -> None:
    """Put both in as verl's modules are imported."""
    after_import("verl.models.transformers.dense_common", own_forward)
    after_import("verl.workers.engine.fsdp.transformer_impl", own_inputs)
