"""The format ``atif``: trajectories of the Agent Trajectory Interchange Format up to 1.8, one a line.

A file with one trajectory is an ATIF document as it stands. What a step has and no chat message can have is kept under
the key ``atif`` of its message; what a trajectory has, in `Conversation.extra`.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from simia_gym.conversations.carried import COLUMN
from simia_gym.conversations.conversation import Conversation, facts_in, facts_of
from simia_gym.conversations.format import RowFormat
from simia_gym.conversations.messages import normal_messages, normal_tools
from simia_gym.errors import InputError
from simia_gym.types import JsonObject, Message

VERSION, WITH_AUDIO = "ATIF-v1.7", "ATIF-v1.8"
"""The version that is written, and the one that has sound as well; readers of one version alone have the first."""
_UNKNOWN = "unknown"
_ROLES = {"system": "system", "user": "user", "agent": "assistant"}
_SOURCES = {role: source for source, role in _ROLES.items()}
_OF_STEP = frozenset(
    ("step_id", "source", "message", "reasoning_content", "tool_calls", "observation", "extra")
)  # the others are kept under "atif"
_OF_MESSAGE = frozenset(("role", "content", "reasoning_content", "tool_calls", "tool_call_id", "name", "atif"))
_OF_CALL = frozenset(("id", "type", "function"))
_ROOT = ("session_id", "notes", "final_metrics", "continued_trajectory_ref", "subagent_trajectories")
_READ_OF_EXTRA = frozenset((COLUMN,))
_PARTS = ("text", "image", "audio")


class Atif(RowFormat):
    """Trajectories, whose ``extra`` holds what is known about the conversation."""

    name = "atif"
    body = ("steps", "agent")

    def fits(self, row: Any) -> bool:
        """Whether a row says that it is such a trajectory."""
        return isinstance(row, dict) and str(row.get("schema_version")).startswith("ATIF-v1.") and "steps" in row

    def decode(self, row: JsonObject) -> Conversation:
        """The conversation of a trajectory."""
        if not self.fits(row):
            raise InputError("is no ATIF trajectory: it needs a schema_version 'ATIF-v1.x' and steps")
        agent, steps, extra = row.get("agent") or {}, row["steps"], row.get("extra") or {}
        if not isinstance(agent, dict) or not isinstance(steps, list) or not isinstance(extra, dict):
            raise InputError("its agent and its extra are objects, and its steps a list")
        system, messages = normal_messages([message for step in _numbered(steps) for message in _messages(*step)])
        facts = facts_of(extra, _READ_OF_EXTRA)
        of_agent = {name: value for name, value in agent.items() if name not in ("name", "tool_definitions")}
        if of_agent not in ({}, {"version": _UNKNOWN}):
            facts["extra"]["agent"] = of_agent
        facts["extra"] |= {name: row[name] for name in _ROOT if row.get(name) is not None}
        name = agent.get("name")
        if isinstance(name, str) and name != _UNKNOWN:
            facts["policy"] = name
        if isinstance(row.get("trajectory_id"), str):
            facts["id"] = row["trajectory_id"]
        tools = normal_tools(agent.get("tool_definitions"))
        return Conversation(system=system, messages=messages, tools=tools, **facts)

    def encode(self, conversation: Conversation) -> JsonObject:
        """The trajectory of a conversation."""
        extra = dict(conversation.extra)
        facts = facts_in(conversation)
        named = {"name": facts.pop("policy", _UNKNOWN), "version": _UNKNOWN, **(extra.pop("agent", None) or {})}
        if conversation.tools:
            named["tool_definitions"] = list(conversation.tools)
        steps = [*_steps(conversation.messages)]
        if conversation.system is not None:
            steps.insert(0, {"source": "system", "message": conversation.system})
        audio = any(_has_audio(message["content"]) for message in conversation.messages)
        row: JsonObject = {"schema_version": WITH_AUDIO if audio else VERSION}
        if "id" in facts:
            row["trajectory_id"] = facts.pop("id")
        row |= {
            "agent": named,
            "steps": [{"step_id": number, **step} for number, step in enumerate(steps, start=1)],
            **{name: extra.pop(name) for name in _ROOT if name in extra},
        }
        return {**row, "extra": {**extra, **facts}} if extra or facts else row

    def with_column(self, row: JsonObject, text: str) -> JsonObject:
        """The trajectory, with a text for what is lost in its ``extra``."""
        return {**row, "extra": {**row.get("extra", {}), COLUMN: text}}

    def column(self, row: JsonObject) -> Any:
        """What stands in the trajectory's ``extra`` for what is lost."""
        extra = row.get("extra")
        return extra.get(COLUMN) if isinstance(extra, dict) else None


