"""What users import: the names that six packages export, and nothing behind them."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

import simia_gym
import simia_gym.conversations
import simia_gym.rewards
import simia_gym.rl
import simia_gym.sandbox
import simia_gym.service

from .docs_pages import CHECKOUT, PAGES, blocks

PACKAGES = (simia_gym, simia_gym.conversations, simia_gym.rewards, simia_gym.rl, simia_gym.sandbox, simia_gym.service)
FACES = {package.__name__: package for package in PACKAGES}
TEMPLATES = sorted((CHECKOUT / "simia_gym" / "cli" / "templates").rglob("*.py"))


def shown_code() -> Iterator[tuple[Path, str]]:
    for page in PAGES:
        yield from ((page, block.code) for block in blocks(page) if block.language == "python")
    yield from ((path, path.read_text(encoding="utf-8")) for path in TEMPLATES)


def behind(code: str) -> list[str]:
    """What a piece of code imports of us that is not public."""
    found = []
    for node in ast.walk(ast.parse(code)):
        if isinstance(node, ast.Import):
            found += [alias.name for alias in node.names if alias.name.startswith("simia_gym.")]
        elif isinstance(node, ast.ImportFrom) and (node.module or "").split(".")[0] == "simia_gym":
            public = getattr(FACES.get(node.module or ""), "__all__", ())
            found += [f"{node.module}.{alias.name}" for alias in node.names if alias.name not in public]
    return [name for name in found if name not in FACES]


def test_pages_and_templates_import_only_what_is_public() -> None:
    shown = list(shown_code())
    assert len({path for path, _ in shown}) > 10
    assert {f"{path.name}: {name}" for path, code in shown for name in behind(code)} == set()
    assert behind("from simia_gym.types import Task\nimport simia_gym.env, simia_gym.rl") == [
        "simia_gym.types.Task",
        "simia_gym.env",
    ]


@pytest.mark.parametrize("package", ["simia_gym", "simia_gym.rewards"])
def test_every_public_name_is_there_and_says_what_it_is(package: str) -> None:
    face = FACES[package]
    for name in face.__all__:
        value = getattr(face, name)
        assert not isinstance(value, type) or value.__doc__, name
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        _ = face.nothing
