"""The space of texts, for observations and for actions.

Gymnasium's own ``Text`` needs a finite alphabet and is corrupted by the shared-memory path of its asynchronous
vectors; this one holds any string, and shared memory, whose size is fixed, refuses it with an error.
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
    """All strings up to a length; samples come from a pool of plausible ones.

    Args:
        max_length: The largest length, in characters.
        samples: What `sample` draws from.
        seed: A seed or generator for drawing.
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
                raise InputError(
                    f"the sample {text!r:.60} is no text of at most {max_length} characters", where="TextSpace"
                )
        super().__init__(dtype=str, seed=seed)

    @property
    def is_np_flattenable(self) -> bool:
        """Texts do not flatten into arrays."""
        return False

    def sample(self, mask: Any | None = None, probability: Any | None = None) -> str:
        """Draw one of the samples.

        Args:
            mask: Not supported.
            probability: Not supported.

        Returns:
            A text of this space.

        Raises:
            InputError: A mask or probabilities were given.
        """
        if mask is not None or probability is not None:
            raise InputError("masks and probabilities have no meaning for texts", where="TextSpace.sample")
        pool = self.samples or tuple(text[: self.max_length] for text in _FALLBACK)
        return pool[int(self.np_random.integers(len(pool)))]

    def contains(self, x: Any) -> bool:
        """Whether ``x`` is a string that is not too long."""
        return isinstance(x, str) and len(x) <= self.max_length

    def to_jsonable(self, sample_n: Iterable[str]) -> list[str]:
        """Texts are JSON already."""
        return list(sample_n)

    def from_jsonable(self, sample_n: list[Any]) -> list[str]:
        """Texts are JSON already."""
        return [str(item) for item in sample_n]

    def __eq__(self, other: object) -> bool:
        """Equal means the same length and the same samples."""
        return isinstance(other, TextSpace) and (self.max_length, self.samples) == (other.max_length, other.samples)

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        """Short: the pool is not shown."""
        return f"TextSpace(max_length={self.max_length}, samples=<{len(self.samples)}>)"


def _empty(space: TextSpace, n: int = 1, fn: Callable[..., Any] = np.zeros) -> tuple[str, ...]:
    return ("",) * n


def _refuse_shared_memory(space: TextSpace, n: int = 1, ctx: Any = None) -> NoReturn:
    fix = 'Call gym.make_vec(..., vectorization_mode="async", vector_kwargs={"shared_memory": False}).'
    raise InputError("texts of any length do not fit into shared memory", where="shared_memory", fix=fix)


# Everything else that vectors need of a space has a working default for spaces that Gymnasium does not know.
create_empty_array.register(TextSpace, _empty)
create_shared_memory.register(TextSpace, _refuse_shared_memory)
