"""The ledger simulator: a model proposes the changes of a tool call, and code checks them.

The model sees the slice of the state that the call may read. It answers with operations, which are applied to a copy
and checked; the model never writes the state itself. Code answers invalid calls without a request. Within a group, the
same call on the same slice gets the same answer. An answer that breaks rules is sent back for one repair, then a
stronger model is asked, if there is one; otherwise the call is a fault.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

from simia_gym.actions.strict_json import JsonProblem, decode_all
from simia_gym.common.json_encoding import encode, hash_of
from simia_gym.contracts import StepContext
from simia_gym.domain.domain import Domain
from simia_gym.domain.tools import ToolSpec
from simia_gym.errors import Fault, PatchError
from simia_gym.llm.ask import MODEL_EVENT, RecordedModel
from simia_gym.llm.blocks import block, encoded_block
from simia_gym.llm.types import ChatModel, ChatRequest, Reply, ReplySchema
from simia_gym.simulators.checking import Rejected, check_answer
from simia_gym.simulators.exchange import Question, Route, Settled, settle
from simia_gym.simulators.excluded import excluded
from simia_gym.simulators.forms import ledger_form
from simia_gym.simulators.gate import gate
from simia_gym.simulators.pins import PinStore
from simia_gym.simulators.prefix import prompt_prefix
from simia_gym.simulators.rendered import rendered
from simia_gym.simulators.tidying import tidied
from simia_gym.types import Feedback, JsonObject, ToolCall, Transition, Writer
from simia_gym.views.slices import CUT_OFF, Slice

_AFTER = "\nAnswer this call."
_SHARED = 4
"""Request numbers reserved for one pinned answer: answer, repair, escalation, repair."""
_OWN = 1 << 40
"""First request number for calls whose earlier answer is no longer valid."""


class _Asked(NamedTuple):
    """A call with all inputs of its answer."""

    call: ToolCall
    spec: ToolSpec
    slice: Slice
    context: StepContext


class CheckedSimulator:
    """Simulates the tools of a domain by a model, all of whose changes are checked.

    Args:
        domain: The domain; its world, if any, only writes the first observation and the public info.
        model: The model that answers.
        escalation: A stronger model, asked if the first one breaks rules twice.
        pins: Store of the answers that groups share; without it, each call asks the model.
        feedback: Whether errors are ``terse``, as the real system writes them, or also ``explain`` the reason.
        share_faults: Whether a group shares faults too. If not, the next episode asks again. If so, a run that is
            replayed from its cassette gives the same bytes, including faults, whichever episode asks first.
        asked_as: The settings of the models, as JSON; simulators with different ones share no answers.
        render: Who writes what a tool with a rendering rule returns: ``code`` by the rule, without asking the model if
            the tool changes nothing; or the ``model``, as if there were no rule.
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
        render: Writer = "code",
    ) -> None:
        self.pins, self.feedback, self.share_faults = pins, feedback, share_faults
        self.domain, self._whole = domain if render == "code" else domain.without_rules, domain
        self._models = (model,) if escalation is None else (model, escalation)
        self._asked_as = asked_as or {}
        self._requests = 0
        self._known: dict[str, JsonObject] = {}

    def begin(self, context: StepContext) -> None:
        """Prepare for an episode: reset its counters and cache, and write the prompt's prefix."""
        prompt_prefix(self.domain, context, self.feedback, "ledger")
        self._requests = 0
        self._known = {}

    async def open(self, context: StepContext) -> Transition:
        """Return the first observation; code writes it."""
        return await self.domain.opening(context.state, context.task)

    async def call(self, call: ToolCall, context: StepContext) -> Transition:
        """Answer a call: by the argument gate if it is invalid, else by `answer`."""
        return gate(self._whole, context.state, call, self.feedback) or await self.answer(call, context)

    async def answer(self, call: ToolCall, context: StepContext) -> Transition:
        """Answer a call that the gate accepts: by its tool's rendering rule if that suffices, else by the model.

        With pins, the episodes of a group share the model's answer.

        Records do not depend on which episode of the group asked first: the seeds, numbers and scopes of requests are
        independent of it, and the model's replies are in the record of each episode, so that each can be replayed
        alone.

        Raises:
            Fault: The slice is too large, the answer depends on what it cuts off, the request failed, or every answer
                broke rules.
        """
        domain, pins = self.domain, self.pins
        if (followed := rendered(domain, context.state, call)) is not None:
            return followed
        asked = _Asked(call, domain.specs[call.name], domain.slicers[call.name](context.state, call), context)
        if pins is None:
            seed = (context.group or context.seed, self._requests)
            settled = await self._ask(asked, seed, context.scope, self._requests)
            return self._transition(asked, settled.value, settled.route)
        key = self._key(asked)
        known = self._known.get(key)
        if known is not None:
            return await self._repeated(asked, known)
        first, before = int(key[:8], 16) * _SHARED, len(context.ledger)
        own: Settled[Transition] | None = None
        asking = False

        async def make() -> JsonObject:
            nonlocal own, asking
            asking = True
            try:
                own = await self._ask(asked, (key,), f"pin:{key}", first)
            except Fault as fault:
                if not self.share_faults:
                    raise
                events = list(context.ledger.events[before:])
                return {"fault": {"kind": fault.kind, "message": fault.message}, "events": events}
            answer = self._known[key] = own.reply.data
            return {"answer": answer, "route": own.route, "events": list(context.ledger.events[before:])}

        held, _ = await pins.answer(key, make)
        if own is not None:
            return self._transition(asked, own.value, own.route)
        if "fault" in held:
            if not asking:
                _append_events(context, held["events"])
            raise Fault(held["fault"]["kind"], held["fault"]["message"], role="simulator")
        try:
            accepted = await self._accept(held["answer"], asked)
        except Rejected:
            # Something outside the slice differs in this episode, so the shared answer breaks a rule here. Continue
            # the shared conversation with a repair.
            settled = await self._ask(asked, (key,), f"pin:{key}", first, recorded=held["events"])
            self._known[key] = settled.reply.data
            return self._transition(asked, settled.value, settled.route)
        _append_events(context, held["events"])
        self._known[key] = held["answer"]
        return self._transition(asked, accepted, held["route"])

    async def _repeated(self, asked: _Asked, known: JsonObject) -> Transition:
        """Repeat the answer of the same call on the same slice earlier in this episode, if it is still valid."""
        try:
            return self._transition(asked, await self._accept(known, asked), "pin")
        except Rejected:
            place = len(asked.context.ledger)
            settled = await self._ask(asked, (asked.context.scope, place), asked.context.scope, _OWN + place)
            return self._transition(asked, settled.value, settled.route)

    def _key(self, asked: _Asked) -> str:
        """Hash of everything that a pinned answer depends on."""
        context, call = asked.context, asked.call
        group = context.group or context.scope
        rules = prompt_prefix(self.domain, context, self.feedback, "ledger").prompt.digest
        parts = [group, self.domain.hash, rules, asked.slice.hash, call.name, call.arguments]
        return hash_of(encode(["pin", *parts, self.feedback, self._asked_as]))[:32]

    async def _ask(
        self, asked: _Asked, seed: tuple[Any, ...], scope: str, ordinal: int, recorded: Sequence[JsonObject] = ()
    ) -> Settled[Transition]:
        """Ask the models about a call; replies that are in the given events are reused."""
        prefix, call = prompt_prefix(self.domain, asked.context, self.feedback, "ledger"), asked.call
        prompt = prefix.prompt.fork()
        shown = encoded_block("state", prefix.nonce, asked.slice.encoded)
        said = block("call", prefix.nonce, {"name": call.name, "arguments": call.arguments})
        prompt.add("user", f"{shown}\n{said}{_AFTER}")
        drawn = (*seed, call.name, call.arguments)
        question = Question(
            call.name,
            prompt,
            prefix.nonce,
            self._form(asked.spec, cut=bool(asked.slice.cut)),
            drawn,
            scope,
            ordinal,
            lambda data: tidied(data, asked.spec, asked.context.state, self.domain.state_schema),
        )
        models = tuple(_SharedReplies(recorded, model) for model in self._models) if recorded else self._models
        settled = await settle(models, question, lambda data: self._accept(data, asked), asked.context)
        self._requests += settled.asked
        return settled

    def _form(self, spec: ToolSpec, *, cut: bool) -> ReplySchema:
        """The form of the answers of a tool; ``cut``: to a slice in which texts are cut off."""
        limits, schema = self.domain.limits(spec.name), self.domain.state_schema
        made = f"form of {spec.name}, cut: {cut}"
        return self.domain.once(made, lambda: ledger_form(spec, limits, schema=schema, cut=cut))

    async def _accept(self, data: Mapping[str, Any], asked: _Asked) -> Transition:
        """Check an answer, and write the observation if the tool has a rendering rule.

        Raises:
            Rejected: The answer breaks rules.
        """
        spec, context = asked.spec, asked.context
        data = {"observation": "", **data}
        removed = _removed(context) if data["reveals"] else set[str]()
        rows = asked.slice.tables if spec.reads else None  # a tool without reads may change any row
        limits = self.domain.limits(spec.name)
        cut_by = None
        if asked.slice.cut:
            if data["error_code"] == CUT_OFF:
                message = f"{spec.name} needs all of {', '.join(asked.slice.cut)}, which its reads cut off"
                raise Fault(CUT_OFF, message, role="simulator")
            cut_by = asked.slice.cut_by
        answer = check_answer(data, spec, context.state, self.domain.state_schema, removed, rows, limits, cut_by)
        failed = answer.outcome == "error"
        if failed and (wrong := await excluded(str(answer.error_code), self._whole, asked.call, context, asked.slice)):
            raise Rejected([wrong])
        render = self._whole.renderers[spec.name] if spec.render_errors or not failed else None
        if render is None:
            return answer
        try:
            assert answer.state is not None  # the check gives it
            shown = render(answer.state, asked.call)
        except PatchError as error:
            shown = f"{error.path}: {error.message}" if error.path else error.message
            raise Rejected([f"outcome is ok, but what {spec.name} returns is not in the state: {shown}"]) from None
        if self.domain is not self._whole:  # the model writes what the rule would
            if answer.observation != shown and (wrong := _otherwise(shown, answer.observation)):
                raise Rejected([f"what {spec.name} returns {wrong}"])
            return answer
        if failed and self.feedback == "explain":
            said = answer.observation
            shown = said if shown in said else f"{said}\n\n{shown}"  # the model may have included the page
        return replace(answer, observation=shown)

    def _transition(self, asked: _Asked, accepted: Transition, route: Route | str) -> Transition:
        meta: JsonObject = {"route": route}
        if asked.slice.cut:
            meta["cut"] = list(asked.slice.cut)
        assert accepted.state is not None  # the check gives it
        return replace(
            accepted,
            info=self.domain.extras(accepted.state),
            end="terminal_tool" if asked.spec.terminal and accepted.outcome == "ok" else None,
            meta=meta,
            # With reveals, the episode applies both, because revealed rows also enter its initial state.
            state=None if accepted.reveals else accepted.state,
        )


