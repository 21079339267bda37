"""Forward passes for any model: one conversation at a time, with the model's own cache."""

from __future__ import annotations

import inspect
from collections.abc import Collection, Sequence
from contextlib import AbstractContextManager, nullcontext
from typing import Any

import torch

from simia_gym.errors import InputError
from simia_gym.rl.generation.attention import Segment

_CACHE = ("cache", "past_key_values")
"""What models call their cache of keys and values, as an argument and in the output; the newest name first."""


class PlainRunner:
    """Runs each conversation separately. Slow, but works for every model with a cache.

    Raises:
        InputError: The model takes no cache of keys and values.
    """

    def __init__(self, model: Any) -> None:
        self.model, self._precision = model, precision_of(model)
        self._caches: dict[int, Any] = {}
        names = arguments_of(model)
        known = next((name for name in _CACHE if name in names), None)
        if known is None:
            what = f"{type(model).__name__} has no cache of keys and values"
            raise InputError(what, where="model", fix=f"Use a model that generates with {' or '.join(_CACHE)}.")
        self._cache_name = known
        self._keeps, self._places = "logits_to_keep" in names, "position_ids" in names

    def forward(self, segments: Sequence[Segment]) -> Any:
        """Compute new tokens; as `PackedRunner.forward`."""
        rows = []
        for segment in segments:
            if segment.start == 0:
                self._caches.pop(segment.slot, None)
            device = self.model.device
            more: dict[str, Any] = {self._cache_name: self._caches.get(segment.slot)}
            if self._keeps:
                more["logits_to_keep"] = 1
            if self._places:
                end = segment.start + len(segment.ids)
                more["position_ids"] = torch.arange(segment.start, end, device=device)[None]
            with self._precision:
                done = self.model(
                    input_ids=torch.tensor([list(segment.ids)], device=device),
                    use_cache=True,
                    **more,
                )
            self._caches[segment.slot] = getattr(done, self._cache_name)
            if segment.wanted:
                rows.append(done.logits[0, -1])
        return torch.stack(rows) if rows else torch.empty(0, 0)

    def clear(self) -> None:
        """Drop all caches."""
        self._caches.clear()


def arguments_of(model: Any) -> Collection[str]:
    """Names of the arguments of a model's ``forward``; of the base model if there is a peft adapter."""
    return inspect.signature(base_of(model).forward).parameters.keys()


def base_of(model: Any) -> Any:
    """The base model of a peft adapter, or the model itself."""
    return model.get_base_model() if hasattr(model, "get_base_model") else model


def precision_of(model: Any) -> AbstractContextManager[Any]:
    """The autocast context of a model that accelerate has prepared for mixed precision; else an empty context."""
    if not hasattr(model, "_original_forward"):
        return nullcontext()
    from accelerate.utils import get_mixed_precision_context_manager

    autocast: AbstractContextManager[Any] = get_mixed_precision_context_manager(native_amp=True)
    return autocast
