"""The office: all apps over one state, of which one is open at a time."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from types import MappingProxyType
from typing import Any, Self

from simia_gym.domain.world import error_text, error_transition
from simia_gym.envs.officebench import desk
from simia_gym.envs.officebench.apps.calculator import Calculator
from simia_gym.envs.officebench.apps.calendar import Calendar, overlaps
from simia_gym.envs.officebench.apps.email import Email
from simia_gym.envs.officebench.apps.excel import Excel
from simia_gym.envs.officebench.apps.llm import ROLE, Llm
from simia_gym.envs.officebench.apps.pdf import Pdf
from simia_gym.envs.officebench.apps.shell import Shell, shell_problem
from simia_gym.envs.officebench.apps.system import APPS, System
from simia_gym.envs.officebench.apps.word import Word
from simia_gym.envs.officebench.published import NAME, Published
from simia_gym.state import Draft, State
from simia_gym.types import Feedback, Task, ToolCall, Transition


class OfficeApps(System, Calendar, Email, Excel, Word, Pdf, Calculator):
    """The apps that ask no model."""

    missing: Mapping[str, str] = MappingProxyType({})

    def opening(self, db: Draft, task: Task) -> str:
        """Say the day, the user, the task and the apps."""
        return desk.opening(db.state, task, self.apps)

    def info(self, state: State) -> Mapping[str, Any]:
        """Give the open app, the names of all, and why one that was asked for is not there."""
        found = desk.info(state, self.apps)
        return {**found, "missing": self.missing} if self.missing else found

    def refuse(self, state: State, call: ToolCall, feedback: Feedback = "terse") -> Transition | None:
        """Refuse the actions of an app that is not open."""
        app = call.name.partition("_")[0]
        refusal = super().refuse(state, call, feedback)
        if refusal is not None or app in ("system", state.at("/desk/main/app")):
            return refusal
        text = f"you must switch to the {app} app before executing this action."
        return error_transition(error_text(text, "Only the actions of the open app work.", feedback), "wrong_app")

    async def execute(self, state: State, call: ToolCall, feedback: Feedback = "terse") -> Transition:
        """Run a call; ``explain`` also says with what a new event overlaps."""
        done = await super().execute(state, call, feedback)
        if feedback == "explain" and call.name == "calendar_create_event" and done.outcome == "ok" and done.ops:
            beside = overlaps(done.state or state, done.ops[0]["value"])
            if beside:
                return replace(done, observation=f"{done.observation} It overlaps {' and '.join(beside)}.")
        return done


class OfficeWorld(OfficeApps, Llm):
    """All apps; with the option ``shell`` also one that runs commands, where a sandbox can be made.

    With ``compat="officebench"`` they have the oddities of the published ones.

    Raises:
        ValueError: There is no such ``compat``.
    """

    optional_roles = frozenset({ROLE})

    def __new__(cls, options: Mapping[str, Any] | None = None) -> Self:
        """Make the office that the options ask for."""
        given = options or {}
        compat, shell = given.get("compat"), bool(given.get("shell")) and shell_problem() is None
        if compat not in (None, NAME):
            raise ValueError(f"compat is {compat!r}; it can be None or {NAME!r}")
        kinds = {(False, True): _WithShell, (True, False): _Published, (True, True): _PublishedWithShell}
        found: Any = kinds.get((compat is not None, shell), cls) if cls is OfficeWorld else cls
        made: Self = super().__new__(found)
        return made

    def __init__(self, options: Mapping[str, Any] | None = None) -> None:
        super().__init__(options)
        if self.options.get("shell") and not isinstance(self, Shell):
            self.missing = {"shell": shell_problem() or ""}


class _WithShell(OfficeWorld, Shell):
    apps = (*APPS, "shell")


class _Published(Published, OfficeWorld):
    pass


class _PublishedWithShell(Published, _WithShell):
    pass
