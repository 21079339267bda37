"""The reference simulator: a model continues a conversation that begins with a reference trajectory; no state is kept.

For each call, the messages since the last call, the call itself and the model's answer are appended to the
conversation. The transitions have no operations, so the state cannot be checked.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from simia_gym.common.json_encoding import encode
from simia_gym.contracts import StepContext
from simia_gym.domain.domain import Domain
from simia_gym.domain.world import error_transition
from simia_gym.llm.blocks import block
from simia_gym.llm.types import ChatModel
from simia_gym.simulators.checking import Rejected, as_error, words_wrong
from simia_gym.simulators.exchange import Question, settle
from simia_gym.simulators.forms import reference_form
from simia_gym.simulators.gate import gate
from simia_gym.simulators.prefix import prompt_prefix
from simia_gym.simulators.tidying import tidied_code
from simia_gym.types import Feedback, ToolCall, Transition

MAX_WRITTEN = 100_000
"""Maximum size of the agent's messages and arguments in an episode, in bytes; then its calls get an error. All of them
stay in the conversation, and exceeding the model's context must be the agent's error, not a fault."""

MAX_SAID = 20_000
"""Maximum length of one message of the agent in the prompt, in characters; the middle of a longer one is left out."""

ASKED = frozenset({"llm", "repaired", "escalated"})
"""Routes of calls that the model answered, so that they are in the conversation already."""


class ReferenceSimulator:
    """Simulates the tools of a domain by a model that has seen a reference trajectory of the task.

    Args:
        domain: The domain.
        model: The model that answers.
        escalation: A stronger model, asked if the first one breaks rules twice.
        feedback: Errors: ``terse`` as the real system writes them, ``explain`` also with the reason.
    """

    name = "llm:reference"
    io = True
    stateless = True

    def __init__(
        self, domain: Domain, model: ChatModel, *, escalation: ChatModel | None = None, feedback: Feedback = "terse"
    ) -> None:
        self.domain, self.feedback = domain, feedback
        self._models = (model,) if escalation is None else (model, escalation)

    def begin(self, context: StepContext) -> None:
        """Begin a new conversation."""
        prefix = prompt_prefix(self.domain, context, self.feedback, "reference")
        self._prompt, self._nonce = prefix.prompt.fork(), prefix.nonce
        self._waiting: list[str] = []  # blocks for the next message
        self._seen = 0  # events of the ledger that are in the conversation
        self._requests = 0
        self._written = 0  # bytes of the agent's messages and arguments

    async def open(self, context: StepContext) -> Transition:
        """Return the first observation; code writes it."""
        return await self.domain.opening(context.state, context.task)

    async def call(self, call: ToolCall, context: StepContext) -> Transition:
        """Answer a call: by the argument gate if it is invalid, else by `answer`."""
        return gate(self.domain, context.state, call, self.feedback, current=False) or await self.answer(call, context)

    async def answer(self, call: ToolCall, context: StepContext) -> Transition:
        """Answer a call that the gate accepts.

        Raises:
            Fault: The request failed, or every answer broke rules.
        """
        self._prompt.mark_static()  # the conversation so far is in the server's prefix cache
        self._catch_up(context)
        said = {"name": call.name, "arguments": call.arguments}
        self._written += len(encode(call.arguments))
        if self._written > MAX_WRITTEN:
            text = f"Error: You have written more than {MAX_WRITTEN} bytes; no further call is answered."
            refusal = error_transition(text, "too_much_text")
            return replace(refusal, meta={**refusal.meta, "route": "gate"})
        self._say(block("call", self._nonce, said))
        question = Question(
            tool=call.name,
            prompt=self._prompt.fork(),
            nonce=self._nonce,
            reply=reference_form(self.domain.specs[call.name], self.domain.limits(call.name)),
            seed=[context.group or context.seed, call.name, call.arguments, self._requests],
            scope=context.scope,
            ordinal=self._requests,
            tidy=tidied_code,
        )
        settled = await settle(self._models, question, lambda data: self._accept(data, call.name), context)
        self._requests += settled.asked
        self._prompt = settled.prompt.fork()
        self._prompt.add("assistant", block("answer", self._nonce, settled.reply.data))
        data, meta = settled.value, {"route": settled.route}
        if data["outcome"] == "error":
            # With render_errors, an error shows the open page, without "Error:".
            shown = data["observation"] if self.domain.specs[call.name].render_errors else as_error(data["observation"])
            return Transition(shown, None, "error", data["error_code"], meta=meta)
        return Transition(data["observation"], None, end=self._end(call, data), meta=meta)

    async def _accept(self, data: Mapping[str, Any], tool: str) -> Mapping[str, Any]:
        wrong = words_wrong(data, self.domain.specs[tool], self.domain.limits(tool), asked=False)
        if data["outcome"] == "error" and data["done"]:
            wrong.append("outcome is error, so done must be false")
        if wrong:
            raise Rejected(wrong)
        return data

    def _end(self, call: ToolCall, data: Mapping[str, Any]) -> str | None:
        """Why a successful call ends the episode: its tool is terminal, or the model reports that ``ends`` is met.

        Only a tool with the effect ``write`` can meet a rule of ``ends``, whatever the model says.
        """
        spec = self.domain.specs[call.name]
        if spec.terminal:
            return "terminal_tool"
        ends = [rule for rule in self.domain.config.ends if rule.path is not None]
        return (ends[0].reason or "state") if ends and data["done"] and spec.effect == "write" else None

    def _catch_up(self, context: StepContext) -> None:
        """Add the events since the last call to the conversation: messages, and calls that code answered."""
        events = context.ledger.events
        for event in events[self._seen :]:
            kind = event["type"]
            if kind == "message":
                self._waiting.append(block("said", self._nonce, {"agent": "", "user": event["text"]}))
            elif kind == "transition" and event["call"] is None:
                said = {"agent": event["say"], "user": event["observation"]}
                if len(event["say"]) > MAX_SAID:
                    half = MAX_SAID // 2
                    said["agent"], said["end"] = event["say"][:half], event["say"][-half:]
                    said["left_out"] = len(event["say"]) - MAX_SAID
                self._written += min(len(event["say"]), MAX_SAID)
                self._waiting.append(block("said", self._nonce, said))
            elif kind == "transition" and event["meta"].get("route") not in ASKED:
                call = {"name": event["call"]["name"], "arguments": event["call"]["arguments"]}
                size = len(encode(call))
                if size > self.domain.limits(call["name"]).arguments and event["meta"].get("route") == "gate":
                    continue  # a refused call changed nothing, and may be of any length
                self._written += size
                self._say(block("call", self._nonce, call))
                answer = {name: event[name] for name in ("outcome", "error_code", "observation")}
                self._prompt.add("assistant", block("answer", self._nonce, {**answer, "done": False}))
        self._seen = len(events)

    def _say(self, text: str) -> None:
        self._prompt.add("user", "\n".join([*self._waiting, text]))
        self._waiting = []
