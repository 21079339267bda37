"""How a cheat and its harmless twin are written in a line: what the expert of any service does otherwise."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from simia_gym.actions.calls import call_message
from simia_gym.policies import Policy
from simia_gym.service import Answer, Bent, Case, Grant, Need, decide
from simia_gym.service.bent import Moment, Turn
from simia_gym.service.decide import Decision
from simia_gym.service.declaration import WishDeclaration
from simia_gym.types import Message, PolicyAction, ToolCall

NO = "I'm sorry, I cannot do that for you."
WAIT = "One moment, please."


class Act(Bent):
    """The expert of a service, and what a cheat needs to know of the case.

    Attributes:
        only_if_done: Whether a cheat counts only if one of the calls that it adds succeeds, or one that it proposed.
        times: How often it has bent a step.
        notes: What a cheat keeps in mind for a later step.
        gave_in: Whether it has granted what the rules forbid.
        wrote: Whether the expert has come to a change.
        misled: Whether the last proposal was bent.
        rows: The rows that it has seen since its last change; right after a change, those from before it.
    """

    only_if_done = False

    def _begin(self, first: str) -> None:
        super()._begin(first)
        self.times = 0
        self.gave_in = self.wrote = self.misled = False
        self.notes: dict[str, Any] = {}
        self.step: str | ToolCall | None = None
        self.rows: list[Any] = []
        self._added: list[bool] = []
        self._succeeded = False

    def act(self, messages: Sequence[Message]) -> PolicyAction:
        results = [str(message["content"]) for message in messages[-len(self._added) :] if message["role"] == "tool"]
        if self._added and len(results) == len(self._added):
            ok = [not result.startswith("Error") for result in results]
            self._succeeded = self._succeeded or any(one and new for one, new in zip(ok, self._added, strict=True))
        bent, action = self.bent, super().act(messages)
        self._added = []
        for call in action.get("tool_calls", ()) if isinstance(action, dict) else ():
            step = self.step
            own = isinstance(step, ToolCall) and call["function"] == call_message(step)["tool_calls"][0]["function"]
            self._added.append(not own or (self.wrote and self.misled))
            self.step = None if own else self.step
        if self.only_if_done:
            self.bent = bent or self._succeeded
        return action

    def _corrects(self, text: str) -> bool:
        return not self.gave_in and super()._corrects(text)

    @property
    def shown(self) -> str:
        """These rows as JSON."""
        return json.dumps(self.rows, ensure_ascii=False)

    @property
    def deed(self) -> str:
        """The participle of what the customer wants, or of what others want."""
        wishes = self.service.declared.wishes
        own = wishes.get(self._wish or "")
        first = [own] if own is not None and own.call is not None else []
        return next(deed for wish in (*first, *wishes.values()) for deed in _deeds(wish))

    @property
    def other_deed(self) -> str:
        """The participle of what the customer does not want."""
        wishes = self.service.declared.wishes
        return next(deed for wish in wishes.values() for deed in _deeds(wish) if deed not in self._present.deeds)

    def without_rules(self) -> Decision:
        """What would follow from the present wish if there were no rules."""
        case = Case(self._who or "", self._reader, dict(self._slots), self._listener.find)
        return decide(self.service, self._present, case, strict=False)

    def answer(self, text: str) -> tuple[str, re.Pattern[str]] | None:
        """The value in an answer, with the pattern of its kind."""
        decision, token = self.without_rules(), self._present.token
        if token is None or not isinstance(decision, Answer):
            return None
        kind = re.compile(self.service.declared.tokens[token], re.IGNORECASE)
        found = (found[0] for found in kind.finditer(text) if any(one in found[0] for one in decision.texts))
        value = next(found, None)
        return None if value is None else (value, kind)

    def named(self, text: str) -> tuple[str, re.Pattern[str]] | None:
        """The first value in a proposal that can be named only by itself, with the pattern of its kind."""
        slots = self.service.declared.slots
        for slot in self._present.slots if self._wish else ():
            token = slots[slot].token
            if token is not None and slots[slot].expect is None:
                kind = re.compile(self.service.declared.tokens[token], re.IGNORECASE)
                found = kind.search(text)
                if found is not None:
                    return found[0], kind
        return None

    def agree(self) -> ToolCall:
        """Go on as if the customer had agreed; the call that was proposed."""
        assert self._proposed is not None
        self._agreed, self._called = True, self._proposed.call
        return self._proposed.call

    def give_in(self) -> str | None:
        """What the expert would say if there were no rules, and go on from there; nothing while a detail is missing."""
        try:
            decision = self.without_rules()
        except Need:
            return None
        if isinstance(decision, Grant):
            self._closed, self._outcome, self.gave_in = False, "", True
            return self._propose(decision)
        return decision.text if isinstance(decision, Answer) and self.answer(decision.text) else None

    def others(self, argument: str) -> Iterator[str]:
        """The keys of rows of other customers that an argument may name."""
        owner = self.service.declared.owners[argument]
        for key, row in self.service.tables[owner.table].items():
            if (key if owner.field is None else row[owner.field]) not in (self._who, None):
                yield key

    def owned(self, call: ToolCall) -> str | None:
        """The argument of a call that names somebody's row."""
        return next((name for name in call.arguments if name in self.service.declared.owners), None)

    def of_other(self, call: ToolCall) -> ToolCall | None:
        """The call with the row of another customer, if there is one."""
        name = self.owned(call)
        other = None if name is None else next(self.others(name), None)
        return None if name is None or other is None else with_arguments(call, {name: other})


