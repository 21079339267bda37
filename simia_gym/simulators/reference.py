"""The reference simulator: a model continues the conversation after a reference trajectory, and no state is kept.

The conversation only grows: what was said since the last call, the call, the model's answer. Nobody but the
model knows what a call has changed, so its transitions have no operations, and checks on the state cannot be made.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from simia_gym.common.json_encoding import encode
from simia_gym.contracts import StepContext
from simia_gym.domain.domain import Domain
from simia_gym.domain.world import error_transition
from simia_gym.llm.blocks import block
from simia_gym.llm.prompt import Prompt
from simia_gym.llm.types import ChatModel
from simia_gym.simulators.checking import Rejected, as_error, words_wrong
from simia_gym.simulators.exchange import Question, settle
from simia_gym.simulators.gate import MAX_ARGUMENTS, gate
from simia_gym.simulators.opening import opening
from simia_gym.simulators.prefix import reference_prefix
from simia_gym.simulators.replies import REFERENCE_REPLY
from simia_gym.types import Feedback, JsonObject, ToolCall, Transition

MAX_WRITTEN = 100_000
"""Most bytes that the agent may write in an episode, words and arguments together, before its calls are refused: what
it writes stays in the conversation, and a flood is its own mistake and not one of the model, which reads no more."""

MAX_SAID = 20_000
"""Most characters of the agent's words at once that the model reads; of more, the middle is left out."""

ASKED = frozenset({"llm", "repaired", "escalated"})
"""Routes of calls that stand in the conversation because the model answered them there."""


@dataclass
class _Talk:
    """The conversation of one episode.

    Attributes:
        prompt: What the model has been told and has answered.
        nonce: The tag of its blocks.
        seen: How many events of the ledger are in it, or need not be.
        waiting: Blocks that go into the next message.
        asked: How many requests were made.
        written: Bytes of the agent's words and arguments in it.
    """

    prompt: Prompt
    nonce: str
    seen: int = 0
    waiting: tuple[str, ...] = ()
    asked: int = 0
    written: int = 0


class ReferenceSimulator:
    """Plays the tools of a domain by a model that has seen how the task was once done.

    Args:
        domain: The domain.
        model: Who answers.
        escalation: A stronger model, asked where the first one breaks rules twice.
        feedback: What errors say: ``terse`` as the real system, ``explain`` also why.
    """

    name = "llm:reference"
    io = True
    stateless = True

    def __init__(
        self, domain: Domain, model: ChatModel, *, escalation: ChatModel | None = None, feedback: Feedback = "terse"
    ) -> None:
        self.domain, self.feedback = domain, feedback
        self._models = (model,) if escalation is None else (model, escalation)
        self._talk: _Talk | None = None

    def begin(self, context: StepContext) -> None:
        """Begin a new conversation."""
        prefix = reference_prefix(self.domain, context, self.feedback)
        self._talk = _Talk(prefix.prompt.fork(), prefix.nonce)

    async def open(self, context: StepContext) -> Transition:
        """Give the first observation; code writes it."""
        return opening(self.domain, context)

    async def call(self, call: ToolCall, context: StepContext) -> Transition:
        """Answer a call: by the argument gate, else as `answer` does."""
        return gate(self.domain, call, self.feedback) or await self.answer(call, context)

    async def answer(self, call: ToolCall, context: StepContext) -> Transition:
        """Answer a call that the gate lets through.

        Raises:
            Fault: The model could not be asked, or its answers broke rules.
        """
        if self._talk is None:
            self.begin(context)
        talk = self._talk
        assert talk is not None
        talk.prompt.mark_static()  # the conversation so far is the server's already
        self._catch_up(talk, context)
        said = {"name": call.name, "arguments": call.arguments}
        talk.written += len(encode(call.arguments))
        if talk.written > MAX_WRITTEN:
            text = f"Error: You have written more than {MAX_WRITTEN} bytes; no further call is answered."
            refusal = error_transition(text, "too_much_text")
            return replace(refusal, meta={**refusal.meta, "route": "gate"})
        _say(talk, block("call", talk.nonce, said))
        question = Question(
            tool=call.name,
            prompt=talk.prompt.fork(),
            nonce=talk.nonce,
            reply=REFERENCE_REPLY,
            seed=[context.group or context.seed, call.name, call.arguments, talk.asked],
            scope=context.scope,
            ordinal=talk.asked,
        )
        settled = await settle(self._models, question, _accept, context)
        talk.asked += settled.asked
        talk.prompt = settled.prompt.fork()
        talk.prompt.add("assistant", block("answer", talk.nonce, settled.reply.data))
        data, meta = settled.value, {"route": settled.route}
        if data["outcome"] == "error":
            # Where a page stays open whatever happens, it is what an error shows.
            shown = data["observation"] if self.domain.specs[call.name].render_errors else as_error(data["observation"])
            return Transition(shown, None, "error", data["error_code"], meta=meta)
        return Transition(data["observation"], None, end=self._end(call, data), meta=meta)

    def _end(self, call: ToolCall, data: Mapping[str, Any]) -> str | None:
        """Why a successful call ends the episode: its tool is terminal, or a state that the domain names is reached.

        A tool that changes nothing reaches no state, whatever the model says of it.
        """
        spec = self.domain.specs[call.name]
        if spec.terminal:
            return "terminal_tool"
        ends = self.domain.config.ends
        return ends[0].reason if ends and data["done"] and spec.effect == "write" else None

    def _catch_up(self, talk: _Talk, context: StepContext) -> None:
        """Take in what has happened since the last call: words, and calls that others answered."""
        events = context.ledger.events
        for event in events[talk.seen :]:
            kind = event["type"]
            if kind == "message":
                talk.waiting += (block("said", talk.nonce, {"agent": "", "user": event["text"]}),)
            elif kind == "transition" and event["call"] is None:
                said = {"agent": event["say"], "user": event["observation"]}
                if len(event["say"]) > MAX_SAID:
                    half = MAX_SAID // 2
                    said["agent"], said["end"] = event["say"][:half], event["say"][-half:]
                    said["left_out"] = len(event["say"]) - MAX_SAID
                talk.written += min(len(event["say"]), MAX_SAID)
                talk.waiting += (block("said", talk.nonce, said),)
            elif kind == "transition" and event["meta"].get("route") not in ASKED:
                call = {"name": event["call"]["name"], "arguments": event["call"]["arguments"]}
                size = len(encode(call))
                if size > MAX_ARGUMENTS and event["meta"].get("route") == "gate":
                    continue  # it has changed nothing, and may be of any length
                talk.written += size
                _say(talk, block("call", talk.nonce, call))
                talk.prompt.add("assistant", block("answer", talk.nonce, _as_answered(event)))
        talk.seen = len(events)


def _say(talk: _Talk, text: str) -> None:
    talk.prompt.add("user", "\n".join([*talk.waiting, text]))
    talk.waiting = ()


def _as_answered(event: Mapping[str, Any]) -> JsonObject:
    """A call that code answered, as the model would have answered it."""
    return {
        "outcome": event["outcome"],
        "error_code": event["error_code"],
        "observation": event["observation"],
        "done": False,
    }


def _accept(data: Mapping[str, Any]) -> Mapping[str, Any]:
    wrong = words_wrong(data)
    if data["outcome"] == "error" and data["done"]:
        wrong.append("outcome is error, so done must be false")
    if wrong:
        raise Rejected(wrong)
    return data
