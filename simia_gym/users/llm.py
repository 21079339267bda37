"""The user simulator that asks a language model.

The model sees only the task's description of the customer and the messages delivered to it. Consent and exit are
structured fields of its reply, never parsed from text, so no phrase can end an episode or count as a confirmation. Its
memory is the conversation in the prompt, which only grows. All episodes of a task share the prompt's prefix, so that
server prefix caches work; the seed of each request varies the wording.
"""

from __future__ import annotations

import zlib
from collections.abc import Mapping
from typing import Any

from simia_gym.contracts import DomainFacts, StepContext
from simia_gym.errors import Fault, InputError
from simia_gym.llm.ask import ask, rejected
from simia_gym.llm.blocks import block, make_nonce
from simia_gym.llm.prompt import Prompt
from simia_gym.llm.types import ChatModel, ChatRequest, Habits, ReplySchema
from simia_gym.prompts import load_prompt
from simia_gym.types import JsonObject, Transition
from simia_gym.users.slips import Part, Talk, slips
from simia_gym.users.told import told

MAX_MESSAGE = 4_000
"""Maximum length of a customer's message, in characters."""

MAX_HEARD = 20_000
"""Maximum characters of one agent message in the prompt; the middle of a longer message is left out."""

MOST_HEARD = 100_000
"""Maximum characters of all agent messages in the prompt, so that no agent can overflow the context."""

LEAST_HEARD = 500
"""Maximum characters of one agent message in the prompt once `MOST_HEARD` is used up."""

_HABITS = Habits(
    {
        **dict.fromkeys(("text", "reply", "response", "utterance"), "message"),
        **dict.fromkeys(("confirm", "confirmed"), "confirms"),
    }
)


def _reply(name: str, flag: JsonObject) -> ReplySchema:
    properties = {"message": {"type": "string", "maxLength": MAX_MESSAGE}, "stop": flag, "confirms": flag}
    return ReplySchema(
        name,
        {
            "type": "object",
            "properties": properties,
            "required": list(properties),
            "additionalProperties": False,
        },
        _HABITS,
    )


REPLY = _reply("customer", {"type": "boolean"})
"""A reply of the customer to the agent."""

OPENING = _reply("opening", {"type": "boolean", "enum": [False]})
"""The first message: nobody leaves with it, and there is nothing yet to agree to."""


class LLMUser:
    """Plays the customer by asking a model; one object plays episodes one after another.

    Args:
        domain: The domain; its ``prompts/user.md``, if present, replaces the default instructions.
        model: The model that plays the customer.

    Raises:
        InputError: The instructions cannot be read.
    """

    name = "llm"
    io = True

    def __init__(self, domain: DomainFacts, model: ChatModel) -> None:
        self.domain, self.model = domain, model
        self._file = load_prompt("user", domain.folder)
        self._prompt = Prompt()
        self._nonce = ""
        self._asked = self._heard = 0
        self._talk = Talk()

    def begin(self, context: StepContext) -> None:
        """Start a new conversation.

        Raises:
            InputError: The task does not describe a customer.
        """
        task = context.task
        if not isinstance(task.user, Mapping) or not task.user:
            fix = "Write a script or a brief as the task's 'user'."
            raise InputError("the task says nothing about a customer", where=f"task {task.id}: user", fix=fix)
        self._nonce = make_nonce(self.domain.hash, context.digest)
        self._prompt = context.prepared.once("llm user", lambda task: self._beginning(context)).fork()
        self._asked = self._heard = 0
        self._talk = Talk(context.prepared.once("part", lambda task: Part.of(task.user or {})))

    async def open(self, context: StepContext) -> Transition:
        """Say the first message."""
        said = await self._ask("begin", {}, context)
        return _transition(said, ["open"])

    async def reply(self, text: str, context: StepContext) -> Transition:
        """Answer a message of the agent, without looking at any other part of the episode."""
        most = max(LEAST_HEARD, min(MAX_HEARD, MOST_HEARD - self._heard))
        self._heard += min(len(text), most)
        self._talk.hear(text)
        said = await self._ask("agent", heard(text, most), context)
        return _transition(said, ["confirm"] if said["confirms"] else [])

    def _beginning(self, context: StepContext) -> Prompt:
        """The instructions and the customer's knowledge: the prefix shared by all episodes of the task."""
        domain, task = self.domain, context.task
        rules = self._file.fill(most=str(MAX_MESSAGE)).strip()
        parts = (
            rules,
            block("domain", self._nonce, domain.about),
            block("task", self._nonce, {"id": task.id, "digest": context.digest, "split": task.split}),
            block("customer", self._nonce, told(task.user or {}, f"task {task.id}: user")),
        )
        prompt = Prompt()
        prompt.add("system", "\n\n".join(parts))
        prompt.mark_static()
        return prompt

    async def _ask(self, kind: str, value: JsonObject, context: StepContext) -> JsonObject:
        """Ask the model for the next message; ask again once, with what is wrong, if it cannot be said."""
        self._prompt.mark_static()  # the server has the conversation so far in its prefix cache
        self._prompt.add("user", block(kind, self._nonce, value))
        form = OPENING if kind == "begin" else REPLY
        request, said = await self._request(self._prompt, form, "answer", context)
        if problems := self._problems(said):
            rejected(request, problems, context.ledger, context.turn)
            retry = self._prompt.fork()
            retry.add("assistant", block("answer", self._nonce, said))
            retry.add("user", block("violations", self._nonce, problems))
            request, said = await self._request(retry, form, "repair", context)
            if again := self._problems(said):
                rejected(request, again, context.ledger, context.turn)
                raise Fault("invalid_reply", f"{again[0]} (asked twice)", role="user")
        self._prompt.add("assistant", block("answer", self._nonce, said))
        self._talk.say(said)
        return said

    def _problems(self, said: JsonObject) -> list[str]:
        """What is wrong with a reply that has the right form; nothing if it can be said."""
        if not said["message"] and not said["stop"]:
            return ["the message is empty although the customer stays (stop is false): say something"]
        return slips(said, self._talk)

    async def _request(
        self, prompt: Prompt, form: ReplySchema, purpose: str, context: StepContext
    ) -> tuple[ChatRequest, JsonObject]:
        """Ask the model; gives the request, too."""
        number, self._asked = self._asked, self._asked + 1
        request = ChatRequest(
            role="user",
            prompt=prompt.fork(),
            reply=form,
            seed=zlib.crc32(f"user:{context.seed}:{number}".encode()) >> 1,
            scope=context.scope,
            ordinal=number,
            purpose=purpose,
        )
        reply = await ask(self.model, request, context.ledger, context.turn)
        data: Any = reply.data
        return request, {"message": data["message"].strip(), "stop": data["stop"], "confirms": data["confirms"]}


def heard(text: str, most: int = MAX_HEARD) -> JsonObject:
    """An agent's message for the prompt; of one longer than ``most``, beginning, number of characters left out, end."""
    if len(text) <= most:
        return {"text": text}
    half = most // 2
    return {"text": text[:half], "left_out": len(text) - 2 * half, "end": text[-half:]}


def _transition(said: JsonObject, acts: list[str]) -> Transition:
    if said["stop"]:
        acts = [*acts, "leave"]
    return Transition(
        observation=said["message"], speaker="user", end="user_stop" if said["stop"] else None, meta={"acts": acts}
    )
