"""The customer's script, made before any decision: what he says does not tell whether his wish is allowed."""

from __future__ import annotations

import random
import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import cycle
from typing import Any

from simia_gym.service.case import Case
from simia_gym.service.cast import Drawn, Member
from simia_gym.service.decide import Answer, decide
from simia_gym.service.declaration import KindDeclaration, WishTurn
from simia_gym.service.service import Service
from simia_gym.state import State
from simia_gym.types import JsonObject, Op
from simia_gym.users.scripted import ACCEPT, INSIST

_DESCRIBED = 1 / 3
"""Share of the customers who describe a detail, where that can be done, and do not know it."""
_CHANGE = ("On second thought, {line}.", "Wait, I have changed my mind: {line}.")
_OTHERWISE = ("Then {line}, please.", "In that case, {line}.")
_PLAIN_WORD = re.compile(r"^[a-z](?=[a-z]*(?:[ ,]|\.?$))")
"""The first letter of a line that begins with a word of letters alone, so not with an id."""
_WITHDRAW = ("On second thought, forget about it.", "No, I have changed my mind, I don't want that any more.")
OTHER_LINES = (*ACCEPT, *INSIST, *_WITHDRAW)
"""What customers say that makes no wish and tells no detail."""


@dataclass
class Wanted:
    """A customer's wish, and what he does with it.

    Attributes:
        name: The wish.
        drawn: What it is about.
        turn: What the customer does with it, if anything.
        slot: The slot that then has another value.
        other: Its other value.
        withheld: Whether he tells everything only when asked.
    """

    name: str
    drawn: Drawn
    turn: WishTurn | None = None
    slot: str = ""
    other: Any = None
    withheld: bool = False

    @property
    def last(self) -> dict[str, Any]:
        """The slots as the customer wants them in the end, unless he is refused."""
        return self.then if self.turn == "change" else self.drawn.slots

    @property
    def then(self) -> dict[str, Any]:
        """The slots with the other value."""
        return {**self.drawn.slots, self.slot: self.other} if self.slot else self.drawn.slots


@dataclass(frozen=True)
class Scene:
    """Who wants what in a task, and the state in which it begins.

    Attributes:
        member: The customer.
        details: By which the agent looks for the customer, slot to value; a stranger's lead nowhere.
        wanted: The wishes, in order.
        variant: The breach or edge of the first wish; ``""`` for none.
        setup: The operations that make the state.
        state: The initial state.
    """

    member: Member
    details: Mapping[str, Any]
    wanted: Sequence[Wanted]
    variant: str
    setup: tuple[Op, ...]
    state: State

    def fits(self, kind: KindDeclaration) -> bool:
        """Whether the customer does what a kind says."""
        turned = kind.turn in (None, self.wanted[0].turn)
        further = [wanted.name for wanted in self.wanted[1:]]
        return turned and kind.further in (None, len(further)) and kind.then in (None, *further)


def requests(service: Service, wanted: Wanted, case: Case, rng: random.Random) -> list[tuple[JsonObject, set[str]]]:
    """The requests that a wish makes: one, and maybe another that is made only if it is refused.

    Returns:
        The requests, each with the slots that it tells at once.
    """
    made, told = request(service, wanted, wanted.drawn.slots, case, rng)
    if wanted.turn is None:
        return [(made, told)]
    if wanted.turn == "withdraw":
        made["change"] = {"say": list(_WITHDRAW), "withdraw": True}
        return [(made, told)]
    new, _ = request(service, wanted, wanted.then, Case(case.who, case.reader, wanted.then), rng)
    spoken = service.spoken(wanted.slot, wanted.other, case, rng)
    frames = _CHANGE if wanted.turn == "change" else _OTHERWISE
    lines = turned(service.declared.slots[wanted.slot].instead, spoken, frames)
    if wanted.turn == "change":
        slots = {wanted.slot: answer(service, wanted.slot, spoken)}
        made["change"] = {"say": lines, "slots": slots, "expect": new["expect"]}
        return [(made, told)]
    return [(made, told), ({**new, "id": f"{wanted.name}_otherwise", "say": lines, "otherwise": True}, {wanted.slot})]


def turned(instead: Iterable[str], spoken: str, frames: Iterable[str] = (*_CHANGE, *_OTHERWISE)) -> list[str]:
    """How a customer wants another value."""
    return [frame.format(line=line.format(value=spoken)) for frame in frames for line in instead]


