"""The expert: a policy that serves a service's customers by the declaration.

It sees only the messages of the conversation. What the rules look at and is not known yet (`Need`) is its next call or
question, so everything in its calls occurred in an earlier message.
"""

from __future__ import annotations

import zlib
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

from simia_gym.actions import Grammar, get_grammar
from simia_gym.actions.calls import call_message
from simia_gym.actions.thinking import CLOSE, OPEN
from simia_gym.language import read
from simia_gym.policies import PolicyStart
from simia_gym.service.case import Case, Need, decoded, key_of
from simia_gym.service.decide import Answer, Grant, Refusal, decide
from simia_gym.service.declaration import WishDeclaration
from simia_gym.service.reading import Listener
from simia_gym.service.service import Service
from simia_gym.types import Calls, Message, PolicyAction, Say, ToolCall

_LINES: Mapping[str, tuple[str, ...]] = {
    "invite": ("Thank you, I have found your account. How can I help you today?", "Thank you. What can I do for you?"),
    "go": ("Shall I go ahead (yes/no)?", "Do you confirm that I should do this (yes/no)?"),
    "else": ("Is there anything else I can do for you?", "Can I help you with anything else?"),
    "sorry": ("I'm sorry, but {why}", "I'm afraid that is not possible: {why}"),
    "done": ("That is done.", "It is done."),
}


class ServiceExpert:
    """Serves one customer per episode. A subclass sets ``service``.

    Attributes:
        service: The service.
        strict: Whether it follows the rules.
    """

    service: ClassVar[Service]
    strict: ClassVar[bool] = True

    whole_transcript = True
    mistakes: tuple[str, ...] = (
        *("wrong-argument", "stops-early", "first-option", "forgotten-confirmation", "claims-only"),
        "never-refuses",
    )

    def __init__(self) -> None:
        self._grammar: Grammar = get_grammar("tools")
        self._seed = 0
        self._begin("")

    def start(self, start: PolicyStart) -> None:
        """Take the seed, which decides nothing but the wording."""
        self._grammar, self._seed = start.grammar, start.seed

    def _begin(self, first: str) -> None:
        """Forget the episode before; ``first`` is the first message of the new one."""
        self._first = first
        self._listener = Listener(self.service)
        self._read = 0  # number of messages that it has read
        self._called: ToolCall | None = None  # the call of which it awaits the result
        self._known: dict[str, Any] = {}  # results of calls, by `key_of`
        self._before: dict[str, Any] = {}  # results from before the first change
        self._who: str | None = None  # the customer's id
        self._details: dict[str, Any] = {}  # the slots by which the customer is found
        self._ways = [0] * len(self.service.declared.identify)  # how often it has asked for the slots of each way
        self._tried: set[str] = set()  # calls that looked for the customer, by `key_of`
        self._reset(None, {})

    def _reset(self, wish: str | None, slots: dict[str, Any]) -> None:
        """Begin a wish."""
        self._wish, self._slots = wish, slots
        self._proposed: Grant | None = None
        self._agreed = False  # whether the customer said yes to the proposal
        self._closed = False  # whether the wish was answered, refused or reported
        self._outcome = ""  # "done", "refused", or the error of the call that was agreed

    def act(self, messages: Sequence[Message]) -> PolicyAction:
        """Give the next action: one tool call, or a message to the customer."""
        step = self._decide(messages)
        if isinstance(step, ToolCall):
            return call_message(step)
        return self._grammar.render(Say(step))

    def _decide(self, messages: Sequence[Message]) -> str | ToolCall:
        """The next call, or words for the customer."""
        if len(messages) <= 2:
            self._begin(str(messages[-1]["content"]))
        for message in messages[self._read :]:
            if message["role"] == "tool":
                self._take(str(message["content"]))
            elif message["role"] == "user":
                self._hear(str(message["content"]))
        self._read, self._listener.asked = len(messages), ""
        step = self._next()
        self._called = step if isinstance(step, ToolCall) else None
        return step

    def _take(self, content: str) -> None:
        """Take the result of the last call."""
        call, self._called = self._called, None
        if call is None:
            return
        result = None if content.startswith("Error") else decoded(content)
        way = next((way for way in self.service.declared.identify if way.tool == call.name), None)
        if way is not None and self._who is None:
            if result is not None:
                self._who = content if way.who is None else str(call.arguments[way.who])
                self._known[key_of(call)] = result
        elif self._proposed is not None and call == self._proposed.call:
            self._before = {**self._known, **self._before}
            self._known.clear()
            self._outcome = "done" if result is not None or not self.strict else content.removeprefix("Error: ")
        else:
            self._known[key_of(call)] = result

    def _hear(self, text: str) -> None:
        """Understand what the customer says."""
        details: dict[str, Any] = {}
        if self._who is None:
            for way in self.service.declared.identify:
                details.update(self._listener.slots(way.slots, text))
            self._details.update(details)
        new = self._listener.wish(text)
        if new is not None and (self._wish is None or self._closed or (self._proposed and new != self._wish)):
            self._listener = Listener(self.service)
            self._listener.hear(text)
            self._reset(new, self._listener.slots(self.service.declared.wishes[new].slots, text))
            return
        if self._wish is None or (self._closed and self._outcome != "refused"):
            return
        if self._proposed is not None and read(text).agrees and not self._corrects(text):
            self._agreed = True
            return
        if not details:  # a name that identifies is not taken for one that the wish is about
            self._listener.hear(text)
        names = self._present.slots
        if self._proposed is not None or self._closed:  # what needs facts is read anew, the latest text first
            self._proposed, self._closed = None, False
            slots = self.service.declared.slots
            for name in [name for name in names if slots[name].needs_facts]:
                self._slots.pop(name, None)
        told = self._listener.slots(names, text)
        asked = self._listener.asked  # the answer to a question tells new details, and changes none of the others
        self._slots.update({name: told[name] for name in told if not asked or name == asked or name not in self._slots})

    def _corrects(self, text: str) -> bool:
        """Whether a text tells another value of a slot than the one that was proposed, as "do it with my gift card"."""
        case, known = Case(self._who or "", self._reader, dict(self._slots)), self._slots.items()
        try:
            return any(self._listener.told(name, text, case) not in (None, [], value) for name, value in known)
        except Need:  # it names something new
            return True

    def _next(self) -> str | ToolCall:
        """The next thing to do."""
        if self._who is None:
            step = self._identify()
            if step is not None:
                return step
        if self._wish is None:
            return self._say("invite")
        wish = self._present
        if self._closed:
            return self._say("else")
        if self._outcome and self._outcome != "refused":
            self._closed = True
            if self._outcome != "done":
                return self._say("sorry", why=self._outcome)
            words = self._proposed.words if self._proposed is not None else {}
            return self._pick(wish.report).format_map(words) if wish.report else self._say("done")
        if self._proposed is not None and self._agreed:
            return self._proposed.call
        case = Case(self._who or "", self._reader, self._slots, self._listener.find, self._first_reader)
        try:
            decision = decide(self.service, wish, case, strict=self.strict)
        except Need as need:
            return self._find_out(need)
        if isinstance(decision, Refusal):
            self._closed, self._outcome = True, "refused"
            if decision.handover is not None:
                return decision.handover
            return self._say("sorry", why=decision.why)
        if isinstance(decision, Answer):
            self._closed = True
            return decision.text
        return self._propose(decision)

    @property
    def _present(self) -> WishDeclaration:
        """The declaration of the present wish."""
        return self.service.declared.wishes[self._wish or ""]

    def _find_out(self, need: Need) -> str | ToolCall:
        """The call that shows what is not known yet, or a question for it."""
        if need.call is not None:
            return need.call
        self._listener.asked = need.slot
        return self._pick(self._present.questions.get(need.slot) or self.service.declared.slots[need.slot].question)

    def _propose(self, decision: Grant) -> str:
        """Propose the call that grants the wish, and ask for a yes."""
        self._proposed, self._agreed = decision, False
        return f"{self._present.propose.format_map(decision.words)} {self._say('go')}"

    def _reader(self, call: ToolCall) -> Any:
        key = key_of(call)
        if key not in self._known:
            raise Need(call=call)
        return self._known[key]

    def _first_reader(self, call: ToolCall) -> Any:
        key = key_of(call)
        return self._before[key] if key in self._before else self._reader(call)

    def _identify(self) -> str | ToolCall | None:
        """Find out who the customer is, one way after the other; refuse if none is left."""
        for number, way in enumerate(self.service.declared.identify):
            missing = [slot for slot in way.slots if slot not in self._details]
            if not missing:
                call = ToolCall(way.tool, way.filled(self._details))
                if key_of(call) not in self._tried:
                    self._tried.add(key_of(call))
                    return call
                continue
            asked, last = self._ways[number], number + 1 == len(self._ways)
            if asked <= len(way.slots) * last:  # in the last way once for all, then for one after the other
                self._ways[number] += 1
                wanted = [missing[(asked - 1) % len(missing)]] if asked else missing
                self._listener.asked = wanted[0] if len(wanted) == 1 else ""
                return " ".join(self._pick(self.service.declared.slots[slot].question) for slot in wanted)
        if not self.strict:
            self._who = "nobody"
            return None
        return self._say("sorry", why=self.service.declared.stranger)

    def _say(self, line: str, **values: Any) -> str:
        return self._pick(_LINES[line]).format(**values)

    def _pick(self, wordings: Sequence[str]) -> str:
        return wordings[zlib.crc32(f"{self._seed}:{self._first}:{wordings[0]}".encode()) % len(wordings)]


