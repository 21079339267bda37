"""The rooms of the engine stand on floors: a room imports only what is below it, lazily and for types too."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

import simia_gym

ENGINE = Path(simia_gym.__file__).parent

FLOORS = """
cli
evaluation
rollout env vector
assembly
episode simulators oracle
domain
users policies
llm contracts
language views record
actions state
types
common prompts spaces
errors
"""
LEVEL = {room: level for level, rooms in enumerate(FLOORS.split("\n")) for room in rooms.split()}
PUBLIC_FACE = {"__init__", "__main__", "version"}  # the face names everything lazily; it is on no floor
COMMANDS = {"rl/command.py", "rl/small/command.py", "rl/sft/command.py"}


def imports(folder: Path, package: str) -> Iterator[tuple[str, str]]:
    """Every import of the engine below a folder, as ``(file, room)``."""
    for path in sorted(folder.rglob("*.py")):
        if "templates" in path.parts or (
            folder == ENGINE and path.relative_to(folder).parts[0] in {"envs", "rewards", "rl"}
        ):
            continue
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Import):
                names = [alias.name for alias in node.names]
            elif isinstance(node, ast.ImportFrom):
                names = [f"{node.module}.{alias.name}" for alias in node.names]
            else:
                continue
            for name in names:
                if name.startswith("simia_gym."):
                    yield f"{package}{path.relative_to(folder)}", name.split(".")[1]


def room_of(file: str) -> str:
    return Path(file).parts[0].removesuffix(".py")


def test_every_room_stands_on_a_floor() -> None:
    rooms = {path.stem if path.is_file() else path.name for path in ENGINE.iterdir() if path.suffix in {".py", ""}}
    assert rooms - PUBLIC_FACE - {"__pycache__", "envs", "rewards", "rl"} == set(LEVEL)


def test_rooms_import_only_what_is_below_them() -> None:
    arrows = {(file, room) for file, room in imports(ENGINE, "") if room_of(file) in LEVEL and room in LEVEL}
    assert len(arrows) > 200
    upward = sorted((file, room) for file, room in arrows if LEVEL[room] < LEVEL[room_of(file)])
    assert not upward, upward


def test_no_two_rooms_of_a_floor_import_each_other() -> None:
    arrows = {(room_of(file), room) for file, room in imports(ENGINE, "")}
    both = sorted((one, other) for one, other in arrows if one < other and (other, one) in arrows)
    assert not both, both


@pytest.mark.parametrize("package", ["envs", "rewards", "rl"])
def test_only_commands_import_the_command_line(package: str) -> None:
    folder = ENGINE / package if (ENGINE / package).is_dir() else ENGINE.parent / package
    importing = {file for file, room in imports(folder, f"{package}/") if room == "cli"}
    assert importing <= COMMANDS, importing
