"""The engine imports no domain, no reward and no trainer, and names none."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

import simia_gym

ENGINE = Path(simia_gym.__file__).parent
ABOVE = ("simia_gym.envs", "simia_gym.rewards", "simia_gym.rl")
NAMES = re.compile(r"\b(airline|retail|officebench|webshop|mind2web|tau2|tau-bench)", re.IGNORECASE)


def modules() -> list[Path]:
    above = {ENGINE / name for name in ("envs", "rewards", "rl")}
    return sorted(p for p in ENGINE.rglob("*.py") if not above & set(p.parents) and "templates" not in p.parts)


def imported(tree: ast.AST) -> Iterator[str]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            yield node.module or ""
            yield from (f"{node.module}.{alias.name}" for alias in node.names)


def code_strings(tree: ast.AST) -> Iterator[str]:
    """String constants that are no docstrings and no bare prose expressions."""
    prose = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in prose:
            yield node.value


def test_there_is_something_to_check() -> None:
    assert len(modules()) > 30


@pytest.mark.parametrize("path", modules(), ids=lambda p: str(p.relative_to(ENGINE)))
def test_engine_module_keeps_below(path: Path) -> None:
    tree = ast.parse(path.read_text(encoding="utf-8"))
    upward = [name for name in imported(tree) if name.startswith(ABOVE)]
    assert not upward, f"{path} imports {upward}"
    named = [text for text in code_strings(tree) if NAMES.search(text)]
    assert not named, f"{path} names a domain: {named}"


@pytest.mark.parametrize("folder", ["envs", "rewards"])
def test_upper_floors_are_never_loaded_by_an_import_of_the_engine(folder: str) -> None:
    code = f"import simia_gym, sys; sys.exit(any(m.startswith('simia_gym.{folder}') for m in sys.modules))"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


def test_only_the_commands_of_training_import_the_command_line() -> None:
    rl = Path(simia_gym.__file__).parent / "rl"
    folder = rl if rl.is_dir() else ENGINE.parent / "rl"
    found = [path for path in sorted(folder.rglob("*.py")) if path.name != "command.py"]
    assert found
    for path in found:
        names = imported(ast.parse(path.read_text(encoding="utf-8")))
        assert not [name for name in names if name.startswith("simia_gym.cli")], path
