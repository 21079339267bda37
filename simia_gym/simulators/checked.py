"""The ledger simulator: a model proposes what a call changes, and code decides whether it counts.

The model sees the slice of the state that the call can touch. What it answers is operations, which are applied to a
copy and checked; a state is never a model's text. A call that no tool takes costs nothing, the same call on the same
slice has the same answer within a group, and an answer that breaks rules is mended once, or asked of a stronger model,
or a fault.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence, Set
from typing import Any, NamedTuple

from simia_gym.common.json_encoding import encode, hash_of
from simia_gym.contracts import StepContext
from simia_gym.domain.domain import Domain
from simia_gym.domain.tools import ToolSpec
from simia_gym.errors import Fault, PatchError
from simia_gym.llm.blocks import block, encoded_block
from simia_gym.llm.types import ChatModel
from simia_gym.simulators.checking import Answer, Rejected, check_answer
from simia_gym.simulators.exchange import Question, Route, Settled, settle
from simia_gym.simulators.gate import gate
from simia_gym.simulators.opening import opening, public_info
from simia_gym.simulators.pins import PinStore
from simia_gym.simulators.prefix import Prefix, ledger_prefix
from simia_gym.simulators.replies import LEDGER_REPLY
from simia_gym.simulators.shared_replies import SharedReplies
from simia_gym.state.frozen import frozen_dict
from simia_gym.types import Feedback, JsonObject, ToolCall, Transition
from simia_gym.views.slices import Slice

_AFTER = "\nAnswer this call."
_META = {route: frozen_dict(({"route": route},)) for route in ("llm", "repaired", "escalated", "pin")}
_SHARED = 4
"""Numbers that are kept for the requests of one pinned answer: answer, repair, escalation, repair."""
_OWN = 1 << 40
"""From where the requests are numbered of a call whose earlier answer does not fit any more."""


class _Asked(NamedTuple):
    """A call with everything that its answer depends on."""

    call: ToolCall
    spec: ToolSpec
    slice: Slice
    context: StepContext


class _Accepted(NamedTuple):
    """An accepted answer with the text that the policy will see."""

    answer: Answer
    text: str


class CheckedSimulator:
    """Plays the tools of a domain by a model whose every change is checked.

    Args:
        domain: The domain; it may have a world, which then only writes openings and public extras.
        model: Who answers.
        escalation: A stronger model, asked where the first one breaks rules twice.
        pins: Where the answers of groups are shared; without it every call is asked anew.
        feedback: What errors say: ``terse`` as the real system, ``explain`` also why.
        share_faults: Whether a group also shares that no answer could be had. Without it the next one who asks tries
            again; with it a run that is repeated from its cassette is the same to the byte, faults included, whoever
            asks first.
        asked_as: Which models are asked and how, as JSON: pins are not shared with who asks others.
    """

    name = "llm"
    io = True

    def __init__(
        self,
        domain: Domain,
        model: ChatModel,
        *,
        escalation: ChatModel | None = None,
        pins: PinStore | None = None,
        feedback: Feedback = "terse",
        share_faults: bool = False,
        asked_as: JsonObject | None = None,
    ) -> None:
        self.domain, self.pins, self.feedback, self.share_faults = domain, pins, feedback, share_faults
        self._models = (model,) if escalation is None else (model, escalation)
        self._asked_as = asked_as or {}
        self._prefix: Prefix | None = None
        self._requests = 0
        self._known: dict[str, JsonObject] = {}

    def begin(self, context: StepContext) -> None:
        """Forget the episode before, and get the beginning of all prompts."""
        self._prefix = ledger_prefix(self.domain, context, self.feedback)
        self._requests = 0
        self._known = {}

    async def open(self, context: StepContext) -> Transition:
        """Give the first observation; code writes it."""
        return opening(self.domain, context)

    async def call(self, call: ToolCall, context: StepContext) -> Transition:
        """Answer a call: by the argument gate, else as `answer` does."""
        return gate(self.domain, call, self.feedback) or await self.answer(call, context)

    async def answer(self, call: ToolCall, context: StepContext) -> Transition:
        """Answer a call that the gate lets through, with pins as the group does.

        Nothing in the record says who of the group asked first: neither seeds nor numbers nor scopes of requests depend
        on it, and what the model said stands in the record of each member, so that each can be replayed alone.

        Raises:
            Fault: The slice is too large, no model could be asked, or every answer broke rules.
        """
        domain, pins = self.domain, self.pins
        asked = _Asked(call, domain.specs[call.name], domain.slicer(call.name)(context.state, call), context)
        if pins is None:
            settled = await self._ask(
                asked, (context.group or context.seed, self._requests), context.scope, self._requests
            )
            return self._transition(asked, settled.value, settled.route)
        key = self._key(asked)
        known = self._known.get(key)
        if known is not None:
            return await self._repeated(asked, known)
        first, before = int(key[:8], 16) * _SHARED, len(context.ledger)
        own: Settled[_Accepted] | None = None
        asking = False

        async def make() -> JsonObject:
            nonlocal own, asking
            asking = True
            try:
                question = self._question(asked, (key,), f"pin:{key}", first)
                own = await settle(self._models, question, lambda data: self._accept(data, asked), context)
            except Fault as fault:
                if not self.share_faults:
                    raise
                return {"fault": {"kind": fault.kind, "message": fault.message}, "events": _events(context, before)}
            self._requests += own.asked
            answer = self._known[key] = own.value.answer.to_json()
            return {"answer": answer, "route": own.route, "events": _events(context, before)}

        held, _ = await pins.answer(key, make)
        if own is not None:
            return self._transition(asked, own.value, own.route)
        if "fault" in held:
            if not asking:
                _tell(context, held["events"])
            raise Fault(held["fault"]["kind"], held["fault"]["message"], role="simulator")
        try:
            accepted = self._accept(held["answer"], asked)
        except Rejected:
            # Something outside the slice differs in this episode: it goes on from what the model said at first.
            settled = await self._ask(asked, (key,), f"pin:{key}", first, told=held["events"])
            self._known[key] = settled.value.answer.to_json()
            return self._transition(asked, settled.value, settled.route)
        _tell(context, held["events"])
        self._known[key] = held["answer"]
        return self._transition(asked, accepted, held["route"])

    async def _repeated(self, asked: _Asked, known: JsonObject) -> Transition:
        """Answer what this very episode has asked before, in a state that looks the same."""
        try:
            return self._transition(asked, self._accept(known, asked), "pin")
        except Rejected:
            place = len(asked.context.ledger)
            settled = await self._ask(asked, (asked.context.scope, place), asked.context.scope, _OWN + place)
            return self._transition(asked, settled.value, settled.route)

    def _key(self, asked: _Asked) -> str:
        """Everything that a pinned answer depends on, as one hash."""
        context, call = asked.context, asked.call
        group = context.group or context.scope
        parts = [group, self.domain.hash, self._begun(context).digest, asked.slice.hash, call.name, call.arguments]
        return hash_of(encode(["pin", *parts, self.feedback, self._asked_as]))[:32]

    def _begun(self, context: StepContext) -> Prefix:
        if self._prefix is None:
            self._prefix = ledger_prefix(self.domain, context, self.feedback)
        return self._prefix

    async def _ask(
        self, asked: _Asked, seed: tuple[Any, ...], scope: str, ordinal: int, told: Sequence[JsonObject] = ()
    ) -> Settled[_Accepted]:
        """Ask the model, and the stronger one after it; what they have said already is taken from events."""
        models = tuple(SharedReplies(told, model) for model in self._models) if told else self._models
        question = self._question(asked, seed, scope, ordinal)
        settled = await settle(models, question, lambda data: self._accept(data, asked), asked.context)
        self._requests += settled.asked
        return settled

    def _question(self, asked: _Asked, seed: tuple[Any, ...], scope: str, ordinal: int) -> Question:
        """What a model is asked about a call."""
        prefix, call = self._begun(asked.context), asked.call
        prompt = prefix.prompt.fork()
        state = encoded_block("state", prefix.nonce, asked.slice.encoded)
        said = block("call", prefix.nonce, {"name": call.name, "arguments": call.arguments})
        prompt.add("user", f"{state}\n{said}{_AFTER}")
        drawn = (*seed, call.name, call.arguments)
        return Question(call.name, prompt, prefix.nonce, LEDGER_REPLY, drawn, scope, ordinal)

    def _accept(self, data: Mapping[str, Any], asked: _Asked) -> _Accepted:
        """Check an answer, and write the observation where the tool has a rule for that.

        Raises:
            Rejected: With what is wrong.
        """
        spec, context = asked.spec, asked.context
        removed = _removed(context) if data["reveals"] else frozenset()
        rows = asked.slice.tables if spec.reads else None  # who declares nothing must change rows unseen
        answer = check_answer(data, spec, context.state, self.domain.state_schema, removed, rows)
        failed = answer.outcome == "error"
        render = self.domain.renderer(spec.name) if spec.render_errors or not failed else None
        if render is None:
            return _Accepted(answer, answer.observation)
        try:
            shown = render(answer.state, asked.call)
            if failed and self.feedback == "explain":
                said = answer.observation
                shown = said if shown in said else f"{said}\n\n{shown}"  # a model may show the page by itself
            return _Accepted(answer, shown)
        except PatchError as error:
            shown = f"{error.path}: {error.message}" if error.path else error.message
            raise Rejected([f"outcome is ok, but what {spec.name} returns is not in the state: {shown}"]) from None

    def _transition(self, asked: _Asked, accepted: _Accepted, route: Route | str) -> Transition:
        answer = accepted.answer
        meta = _META[route]
        if answer.outcome == "error":
            info = public_info(self.domain, asked.context.state)
            return Transition(
                accepted.text, (), "error", answer.error_code, info=info, meta=meta, state=asked.context.state
            )
        return Transition(
            accepted.text,
            answer.ops,
            reveals=answer.reveals,
            end="terminal_tool" if asked.spec.terminal else None,
            info=public_info(self.domain, answer.state),
            meta=meta,
            # Where rows were revealed the episode applies both, since they belong to its initial state, too.
            state=None if answer.reveals else answer.state,
        )


def _events(context: StepContext, since: int) -> list[Mapping[str, Any]]:
    """The latest events; another record gives them its own position and turn."""
    return list(context.ledger.events[since:])


def _tell(context: StepContext, events: Iterable[Mapping[str, Any]]) -> None:
    """Put such events into a record."""
    for event in events:
        fields = {name: value for name, value in event.items() if name not in ("i", "type")}
        context.ledger.append(event["type"], **{**fields, "turn": context.turn})


def _removed(context: StepContext) -> Set[str]:
    """Pointers of what was removed in this episode."""
    return {
        op["path"]
        for event in context.ledger.events
        if event["type"] in ("transition", "message")
        for op in event["ops"] or ()
        if op["op"] == "remove"
    }
