"""Rebuild the conversation of a record without replaying it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from simia_gym.assembly.settings import EnvConfig
from simia_gym.assembly.suite import load_suite
from simia_gym.domain.domain import Domain
from simia_gym.episode import calls_message
from simia_gym.errors import InputError
from simia_gym.record.records import Record
from simia_gym.state.frozen import thaw
from simia_gym.types import Calls, Message


def transcript(record: Record, *, data: str | None = None) -> list[Message]:
    """Rebuild the whole conversation of a record in the OpenAI layout.

    The record does not contain the system message; it comes from the domain, which must not have changed.

    Args:
        record: The record.
        data: Path of the user's own data, if it has moved since the record was written.

    Returns:
        The messages, equal to `Episode.messages` at the end of the episode.

    Raises:
        InputError: The domain cannot be loaded, or has changed since the record was written.
    """
    config = EnvConfig.from_json(record.config)
    domain = load_suite(config if data is None else replace(config, data=data)).domain
    if domain.hash != record.domain_hash:
        raise InputError("the domain has changed since", where=f"record of {record.task}", fix="Use its own version.")
    messages: list[Message] = []
    for event, following in zip(record.events, [*record.events[1:], {}], strict=True):
        if event["type"] == "message":
            messages.append({"role": "system", "content": domain.prompts[config.prompt]})
            messages.append({"role": "user", "content": event["text"]})
        elif event["type"] == "action":
            messages += _action(event, following, domain)
        elif event["type"] == "invalid":
            messages.append({"role": "user", "content": event["text"], "error_code": event["code"]})
        elif event["type"] == "transition":
            messages += _transition(event, domain)
    return messages


def _action(event: Mapping[str, Any], following: Mapping[str, Any], domain: Domain) -> list[Message]:
    """The messages of a policy action; text for the user is taken from the transition, as it was delivered."""
    raw: Message = {"role": "assistant", "content": event["text"]}
    if following.get("type") in ("invalid", "answer"):
        return [raw]
    parsed = domain.grammar.parse(event["text"])
    if not isinstance(parsed, Calls):
        return []
    if domain.grammar.observation_role != "tool":
        return [raw]
    return [thaw(calls_message(parsed, event["turn"]))]


def _transition(event: Mapping[str, Any], domain: Domain) -> list[Message]:
    call, say = event["call"], event["say"]
    answer: Message = {"role": "user", "content": event["observation"]}
    if say is not None:
        return [{"role": "assistant", "content": say}, answer]
    if domain.grammar.observation_role == "tool":
        answer = {
            "role": "tool",
            "tool_call_id": call["id"],
            "name": call["name"],
            "content": event["observation"],
        }
    if event["error_code"] is not None:
        answer["error_code"] = event["error_code"]
    return [answer]
