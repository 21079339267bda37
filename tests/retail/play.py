"""The shop's environment, and its tasks."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache

from simia_gym.assembly.settings import EnvConfig
from simia_gym.assembly.suite import Suite, load_suite
from simia_gym.service import Generator
from simia_gym.types import Task


@lru_cache(maxsize=1)
def suite() -> Suite:
    return load_suite(EnvConfig(env="simia/retail-v0", split="all"))


def generator() -> Generator:
    made = suite().domain.generator
    assert isinstance(made, Generator)
    return made


@lru_cache(maxsize=4)
def generated(n: int) -> Sequence[Task]:
    """The first tasks of both splits."""
    return [generator()(split, index) for split in ("train", "test") for index in range(n)]
