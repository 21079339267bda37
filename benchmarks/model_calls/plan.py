"""The runs of the benchmark: drivers, repetitions and servers."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

LATENCY, SIGMA = 0.1, 0.5
LEVELS = (1, 64, 256, 1024)
PEERS = {
    "gem": ("gem_vector", (64, 256)),
    "skyrl": ("skyrl_driver", (64, 256)),
    "verifiers": ("verifiers_legacy", (64, 256)),
    "tau2": ("tau2_threads", (64,)),
}
_REPETITIONS = 3
_CLOSER = {256: 7}
"""Repetitions of runs whose results are close to their goals."""
_NAIVE_SECONDS = 20
"""Seconds after which the plain implementation plays no further turn; its turns until then count."""


@dataclass(frozen=True)
class Cell:
    """One run, in its own process.

    Attributes:
        what: ``product``, ``naive``, a peer's name, ...
        module: The driver's module, relative to this package.
        options: Options of the driver.
        latency: Latency of a response in seconds; the median if it varies.
        sigma: Standard deviation of the latency's logarithm; 0 for a fixed latency.
        answers: Name of the file of prepared answers: ``episodes`` or ``long``.
        repetition: Index of the repetition, from 0.
        poll: Whether the server polls instead of sleeping, if it has its own core.
    """

    what: str
    module: str
    options: dict[str, Any] = field(default_factory=dict)
    latency: float = LATENCY
    sigma: float = 0.0
    answers: str = "episodes"
    repetition: int = 0
    poll: bool = True

    @property
    def mean_latency(self) -> float:
        """Mean latency of a response in seconds."""
        return self.latency * math.exp(self.sigma**2 / 2)

    @property
    def key(self) -> str:
        """Unique name of the run."""
        return f"{self.what}@{self.options.get('concurrency', 1)}#{self.repetition}"


def cells(*, quick: bool) -> Iterator[Cell]:
    """All runs in order; repetitions of a run are spread over time."""
    repetitions = 1 if quick else max(_REPETITIONS, *_CLOSER.values())
    levels = (1, 64) if quick else LEVELS
    yield Cell("server", "server_limit", {"concurrency": 64, "seconds": 2}, latency=0.0, poll=False)
    for repetition in range(repetitions):
        for level in levels:
            if repetition >= _CLOSER.get(level, _REPETITIONS):
                continue
            rounds = 1 if quick else 2 if level == 1024 else 4
            yield _at("product", "product", level, level * rounds, repetition)
            yield _at("naive", "naive", level, level, repetition, seconds=_NAIVE_SECONDS)
        if repetition >= _REPETITIONS:
            continue
        lanes = 16 if quick else 256
        for what, module in (("pool", "product"), ("lockstep", "lockstep")):
            yield _at(f"lognormal {what}", module, lanes, lanes * 2, repetition, sigma=SIGMA)
        grown = {"episodes": 2 if quick else 10, "concurrency": 1}
        yield Cell("growth", "growth", grown, latency=0.0, answers="long", repetition=repetition)
    for peer, (module, peer_levels) in PEERS.items():
        for level in (16,) if quick else peer_levels:
            yield _at(peer, f"peers.{module}", level, level, 0)


def _at(
    what: str, module: str, level: int, episodes: int, repetition: int, sigma: float = 0.0, seconds: float = 600
) -> Cell:
    options = {"concurrency": level, "episodes": episodes, "seconds": seconds}
    return Cell(what, module, options, sigma=sigma, repetition=repetition)
