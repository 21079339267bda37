"""Plays the user simulator: answers as the scripted user would, given the task's script and the conversation.

The prompt tells the customer in plain words, in which a script cannot be recognised; so the task has to be known.

The scripted user recognises from the ledger's tool calls that its request is fulfilled. The prompt shows no tool calls,
so the oracle infers them: once the customer has consented, an agent message that does not ask for consent, refuse, ask
to wait, or only offer help counts as the report that the request is fulfilled.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

from simia_gym.common.event_loop import run_sync
from simia_gym.common.json_encoding import encode
from simia_gym.contracts import PreparedTask, StepContext, User
from simia_gym.errors import InputError
from simia_gym.oracle.domains import Domains, KnownDomain
from simia_gym.oracle.prefixes import Conversations
from simia_gym.oracle.reading import Message, ParsedRequest, Refused, blocks_of
from simia_gym.record.ledger import Ledger
from simia_gym.state import State
from simia_gym.types import JsonObject, Task, Transition
from simia_gym.users import make_user
from simia_gym.users.cues import Cues, load_cues
from simia_gym.users.memory import Memory, present_request
from simia_gym.users.scripted_script import Done, Script, script_from_json
from simia_gym.users.told import told

_NOT_DONE = frozenset({"confirm", "refuse", "wait"})
_COURTESY = frozenset({"offer", "invite"})


class Moment(NamedTuple):
    """A customer after some messages.

    The fields are the memory, in the table of the scripted user; the last message; whether the customer has consented
    to the current request; and the number of messages.
    """

    state: State = State.from_tables({})
    last: Transition | None = None
    agreed: bool = False
    turn: int = 0


class Person:
    """One customer, played by the user simulator ``scripted`` or ``brief`` from a task that holds only the customer."""

    def __init__(self, kind: str, cues: JsonObject, task: Task, seed: int) -> None:
        self._user: User = make_user(kind, cues)
        self._cues: Cues = load_cues(cues)
        self._script: Script | None = script_from_json(task.user, "customer") if kind == "scripted" else None
        self._task, self._seed = PreparedTask(task, State.from_tables({})), seed

    def open(self, moment: Moment) -> Moment:
        """The state after the customer's first message."""
        said = run_sync(self._user.open(self._context(moment, Ledger())), inline=True)
        return Moment(moment.state.apply(said.ops or ()), said, False, 1)

    def reply(self, moment: Moment, text: str) -> Moment:
        """The state after the customer's reply to a message of the agent."""
        ledger = Ledger()
        settled = self._settled(moment, text)
        before = Memory.of(moment.state)
        for _ in range(before.seen):
            ledger.append("heard")
        for call in settled:
            done = {"name": call.tool, "arguments": dict(call.arguments)}
            ledger.append("transition", call=done, outcome="ok")
        if self._script is None and moment.agreed and "claim" in self._cues.hear(text).acts:
            ledger.append("transition", call={"name": "done", "arguments": {}}, outcome="ok")
        said = run_sync(self._user.reply(text, self._context(moment, ledger)), inline=True)
        acts = said.meta.get("acts", ())
        state = moment.state.apply(said.ops or ())
        agreed = "confirm" in acts or (moment.agreed and not settled and Memory.of(state).at == before.at)
        return Moment(state, said, agreed, moment.turn + 1)

    def _settled(self, moment: Moment, text: str) -> tuple[Done, ...]:
        """The tool calls that a message implies; see the module's docstring."""
        acts = self._cues.hear(text).acts
        if self._script is None or not moment.agreed or acts & _NOT_DONE or (acts & _COURTESY and "claim" not in acts):
            return ()
        memory = Memory.of(moment.state)
        return present_request(self._script, memory).done if memory.at < len(self._script.requests) else ()

    def _context(self, moment: Moment, ledger: Ledger) -> StepContext:
        return StepContext(self._task, moment.state, ledger, self._seed, moment.turn)


class UserPart:
    """Answers requests that address the user simulator; the seed picks the wordings."""

    def __init__(self, domains: Domains, seed: int) -> None:
        self._domains, self._seed = domains, seed
        self._people: dict[tuple[str, bytes], Person] = {}
        self._conversations: Conversations[Moment] = Conversations()

    def answer(self, request: ParsedRequest) -> JsonObject:
        """Answer the last message of the prompt.

        Raises:
            Refused: The block ``customer`` is malformed, or the prompt has no message to answer.
        """
        known, customer = self._domains.named(request.static), request.static.need("customer")
        about = request.static.blocks.get("task")
        key = known.config.name, encode([customer, about])
        person = self._people.get(key)
        if person is None:
            person = self._people[key] = self._meet(known, customer, about)

        def step(moment: Moment, said: Message) -> Moment:
            for item in blocks_of(said):
                if item.kind == "begin":
                    moment = person.open(moment)
                elif item.kind == "agent":
                    moment = person.reply(moment, _text(item.value))
            return moment

        last = self._conversations.fold(key, Moment, request.turns, step).last
        if last is None:
            raise Refused("the prompt has neither a block 'begin' nor a block 'agent'")
        return {
            "message": last.observation,
            "stop": last.end is not None,
            "confirms": "confirm" in last.meta.get("acts", ()),
        }

    def _meet(self, known: KnownDomain, customer: Any, about: Any) -> Person:
        name = str(about.get("id")) if isinstance(about, Mapping) else "task"
        if isinstance(customer, str):
            user: Mapping[str, Any] = known.task(about).user or {}
            kind = "scripted"
            if told(user, name) != customer:
                raise Refused(f"the block 'customer' is not the customer of task {name!r}")
        elif isinstance(customer, Mapping):
            user, kind = customer, "scripted" if customer.get("type") == "scripted" else "brief"
        else:
            raise Refused("the block 'customer' holds no customer")
        try:
            person = Person(kind, known.cues, Task(name, "train", "customer", user=dict(user)), self._seed)
            person.open(Moment())
        except InputError as error:
            raise Refused(f"the customer cannot be played: {error}") from error
        return person


def _text(value: Any) -> str:
    """The text of a block ``agent``; if the text was shortened, its beginning and end."""
    if not isinstance(value, Mapping):
        return ""
    return " ".join(str(value[name]) for name in ("text", "end") if value.get(name))
