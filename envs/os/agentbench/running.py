"""Runs a task's scripts in a sandbox: those that make its machine, and those that check it."""

from __future__ import annotations

import os
import shlex
from collections.abc import Sequence
from dataclasses import dataclass

from simia_gym.envs.os.agentbench.published import Script
from simia_gym.envs.os.rooms import run_now
from simia_gym.errors import Fault
from simia_gym.sandbox import Result, Shell, Tree, new_shell

READ_ONLY = "read_only"
"""The kind of the fault that a task's scripts write where nothing can be written."""
_READ_ONLY = b"Read-only file system"
_NO_MODULES = {"PYTHONSAFEPATH": "1", "PYTHONNOUSERSITE": "1"}


@dataclass(frozen=True)
class Begun:
    """A task's machine before the agent's first command.

    Attributes:
        tree: The files.
        shell: What the agent's shell keeps.
    """

    tree: Tree
    shell: Shell


def begin(init: Sequence[Script], start: Sequence[Script], base: Tree) -> Begun:
    """Make a task's machine: its scripts run on the base tree, those of ``start`` in the agent's own shell.

    Raises:
        Fault: A script was stopped by a limit, or wrote where nothing can be written; or the sandbox ended.
        SandboxUnavailable: There is no sandbox.
    """
    tree, shell = base, new_shell()
    for script in init:
        done, tree = run(tree, script)
        _refuse_half(done, "init")
    for script in start:
        done, tree = run_now(tree, script.code, shell, 0)
        _refuse_half(done, "start")
        shell = done.shell
    return Begun(tree, shell)


def run(tree: Tree, script: Script, given: Sequence[str] = ()) -> tuple[Result, Tree]:
    """Run a script with arguments, in a shell of its own; gives what it did, and the tree afterwards.

    Python takes no modules from the tree, where an agent could put its own.

    Raises:
        InputError: Script and arguments are too long, or hold NUL.
        Fault: The sandbox has ended.
        SandboxUnavailable: There is no sandbox.
    """
    shell, words = new_shell(**_NO_MODULES), shlex.join(given)
    if script.language == "python":
        code = f"exec python3 -I -c {shlex.quote(script.code)} {words}"
    else:
        code = f"set -- {words}\n{script.code}" if given else script.code
    return run_now(tree, code, shell, 0)


def text(output: bytes) -> str:
    """What a command wrote, so that it gives the same bytes again as an argument."""
    return os.fsdecode(output)


def _refuse_half(done: Result, what: str) -> None:
    """Refuse a machine that its scripts could not make."""
    if done.stopped:
        raise Fault("init_stopped", f"the task's {what} was stopped by the limit of {done.stopped}", "world")
    if _READ_ONLY in done.output:
        line = next(line for line in done.output.splitlines() if _READ_ONLY in line)
        raise Fault(READ_ONLY, f"the task's {what} cannot write: {text(line)[:200]}", "world")
