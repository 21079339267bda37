"""What the synthesis knows of a domain: an environment, or a folder with tools and a policy alone."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from simia_gym.actions.signatures import function_of
from simia_gym.common.files import read_json, read_text
from simia_gym.domain.domain import Domain
from simia_gym.errors import ActionError, InputError
from simia_gym.synth.prompt import Teaching
from simia_gym.trajectories.findings import text_of
from simia_gym.types import Calls, JsonObject, Message, ToolCall

_TOOLS, _POLICY = "tools.json", ("policy.md", "policy.txt")


@dataclass(frozen=True)
class Subject:
    """What trajectories are about.

    Attributes:
        env: The environment's id, or the folder.
        teaching: What a teacher is told.
        domain: The domain; ``None`` if there are tools and a policy alone.
        prompt: Kind of the system message of trajectories, ``full`` or ``compact``.
    """

    env: str
    teaching: Teaching
    domain: Domain | None = None
    prompt: str = "full"

    @property
    def tools(self) -> Sequence[JsonObject]:
        """The tools in OpenAI's layout, with what ours declare."""
        return self.teaching.tools

    @property
    def in_text(self) -> bool:
        """Whether policies of the domain write calls in a format of its own and read answers as the user's words."""
        return self.domain is not None and self.domain.grammar.observation_role != "tool"

    def system(self, prompt: str) -> str:
        """The system message of a kind: the one of training and evaluation, without the tools beside it."""
        if self.domain is None:
            return self.teaching.policy
        return self.domain.prompts[prompt] if self.in_text else self.domain.native_prompts[prompt]

    def with_calls(self, messages: Sequence[Message]) -> list[Message]:
        """A conversation whose calls stand in the domain's own format, with calls in OpenAI's layout."""
        if self.domain is None or not self.in_text or any(message.get("tool_calls") for message in messages):
            return list(messages)
        grammar = self.domain.grammar
        made: list[Message] = []
        waits: list[str] = []
        for number, message in enumerate(messages):
            if message["role"] == "user" and waits:
                made += [{"role": "tool", "tool_call_id": waits.pop(0), "content": text_of(message)}]
                continue
            made.append(dict(message))
            if message["role"] != "assistant":
                continue
            try:
                action = grammar.parse(text_of(message))
            except ActionError:
                continue
            if isinstance(action, Calls) and len(action.calls) == 1:
                call, name = action.calls[0], f"call_{number}"
                function = {"name": call.name, "arguments": dict(call.arguments)}
                made[-1] |= {
                    "content": action.text,
                    "tool_calls": [{"id": name, "type": "function", "function": function}],
                }
                waits = [name]
        return made

    def in_grammar(self, messages: Sequence[Message]) -> list[Message]:
        """A conversation with calls in OpenAI's layout, as a policy of the domain writes and reads it."""
        if self.domain is None or not self.in_text:
            return list(messages)
        made: list[Message] = []
        for message in messages:
            if message["role"] == "tool":
                made.append({"role": "user", "content": text_of(message)})
            elif message.get("tool_calls"):
                calls = [call["function"] for call in message["tool_calls"]]
                action = Calls(tuple(ToolCall(call["name"], call["arguments"]) for call in calls), text_of(message))
                plain = {name: value for name, value in message.items() if name != "tool_calls"}
                made.append({**plain, "content": self.domain.grammar.render(action)})
            else:
                made.append(message)
        return made


def subject_of_domain(env: str, domain: Domain, prompt: str = "full") -> Subject:
    """What the synthesis knows of a domain, for trajectories with a kind of system message."""
    native = domain.native_prompts["full"]
    teaching = Teaching(domain.name, native, domain.tools, domain.folder, dict(domain.about.get("options", {})))
    return Subject(env, teaching, domain, prompt)


def is_bare(folder: Path) -> bool:
    """Whether a folder holds tools and is no domain."""
    return (folder / _TOOLS).is_file() and not (folder / "domain.yaml").is_file()


def bare_subject(folder: Path) -> Subject:
    """What the synthesis knows of a folder with ``tools.json`` and ``policy.md``.

    Raises:
        InputError: A file is missing or is not what it should be.
    """
    policy = next((folder / name for name in _POLICY if (folder / name).is_file()), None)
    if policy is None:
        raise InputError("there is no policy", where=str(folder), fix=f"Write the agent's rules to {_POLICY[0]}.")
    place = folder / _TOOLS
    tools = read_json(place)
    if not isinstance(tools, list) or not tools:
        raise InputError("it is no list of tools", where=str(place), fix="Give a list of OpenAI's function schemas.")
    for number, tool in enumerate(tools, 1):
        function: Mapping[str, Any] = function_of(tool) if isinstance(tool, Mapping) else {}
        if not isinstance(function.get("name"), str):
            raise InputError(f"tool {number} has no name", where=str(place), fix="Give OpenAI's function schemas.")
    return Subject(str(folder), Teaching(folder.resolve().name, read_text(policy), tools, folder))
