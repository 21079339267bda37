"""What follows from a wish: a call that grants it, a refusal, or the answer to a question."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, TypeAlias

from simia_gym.errors import DomainError
from simia_gym.service import checks
from simia_gym.service.case import Case, No
from simia_gym.service.declaration import WishDeclaration
from simia_gym.service.service import Service
from simia_gym.types import ToolCall


@dataclass(frozen=True)
class Grant:
    """The call that grants the wish, and the values of its words."""

    call: ToolCall
    words: Mapping[str, Any]


@dataclass(frozen=True)
class Refusal:
    """The rule that objects, the words, and what had to be looked at and heard for it."""

    rule: str
    why: str
    about: tuple[str, ...]
    reads: tuple[ToolCall, ...]
    heard: tuple[str, ...]
    handover: ToolCall | None = None


@dataclass(frozen=True)
class Answer:
    """The answer to a question, the texts of which one must be told, and what had to be looked at for it."""

    text: str
    texts: tuple[str, ...]
    reads: tuple[ToolCall, ...]


Decision: TypeAlias = Grant | Refusal | Answer


def objector(decision: Decision) -> str | None:
    """The rule that objects, if one does."""
    return decision.rule if isinstance(decision, Refusal) else None


def decide(service: Service, wish: WishDeclaration, case: Case, *, strict: bool = True) -> Decision:
    """Apply the rules of a wish in their order, then work out the call or the answer.

    Args:
        service: The service.
        wish: The wish.
        case: The customer's case.
        strict: Whether the rules count.

    Raises:
        Need: Something has to be known first.
    """
    case.wished = wish.slots
    for name in wish.rules if strict else ():
        case.begin_step()
        rule = service.declared.rules[name]
        objection = service.function(name)(case) if rule.always is None else No(handover=rule.always == "handover")
        if objection is not None:
            if not isinstance(objection, No):
                fix = "Return `No()` to object, and None to let it pass."
                raise DomainError(f"the rule returned {objection!r:.60}", where=service.where("rules", name), fix=fix)
            told = _Words(service, {**service.in_words(wish, case), **objection.values})
            why, *about = (told.fill(text, "rules", name) for text in (rule.why, *rule.about))
            handover = None
            if objection.handover and service.declared.handover is not None:
                said = service.declared.handover.arguments
                filled = {argument: told.fill(text, "handover", "with", argument) for argument, text in said.items()}
                handover = ToolCall(service.declared.handover.tool, filled)
            return Refusal(name, why, tuple(about), tuple(case.reads), tuple(case.used), handover)
    case.begin_step()
    values = dict(service.function(wish.values)(case)) if wish.values else {}
    for name in wish.slots:  # whatever the facts are, what the customer wants is heard in full
        case.slot(name)
    told = _Words(service, {**service.in_words(wish, case), **values}, strict=strict)
    here = next((("wishes", name) for name, one in service.declared.wishes.items() if one is wish), ("wishes",))
    tell, *texts = (told.fill(text, *here) for text in (wish.tell, *wish.answers, wish.propose, *wish.report))
    if wish.call is None:
        return Answer(tell, tuple(texts[: len(wish.answers)]), tuple(case.reads))
    arguments = {}
    for argument, source in wish.call.arguments.items():
        if source == "$who":
            arguments[argument] = case.who
        else:
            arguments[argument] = values[source] if source in values else case.slot(source)
    return Grant(ToolCall(wish.call.tool, arguments), told)


class _Words(dict[str, Any]):
    """Values of lines; a slot that a rule has not looked at may be unknown, and any value if the rules do not count."""

    def __init__(self, service: Service, values: Mapping[str, Any], *, strict: bool = True) -> None:
        super().__init__(values)
        self._service, self._strict = service, strict

    def __missing__(self, key: str) -> str:
        if key in self._service.declared.slots or not self._strict:
            return f"this {key}"
        raise KeyError(key)

    def fill(self, line: str, *here: str) -> str:
        """Fill in a line of this part of the declaration.

        Raises:
            DomainError: Nothing gives a name in the line a value.
        """
        try:
            return line.format_map(self)
        except KeyError as error:
            raise checks.unfilled(str(error.args[0]), line, self, self._service.where(*here)) from None
