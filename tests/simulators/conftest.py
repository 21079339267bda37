"""A small domain that only a model can play, and an endpoint whose answers the tests write."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Any

import pytest

from simia_gym.domain.domain import Domain
from simia_gym.domain.loading import load_domain
from simia_gym.types import Task

from .desk import Server, task_of, write_domain


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
def task(domain: Domain) -> Task:
    """Its task."""
    return task_of(domain)


@pytest.fixture
async def server() -> AsyncIterator[Server]:
    """A running endpoint."""
    async with Server() as running:
        yield running


@pytest.fixture
def edit_tools(folder: Path) -> Callable[[str, dict[str, Any]], None]:
    """Change the marks of a tool in the folder."""

    def edit(name: str, marks: dict[str, Any]) -> None:
        path = folder / "tools.json"
        entries = json.loads(path.read_text())
        for entry in entries:
            if entry["function"]["name"] == name:
                entry["x-simia"].update(marks)
        path.write_text(json.dumps(entries))

    return edit
