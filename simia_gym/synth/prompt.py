"""The teacher's prompt: tools, policy, one reference conversation, and what to vary."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from random import Random
from typing import Any, NamedTuple

from simia_gym.llm.blocks import block, make_nonce
from simia_gym.llm.prompt import Prompt
from simia_gym.prompts import load_prompt
from simia_gym.trajectories.written import to_text
from simia_gym.types import JsonObject, Message

VARY: Mapping[str, Sequence[str]] = {
    "customer": (
        "brief and in a hurry",
        "talkative, with details that do not matter",
        "unsure what is possible",
        "friendly and patient",
        "annoyed, but polite",
        "writes in fragments, without punctuation",
    ),
    "request": (
        "like the reference's, about other things",
        "like the reference's, with one more wish at the end",
        "like the reference's, with a change of mind before it is done",
        "one that the policy allows only under a condition, which holds",
        "one that must be refused, because a condition of the policy does not hold",
    ),
    "course": (
        "without surprises",
        "a call fails at first, because something was mistyped or does not exist, and the agent finds another way",
        "the customer first gives a wrong detail and corrects it",
        "the agent has to look up more than one thing to choose the right one",
    ),
}
"""What conversations differ in, and the ways of each."""


class Teaching(NamedTuple):
    """What a teacher is told of a domain.

    Attributes:
        name: The domain's name.
        policy: The agent's rules.
        tools: The tools in OpenAI's layout.
        folder: The domain's folder, which may hold a prompt of its own.
        options: Options of the domain.
    """

    name: str
    policy: str
    tools: Sequence[JsonObject]
    folder: Path | None = None
    options: Mapping[str, Any] = {}


def variation(number: int, *, seed: int, vary: Mapping[str, Sequence[str]] = VARY) -> JsonObject:
    """What the trajectory of a number is like: one way of each kind, equal for equal numbers and seeds."""
    draw = Random(f"vary:{seed}:{number}")
    return {"number": number, **{kind: draw.choice(list(ways)) for kind, ways in vary.items()}}


def teacher_prompt(teaching: Teaching, reference: Sequence[Message], vary: JsonObject, *, kind: str = "") -> Prompt:
    """The prompt for one trajectory.

    The system message is the same for all trajectories of a domain, so that a server's prefix cache holds it.

    Args:
        teaching: The domain.
        reference: The reference conversation, in OpenAI's layout.
        vary: What to vary, from `variation`.
        kind: The reference's kind of task, if it is known.
    """
    nonce = make_nonce("teacher", teaching.name)
    tools = [
        {key: value for key, value in tool.items() if key in ("type", "function", "name")} for tool in teaching.tools
    ]
    parts = [
        load_prompt("teacher", teaching.folder).fill(),
        block("domain", nonce, {"name": teaching.name, "options": dict(teaching.options)}),
        block("policy", nonce, teaching.policy),
        block("tools", nonce, tools),
    ]
    prompt = Prompt()
    prompt.add("system", "\n\n".join(parts))
    prompt.mark_static()
    asked = {**vary, "kind": kind} if kind else vary
    shown = [block("reference", nonce, to_text(reference)), block("vary", nonce, asked)]
    prompt.add("user", "\n\n".join([*shown, "Write the new conversation."]))
    return prompt
