"""A model reads trajectories for what programs cannot see: whether they are complete and sound."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from simia_gym.llm.ask import derive_seed
from simia_gym.llm.blocks import block, make_nonce
from simia_gym.llm.prompt import Prompt
from simia_gym.llm.types import ChatModel, ChatRequest, ReplySchema
from simia_gym.prompts import load_prompt
from simia_gym.synth.prompt import Teaching
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


class Opinion(NamedTuple):
    """What a model thinks of a trajectory."""

    complete: bool
    sound: bool
    reason: str
    model: str

    @property
    def good(self) -> bool:
        """Whether it may be learned from."""
        return self.complete and self.sound

    def to_json(self) -> JsonObject:
        """As an object."""
        return self._asdict()


async def opinion(model: ChatModel, teaching: Teaching, name: str, messages: Sequence[Message], seed: int) -> Opinion:
    """Ask the judge's model about a trajectory.

    Args:
        model: The model.
        teaching: The domain.
        name: The trajectory's id.
        messages: The trajectory.
        seed: Seed of the synthesis.

    Raises:
        Fault: There is no readable reply.
    """
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
    return Opinion(reply.data["complete"], reply.data["sound"], reply.data["reason"], reply.model)
