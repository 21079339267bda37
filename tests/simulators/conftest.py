"""A small domain that only a model can play, the same with code for some tools, and a model that the tests script."""

from __future__ import annotations

from pathlib import Path

import pytest

from simia_gym.domain.domain import Domain
from simia_gym.domain.loading import load_domain

from .desk import Double, write_domain


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """The domain's folder, without code."""
    return write_domain(tmp_path / "desk")


@pytest.fixture
def domain(folder: Path) -> Domain:
    """The domain, without code."""
    return load_domain(folder)


@pytest.fixture
def coded(tmp_path: Path) -> Domain:
    """The same domain with a world for some of its tools."""
    return load_domain(write_domain(tmp_path / "coded", world=True))


@pytest.fixture
def model() -> Double:
    """A model without answers yet."""
    return Double()
