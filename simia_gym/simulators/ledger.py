"""The ledger simulator: a model proposes what a call changes, and code decides whether it counts.

The model sees the slice of the state that the call can touch. What it answers is operations, which are applied to a
copy and checked; a state is never a model's text. A call that no tool takes costs nothing, the same call on the same
slice has the same answer within a group, and an answer that breaks rules is mended once, or asked of a stronger model,
or a fault.
"""

from __future__ import annotations

from collections.abc import Mapping, Set
from dataclasses import dataclass
from hashlib import sha256
from typing import Any

from simia_gym.config import Feedback
from simia_gym.domain import Domain
from simia_gym.encoding import encode
from simia_gym.errors import PatchError
from simia_gym.llm.blocks import block
from simia_gym.llm.types import ChatModel
from simia_gym.scene import Scene
from simia_gym.simulators.checking import Answer, Rejected, check_answer
from simia_gym.simulators.exchange import Question, Route, Settled, settle
from simia_gym.simulators.gate import gate
from simia_gym.simulators.opening import opening, public_info
from simia_gym.simulators.pins import PinStore
from simia_gym.simulators.prefix import Prefix, ledger_prefix
from simia_gym.simulators.replies import LEDGER_REPLY
from simia_gym.slices import Slice
from simia_gym.state import thaw
from simia_gym.tools import ToolSpec
from simia_gym.types import JsonObject, ToolCall, Transition

_AFTER = "\nAnswer this call."
_SHARED = 4
"""Numbers that are kept for the requests of one pinned answer: answer, repair, escalation, repair."""
_OWN = 1 << 40
"""From where an episode counts its requests that cannot use a pinned answer."""


@dataclass(frozen=True, slots=True)
class _Asked:
    """A call with everything that its answer depends on."""

    call: ToolCall
    spec: ToolSpec
    slice: Slice
    scene: Scene


@dataclass(frozen=True, slots=True)
class _Accepted:
    """An accepted answer with the text that the policy will see."""

    answer: Answer
    text: str