class Pushover(ServiceExpert):
    """The expert without the rules: it tries whatever the customer asks, and says that it is done."""

    strict = False
    mistakes = ServiceExpert.mistakes[:-1]


class Thinker(ServiceExpert):
    """The expert with a note before every action on the customer's wish and the progress so far.

    The note is training data for small policies. Without it they forget the wish while they read rows, and do what most
    customers want. The note is between ``<think>`` and ``</think>``; neither the customer nor the tools see it.
    """

    def act(self, messages: Sequence[Message]) -> str:
        """Write the next action behind a note of what it is for."""
        step = self._decide(messages)
        action = self._grammar.render(Calls((step,)) if isinstance(step, ToolCall) else Say(step))
        return f"{OPEN}{self._note()}{CLOSE}\n{action}"

    def _note(self) -> str:
        """What the customer wants, what has been told, and what this turn does about it."""
        if self._wish is None:
            return "no wish yet"
        parts = [self._wish.replace("_", " ")]
        told = [name for name in self._present.slots if name in self._slots]
        parts.extend(f"{name} {self._slots[name]}" for name in told if isinstance(self._slots[name], str))
        other = [name for name in told if not isinstance(self._slots[name], str)]
        if other:
            parts.append(f"told {' and '.join(other)}")
        if self._outcome == "refused":
            parts.append("refuse")
        elif self._who is None:
            parts.append("identify")
        elif self._closed:
            parts.append("done")
        elif self._proposed is not None:
            parts.append("confirmed" if self._agreed else "propose")
        elif self._listener.asked:
            parts.append(f"ask {self._listener.asked}")
        return ", ".join(parts)
