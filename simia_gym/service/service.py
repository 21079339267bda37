"""A service: its declaration together with its functions and its world."""

from __future__ import annotations

import random
from collections.abc import Mapping
from functools import cached_property
from pathlib import Path
from typing import Any

from simia_gym.common.dotted_names import keep_modules, load_object, use_edition
from simia_gym.common.file_marks import Newest, folder_mark
from simia_gym.common.files import Lines, read_text, read_yaml
from simia_gym.common.validation import validated
from simia_gym.domain.config import DomainConfig, read_config, read_tables
from simia_gym.domain.loading import load_world
from simia_gym.errors import DomainError, InputError, did_you_mean
from simia_gym.language import Reading, read, times_in
from simia_gym.service import checks
from simia_gym.service.case import Case, Need, Option, Reader, decoded
from simia_gym.service.declaration import ServiceDeclaration, WishDeclaration
from simia_gym.state import State
from simia_gym.types import JsonObject, ToolCall
from simia_gym.users.cues import SlotCues


class Service:
    """A checked declaration.

    Args:
        declared: The contents of ``service.yaml``.
        path: The file.
        config: The contents of ``domain.yaml``.

    Attributes:
        ids: What the ids of tasks begin with.
        world: The domain's world.

    Raises:
        DomainError: A name leads nowhere, or a rule has no breach.
    """

    def __init__(self, declared: ServiceDeclaration, path: Path, config: DomainConfig) -> None:
        self.declared, self.path, self._config = declared, path, config
        self.ids = declared.ids or config.name
        self.world = load_world(config, path.parent, config.options)
        self._functions: dict[str, Any] = {}
        problems = list(checks.problems(declared, self.function, self.world.tools, Lines(path).where))
        if problems:
            raise DomainError.of(problems)

    @cached_property
    def tables(self) -> Mapping[str, Mapping[str, Any]]:
        """The initial state that all tasks share.

        Raises:
            DomainError: Something belongs to the rows of a table that is not there.
        """
        tables = read_tables(self._config, self.path.parent)
        problems = [
            DomainError(
                f"there is no table {owner.table!r}",
                where=self.where("owners", argument, "table"),
                fix=f"{did_you_mean(owner.table, tables)}There is: {', '.join(tables)}.",
            )
            for argument, owner in self.declared.owners.items()
            if owner.table not in tables
        ]
        if problems:
            raise DomainError.of(problems)
        return tables

    def where(self, *parts: str | int) -> str:
        """The place of a part of the file, with its line, for errors."""
        return Lines(self.path).where(parts)

    def function(self, name: str, where: str = "") -> Any:
        """A function of the module.

        Args:
            name: Its name.
            where: Where the name is written, for errors.

        Raises:
            InputError: There is none of this name.
        """
        if name not in self._functions:
            folder, place, modules = self.path.parent, where or str(self.path), self.declared.module
            spaces: list[Any] = [load_object(f"{one}:__dict__", folder=folder, where=place) for one in modules]
            module = next((one for one, known in zip(modules, spaces, strict=True) if name in known), modules[-1])
            self._functions[name] = load_object(f"{module}:{name}", folder=folder, where=place)
        return self._functions[name]

    def replace(self, name: str, function: Any) -> None:
        """Put another function in the place of one of the module."""
        self._functions[name] = function

    @cached_property
    def policy(self) -> Reading:
        """What the policy text says."""
        return read(read_text(self.path.parent / self._config.policy, what="policy text"))

    @cached_property
    def deadlines(self) -> tuple[str, ...]:
        """The spans of time and the days in the policy text."""
        return tuple(dict.fromkeys(time.said for time in times_in(self.policy.words)))

    def reader(self, state: State) -> Reader:
        """Answers reads on a state, as the tools do."""

        def read(call: ToolCall) -> Any:
            spec = self.world.tools.get(call.name)
            if spec is None or not call.arguments.keys() <= spec.parameters["properties"].keys():
                what = f"no tool takes {call.name}({', '.join(call.arguments)})"
                known = self.world.tools if spec is None else spec.parameters["properties"]
                fix = f"Read with a tool, and give it arguments that it has; there is: {', '.join(known)}."
                raise InputError(what, where=f"{self.path.parent}/{', '.join(self.declared.module)}", fix=fix)
            answer = self.world.call(state, call)
            return None if answer.outcome != "ok" else decoded(answer.observation)

        return read

    def after(self, state: State, call: ToolCall, where: str) -> State:
        """The state after a granted call.

        Raises:
            InputError: The call fails.
        """
        made = self.world.call(state, call)
        if made.outcome != "ok" or made.state is None:
            fix = "Let a rule object, or change the drawing."
            raise InputError(f"the granted call {call.name} fails: {made.observation}", where=where, fix=fix)
        after: State = made.state
        return after

    def options(self, slot: str, case: Case) -> Mapping[Any, Option]:
        """The values that a slot may take, with their words, if they are listed."""
        declared = self.declared.slots[slot]
        found: Mapping[Any, Option] = self.function(declared.options)(case) if declared.options else declared.choice
        return found

    def spoken(self, slot: str, value: Any, case: Case, rng: random.Random | None = None) -> str:
        """A slot's value as customers say it: in the first way, or in one that is drawn."""
        options = self.options(slot, case)
        texts = []
        for one in value if self.declared.slots[slot].many else [value]:
            if options and one in options:
                texts.append(options[one].say[0] if rng is None else rng.choice(options[one].say))
            else:
                texts.append(self.in_text(slot, one))
        return " and ".join(texts)

    def in_text(self, slot: str, value: Any) -> str:
        """A value without options as a text."""
        words = self.declared.slots[slot].words
        return str(value) if words is None else str(self.function(words)(value))

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
            name: {key: getattr(slot, key) for key in SlotCues.model_fields}
            for name, slot in {**self.declared.slots, **self.declared.asides}.items()
        }
        actions = {name: list(wish.does) for name, wish in self.declared.wishes.items() if wish.does}
        ways = [list(way.slots) for way in self.declared.identify]
        handover = self.declared.handover
        leave = [*self.declared.leave_after, *([] if handover is None else [handover.tool])]
        return {
            "slots": slots,
            "actions": actions,
            "tokens": dict(self.declared.tokens),
            "alternatives": [ways] if len(ways) > 1 else [],
            "leave_after": leave,
        }


def load_service(folder: Path | str) -> Service:
    """The service of a domain's folder; read once, until a file of the folder changes.

    Args:
        folder: The folder, with ``service`` in its ``domain.yaml``.

    Raises:
        DomainError: With every mistake in ``problems``.
    """
    place = Path(folder).resolve()
    mark = folder_mark(place)
    use_edition(place, mark)
    return _services.get(place, mark, lambda: _load(place))


_services: Newest[Path, Service] = Newest(8)


def _load(folder: Path) -> Service:
    manifest = folder / "domain.yaml"
    config = read_config(manifest)
    if config.service is None:
        raise DomainError("names no service", where=str(manifest), fix="Add `service: service.yaml`.")
    path = folder / config.service
    declared = validated(ServiceDeclaration, read_yaml(path), where=Lines(path).where, fix="Change the value.")
    service = Service(declared, path, config)
    keep_modules(folder, service)
    return service
