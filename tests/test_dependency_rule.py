"""The engine imports and names no domain, reward or trainer; its rooms stand on floors and import only what is below.

An import inside of a function or for types alone counts, too.
"""

from __future__ import annotations

import ast
import re
import subprocess
import sys
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

import simia_gym

ENGINE = Path(simia_gym.__file__).parent
ABOVE = ("envs", "rewards", "rl")
NAMES = re.compile(r"\b(airline|retail|officebench|webshop|mind2web|tau2|tau-bench)", re.IGNORECASE)

FLOORS = """
cli
synth
evaluation
rollout env vector
viewer
assembly
episode simulators oracle
service
domain
users policies trajectories
llm contracts conversations
language views record
actions state trees
types
common prompts sandbox spaces
errors
"""
LEVEL = {room: level for level, rooms in enumerate(FLOORS.split("\n")) for room in rooms.split()}
PUBLIC_FACE = {"__init__", "__main__", "version"}  # the face names everything lazily; it is on no floor
COMMANDS = {"command.py", "serving/command.py", "small/command.py", "sft/command.py"}


def modules(folder: Path) -> list[Path]:
    above = {ENGINE / name for name in ABOVE} - {folder}
    return sorted(p for p in folder.rglob("*.py") if not above & set(p.parents) and "templates" not in p.parts)


def imported(path: Path) -> Iterator[str]:
    """Every module that a file imports, and every name that it imports from one."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and not node.level:
            yield from (f"{node.module}.{alias.name}" for alias in node.names)


@cache
def arrows() -> set[tuple[str, str]]:
    """Which room imports which, as ``(importing, imported)``."""
    return {
        (path.relative_to(ENGINE).parts[0].removesuffix(".py"), name.split(".")[1])
        for path in modules(ENGINE)
        for name in imported(path)
        if name.startswith("simia_gym.")
    }


def code_strings(path: Path) -> Iterator[str]:
    """String constants that are no docstrings and no bare prose expressions."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    prose = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in prose:
            yield node.value


@pytest.mark.parametrize("path", modules(ENGINE), ids=lambda p: str(p.relative_to(ENGINE)))
def test_engine_module_keeps_below(path: Path) -> None:
    upward = [name for name in imported(path) if name.startswith(tuple(f"simia_gym.{room}" for room in ABOVE))]
    assert not upward, f"{path} imports {upward}"
    named = [text for text in code_strings(path) if NAMES.search(text)]
    assert not named, f"{path} names a domain: {named}"


@pytest.mark.parametrize("folder", ["envs", "rewards"])
def test_upper_floors_are_never_loaded_by_an_import_of_the_engine(folder: str) -> None:
    code = f"import simia_gym, sys; sys.exit(any(m.startswith('simia_gym.{folder}') for m in sys.modules))"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


def test_every_room_stands_on_a_floor() -> None:
    rooms = {path.stem if path.is_file() else path.name for path in ENGINE.iterdir() if path.suffix in {".py", ""}}
    assert rooms - PUBLIC_FACE - {"__pycache__", *ABOVE} == set(LEVEL)


def test_rooms_import_only_what_is_below_them() -> None:
    known = {(one, other) for one, other in arrows() if one in LEVEL and other in LEVEL}
    assert len(known) > 100
    upward = sorted((one, other) for one, other in known if LEVEL[other] < LEVEL[one])
    assert not upward, upward


def test_no_two_rooms_of_a_floor_import_each_other() -> None:
    known = arrows()
    both = sorted((one, other) for one, other in known if one < other and (other, one) in known)
    assert not both, both


@pytest.mark.parametrize("package", ABOVE)
def test_only_commands_import_the_command_line(package: str) -> None:
    folder = ENGINE / package if (ENGINE / package).is_dir() else ENGINE.parent / package
    found = modules(folder)
    assert found
    importing = [path for path in found if any(name.startswith("simia_gym.cli") for name in imported(path))]
    assert {path.relative_to(folder).as_posix() for path in importing} <= (COMMANDS if package == "rl" else set())