def request(
    service: Service, wanted: Wanted, slots: dict[str, Any], case: Case, rng: random.Random
) -> tuple[JsonObject, set[str]]:
    """One request of the script, with the same lines and the same number of objections for every decision.

    Args:
        service: The service.
        wanted: The wish.
        slots: What the customer can tell: the wish's slots and maybe others that agents may ask for.
        case: The customer's case.
        rng: Source of chance.

    Returns:
        The request, and the slots that it tells unasked, for whichever wording: at once, or to describe another.
    """
    wish = service.declared.wishes[wanted.name]
    lines: dict[frozenset[str], list[str]] = {}
    for line in wish.say:
        lines.setdefault(frozenset(slots_told([line], wish.slots)), []).append(line)
    told = rng.choice(list(lines))
    told = min(lines, key=len) if wanted.withheld else told
    spoken = {slot: service.spoken(slot, value, case, rng) for slot, value in slots.items()}
    described = [slot for slot in slots if service.declared.slots[slot].describe]
    described = [slot for slot in described if (rng.random() < _DESCRIBED or wanted.withheld) and slot not in told]
    made: JsonObject = {
        "id": wanted.name,
        "say": [line.format(**spoken) for line in lines[told]],
        "slots": {
            slot: _description(service, slot, spoken) if slot in described else answer(service, slot, spoken[slot])
            for slot in slots
        },
        "insist": rng.choice((0, 1, 1, 2)),
        "insist_say": list(INSIST),
        "accept": list(ACCEPT),
    }
    if wish.call is not None:
        made["action"] = wanted.name
        named = [slot for slot in wish.slots if service.declared.slots[slot].named]
        made["expect"] = [entry for slot in named for entry in _expected(service, slot, slots[slot], case)]
        made["done"] = [{"tool": wish.call.tool}]
    else:
        answered = decide(service, wish, case, strict=False)
        made["told"] = [list(answered.texts)] if isinstance(answered, Answer) and answered.texts else []
        if wish.token is not None:
            made["answer"], made["about"] = wish.token, wish.about
    descriptions = [line for slot in described for line in service.declared.slots[slot].describe]
    return made, {*told, *slots_told(descriptions, slots)}


def slots_told(lines: Collection[str], slots: Iterable[str]) -> list[str]:
    """The slots that are filled into one of the lines."""
    return [slot for slot in slots if any(f"{{{slot}}}" in line for line in lines)]


def answer(service: Service, slot: str, spoken: str) -> JsonObject:
    """What the customer says when asked for a slot, with a capital unless an id comes first."""
    said = [line.format(value=spoken) for line in service.declared.slots[slot].say]
    return {"say": [_PLAIN_WORD.sub(lambda word: word[0].upper(), line) for line in said], "values": [spoken]}


def _description(service: Service, slot: str, spoken: Mapping[str, str]) -> JsonObject:
    """What the customer says when asked for a slot that he can only describe by others."""
    lines = service.declared.slots[slot].describe
    values = [spoken[other] for other in slots_told(lines, spoken)]
    return {"say": [line.format(**spoken) for line in lines], "values": values}


def script(
    service: Service, details: Mapping[str, Any], requests: Sequence[JsonObject], rng: random.Random, *, vague: bool
) -> JsonObject:
    """The whole script.

    Args:
        service: The service.
        details: By which the customer is found, slot to value.
        requests: The requests, in order.
        rng: Source of chance; it has seen no decision.
        vague: Whether the opening tells no wish for certain; else that is drawn.
    """
    declared = service.declared
    vague = rng.random() < declared.vagueness or vague
    last = set(declared.identify[-1].slots)
    facts = {
        slot: answer(service, slot, service.in_text(slot, value))
        for slot, value in details.items()
        if rng.random() < declared.slots[slot].known or slot in last
    }
    greeted = [
        f"{greeting} {line}" for greeting, line in zip(cycle(declared.greetings), requests[0]["say"], strict=False)
    ]
    return {
        "type": "scripted",
        **({"persona": rng.choice(declared.personas)} if declared.personas else {}),
        "opening": list(declared.vague) if vague else greeted,
        **({"vague": True} if vague else {}),
        "facts": facts,
        "requests": list(requests),
        **({"close": list(declared.close)} if declared.close else {}),
    }


def _expected(service: Service, slot: str, value: Any, case: Case) -> list[JsonObject]:
    """What a proposal must say about a slot: one of some texts, and none of some others."""
    declared = service.declared.slots[slot]
    token = {} if declared.token is None else {"token": declared.token}
    if declared.expect is not None:
        return [{"slot": slot, **entry, **token} for entry in service.function(declared.expect)(case, value)]
    options = service.options(slot, case)
    if not options:
        forms = [form.format(value=service.spoken(slot, value, case)) for form in declared.forms]
        return [{"slot": slot, "any": forms, "avoid": [], **token}]
    chosen = value if declared.many else [value]
    right = [options[one].named if one in options else (str(one),) for one in chosen]
    own = {text for texts in right for text in texts}
    avoid = [text for key, other in options.items() if key not in chosen for text in other.named if text not in own]
    return [{"slot": slot, "any": list(texts), "avoid": avoid, **token} for texts in right]
