# ruff: noqa: D417 (a tool's docstring tells the policy about its arguments; the draft is none of them)
"""The shell: a script runs in a sandbox on the tree of the state, and what it changed becomes rows again."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from simia_gym.domain.tools import tool
from simia_gym.domain.world import World
from simia_gym.envs.os import machine
from simia_gym.envs.os.agentbench.solved import prepare
from simia_gym.envs.os.failing import FAILURES
from simia_gym.envs.os.rooms import run_in_sandbox
from simia_gym.envs.os.slices import FILES, LISTING, SCRATCH
from simia_gym.errors import InputError, ToolError
from simia_gym.sandbox import MASKS, working_way
from simia_gym.state import Draft, State
from simia_gym.trees import Clock
from simia_gym.types import Task

LONGEST, SHOWN = 800, 780
"""A longer output is shown by its beginning, as published; both in characters."""


class OsWorld(World):
    """See the module."""

    opening_masks = MASKS

    def __init__(self, options: Mapping[str, Any] | None = None) -> None:
        super().__init__(options)
        compat = self.options.get("compat")
        if compat not in (None, "agentbench"):
            fix = 'Give "agentbench", or leave it out.'
            raise InputError(f"there is no {compat!r} to be compatible with", where="compat", fix=fix)

    def ready(self) -> None:
        """Raise `SandboxUnavailable` where no command can run."""
        working_way()

    async def opening(self, db: Draft, task: Task) -> str:
        """Say the task, and where the shell stands; a task of AgentBench makes its machine first."""
        await prepare(db, task, self.options.get("compat"))
        return machine.opening(db.state, task)

    def info(self, state: State) -> dict[str, object]:
        """Give the working directory, and how many commands have run."""
        return dict(machine.info(state))

    @tool(
        effect="write",
        reads=("shell/main", FILES, SCRATCH, "times", LISTING),
        writes=("files/*", "scratch/*", "times/*", "shell/main"),
        masks=MASKS,
        always_changes=True,
        errors=FAILURES,
    )
    async def bash_action(self, db: Draft, script: str) -> str:
        """Run a script of bash, and read its output. The shell goes on from script to script.

        What comes back begins with "The output of the OS:" and an empty line; it is "The output of the OS is empty." if
        the script writes nothing. Of more than 800 characters only the first 780 are shown.

        Args:
            script: The script, of one line or several.
        """
        number = db.state.at("/shell/main/commands") + 1
        clock = Clock.now(number)
        before = machine.tree_of(db.state, clock)
        try:
            done, after = await run_in_sandbox(before, script, machine.shell_of(db.state), number)
        except InputError as error:
            raise ToolError(f"the script did not run: {error.what}.", "bad_script", error.fix or "") from error
        if done.stopped:
            raise ToolError(_STOPPED[done.stopped], done.stopped, "Nothing of it has been kept.")
        machine.write_tree(db, before, after, clock)
        db.put("shell", "main", machine.shell_row(done.shell, number))
        return shown(done.output)

    @tool(reads=("shell/main",), terminal=True)
    def answer_action(self, db: Draft, answer: str) -> str:
        """Answer the question of the task. This ends it.

        Args:
            answer: The answer alone, such as a number, a name or a path.
        """
        return "The answer has been taken."

    @tool(reads=("shell/main",), terminal=True)
    def finish_action(self, db: Draft, thought: str = "") -> str:
        """Say that the change which the task asks for is done. This ends it.

        Args:
            thought: Why it is done; nobody judges it.
        """
        return "The task is over."


_STOPPED = {
    "time": "the script took longer than 10 seconds and was stopped; it has changed nothing.",
    "output": "the script wrote more than a megabyte of output and was stopped; it has changed nothing.",
    "disk": "the files that the script left are larger than the disk; it has changed nothing.",
}


def shown(output: bytes) -> str:
    """The observation of an output, as published."""
    text = output.decode("utf-8", "replace")
    if not text:
        return "The output of the OS is empty."
    if len(text) > LONGEST:
        text = f"{text[:SHOWN]}\n[truncated because the output is too long]"
    return f"The output of the OS:\n\n{text}"
