# ruff: noqa: D417 (a tool's docstring tells the policy about its arguments; the draft is none of them)
"""Switching between apps, and the end of the task."""

from __future__ import annotations

from collections.abc import Sequence

from simia_gym.domain.tools import tool
from simia_gym.domain.world import World
from simia_gym.errors import ToolError
from simia_gym.state import Draft

APPS = ("calendar", "email", "excel", "word", "pdf", "calculator", "llm")
"""The apps that can be opened, in the order in which they are introduced."""


class System(World):
    """See the module."""

    apps: Sequence[str] = APPS

    @tool(effect="write", reads=("desk/main",), writes=("desk/main/app",), always_changes=True)
    def system_switch_app(self, db: Draft, target_app: str) -> str:
        """Open another app. Only the actions of the open app work.

        Args:
            target_app: The app, one of those that the first message lists.
        """
        name = target_app.strip().lower()
        if name not in self.apps:
            raise ToolError(f"There is no app {target_app}.", "no_app", f"The apps are: {', '.join(self.apps)}.")
        db.edit("desk", "main")["app"] = name
        actions = [one.removeprefix(f"{name}_") for one in type(self).tools if one.startswith(f"{name}_")]
        return f"Successfully switched to app: {name}. Available actions:\n" + "\n".join(f"- {one}" for one in actions)

    @tool(effect="write", reads=("desk/main",), writes=("desk/main/answer",), terminal=True, always_changes=True)
    def system_finish_task(self, db: Draft, answer: str | int | float = "") -> str:
        """End the task, with the answer if it asks for one.

        Args:
            answer: The answer alone, such as a name, a number or a time; empty if nothing was asked.
        """
        db.edit("desk", "main")["answer"] = str(answer)
        return "Task finished"
