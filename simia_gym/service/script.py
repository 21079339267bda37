"""The customer's script, made before any verdict: what he says does not tell whether his wish is allowed."""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from typing import Any

from simia_gym.service.service import Service
from simia_gym.types import JsonObject

_ACCEPT = ("I see. Alright then.", "That's a pity, but I understand.", "Okay, if that is how it is.")
_INSIST = ("Are you sure? I really need this.", "Can't you make an exception?", "Please, there must be a way.")


def request(
    service: Service, name: str, slots: Mapping[str, Any], rng: random.Random
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
    spoken = {slot: service.spoken(slot, slots[slot]) for slot in wish.slots}
    made: JsonObject = {
        "id": name,
        "say": [line.format(**spoken) for line in lines[told]],
        "slots": {slot: answer(service, slot, slots[slot]) for slot in wish.slots},
        "insist": rng.choice((0, 1, 1, 2)),
        "insist_say": list(_INSIST),
        "accept": list(_ACCEPT),
    }
    if wish.call is not None:
        made["action"] = name
        made["expect"] = [_expected(service, slot, slots[slot]) for slot in wish.slots if service.slots[slot].named]
        made["done"] = [{"tool": wish.call.tool}]
    return made, told


def answer(service: Service, slot: str, value: Any) -> JsonObject:
    """What the customer says when asked for a slot."""
    spoken = service.spoken(slot, value)
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
        slot: answer(service, slot, value)
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


def _expected(service: Service, slot: str, value: Any) -> JsonObject:
    declared = service.slots[slot]
    forms = [form.format(value=service.spoken(slot, value)) for form in declared.forms]
    if declared.choice:
        forms = list(declared.choice[value])
    avoid = [words for other, texts in declared.choice.items() if other != value for words in texts]
    return {"slot": slot, "any": forms, "avoid": avoid}
