"""Forward passes over many conversations at once, for models that take attention functions from outside."""

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
    """Runs the new tokens of all conversations in one pass without padding.

    Args:
        model: A causal language model of transformers. It is not changed: what runs is a copy with the same parameters.
        slots: Number of conversations whose keys and values are kept.
        length: Most tokens in one.

    Attributes:
        shares: Whether one conversation's beginning can be copied to another.
    """

    shares = True

    def __init__(self, model: Any, slots: int, length: int) -> None:
        self.model = own_copy(model)
        for config in _configs(self.model):
            config._attn_implementation = NAME
        self._precision = precision_of(model)
        self.slots = Slots(slots, length)
        self._keeps = "logits_to_keep" in arguments_of(model)

    def forward(self, segments: Sequence[Segment]) -> Any:
        """Compute new tokens.

        Args:
            segments: At most one for each slot, in any order.

        Returns:
            Logits after the last token of each segment that wants them, in their order: rows x vocabulary.
        """
        ordered = sorted(segments, key=lambda segment: len(segment.ids) > 1)
        plan = Plan(self.slots, ordered, self.model.device)
        more = {"logits_to_keep": plan.wanted} if self._keeps else {}
        with planned(plan), self._precision:
            logits = self.model(
                input_ids=plan.ids[None], position_ids=plan.positions[None], use_cache=False, **more
            ).logits[0]
        if not self._keeps:
            logits = logits[plan.wanted]
        if ordered == list(segments):
            return logits
        places = {segment.slot: place for place, segment in enumerate(one for one in ordered if one.wanted)}
        return logits[[places[segment.slot] for segment in segments if segment.wanted]]

    def copy(self, source: int, target: int, count: int) -> None:
        """Copy the first tokens of a slot to another."""
        self.slots.copy(source, target, count)

    def forget(self, slot: int) -> None:
        """A slot's content is of no use any more; it will be written over."""

    def clear(self) -> None:
        """All content is of no use any more."""

    def free(self) -> None:
        """Give the memory back; it is taken again when it is needed."""
        self.slots.free()


def own_copy(model: Any) -> Any:
    """A copy of a model in evaluation mode that shares its parameters and buffers, with settings of its own.

    The model may be in training, and in use by another thread; how attention is computed here is nobody else's matter.
    A forward that a trainer has put into its place is left out: it may hand on to the model that the copy was made of.
    """
    shared = {id(tensor): tensor for tensor in (*model.parameters(), *model.buffers())}
    made = copy.deepcopy(model, shared).eval()
    for part in (made, base_of(made)):
        if isinstance(vars(part).get("forward"), MethodType):
            del part.forward
    return made


def supports_packing(model: Any) -> bool:
    """Whether a model computes the same packed as alone; tried out on a few tokens.

    Models whose attention looks at more than keys, values and positions (ALiBi, recurrent layers, attention sinks) do
    not, and some do not take attention functions at all.
    """
    vocabulary = model.get_input_embeddings().num_embeddings
    ids = [(7 * place + 3) % vocabulary for place in range(24)]
    packed, plain = PackedRunner(model, 2, 32), PlainRunner(own_copy(model), 2, 32)
    steps = [
        [Segment(0, 0, ids[:5], True), Segment(1, 0, ids[3:14], True)],
        [Segment(1, 11, ids[14:15], True), Segment(0, 5, ids[5:9], True)],
        [Segment(0, 9, ids[9:10], True), Segment(1, 12, ids[15:16], True)],
    ]
    try:
        with torch.inference_mode():
            pairs = [(packed.forward(step), plain.forward(step)) for step in steps]
            return all(_close(ours, theirs, half=_in_half(model)) for ours, theirs in pairs)
    except Exception:  # whatever else its code does, it cannot be packed
        return False


@cache
def tell_of_slowness(kind: str) -> None:
    """Say, once for each kind of model, that it cannot be packed."""
    logger.warning("%s computes something else packed than alone: it samples one conversation at a time, slowly", kind)


def _in_half(model: Any) -> bool:
    """Whether a model, or some of it, computes in half precision, whatever the type of what comes out."""
    wrapped = hasattr(model, "_original_forward") or torch.is_autocast_enabled(model.device.type)
    return wrapped or any(one.dtype in (torch.bfloat16, torch.float16) for one in model.parameters())


def _close(ours: Any, theirs: Any, *, half: bool) -> bool:
    # In half precision the order of sums shows; a model that cannot be packed is off by whole units.
    tolerance = 0.1 if half or theirs.dtype != torch.float32 else 1e-4
    return bool(torch.allclose(ours.float(), theirs.float(), rtol=tolerance, atol=tolerance))


def _configs(model: Any) -> list[Any]:
    """The model's settings and those of its parts, each once."""
    found = {id(part.config): part.config for part in model.modules() if hasattr(part, "config")}
    return [config for config in found.values() if hasattr(config, "_attn_implementation")]
