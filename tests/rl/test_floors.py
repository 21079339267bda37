"""Packages of `simia_gym.rl` import only those below them, lazily imported and type-only ones included."""

from __future__ import annotations

from pathlib import Path

import simia_gym.rl

from ..test_dependency_rule import imported

FLOORS = ("recipes", "verl_plugin", "sft for_trl grpo", "generation", "small cluster verl_run", "chat serving formats")
"""From the top; packages on one floor do not import each other."""


def test_imports_point_down() -> None:
    folder = Path(simia_gym.rl.__file__).parent
    floor = {name: number for number, names in enumerate(FLOORS) for name in names.split()}
    assert set(floor) == {path.parent.name for path in folder.glob("*/__init__.py")}
    upward = []
    for path in folder.glob("*/**/*.py"):
        own = path.relative_to(folder).parts[0]
        for name in imported(path):
            other = name.removeprefix("simia_gym.rl.").split(".")[0] if name.startswith("simia_gym.rl.") else own
            if other in floor and other != own and floor[other] <= floor[own]:
                upward.append(f"{path.name}: {name}")
    assert not upward