class LedgerSimulator:
    """Plays the tools of a domain by a model whose every change is checked.

    Args:
        domain: The domain; it may have a world, which then only writes openings and public extras.
        model: Who answers.
        escalation: A stronger model, asked where the first one breaks rules twice.
        pins: Where the answers of groups are shared; without it every call is asked anew.
        feedback: What errors say: ``terse`` as the real system, ``explain`` also why.
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
    ) -> None:
        self.domain, self.pins, self.feedback = domain, pins, feedback
        self._models = (model,) if escalation is None else (model, escalation)
        self._prefix: Prefix | None = None
        self._requests = 0
        self._known: dict[str, JsonObject] = {}

    def begin(self, scene: Scene) -> None:
        """Forget the episode before, and get the beginning of all prompts."""
        self._prefix = ledger_prefix(self.domain, scene, self.feedback)
        self._requests = 0
        self._known = {}

    async def open(self, scene: Scene) -> Transition:
        """Give the first observation; code writes it."""
        return opening(self.domain, scene)

    async def call(self, call: ToolCall, scene: Scene) -> Transition:
        """Answer a call.

        Raises:
            Fault: The slice is too large, no model could be asked, or every answer broke rules.
        """
        refusal = gate(self.domain, call, self.feedback)
        if refusal is not None:
            return refusal
        asked = _Asked(call, self.domain.specs[call.name], self.domain.slicer(call.name)(scene.state, call), scene)
        if self.pins is None:
            settled = await self._ask(asked, (scene.group or scene.seed, self._requests), scene.scope, self._requests)
            return self._transition(asked, settled.value, settled.route)
        return await self._pinned(asked, self.pins)

    async def _pinned(self, asked: _Asked, pins: PinStore) -> Transition:
        """Answer as the group does."""
        scene, key = asked.scene, self._key(asked)
        number = int(key[:8], 16) * _SHARED
        before = len(scene.ledger)
        held, settled, elsewhere = self._known.get(key), None, False

        async def make() -> JsonObject:
            # Neither seed nor scope nor number say who asks, so that it does not matter who does.
            nonlocal settled
            settled = await self._ask(asked, (key,), f"pin:{key}", number)
            events = [_portable(event) for event in scene.ledger.events[before:]]
            return {"answer": settled.value.answer.to_json(), "route": settled.route, "events": events}

        again = held is not None
        if held is None:
            held, elsewhere = await pins.answer(key, make)
            self._known[key] = held
        if settled is not None and not elsewhere:
            return self._transition(asked, settled.value, settled.route)
        try:
            accepted = self._accept(held["answer"], asked)
        except Rejected:
            # Something outside the slice differs in this episode; it asks for itself.
            settled = await self._ask(asked, (key, scene.seed), scene.scope, _OWN + self._requests)
            return self._transition(asked, settled.value, settled.route)
        if again:
            return self._transition(asked, accepted, "pin")
        if settled is None:
            # What the model said stands in every record of the group: each can be replayed alone, and none tells who
            # was first.
            for event in held["events"]:
                scene.ledger.append(event["type"], **{**event["fields"], "turn": scene.turn})
        return self._transition(asked, accepted, held["route"])

    def _key(self, asked: _Asked) -> str:
        """Everything that a pinned answer depends on, as one hash."""
        scene, call = asked.scene, asked.call
        group = scene.group or scene.scope
        parts = [group, self.domain.hash, self._begun(scene).digest, asked.slice.hash, call.name, call.arguments]
        return sha256(encode(["pin", *parts, self.feedback])).hexdigest()[:32]

    def _begun(self, scene: Scene) -> Prefix:
        if self._prefix is None:
            self._prefix = ledger_prefix(self.domain, scene, self.feedback)
        return self._prefix

    async def _ask(self, asked: _Asked, seed: tuple[Any, ...], scope: str, ordinal: int) -> Settled[_Accepted]:
        """Ask the model, and the stronger one after it."""
        prefix, call = self._begun(asked.scene), asked.call
        prompt = prefix.prompt.fork()
        said = {"name": call.name, "arguments": call.arguments}
        prompt.add(
            "user",
            f"{block('state', prefix.nonce, asked.slice.value)}\n{block('call', prefix.nonce, said)}{_AFTER}",
        )
        question = Question(
            tool=call.name,
            prompt=prompt,
            nonce=prefix.nonce,
            reply=LEDGER_REPLY,
            seed=[*seed, call.name, call.arguments],
            scope=scope,
            ordinal=ordinal,
        )
        settled = await settle(self._models, question, lambda data: self._accept(data, asked), asked.scene)
        self._requests += settled.asked
        return settled

    def _accept(self, data: Mapping[str, Any], asked: _Asked) -> _Accepted:
        """Check an answer, and write the observation where the tool has a rule for that.

        Raises:
            Rejected: With what is wrong.
        """
        spec, scene = asked.spec, asked.scene
        removed = _removed(scene) if data["reveals"] else frozenset()
        answer = check_answer(data, spec, scene.state, self.domain.state_schema, removed)
        render = self.domain.renderer(spec.name) if answer.outcome == "ok" else None
        if render is None:
            return _Accepted(answer, answer.observation)
        try:
            return _Accepted(answer, render(answer.state, asked.call))
        except PatchError as error:
            shown = f"{error.path}: {error.message}" if error.path else error.message
            raise Rejected([f"outcome is ok, but what {spec.name} returns is not in the state: {shown}"]) from None

    def _transition(self, asked: _Asked, accepted: _Accepted, route: Route | str) -> Transition:
        answer = accepted.answer
        meta = {"route": route}
        if answer.outcome == "error":
            return Transition(accepted.text, (), "error", answer.error_code, meta=meta, state=asked.scene.state)
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


def _portable(event: Mapping[str, Any]) -> JsonObject:
    """An event as it can stand in another record; its turn keeps its place among the fields and is set there."""
    fields = {name: thaw(value) for name, value in event.items() if name not in ("i", "type")}
    return {"type": event["type"], "fields": {**fields, "turn": 0}}


def _removed(scene: Scene) -> Set[str]:
    """Pointers of what was removed in this episode."""
    return {
        op["path"]
        for event in scene.ledger.events
        if event["type"] in ("transition", "message")
        for op in event["ops"] or ()
        if op["op"] == "remove"
    }
