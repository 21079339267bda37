"""Updates a model's weights in parts, and computes checksums of weights."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import torch

from simia_gym.errors import InputError

_WHOLE: dict[int, Any] = {1: torch.int8, 2: torch.int16, 4: torch.int32, 8: torch.int64}


class WeightUpdate:
    """An update with weights that arrive in parts; the model's parameters are written in place."""

    def __init__(self, model: Any) -> None:
        self._own = dict(model.state_dict())
        self._got: set[int] = set()

    def copy(self, named: Iterable[tuple[str, Any]]) -> None:
        """Copy some parameters, by the names of the model's ``state_dict``.

        Raises:
            InputError: A name or a shape is not the model's.
        """
        for name, tensor in named:
            target = self._own.get(name)
            if target is None:
                fix = "Give the weights of a model of the same kind."
                raise InputError(f"the model has no parameter {name!r}", where="weights", fix=fix)
            if target.shape != tensor.shape:
                what = f"{name!r} has the shape {tuple(tensor.shape)}, and the model's {tuple(target.shape)}"
                raise InputError(what, where="weights", fix="Give the weights of a model of the same size.")
            with torch.no_grad():
                target.copy_(tensor)
            self._got.add(target.data_ptr())

    def finish(self) -> None:
        """Check that all parameters were copied.

        Of parameters that share memory, such as tied embeddings, one is enough.

        Raises:
            InputError: A parameter is missing.
        """
        missing = [name for name, own in self._own.items() if own.data_ptr() not in self._got and own.numel()]
        if missing:
            what = f"{len(missing)} parameters are missing, such as {missing[0]!r}"
            raise InputError(what, where="weights", fix="Give all of them.")

    def sums(self, names: Iterable[str]) -> dict[str, int]:
        """Checksums of the model's parameters with these names."""
        return weights_sum((name, self._own[name]) for name in names)


def weights_sum(named: Iterable[tuple[str, Any]]) -> dict[str, int]:
    """A checksum of each parameter: equal for equal weights, and different for almost all others.

    It is a weighted sum of the elements' bit patterns, so that it depends on their order.
    """
    sums: dict[str, int] = {}
    for name, tensor in named:
        flat = tensor.detach().contiguous().view(-1)
        bits = flat.view(_WHOLE[flat.element_size()]).to(torch.int64)
        factors = torch.arange(bits.numel(), device=bits.device).remainder_(1021).add_(1)
        sums[name] = int((bits * factors).sum())
    return sums
