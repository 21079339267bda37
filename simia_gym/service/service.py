"""A service: its declaration together with its functions and its world."""

from __future__ import annotations

import random
from collections.abc import Mapping
from functools import cached_property
from pathlib import Path
from typing import Any

from simia_gym.common.dotted_names import load_object
from simia_gym.common.files import read_json, read_yaml
from simia_gym.common.validation import validated
from simia_gym.domain.world import World
from simia_gym.errors import DomainError
from simia_gym.service.case import Case, Need
from simia_gym.service.declaration import ServiceDeclaration, SlotDeclaration, WishDeclaration
from simia_gym.types import JsonObject


class Service:
    """A checked declaration.

    Args:
        declared: The contents of ``service.yaml``.
        path: The file, for errors.
        world: The class of the domain's world.
        tables: The initial state that all tasks share, as ``{table: {key: row}}``.

    Raises:
        DomainError: A name leads nowhere, or a rule has no breach.
    """

    def __init__(self, declared: ServiceDeclaration, path: Path, world: type[World], tables: JsonObject) -> None:
        self.declared, self.path, self.tables = declared, path, tables
        self.world = world()
        self._functions: dict[str, Any] = {}
        problems: list[Any] = []
        for name, wish in declared.wishes.items():
            for used in (*wish.rules, wish.draw, *((wish.values,) if wish.values else ())):
                self.function(used)
            problems.extend(_problems(declared, wish, f"{path}: wishes.{name}"))
        if problems:
            raise DomainError.of(problems)

    def function(self, name: str) -> Any:
        """A function of the module.

        Raises:
            InputError: There is none of this name.
        """
        if name not in self._functions:
            spec = f"{self.declared.module}:{name}"
            self._functions[name] = load_object(spec, folder=self.path.parent, where=str(self.path))
        return self._functions[name]

    @cached_property
    def slots(self) -> Mapping[str, SlotDeclaration]:
        """The declared slots."""
        return self.declared.slots

    def spoken(self, slot: str, value: Any, case: Case, rng: random.Random | None = None) -> str:
        """A slot's value as customers say it: in the first way, or in one that is drawn."""
        declared = self.slots[slot]
        if declared.options is not None:
            options = self.function(declared.options)(case)
            ways = [
                options[one].say if one in options else (str(one),) for one in (value if declared.many else [value])
            ]
            return " and ".join(way[0] if rng is None else rng.choice(way) for way in ways)
        if declared.words is not None:
            return str(self.function(declared.words)(value))
        return str(declared.choice[value][0]) if declared.choice else str(value)

    def in_words(self, wish: WishDeclaration, case: Case) -> dict[str, str]:
        """The slots of a wish that are known, in words; this counts as looking at nothing."""
        words = {}
        used, reads = dict(case.used), list(case.reads)
        for name in wish.slots:
            try:
                words[name] = self.spoken(name, case.slot(name), case)
            except Need:
                continue
        case.used, case.reads = used, reads
        return words

    @cached_property
    def cues(self) -> JsonObject:
        """The scripted user's cue patterns, which follow from the declaration."""
        slots = {
            name: {"ask": list(slot.ask), "unknown": list(slot.unknown), "quiet": slot.quiet}
            for name, slot in self.slots.items()
        }
        actions = {name: list(wish.does) for name, wish in self.declared.wishes.items() if wish.does}
        ways = [list(way.arguments.values()) for way in self.declared.identify]
        handover = self.declared.handover
        leave = [*self.declared.leave_after, *([] if handover is None else [handover.tool])]
        return {
            "slots": slots,
            "actions": actions,
            "tokens": dict(self.declared.tokens),
            "alternatives": [ways] if len(ways) > 1 else [],
            "leave_after": leave,
        }


def load_service(folder: Path, world: type[World]) -> Service:
    """Read ``service.yaml`` and ``state.json`` of a domain's folder.

    Args:
        folder: The folder.
        world: The class of the domain's world.

    Raises:
        DomainError: With every mistake in ``problems``.
    """
    path = folder / "service.yaml"
    value, lines = read_yaml(path)
    declared = validated(ServiceDeclaration, value, where=lines.where, fix="Change the value.")
    return Service(declared, path, world, read_json(folder / "state.json", what="state file"))


def _problems(declared: ServiceDeclaration, wish: WishDeclaration, where: str) -> list[DomainError]:
    found = [
        DomainError(f"there is no slot {name!r}", where=where, fix="Declare it under slots.")
        for name in wish.slots
        if name not in declared.slots
    ]
    if not wish.granted and not wish.breaches:
        found.append(DomainError("is never granted and has no breach", where=where, fix="Give it a breach."))
    for name in wish.rules:
        if name not in declared.rules:
            found.append(DomainError(f"there is no rule {name!r}", where=where, fix="Declare it under rules."))
        if not any(breach.rule == name for breach in wish.breaches.values()):
            found.append(
                DomainError(
                    f"no breach of rule {name!r}", where=where, fix=f"Add one with `rule: {name}`, which proves it."
                )
            )
    for name, breach in wish.breaches.items():
        if breach.rule not in wish.rules:
            fix = "Name one of the wish's rules."
            found.append(DomainError(f"no rule {breach.rule!r} to object", where=f"{where}.breaches.{name}", fix=fix))
    if (wish.call is None) == (not wish.tell):
        found.append(DomainError("needs either call or tell", where=where, fix="Give one of the two."))
    return found
