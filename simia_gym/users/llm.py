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
from simia_gym.llm.ask import ask
from simia_gym.llm.blocks import block, make_nonce
from simia_gym.llm.prompt import Prompt
from simia_gym.llm.types import ChatModel, ChatRequest, Habits, ReplySchema
from simia_gym.prompts import load_prompt
from simia_gym.types import JsonObject, Transition

MAX_MESSAGE = 4_000
"""Maximum length of a customer's message, in characters."""

MAX_HEARD = 20_000
"""Maximum characters of one agent message in the prompt; the middle of a longer message is left out."""

MOST_HEARD = 100_000
"""Maximum characters of all agent messages in the prompt, so that no agent can overflow the context."""

LEAST_HEARD = 500
"""Maximum characters of one agent message in the prompt once `MOST_HEARD` is used up."""

REPLY = ReplySchema(
    "customer",
    {
        "type": "object",
        "properties": {
            "message": {"type": "string"},
            "stop": {"type": "boolean"},
            "confirms": {"type": "boolean"},
        },
        "required": ["message", "stop", "confirms"],
        "additionalProperties": False,
    },
    Habits(
        {
            **dict.fromkeys(("text", "reply", "response", "utterance"), "message"),
            **dict.fromkeys(("confirm", "confirmed"), "confirms"),
        }
    ),
)


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

    async def open(self, context: StepContext) -> Transition:
        """Say the first message."""
        said = await self._ask("begin", {}, context)
        return _transition(said, ["open"])

    async def reply(self, text: str, context: StepContext) -> Transition:
        """Answer a message of the agent, without looking at any other part of the episode."""
        most = max(LEAST_HEARD, min(MAX_HEARD, MOST_HEARD - self._heard))
        self._heard += min(len(text), most)
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
            block("customer", self._nonce, task.user),
        )
        prompt = Prompt()
        prompt.add("system", "\n\n".join(parts))
        prompt.mark_static()
        return prompt

    async def _ask(self, kind: str, value: JsonObject, context: StepContext) -> JsonObject:
        """Ask the model for the next message; retry once if the reply is unusable."""
        self._prompt.mark_static()  # the server has the conversation so far in its prefix cache
        self._prompt.add("user", block(kind, self._nonce, value))
        said = await self._request(self._prompt, "answer", context)
        problem = _problem(said, kind)
        if problem:
            retry = self._prompt.fork()
            retry.add("assistant", block("answer", self._nonce, said))
            retry.add("user", block("violations", self._nonce, [problem]))
            said = await self._request(retry, "repair", context)
            again = _problem(said, kind)
            if again:
                raise Fault("invalid_reply", f"{again} (asked twice)", role="user")
        self._prompt.add("assistant", block("answer", self._nonce, said))
        return said

    async def _request(self, prompt: Prompt, purpose: str, context: StepContext) -> JsonObject:
        number, self._asked = self._asked, self._asked + 1
        request = ChatRequest(
            role="user",
            prompt=prompt.fork(),
            reply=REPLY,
            seed=zlib.crc32(f"user:{context.seed}:{number}".encode()) >> 1,
            scope=context.scope,
            ordinal=number,
            purpose=purpose,
        )
        reply = await ask(self.model, request, context.ledger, context.turn)
        data: Any = reply.data
        return {"message": data["message"].strip(), "stop": data["stop"], "confirms": data["confirms"]}


def heard(text: str, most: int = MAX_HEARD) -> JsonObject:
    """An agent's message for the prompt; of one longer than ``most``, beginning, number of characters left out, end."""
    if len(text) <= most:
        return {"text": text}
    half = most // 2
    return {"text": text[:half], "left_out": len(text) - 2 * half, "end": text[-half:]}


def _problem(said: JsonObject, kind: str) -> str | None:
    """The problem of a reply that fits the schema but is unusable; ``None`` if it is usable."""
    size = len(said["message"])
    if kind == "begin" and said["stop"]:
        return "the conversation only begins, so stop must be false: say why you came"
    if size == 0 and not said["stop"]:
        return "the message is empty although the customer stays (stop is false): say something"
    if size > MAX_MESSAGE:
        return f"the message has {size} characters: say it in at most {MAX_MESSAGE}, in a few sentences"
    return None


def _transition(said: JsonObject, acts: list[str]) -> Transition:
    if said["stop"]:
        acts = [*acts, "leave"]
    return Transition(
        observation=said["message"], speaker="user", end="user_stop" if said["stop"] else None, meta={"acts": acts}
    )
