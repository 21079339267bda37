"""Training on CPU computes logits only at the policy's tokens, with causal attention and no padding mask.

The policy's tokens are a few percent of a trajectory; the rest are messages of the environment. verl's engine computes
logits at every position, which on a CPU costs more than the model itself. It also passes a padding mask, with which
attention on a CPU computes the upper triangle too. Padding is on the right here, where causal attention never looks.

With ``use_fused_kernels``, verl lets a model's forward pass return log-probabilities and entropies instead of logits.
This module adds such a forward pass; at positions without a policy token the values are 0.
"""

from __future__ import annotations

import functools
from types import ModuleType
from typing import Any

SCORED = "scored"
_MOST_LOGITS = 2**24
"""Logits that are computed at a time; a training step needs some ten times their memory."""
_INPUTS = {"input_ids", "attention_mask", "position_ids", "temperature", "return_dict"}
"""Inputs of a text model; with other inputs verl's own forward pass is used."""


def scored_mask(input_ids: Any, response_mask: Any) -> Any:
    """Positions that predict a token of the policy.

    Args:
        input_ids: Token ids of prompts and responses, a jagged nested tensor of ``batch`` rows.
        response_mask: 1 at the policy's tokens of the responses, jagged; each row at most as long as its ids.

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
    """A forward pass that replaces verl's own for ``impl_backend: torch``."""
    import torch
    from torch.utils.checkpoint import checkpoint
    from verl.models.transformers.dense_common import CausalLMOutputForPPO
    from verl.utils.torch_functional import entropy_from_logits

    @functools.wraps(original)
    def forward(self: Any, input_ids: Any = None, temperature: float = 1.0, scored: Any = None, **kwargs: Any) -> Any:
        if scored is None:
            return original(self, input_ids=input_ids, temperature=temperature, **kwargs)
        hidden = self.base_model(input_ids=input_ids, use_cache=False).last_hidden_state
        labels = torch.roll(input_ids, shifts=-1, dims=-1)[scored]
        head = self.get_output_embeddings()

        def score(states: Any, labels: Any) -> tuple[Any, Any]:
            logits = head(states).float() / temperature
            values = logits.log_softmax(dim=-1).gather(-1, labels.unsqueeze(-1)).squeeze(-1)
            return values, entropy_from_logits(logits)

        size = max(1, _MOST_LOGITS // self.config.vocab_size)
        parts = list(zip(hidden[scored].split(size), labels.split(size), strict=True))
        if len(parts) == 1:
            found = [score(*parts[0])]
        else:  # the backward pass computes the logits of each part again, so that only one part's exist at a time
            found = [checkpoint(score, *part, use_reentrant=False) for part in parts]
        values, entropies = (torch.cat(items) for items in zip(*found, strict=True))
        empty = torch.zeros(input_ids.shape, dtype=values.dtype, device=values.device)
        log_probs, entropy = (empty.masked_scatter(scored, items) for items in (values, entropies))
        return CausalLMOutputForPPO(log_probs=log_probs, entropy=entropy)

    forward.takes_scored = True  # type: ignore[attr-defined]
    return forward


def scored_forward(module: ModuleType) -> None:
    """Replace verl's forward pass of the torch backend."""
    module.forward_with_torch_backend = _forward(module.forward_with_torch_backend)  # type: ignore[attr-defined]


def scored_inputs(module: ModuleType) -> None:
    """Let verl's engine pass the scored positions, and no padding mask."""
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