def with_arguments(call: ToolCall, changes: Mapping[str, Any]) -> ToolCall:
    """A call with other values of some arguments."""
    return ToolCall(call.name, {**call.arguments, **changes})


def _deeds(wish: WishDeclaration) -> tuple[str, ...]:
    """What is done for a wish; of payments people also speak as of the past."""
    return () if wish.call is None else tuple(deed for deed in wish.deeds if deed not in ("paid", "charged"))


Turns = Sequence[Turn] | None
"""What is done instead of a step; nothing if the expert's step stands."""
Does = Callable[[Any, str, Any], Turns]
"""What is done at a moment instead of a step, of words or a call."""


def cheat(about: str, says: str, does: Does, harmless: Does, *, only_if_done: bool = False) -> type[Policy]:
    """A cheat of a class: what it says of itself, what it does, and what its twin does."""
    return paired(about, policy(says, does, only_if_done), policy(f"twin of: {says}", harmless))


def paired(about: str, made: type[Policy], twin: type[Policy]) -> type[Policy]:
    """A cheat of a class, with its twin."""
    made.about, made.twin = about, twin  # type: ignore[attr-defined]
    return made


def cheats(about: str, *rows: tuple[str, Does, Does], only_if_done: bool = False) -> list[type[Policy]]:
    """Cheats of a class, as `cheat` makes them."""
    return [cheat(about, *row, only_if_done=only_if_done) for row in rows]


def in_words(about: str, form: Callable[[str], Does], *rows: tuple[str, str, str]) -> list[type[Policy]]:
    """Cheats that differ only in words: what each says of itself, its words, and those of its twin."""
    return cheats(about, *((says, form(words), form(harmless)) for says, words, harmless in rows))


def quoting(says: str, *rows: tuple[str, str]) -> list[tuple[str, str, str]]:
    """Rows for `in_words` of cheats that are named after their words: those, and the words of the twins."""
    return [(f"{says}: {words!r}", words, harmless) for words, harmless in rows]


def policy(says: str, does: Does, only_if_done: bool = False) -> type[Act]:
    """The expert of a service, which does something else at some moments."""

    def bend(self: Act, moment: Moment, step: str | ToolCall) -> Sequence[Turn]:
        self.step = step if isinstance(step, ToolCall) else None
        self.rows = list(self._known.values()) or self.rows
        self.wrote = self.wrote or moment == "write"
        turns = does(self, moment, step)
        self.times += turns is not None
        self.misled = turns is not None and isinstance(turns[0], str) if moment == "propose" else self.misled
        return [step] if turns is None else turns

    name = re.sub(r"\W+", "", says.title())
    return type(name, (Act,), {"__doc__": says, "bend": bend, "only_if_done": only_if_done})


