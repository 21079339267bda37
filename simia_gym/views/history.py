"""What a policy is shown of an episode: the whole transcript, or one prompt a turn that is written from it.

    transcript    the messages so far, each in its role; the default
    page          the newest observation, then the actions so far as a list (Mind2Web)
    steps         the first observation, then every action with its observation (OfficeBench)

or a function of `History` that returns the text of the prompt. The ledger holds everything in any case.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

from simia_gym.actions import Grammar, strip_thinking
from simia_gym.common.dotted_names import load_function
from simia_gym.errors import InputError, did_you_mean
from simia_gym.types import Calls, Message, ToolCall

TRANSCRIPT = "transcript"


class Done(NamedTuple):
    """An action of the policy, without its thoughts, and what was observed after it; each call is one."""

    action: str
    observation: str


@dataclass(frozen=True)
class History:
    """An episode so far, as a policy may know it.

    Attributes:
        instruction: The task's instruction; empty if it has none.
        opening: The first observation.
        done: The actions so far.
    """

    instruction: str
    opening: str
    done: tuple[Done, ...]

    @property
    def observation(self) -> str:
        """The newest observation."""
        return self.done[-1].observation if self.done else self.opening


@dataclass(frozen=True)
class HistoryView:
    """Writes the prompt of each turn.

    Attributes:
        name: As in ``domain.yaml`` or the setting.
        write: Writes the text after the system message.
    """

    name: str
    write: Callable[[History], str]

    def messages(
        self, events: Iterable[Mapping[str, Any]], *, system: str, instruction: str | None, grammar: Grammar
    ) -> list[Message]:
        """The messages of the next turn, from the events of the ledger."""
        text = self.write(_read(events, instruction or "", grammar))
        return [{"role": "system", "content": system}, {"role": "user", "content": text}]


def compile_history(name: str, *, folder: Path, where: str = "history") -> HistoryView | None:
    """Find a view by its name; ``None`` for the whole transcript.

    Args:
        name: ``transcript``, ``page``, ``steps``, or a function, ``package.module:function`` or ``file.py:function``.
        folder: The domain's folder, for a file.
        where: Where the name was written, for errors.

    Raises:
        InputError: There is no such view.
    """
    if name == TRANSCRIPT:
        return None
    if name in _VIEWS:
        return HistoryView(name, _VIEWS[name])
    if ":" not in name:
        known = [TRANSCRIPT, *_VIEWS]
        fix = f"{did_you_mean(name, known)}Use {', '.join(known)}, or file.py:function."
        raise InputError(f"there is no history {name!r}", where=where, fix=fix)
    return HistoryView(name, load_function(name, folder=folder, where=where))


def _read(events: Iterable[Mapping[str, Any]], instruction: str, grammar: Grammar) -> History:
    opening, text, done = "", "", list[Done]()
    for event in events:
        match event["type"]:
            case "message":
                opening = event["text"]
            case "action":
                text = strip_thinking(event["text"]).strip()
            case "invalid":
                done.append(Done(text, event["text"]))
            case "transition":
                call, said = event["call"], event["say"]
                action = said if call is None else grammar.render(Calls((ToolCall(call["name"], call["arguments"]),)))
                done.append(Done(action, event["observation"]))
    return History(instruction, opening, tuple(done))


def _with_task(observation: str, instruction: str) -> str:
    return observation if instruction in observation else f"{observation}\n\nTask: {instruction}"


def _page(history: History) -> str:
    actions = "\n".join(step.action for step in history.done) or "None"
    return f"{_with_task(history.observation, history.instruction)}\n\nPrevious actions:\n{actions}"


def _steps(history: History) -> str:
    lines = [f" - Step {i}: {step.action} -> [{step.observation}]" for i, step in enumerate(history.done)]
    steps = "\n".join(lines) or "None"
    return f"{_with_task(history.opening, history.instruction)}\n\nHistory:\n{steps}"


_VIEWS: Mapping[str, Callable[[History], str]] = {"page": _page, "steps": _steps}
