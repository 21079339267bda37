"""The customer's script, made before any verdict: what he says does not tell whether his wish is allowed."""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from typing import Any

from simia_gym.service.case import Case
from simia_gym.service.service import Service
from simia_gym.types import JsonObject

_ACCEPT = ("I see. Alright then.", "That's a pity, but I understand.", "Okay, if that is how it is.")
_INSIST = ("Are you sure? I really need this.", "Can't you make an exception?", "Please, there must be a way.")


def request(
    service: Service, name: str, slots: dict[str, Any], case: Case, rng: random.Random
) -> tuple[JsonObject, frozenset[str]]:
    """One request of the script, with the same lines and the same number of objections for every verdict.

    Returns:
        The request, and the slots that it tells at once: its wordings all tell the same.
    """
    wish = service.declared.wishes[name]
    lines: dict[frozenset[str], list[str]] = {}
    for line in wish.say:
        lines.setdefault(frozenset(slot for slot in wish.slots if f"{{{slot}}}" in line), []).append(line)
    told = rng.choice(list(lines))
    spoken = {slot: service.spoken(slot, slots[slot], case, rng) for slot in wish.slots}
    made: JsonObject = {
        "id": name,
        "say": [line.format(**spoken) for line in lines[told]],
        "slots": {slot: answer(service, slot, spoken[slot]) for slot in wish.slots},
        "insist": rng.choice((0, 1, 1, 2)),
        "insist_say": list(_INSIST),
        "accept": list(_ACCEPT),
    }
    if wish.call is not None:
        made["action"] = name
        named = [slot for slot in wish.slots if service.slots[slot].named]
        made["expect"] = [entry for slot in named for entry in _expected(service, slot, slots[slot], case)]
        made["done"] = [{"tool": wish.call.tool}]
    elif wish.token is not None:
        made["answer"] = wish.token
    return made, told


def answer(service: Service, slot: str, spoken: str) -> JsonObject:
    """What the customer says when asked for a slot."""
    return {"say": [line.format(value=spoken) for line in service.slots[slot].say], "values": [spoken]}


def script(
    service: Service, details: Mapping[str, Any], requests: Sequence[JsonObject], rng: random.Random
) -> JsonObject:
    """The whole script.

    Args:
        service: The service.
        details: By which the customer is found, slot to value.
        requests: The requests, in order.
        rng: Source of chance; it has seen no verdict.
    """
    declared = service.declared
    vague = rng.random() < declared.vagueness
    last = set(declared.identify[-1].arguments.values())
    facts = {
        slot: answer(service, slot, str(value))
        for slot, value in details.items()
        if rng.random() < declared.slots[slot].known or slot in last
    }
    opening = (
        declared.vague
        if vague
        else tuple(
            f"{declared.greetings[index % len(declared.greetings)]} {line}"
            for index, line in enumerate(requests[0]["say"])
        )
    )
    return {
        "type": "scripted",
        "opening": list(opening),
        **({"vague": True} if vague else {}),
        "facts": facts,
        "requests": list(requests),
    }


def _expected(service: Service, slot: str, value: Any, case: Case) -> list[JsonObject]:
    """What a proposal must say about a slot: one of some texts, and none of some others."""
    declared = service.slots[slot]
    token = {} if declared.token is None else {"token": declared.token}
    if declared.expect is not None:
        return [{"slot": slot, **entry, **token} for entry in service.function(declared.expect)(case, value)]
    if declared.options is not None:
        options = service.function(declared.options)(case)
        chosen = value if declared.many else [value]
        right = [options[one].named if one in options else (str(one),) for one in chosen]
        own = {text for texts in right for text in texts}
        avoid = [text for key, other in options.items() if key not in chosen for text in other.named if text not in own]
        return [{"slot": slot, "any": list(texts), "avoid": avoid, **token} for texts in right]
    forms = [form.format(value=service.spoken(slot, value, case)) for form in declared.forms]
    if declared.choice:
        forms = list(declared.choice[value])
    avoid = [words for other, texts in declared.choice.items() if other != value for words in texts]
    return [{"slot": slot, "any": forms, "avoid": avoid, **token}]
