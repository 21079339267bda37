"""A model reads trajectories for what programs cannot see: whether they are complete and sound."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from simia_gym.errors import Fault
from simia_gym.llm.ask import derive_seed
from simia_gym.llm.blocks import block, make_nonce
from simia_gym.llm.prompt import Prompt
from simia_gym.llm.types import ChatModel, ChatRequest, ReplySchema
from simia_gym.prompts import load_prompt
from simia_gym.synth.prompt import Teaching
from simia_gym.synth.settings import SynthSettings
from simia_gym.synth.workers import at_the_same_time
from simia_gym.trajectories.findings import Finding
from simia_gym.trajectories.written import to_text
from simia_gym.types import JsonObject, Message

OPINION = ReplySchema(
    "opinion",
    {
        "type": "object",
        "properties": {
            "complete": {"type": "boolean"},
            "sound": {"type": "boolean"},
            "reason": {"type": "string"},
        },
        "required": ["complete", "sound", "reason"],
        "additionalProperties": False,
    },
)


async def opinions(
    model: ChatModel,
    teaching: Teaching,
    named: Mapping[str, Sequence[Message]],
    settings: SynthSettings,
    on_one: Callable[[JsonObject], None],
) -> None:
    """Ask the judge's model about trajectories, several at the same time.

    Args:
        model: The model.
        teaching: The domain.
        named: The trajectories by name.
        settings: The seed, and how many at the same time.
        on_one: Called with each opinion as soon as it is there: ``id`` is the name, with ``complete``, ``sound``,
            ``reason`` and ``model``, or with ``fault``.
    """
    waiting = iter(named.items())

    async def work() -> None:
        for name, messages in waiting:
            try:
                on_one({"id": name, **await _opinion(model, teaching, name, messages, settings.drawn)})
            except Fault as fault:
                on_one({"id": name, "fault": f"{fault.kind}: {fault.message}"})

    await at_the_same_time(work, settings.at_once)


def against(opinion: Mapping[str, Any] | None) -> Finding | None:
    """What an opinion holds against a trajectory; nothing if there is no opinion."""
    if opinion is None or (opinion.get("complete") and opinion.get("sound")):
        return None
    if "fault" in opinion:
        return Finding("unread", 0, str(opinion["fault"]))
    return Finding("unsound" if opinion["complete"] else "incomplete", 0, str(opinion["reason"]))


async def _opinion(
    model: ChatModel, teaching: Teaching, name: str, messages: Sequence[Message], seed: int
) -> JsonObject:
    nonce = make_nonce("opinion", teaching.name)
    prompt = Prompt()
    lead = load_prompt("trajectory_check", teaching.folder).fill()
    about = block("domain", nonce, {"name": teaching.name, "options": dict(teaching.options)})
    prompt.add("system", "\n\n".join([lead, about, block("policy", nonce, teaching.policy)]))
    prompt.mark_static()
    prompt.add("user", block("conversation", nonce, to_text(messages)))
    scope = f"opinion:{teaching.name}:{name}"
    reply = await model.complete(
        ChatRequest("judge", prompt, OPINION, seed=derive_seed(["opinion", seed, name]), scope=scope)
    )
    return {**reply.data, "model": reply.model}
