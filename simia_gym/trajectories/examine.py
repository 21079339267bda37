"""All checks of a trajectory by programs, and what of it can be kept when one fails."""

from __future__ import annotations

from collections.abc import Sequence

from simia_gym.trajectories.consistency import consistency_findings
from simia_gym.trajectories.findings import Finding, calls_of, text_of
from simia_gym.trajectories.form import Tools, form_findings, tools_of
from simia_gym.types import JsonObject, Message

_LEAST_TURNS = 2


def examine(messages: Sequence[Message], tools: Sequence[JsonObject] | Tools) -> list[Finding]:
    """What programs find wrong with a trajectory; an empty list if nothing.

    Args:
        messages: The messages in OpenAI's layout, arguments decoded.
        tools: The tools in OpenAI's layout, or `tools_of` them; a declared effect of ours is used.
    """
    calls = list(calls_of(messages))
    known = tools if isinstance(tools, Tools) else tools_of(tools)
    found = list(form_findings(messages, calls, known))
    if found and found[0].code == "no_message":
        return found
    return [*found, *consistency_findings(messages, calls, known.readers)]


def cut_before(messages: Sequence[Message], findings: Sequence[Finding]) -> list[Message] | None:
    """The trajectory up to the agent's last turn before the first finding.

    Returns:
        Messages that end with words or calls of the agent; ``None`` if fewer than two of its turns are left.
    """
    place = min(finding.place for finding in findings)
    while place > 0 and messages[place - 1]["role"] != "assistant":
        place -= 1
    kept = list(messages[:place])
    turns = sum(message["role"] == "assistant" for message in kept)
    return kept if turns >= _LEAST_TURNS and (kept[-1].get("tool_calls") or text_of(kept[-1]).strip()) else None