def _has_audio(content: Any) -> bool:
    return isinstance(content, list) and any(part.get("type") == "audio" for part in content)


def _numbered(steps: Sequence[Any]) -> Iterator[tuple[int, JsonObject]]:
    for number, step in enumerate(steps, start=1):
        if not isinstance(step, dict) or step.get("source") not in _ROLES:
            raise InputError(f"step {number} has no source 'system', 'user' or 'agent'")
        yield number, step


def _messages(number: int, step: JsonObject) -> Iterator[Message]:
    """The messages of a step: what was said, and what was observed."""
    message: Message = {"role": _ROLES[step["source"]], "content": step.get("message")}
    if step.get("reasoning_content"):
        message["reasoning_content"] = step["reasoning_content"]
    calls = step.get("tool_calls") or []
    if not isinstance(calls, list) or not all(isinstance(call, dict) for call in calls):
        raise InputError(f"the tool_calls of step {number} are no list of objects")
    if calls:
        message["tool_calls"] = [_call(call) for call in calls]
    others = {name: value for name, value in step.items() if name not in _OF_STEP and value is not None}
    yield _with_extra(message, step.get("extra"), others)
    observation = step.get("observation") or {}
    results = observation.get("results", []) if isinstance(observation, dict) else None
    if not isinstance(results, list) or not all(isinstance(result, dict) for result in results):
        raise InputError(f"the observation of step {number} has no list of results")
    in_order = len(results) == len(calls) and not any(result.get("source_call_id") for result in results)
    for place, result in enumerate(results):
        others = {
            name: value
            for name, value in result.items()
            if name not in ("source_call_id", "content", "extra") and value is not None
        }
        call_id = calls[place].get("tool_call_id") if in_order else result.get("source_call_id")
        answer: Message = {"role": "tool", "tool_call_id": call_id, "content": result.get("content")}
        if call_id is None:
            # It is the result of no call, so it is what the agent is told.
            answer = {"role": "user", "content": result.get("content")}
            others["observed"] = True
        yield _with_extra(answer, result.get("extra"), others)


def _with_extra(message: Message, extra: Any, others: JsonObject) -> Message:
    """A message with the ``extra`` of its step, and what else that has."""
    if isinstance(extra, dict) and _OF_MESSAGE.isdisjoint(extra.keys() - {"name"}):
        message |= extra
    elif extra:
        others = {**others, "extra": extra}
    if others.get("is_copied_context") is True:
        message.setdefault("loss", False)
    return {**message, "atif": others} if others else message


def _call(call: JsonObject) -> JsonObject:
    extra = call.get("extra")
    more = dict(extra) if isinstance(extra, dict) else {}
    inner = more.pop("function", {})
    function = {"name": call.get("function_name"), "arguments": call.get("arguments"), **inner}
    return {"id": call.get("tool_call_id"), "type": "function", "function": function, **more}


def _steps(messages: Sequence[Message]) -> Iterator[JsonObject]:
    step: JsonObject | None = None
    for message in messages:
        others = dict(message.get("atif") or {})
        more = {key: value for key, value in message.items() if key not in _OF_MESSAGE}
        more |= others.pop("extra", {})
        if step is not None and (message["role"] == "tool" or others.get("observed")):
            others.pop("observed", None)
            result = {"content": _content(message), **others}
            if message["role"] == "tool":
                result = {"source_call_id": message["tool_call_id"], **result}
            results = step.setdefault("observation", {"results": []})["results"]
            results.append({**result, "extra": more} if more else result)
            continue
        if step is not None:
            yield step
        step = {"source": _SOURCES.get(message["role"], "user"), "message": _content(message)}
        if "reasoning_content" in message:
            step["reasoning_content"] = message["reasoning_content"]
        if message.get("tool_calls"):
            step["tool_calls"] = [_written(call) for call in message["tool_calls"]]
        step |= others
        if more:
            step["extra"] = more
    if step is not None:
        yield step


def _content(message: Message) -> Any:
    content = message["content"]
    if not isinstance(content, str) and any(part.get("type") not in _PARTS for part in content):
        raise InputError("a message has a part that is neither a text nor an image or a sound as ATIF has them")
    return content


def _written(call: JsonObject) -> JsonObject:
    function = call["function"]
    extra = {key: value for key, value in call.items() if key not in _OF_CALL}
    if inner := {key: value for key, value in function.items() if key not in ("name", "arguments")}:
        extra["function"] = inner
    made = {"tool_call_id": call["id"], "function_name": function["name"], "arguments": function["arguments"]}
    return {**made, "extra": extra} if extra else made
