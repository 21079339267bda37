"""New weights for a model, and a number that tells whether two have the same."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import torch

from simia_gym.errors import InputError

_WHOLE: dict[int, Any] = {1: torch.int8, 2: torch.int16, 4: torch.int32, 8: torch.int64}


class WeightUpdate:
    """Weights that come in parts.

    Args:
        model: The model; its parameters are written in place.
    """

    def __init__(self, model: Any) -> None:
        self._own = dict(model.state_dict())
        self._got: set[int] = set()
        self.count = 0

    def copy(self, named: Iterable[tuple[str, Any]]) -> None:
        """Copy some parameters.

        Args:
            named: Parameters by the names of the model's ``state_dict``.

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
            self.count += 1

    def finish(self) -> None:
        """Make sure that nothing is missing.

        Parameters that share their memory, such as tied embeddings, are there when one of them is.

        Raises:
            InputError: A parameter did not come.
        """
        missing = [name for name, own in self._own.items() if own.data_ptr() not in self._got and own.numel()]
        if missing:
            what = f"{len(missing)} parameters are missing, such as {missing[0]!r}"
            raise InputError(what, where="weights", fix="Give all of them.")

    def sums(self, names: Iterable[str]) -> dict[str, int]:
        """The sums of the model's own parameters of these names."""
        return weights_sum((name, self._own[name]) for name in names)


def weights_sum(named: Iterable[tuple[str, Any]]) -> dict[str, int]:
    """Sum the bit patterns of each parameter: equal for equal weights, and unequal for almost all others.

    A factor that changes along the parameter makes the sum depend on the order of its elements.
    """
    sums: dict[str, int] = {}
    for name, tensor in named:
        flat = tensor.detach().contiguous().view(-1)
        bits = flat.view(_WHOLE[flat.element_size()]).to(torch.int64)
        factors = torch.arange(bits.numel(), device=bits.device).remainder_(1021).add_(1)
        sums[name] = int((bits * factors).sum())
    return sums
