"""What follows from a wish: a call that grants it, a refusal, or the answer to a question."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, TypeAlias

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
            told = _Words({**service.in_words(wish, case), **objection.values})
            about = tuple(text.format_map(told) for text in rule.about)
            handover = None
            if objection.handover and service.declared.handover is not None:
                said = service.declared.handover.arguments
                filled = {argument: text.format_map(told) for argument, text in said.items()}
                handover = ToolCall(service.declared.handover.tool, filled)
            return Refusal(name, rule.why.format_map(told), about, tuple(case.reads), tuple(case.used), handover)
    case.begin_step()
    values = dict(service.function(wish.values)(case)) if wish.values else {}
    for name in wish.slots:  # whatever the facts are, what the customer wants is heard in full
        case.slot(name)
    if wish.call is None:
        told = _Words({**service.in_words(wish, case), **values})
        texts = tuple(text.format_map(told) for text in wish.answers)
        return Answer(wish.tell.format_map(told), texts, tuple(case.reads))
    arguments = {}
    for argument, source in wish.call.arguments.items():
        if source == "$who":
            arguments[argument] = case.who
        else:
            arguments[argument] = values[source] if source in values else case.slot(source)
    return Grant(ToolCall(wish.call.tool, arguments), {**service.in_words(wish, case), **values})


class _Words(dict[str, Any]):
    """Values of a line; a slot that a rule has not looked at may be unknown."""

    def __missing__(self, key: str) -> str:
        return f"this {key}"
