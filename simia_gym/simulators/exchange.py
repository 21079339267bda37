"""Asks a model until an answer is valid: the first answer, one repair, then a stronger model with one repair."""

from __future__ import annotations

import time
from collections.abc import Awaitable, Callable, Collection, Sequence
from typing import Any, Generic, Literal, NamedTuple, TypeVar

from simia_gym.contracts import StepContext
from simia_gym.errors import Fault
from simia_gym.llm.ask import derive_seed, record, record_unread, rejected
from simia_gym.llm.blocks import block
from simia_gym.llm.prompt import Prompt
from simia_gym.llm.types import UNREADABLE, ChatModel, ChatRequest, Reply, ReplySchema
from simia_gym.simulators.checking import Rejected

T = TypeVar("T")
Route = Literal["llm", "repaired", "escalated"]

_REPAIR = (
    "Your answer broke these rules, and nothing of it was taken over. Answer the same call again, as one complete JSON "
    "object in which all of this is put right.\n"
)


class Question(NamedTuple):
    """What a model is asked about one tool call.

    Attributes:
        tool: The tool, for the record.
        prompt: The conversation up to and including the call.
        nonce: Tag that delimits the prompt's data blocks.
        reply: JSON Schema of the answer.
        seed: Values from which the seeds of the requests are derived.
        scope: The cassette scope of the requests.
        ordinal: Number of the first request; later ones count up from it.
        tidy: Puts right in a rejected answer what has one sound reading; gives the answer and the kinds of changes.
    """

    tool: str
    prompt: Prompt
    nonce: str
    reply: ReplySchema
    seed: Sequence[Any]
    scope: str
    ordinal: int
    tidy: Callable[[Any], tuple[Any, Collection[str]]] | None = None


class Settled(NamedTuple, Generic[T]):
    """An accepted answer.

    Attributes:
        value: The result of ``accept``.
        route: ``llm``, ``repaired`` or ``escalated``.
        prompt: The conversation that it answers, including rejected answers.
        reply: The model's reply.
        asked: Number of requests made.
    """

    value: T
    route: Route
    prompt: Prompt
    reply: Reply
    asked: int


async def settle(
    models: Sequence[ChatModel], question: Question, accept: Callable[[Any], Awaitable[T]], context: StepContext
) -> Settled[T]:
    """Ask the models in turn until an answer is accepted; requests and rejected answers are added to the ledger.

    Args:
        models: The model, and optionally stronger ones to fall back on.
        question: The question.
        accept: Checks the decoded reply; raises `Rejected` if it breaks rules.
        context: The step context.

    An answer that cannot be read is put to the next model, as one that is rejected twice is.

    Raises:
        Fault: A request failed, or ``invalid_reply``: every answer was rejected.
    """
    asked = 0
    violations: tuple[str, ...] = ()
    for number, model in enumerate(models):
        prompt = question.prompt
        for repair in (False, True):
            purpose = "repair" if repair else "escalation" if number else "answer"
            seed, ordinal = derive_seed([*question.seed, asked]), question.ordinal + asked
            request = ChatRequest("simulator", prompt, question.reply, seed, question.scope, ordinal, purpose)
            asked += 1
            began = time.perf_counter()
            try:
                reply = await model.complete(request)
            except Fault as fault:
                record_unread(request, fault.unread, context.ledger, context.turn)
                if fault.unread and fault.kind in UNREADABLE and number + 1 < len(models):
                    break
                raise
            waited = time.perf_counter() - began
            try:
                value, reply = await _weighed(reply, question, accept, request, context, waited)
            except _Broken as broken:
                reply, violations = broken.reply, broken.violations
                rejected(request, violations, context.ledger, context.turn, tool=question.tool)
                prompt = prompt.fork()
                prompt.add("assistant", block("answer", question.nonce, reply.data))
                prompt.add("user", _REPAIR + block("violations", question.nonce, list(violations)))
                continue
            route: Route = "escalated" if number else "repaired" if repair else "llm"
            return Settled(value, route, prompt, reply, asked)
    more = f" (and {len(violations) - 1} more)" if len(violations) > 1 else ""
    message = f"every answer for {question.tool} broke rules, the last one: {violations[0]}{more}"
    raise Fault("invalid_reply", message, role="simulator")


class _Broken(Exception):
    """A reply breaks rules; has the reply that the violations are about, tidied if it was."""

    def __init__(self, reply: Reply, violations: tuple[str, ...]) -> None:
        self.reply, self.violations = reply, violations
        super().__init__(violations)


async def _weighed(
    reply: Reply,
    question: Question,
    accept: Callable[[Any], Awaitable[T]],
    request: ChatRequest,
    context: StepContext,
    waited: float,
) -> tuple[T, Reply]:
    """Accept and record a reply, tidied if it is not accepted as it stands.

    Raises:
        _Broken: It breaks rules, tidied or not.
    """
    try:
        try:
            return await accept(reply.data), reply
        except Rejected:
            if question.tidy is None or reply.read is None:
                raise
            data, kinds = question.tidy(reply.data)
            if not kinds:
                raise
            reply = reply.put_right(data, *kinds)
            return await accept(data), reply
    except Rejected as error:
        raise _Broken(reply, error.violations) from None
    finally:
        record(request, reply, context.ledger, context.turn, waited)
