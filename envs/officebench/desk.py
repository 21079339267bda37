"""The first message, and the public facts of the office: what is open, and what can be opened."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from simia_gym.envs.officebench.apps.system import APPS
from simia_gym.state import State
from simia_gym.types import Task


def opening(state: State, task: Task, apps: Sequence[str] = APPS) -> str:
    """Say the day, the user, the task and the apps."""
    desk = state.at("/desk/main")
    return (
        f"Today is {desk['date']} ({desk['weekday']}), {desk['time']}. You work for {desk['user']}.\n"
        f"Task: {task.instruction}\n"
        f"Available apps: {', '.join(apps)}"
    )


def info(state: State, apps: Sequence[str] = APPS) -> Mapping[str, Any]:
    """Give the open app, ``None`` at the start, and the names of all."""
    return {"app": state.at("/desk/main/app"), "apps": tuple(apps)}
