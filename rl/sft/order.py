"""The order in which conversations are learned from: batches of like length, in an order that says nothing of length.

Batches of like length waste little on padding. Sorted stretches of them, as transformers' own sampler deals them, make
the gradients of neighbouring steps alike, and a small model learns visibly worse for it.
"""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence

_BATCHES = 20
"""Batches whose conversations are sorted among themselves."""


class MixedLengths:
    """Sampler of positions: every run of ``batch`` is one batch.

    Args:
        lengths: Tokens of each conversation.
        batch: Conversations of a batch.
        seed: Decides the order, together with the epoch.
    """

    def __init__(self, lengths: Sequence[int], batch: int, seed: int) -> None:
        self._lengths, self._batch, self._seed, self._epoch = lengths, batch, seed, 0

    def __len__(self) -> int:
        return len(self._lengths)

    def set_epoch(self, epoch: int) -> None:
        """Another round through the data has another order."""
        self._epoch = epoch

    def __iter__(self) -> Iterator[int]:
        """Positions, each once; a batch that is not full comes last."""
        chance = random.Random(f"{self._seed} {self._epoch}")
        places = list(range(len(self._lengths)))
        chance.shuffle(places)
        full = len(places) - len(places) % self._batch
        batches: list[list[int]] = []
        for start in range(0, full, self._batch * _BATCHES):
            stretch = sorted(places[start : min(start + self._batch * _BATCHES, full)], key=self._lengths.__getitem__)
            batches += [stretch[at : at + self._batch] for at in range(0, len(stretch), self._batch)]
        chance.shuffle(batches)
        for batch in batches:
            yield from batch
        yield from places[full:]
