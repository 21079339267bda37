"""The Gymnasium space of texts, for observations and actions.

Gymnasium's ``Text`` needs a finite alphabet, and the shared memory of `AsyncVectorEnv` corrupts its values. This space
holds any string, and shared memory, whose size is fixed, raises an error.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, NoReturn

import gymnasium
import numpy as np
from gymnasium.vector.utils import create_empty_array, create_shared_memory

from simia_gym.errors import InputError

_FALLBACK = ("Hello.",)


class TextSpace(gymnasium.Space[str]):
    """All strings up to a maximum length.

    Args:
        max_length: Maximum length, in characters.
        samples: The texts that `sample` draws from.
        seed: Seed or generator of `sample`.
    """

    def __init__(
        self,
        max_length: int = 1_000_000,
        samples: Iterable[str] = (),
        seed: int | np.random.Generator | None = None,
    ) -> None:
        if type(max_length) is not int or max_length < 0:
            raise InputError(f"max_length is {max_length!r}", where="TextSpace", fix="Give a whole number from 0.")
        self.max_length = max_length
        self.samples: tuple[str, ...] = tuple(samples)
        for text in self.samples:
            if not self.contains(text):
                what = f"the sample {text!r:.60} is no text of at most {max_length} characters"
                raise InputError(what, where="TextSpace")
        super().__init__(dtype=str, seed=seed)

    @property
    def is_np_flattenable(self) -> bool:
        """False: texts have no fixed size."""
        return False

    def sample(self, mask: Any | None = None, probability: Any | None = None) -> str:
        """Draw one of the samples.

        Raises:
            InputError: A mask or probabilities were given; they have no meaning for texts.
        """
        if mask is not None or probability is not None:
            raise InputError("masks and probabilities have no meaning for texts", where="TextSpace.sample")
        pool = self.samples or tuple(text[: self.max_length] for text in _FALLBACK)
        return pool[int(self.np_random.integers(len(pool)))]

    def contains(self, x: Any) -> bool:
        """Whether ``x`` is a string of at most the maximum length."""
        return isinstance(x, str) and len(x) <= self.max_length

    def to_jsonable(self, sample_n: Iterable[str]) -> list[str]:
        """Return the texts as a list."""
        return list(sample_n)

    def from_jsonable(self, sample_n: list[Any]) -> list[str]:
        """Return the texts as a list."""
        return [str(item) for item in sample_n]

    def __eq__(self, other: object) -> bool:
        """Whether the maximum length and the samples are the same."""
        return isinstance(other, TextSpace) and (self.max_length, self.samples) == (other.max_length, other.samples)

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        """The maximum length, without the samples."""
        return f"TextSpace(max_length={self.max_length}, samples=<{len(self.samples)}>)"


def _empty(space: TextSpace, n: int = 1, fn: Callable[..., Any] = np.zeros) -> tuple[str, ...]:
    return ("",) * n


def _refuse_shared_memory(space: TextSpace, n: int = 1, ctx: Any = None) -> NoReturn:
    fix = 'Call gym.make_vec(..., vectorization_mode="async", vector_kwargs={"shared_memory": False}).'
    raise InputError("texts of any length do not fit into shared memory", where="shared_memory", fix=fix)


# Gymnasium's other vector functions have working defaults for custom spaces.
create_empty_array.register(TextSpace, _empty)
create_shared_memory.register(TextSpace, _refuse_shared_memory)
