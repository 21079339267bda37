"""One episode whose every action is a tool call, for agents that know nothing but tools.

Beside the domain's tools there are ``start_conversation``, which gives the task, ``send_message_to_user`` where a user
answers, and ``finish`` where agents of the domain end the episode themselves. A domain's tool of such a name keeps it;
then ours has an underscore behind it.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import Any, NamedTuple

from simia_gym.actions import Grammar
from simia_gym.actions.calls import call_message
from simia_gym.actions.signatures import function_of
from simia_gym.assembly.suite import Suite
from simia_gym.errors import Fault, InputError
from simia_gym.record.finished_episode import TURN_LIMIT
from simia_gym.types import Action, Calls, End, JsonObject, Message, PolicyAction, Say, Task, ToolCall, Verdict

START, SAY, FINISH = "start_conversation", "send_message_to_user", "finish"
_ABOUT = {
    START: "Begin the task: gives the rules and the first message. Call it once, before all else.",
    SAY: "Write to the user and get their answer. Nothing else that you write reaches them.",
    FINISH: "Say that the task is done. This ends the episode.",
}
_ARGUMENTS = {
    START: {},
    SAY: {"message": {"type": "string", "description": "What you write."}},
    FINISH: {"answer": {"type": "string", "description": "Your answer; empty where none was asked for."}},
}


class Said(NamedTuple):
    """What a call answers.

    Attributes:
        texts: The texts of the environment, in order.
        error: Whether the call was refused or failed.
        over: Whether the episode is over.
    """

    texts: tuple[str, ...]
    error: bool = False
    over: bool = False


class ToolEpisode:
    """One episode, played by tool calls.

    Args:
        suite: The environment; its policies see the whole transcript.
        task: The task.
        seed: The episode's seed.
        group: Id of the episodes that share a world.

    Attributes:
        task: The task.
        seed: The seed.
        begun: Whether the agent has begun.
        start_name: Name of the tool that begins the conversation.

    Raises:
        InputError: The environment shows policies something else than the transcript.
    """

    def __init__(self, suite: Suite, task: Task, seed: int = 0, group: str = "") -> None:
        if suite.history is not None:
            what = f"agents with tools see the whole transcript, and history is {suite.history.name!r}"
            raise InputError(what, where="history", fix="Give history='transcript'.")
        self.task, self.seed, self.begun = task, seed, False
        self._group, self._domain = group, suite.domain
        self._episode = suite.episode()
        self._episode.native_tools = True
        self._acting = asyncio.Lock()
        taken = {str(function_of(tool)["name"]) for tool in self._domain.tools}
        kinds = [START, *([SAY] if self._domain.user is not None else [])]
        kinds += [FINISH] if self._domain.replies == "end" or self._domain.has_end else []
        self._own = {kind if kind not in taken else f"{kind}_": kind for kind in kinds}
        self.start_name = next(iter(self._own))

    @property
    def tools(self) -> list[JsonObject]:
        """The tools in OpenAI's format."""
        made = [
            {"name": name, "description": _ABOUT[kind], "parameters": _closed(_ARGUMENTS[kind])}
            for name, kind in self._own.items()
        ]
        return [*({"type": "function", "function": function} for function in made), *self._domain.tools]

    @property
    def verdict(self) -> Verdict | None:
        """The verdict; ``None`` before the end."""
        return self._episode.verdict

    @property
    def ended(self) -> str | None:
        """Why the episode ended; ``None`` before the end."""
        return self._episode.ended if self.verdict is not None else None

    @property
    def state(self) -> str | None:
        """The hash of the final state; see `Episode.final_state`."""
        return self._episode.final_state

    @property
    def messages(self) -> list[Message]:
        """The transcript so far."""
        return self._episode.messages

    async def call(self, name: str, arguments: Mapping[str, Any]) -> Said:
        """Act; calls of one episode run one after the other.

        Raises:
            Fault: The environment failed; the episode is over and has no reward.
        """
        async with self._acting:
            kind = self._own.get(name)
            if kind is not None and (wrong := _wrong(name, arguments, _ARGUMENTS[kind])):
                return Said((wrong,), error=True, over=self.verdict is not None)
            if kind == START:
                return await self._start(name)
            if not self.begun:
                return Said((f"Error: call {self.start_name} first.",), error=True)
            if self.verdict is not None:
                return Said(("The episode is over.",), error=True, over=True)
            return await self._step(self._action(kind, name, arguments))

    async def close(self, fault: Fault | None = None) -> None:
        """End an episode that goes on: with a fault, or judged as it stands, as at the turn limit."""
        async with self._acting:
            if self.begun and self.verdict is None:
                if fault is None:
                    await self._episode.cut(TURN_LIMIT)
                else:
                    self._episode.fail(fault)
            await self._episode.close()

    async def _start(self, name: str) -> Said:
        if self.begun:
            return Said((f"Error: {name} was called already.",), error=True, over=self.verdict is not None)
        self.begun = True
        try:
            start = await self._episode.reset(self.task, seed=self.seed, group=self._group)
        except Fault as fault:
            self._episode.fail(fault)
            raise
        return Said(tuple(str(message["content"]) for message in start.messages))

    async def _step(self, action: PolicyAction) -> Said:
        step = await self._episode.step(action)
        if self._episode.fault is not None:
            raise self._episode.fault
        texts = [str(message["content"]) for message in step.messages]
        over = self.verdict is not None
        failed = any(message.get("error_code") is not None for message in step.messages)
        return Said((*texts, *(("The episode is over.",) if over else ())), failed, over)

    def _action(self, kind: str | None, name: str, arguments: Mapping[str, Any]) -> PolicyAction:
        if kind is None:
            return written(self._domain.grammar, Calls((ToolCall(name, dict(arguments)),)))
        text = str(arguments["message" if kind == SAY else "answer"]).strip()
        return written(self._domain.grammar, Say(text) if kind == SAY or self._domain.replies == "end" else End(text))


def written(grammar: Grammar, action: Action) -> PolicyAction:
    """The action for `Episode.step`; a text that the grammar cannot express, such as none, is an empty action."""
    if isinstance(action, Calls):
        return call_message(*action.calls)
    try:
        return grammar.render(action)
    except InputError:
        return ""


def _closed(properties: JsonObject) -> JsonObject:
    return {"type": "object", "properties": properties, "required": [*properties], "additionalProperties": False}


def _wrong(name: str, arguments: Mapping[str, Any], properties: JsonObject) -> str | None:
    """What is wrong with the arguments of one of our own tools, all of which are texts."""
    if unknown := sorted(set(arguments) - set(properties)):
        return f"Error: {name} takes no argument {', '.join(map(repr, unknown))}."
    for needed in properties:
        if not isinstance(arguments.get(needed), str):
            return f"Error: {name} needs the argument {needed!r}, a text."
    return None