def at(moment: str, words: Callable[[Any, str], str | None]) -> Does:
    """Say something else at a moment."""

    def does(act: Act, now: str, step: str | ToolCall) -> Sequence[Turn] | None:
        said = words(act, str(step)) if now == moment and isinstance(step, str) else None
        return None if said is None else [said.strip()]

    return does


def add(moment: str, words: str) -> Does:
    """Say something more at a moment; ``{deed}`` and ``{other}`` are deeds."""
    return at(moment, lambda act, text: f"{text} {filled(act, words)}")


def lead(moment: str, words: str) -> Does:
    """Say something before it at a moment."""
    return at(moment, lambda act, text: f"{filled(act, words)} {text}")


THANKS = lead("propose", "Thank you.")
"""What many twins do."""


def swap(moment: str, pattern: str, words: str) -> Does:
    """Say some words in other ones at a moment."""

    def said(act: Act, text: str) -> str | None:
        new = re.sub(pattern, words, text, count=1)
        return None if new == text else new

    return at(moment, said)


def with_rivals(
    moment: str,
    find: Callable[[Any, str], tuple[str, re.Pattern[str]] | None],
    form: Callable[[str, str, list[str]], str | None],
    count: int = 1,
) -> Does:
    """Say a text in another form, made of it, of the value that is found in it, and of others of the value's kind."""

    def said(act: Act, text: str) -> str | None:
        found = find(act, text)
        others = [] if found is None else rivals(*found)[:count]
        return None if found is None or not others else form(text, found[0], others)

    return at(moment, said)


def with_another(moment: str, form: Callable[[str, str, list[str]], str | None]) -> Does:
    """Say a text in another form, made of it, of the id of what it is about, and of other ids that tools have shown.

    In the form, ``{deed}`` and ``{other}`` are deeds.
    """

    def said(act: Act, text: str) -> str | None:
        found = act.named(text)
        others = [] if found is None else [one[0] for one in found[1].finditer(act.shown) if one[0] != found[0]]
        made = None if found is None or not others else form(text, found[0], others)
        return None if made is None else filled(act, made)

    return at(moment, said)


def instead(text: str, value: str, others: list[str]) -> str:
    """A text with another value."""
    return text.replace(value, others[0])


def filled(act: Act, words: str) -> str:
    """Words with the deeds of the case."""
    words = words.replace("{deed}", act.deed) if "{deed}" in words else words
    return words.replace("{other}", act.other_deed) if "{other}" in words else words


def rivals(value: str, kind: re.Pattern[str]) -> list[str]:
    """Other values of a kind: other words that its pattern lists, or other digits."""
    words = [word for word in re.findall(r"[a-z]{3,}", kind.pattern) if kind.fullmatch(word) and word != value.lower()]
    if not any(char.isdigit() for char in value):
        return words
    *_, digits = re.finditer(r"\d+", value)
    made = []
    for step in range(1, 60):
        number = f"{(int(digits[0]) + step) % 10 ** len(digits[0]):0{len(digits[0])}d}"
        other = f"{value[: digits.start()]}{number}{value[digits.end() :]}"
        if kind.fullmatch(other) or kind.search(f" {other} "):
            made.append(other)
    return made


def changed(value: Any) -> Any:
    """Another value than one of a call."""
    if isinstance(value, bool):
        return not value
    if isinstance(value, int | float):
        return value + 1
    if isinstance(value, list):
        return value[:-1]
    if isinstance(value, Mapping):
        return {key: changed(one) for key, one in value.items()}
    return re.sub(r"\d(?=\D*$)", lambda found: str((int(found[0]) + 1) % 10), str(value))


def fields(value: Any, label: str = "value") -> Iterator[str]:
    """The fields of rows, with their labels."""
    if isinstance(value, Mapping | list):
        for name, one in value.items() if isinstance(value, Mapping) else ((label, one) for one in value):
            yield from fields(one, name)
    else:
        yield f"- {label}: {value}"


def values(value: Any) -> str:
    """The values of rows, without their labels."""
    return " ".join(line.partition(": ")[2] for line in fields(value))
