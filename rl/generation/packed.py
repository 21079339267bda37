"""Forward passes over many conversations at once, for models with exchangeable attention functions."""

from __future__ import annotations

import copy
import logging
from collections.abc import Sequence
from functools import cache
from types import MethodType
from typing import Any

import torch

from simia_gym.rl.generation.attention import NAME, Plan, Segment, Slots, planned
from simia_gym.rl.generation.plain import PlainRunner, arguments_of, base_of, precision_of

logger = logging.getLogger("simia_gym")


class PackedRunner:
    """Runs the new tokens of all conversations in one pass without padding, on a copy that shares the parameters."""

    def __init__(self, model: Any, slots: int, length: int) -> None:
        self.model = own_copy(model)
        for config in _configs(self.model):
            config._attn_implementation = NAME
        self._precision = precision_of(model)
        self.slots = Slots(slots, length)
        self._keeps = "logits_to_keep" in arguments_of(model)

    def forward(self, segments: Sequence[Segment]) -> Any:
        """Compute the new tokens of segments, at most one for each slot.

        Returns the logits after the last token of each segment with ``wanted``, in their order: rows x vocabulary.
        """
        plan = Plan(self.slots, segments, self.model.device)
        more = {"logits_to_keep": plan.wanted} if self._keeps else {}
        with planned(plan), self._precision:
            logits = self.model(
                input_ids=plan.ids[None], position_ids=plan.positions[None], use_cache=False, **more
            ).logits[0]
        return logits if self._keeps else logits[plan.wanted]

    def clear(self) -> None:
        """Drop all cached keys and values and free their memory."""
        self.slots.clear()


def own_copy(model: Any) -> Any:
    """A copy of a model in evaluation mode with its own configuration, which shares parameters and buffers.

    The model itself may be in training mode and in use by another thread. A ``forward`` that a trainer has patched in
    is removed from the copy, since it may call the original model.
    """
    shared = {id(tensor): tensor for tensor in (*model.parameters(), *model.buffers())}
    made = copy.deepcopy(model, shared).eval()
    for part in (made, base_of(made)):
        if isinstance(vars(part).get("forward"), MethodType):
            del part.forward
    return made


def supports_packing(model: Any) -> bool:
    """Whether packed and separate computation of a model agree, tested on a few tokens.

    They do not for models whose attention depends on more than keys, values and positions (ALiBi, recurrent layers,
    attention sinks) or cannot be exchanged.
    """
    vocabulary = model.get_input_embeddings().num_embeddings
    ids = [(7 * place + 3) % vocabulary for place in range(24)]
    packed, plain = PackedRunner(model, 2, 32), PlainRunner(own_copy(model))
    steps = [
        [Segment(0, 0, ids[:5], True), Segment(1, 0, ids[3:14], True)],
        [Segment(1, 11, ids[14:15], True), Segment(0, 5, ids[5:9], True)],
        [Segment(0, 9, ids[9:10], True), Segment(1, 12, ids[15:16], True)],
    ]
    try:
        with torch.inference_mode():
            pairs = [(packed.forward(step), plain.forward(step)) for step in steps]
            return all(_close(ours, theirs, half=_in_half(model)) for ours, theirs in pairs)
    except Exception:  # any error means that it cannot be packed
        return False


@cache
def tell_of_slowness(kind: str) -> None:
    """Log, once for each kind of model, that it cannot be packed."""
    logger.warning("%s cannot be packed: it samples one conversation at a time, slowly", kind)


def _in_half(model: Any) -> bool:
    """Whether a part of a model computes in half precision, regardless of the dtype of its output."""
    wrapped = hasattr(model, "_original_forward") or torch.is_autocast_enabled(model.device.type)
    return wrapped or any(one.dtype in (torch.bfloat16, torch.float16) for one in model.parameters())


def _close(ours: Any, theirs: Any, *, half: bool) -> bool:
    # In half precision sums depend on their order; the logits of a model that cannot be packed differ by whole units.
    tolerance = 0.1 if half or theirs.dtype != torch.float32 else 1e-4
    return bool(torch.allclose(ours.float(), theirs.float(), rtol=tolerance, atol=tolerance))


def _configs(model: Any) -> list[Any]:
    """The configurations of the model and its submodules, each once."""
    found = {id(part.config): part.config for part in model.modules() if hasattr(part, "config")}
    return [config for config in found.values() if hasattr(config, "_attn_implementation")]
