"""The errors of a script: only running it tells whether it is stopped, or changes too much."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from simia_gym.common.json_encoding import encode
from simia_gym.domain.limits import TOO_LARGE
from simia_gym.domain.tools import DeclaredError
from simia_gym.envs.os import machine
from simia_gym.envs.os.rooms import run_now
from simia_gym.errors import InputError
from simia_gym.state import Draft, State
from simia_gym.trees import Clock

_FEW, _SMALL = 100, 100_000
"""So many operations, of so many bytes together, are within every limit."""


def stops(state: State, arguments: Mapping[str, Any]) -> bool:
    """Whether a script cannot be run or is stopped; also true where no sandbox can be made, as nothing else tells."""
    return _too_much(state, arguments) is None


def floods(state: State, arguments: Mapping[str, Any]) -> bool:
    """Whether what a script changes may be more than a limit allows."""
    return _too_much(state, arguments) is not False


def _too_much(state: State, arguments: Mapping[str, Any]) -> bool | None:
    """Whether a script changes much; ``None`` if it does not run to its end."""
    number = state.at("/shell/main/commands") + 1
    clock = Clock.now(number)
    before = machine.tree_of(state, clock)
    try:
        done, after = run_now(before, arguments["script"], machine.shell_of(state), number)
    except InputError:  # `SandboxUnavailable` is one
        return None
    if done.stopped:
        return None
    draft = Draft(state)
    machine.write_tree(draft, before, after, clock)
    _, ops = draft.commit()
    return len(ops) > _FEW or len(encode(list(ops))) > _SMALL


FAILURES = (
    *(DeclaredError(code, when="simia_gym.envs.os.failing:stops") for code in ("bad_script", "time", "output", "disk")),
    DeclaredError(TOO_LARGE, when="simia_gym.envs.os.failing:floods"),
)