class _SharedReplies:
    """Answers requests that another episode of the group made with the replies it got, and all others by a model."""

    def __init__(self, events: Iterable[Mapping[str, Any]], model: ChatModel) -> None:
        recorded = list(events)
        self._prompts = {event["ordinal"]: event["prompt"] for event in recorded if event["type"] == MODEL_EVENT}
        self._recorded = RecordedModel()
        self._recorded.load(recorded, None)
        self._model = model

    async def complete(self, request: ChatRequest) -> Reply:
        known = self._prompts.get(request.ordinal) == request.prompt.digest
        return await (self._recorded if known else self._model).complete(request)


def _append_events(context: StepContext, events: Iterable[Mapping[str, Any]]) -> None:
    """Append another episode's events to the ledger, with this episode's positions and turn."""
    for event in events:
        fields = {name: value for name, value in event.items() if name not in ("i", "type")}
        context.ledger.append(event["type"], **{**fields, "turn": context.turn})


def _removed(context: StepContext) -> set[str]:
    """Pointers of the values that were removed in this episode."""
    return {
        op["path"]
        for event in context.ledger.events
        if event["type"] in ("transition", "message")
        for op in event["ops"] or ()
        if op["op"] == "remove"
    }


def _otherwise(shown: str, written: str) -> str:
    """How the form of what a model has written differs from that of what a rule shows; empty if it does not."""
    due, given = _parsed(shown), _parsed(written)
    if not isinstance(due, dict | list):
        return ""
    if type(given) is not type(due):
        return f"is {'an object' if isinstance(due, dict) else 'a list'} in JSON"
    lacking = [repr(key) for key in due if key not in given] if isinstance(due, dict) else []
    return f"lacks {', '.join(lacking)}" if lacking else ""


def _parsed(text: str) -> Any:
    try:
        return decode_all(text)
    except JsonProblem:
        return None
