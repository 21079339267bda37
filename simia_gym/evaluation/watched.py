"""Checks a domain in a process of its own, so that code that never returns, or ends the process, is named.

The process says what it does: each step, and each call of a tool. One that is quiet for too long is ended.
"""

from __future__ import annotations

import multiprocessing
import sys
import warnings
from collections.abc import Callable, Sequence
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

from simia_gym.domain.world import World
from simia_gym.errors import DomainError
from simia_gym.evaluation.checker import Progress, Report, check_folder
from simia_gym.policies import Policy
from simia_gym.types import Feedback, ToolCall, Transition

PATIENCE = 120.0
"""Seconds that one step of a check, or one call of a tool, may take."""
_RETURN = "Let it return, or raise an error."
Tell = Callable[[str, Any], None]


def check_watched(
    path: Path,
    *,
    write_tools: bool = False,
    write_goals: bool = False,
    cheats: Sequence[type[Policy]] = (),
    patience: float = PATIENCE,
    progress: Progress = lambda step: None,
) -> Report:
    """Check a domain as `check_folder` does, in a process of its own.

    Args:
        path: The domain's folder.
        write_tools: As for `check_folder`.
        write_goals: As for `check_folder`.
        cheats: As for `check_folder`.
        patience: Seconds that one step, or one call of a tool, may take.
        progress: Called with the name of each step.

    Returns:
        The report; if the process did not come to its end, one whose only problem says where it was.
    """
    options = {"write_tools": write_tools, "write_goals": write_goals, "cheats": cheats}
    if sys.platform == "win32":  # it cannot fork
        return check_folder(path, progress=progress, **options)  # type: ignore[arg-type]
    context = multiprocessing.get_context("fork")
    receiving, sending = context.Pipe(duplex=False)
    process = context.Process(target=_check, args=(sending, path, options))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # threads of the caller: the process uses none of theirs
        process.start()
    sending.close()
    step, tool = "files", ""
    try:
        while receiving.poll(patience):
            kind, value = receiving.recv()
            if kind == "report":
                return value  # type: ignore[no-any-return]
            if kind == "raised":
                raise value
            if kind == "ended":
                raise _EndedError(value)
            if kind == "tool":
                tool = value
            else:
                step, tool = value, ""
                progress(step)
        what = f"has not returned for {patience:g} s"
        fix = "Mend its loop, or give it more time with --timeout."
    except EOFError:
        process.join()
        what, fix = f"ended the process ({_end(process.exitcode)})", _RETURN
    except _EndedError as error:
        what, fix = f"raised {error}", _RETURN
    finally:
        process.kill()
        process.join()
        receiving.close()
    who = f"tool {tool!r}" if tool else "the domain's code"
    problem = DomainError(f"{who} {what}, at: {step}", where=str(path), fix=fix)
    return Report(path, loaded=step != "files", problems=[problem])


class _EndedError(Exception):
    """The code raised what no code should catch."""


def _end(code: int | None) -> str:
    return f"signal {-code}" if code is not None and code < 0 else f"exit code {code}"


def _check(sending: Connection, path: Path, options: dict[str, Any]) -> None:
    """Run the check and send its report."""

    def tell(kind: str, value: Any) -> None:
        sending.send((kind, value))

    _tell_of_calls(tell)
    try:
        tell("report", check_folder(path, progress=lambda step: tell("step", step), **options))
    except Exception as error:
        tell("raised", error)
    except BaseException as error:  # such as KeyboardInterrupt, which a person's own one is in the caller
        tell("ended", type(error).__name__)


def _tell_of_calls(tell: Tell) -> None:
    """Let every call of a tool be told before it begins and after it has ended."""
    plain = World.answer

    async def answer(self: World, state: Any, call: ToolCall, feedback: Feedback = "terse") -> Transition:
        tell("tool", call.name)
        try:
            answer = await plain(self, state, call, feedback)
        except Exception:
            tell("tool", "")
            raise
        tell("tool", "")
        return answer

    World.answer = answer  # type: ignore[method-assign]
