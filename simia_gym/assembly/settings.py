"""What it takes to make an environment, as data that can be written to a record and read back."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

from simia_gym.assembly.validate import check_settings
from simia_gym.domain.registration import CUSTOM
from simia_gym.errors import InputError
from simia_gym.types import Feedback, JsonObject

MOST_GENERATED = 10**12


_KINDS: dict[str, tuple[type, ...]] = {
    "env": (str,),
    "split": (str,),
    "generated": (int,),
    "data": (str, Path, type(None)),
    "domain": (str, Path, type(None)),
    "simulator": (str,),
    "user": (str, type(None)),
    "prompt": (str,),
    "max_turns": (int, type(None)),
    "options": (Mapping,),
    "strategy": (str,),
    "judge": (str, type(None)),
    "votes": (int,),
    "feedback": (str,),
    "model": (str, type(None)),
    "roles": (Mapping,),
    "routes": (Mapping,),
    "pins": (bool,),
    "replay_from": (str, Path, type(None)),
    "grammar": (str, type(None)),
    "shadow": (bool,),
}

_FORMER = {"recorded": "replay_from"}
"""Names of settings in records written by version 0.1.0 and earlier, and their names now."""

_CHOICES: dict[str, tuple[str | None, ...]] = {
    "split": ("train", "test", "all"),
    "prompt": ("full", "compact"),
    "simulator": ("auto", "world", "llm", "hybrid", "replay"),
    "strategy": ("auto", "ledger", "reference"),
    "judge": (None, "llm", "llm-all"),
    "feedback": ("terse", "explain"),
}


@dataclass(frozen=True)
class EnvConfig:
    """The settings of an environment.

    Attributes:
        env: The id, such as ``simia/retail-v0``.
        split: Which fixed tasks: ``train``, ``test`` or ``all``.
        generated: How many generated tasks besides them (of ``all``: half for each split, train first).
        data: The user's own data for the domain, by path.
        domain: The folder of a domain of your own, for ``simia/custom-v0``.
        simulator: Who answers tool calls: ``world`` (the domain's code), ``llm``, ``hybrid`` (code where there is some
            and the routes allow it, else the model), ``replay`` (what stands in `replay_from`), or ``auto``: the model
            where an endpoint and a model are configured, else the world.
        user: Who plays the user; ``None`` is the domain's own choice.
        prompt: How much the system message says: ``full`` or ``compact``.
        max_turns: Another turn limit than the domain's.
        options: Options of the domain's world, such as ``{"compat": "tau2"}``.
        strategy: How a model simulates: ``ledger`` (it proposes changes, code checks them and holds the state) or
            ``reference`` (it continues the conversation after a reference trajectory; no state is kept); ``auto``:
            ``ledger`` where the domain has a state, ``reference`` where it has none.
        judge: Who judges what no program can: ``llm``; ``llm-all`` judges what programs can, too; ``None``: nobody.
        votes: How many of the judge's votes decide a required or forbidden criterion; a majority does. More than one
            makes sense with a temperature above 0 for the judge.
        feedback: What errors say: ``terse``, as the real system answers, or ``explain``: also why, and what would do.
        model: The model of simulator, user and judge, where `roles` names no other.
        roles: Settings of the models by role (``simulator``, ``escalation``, ``user``, ``judge``), as in
            `simia_gym.llm.settings.ModelSettings`, for instance ``{"judge": {"model": "big", "temperature": 0}}``.
        routes: Who answers a tool's calls in a hybrid, such as ``{"get_order_details": "llm"}``.
        pins: Whether in the episodes of one group the same call in the same state has the same answer of the model.
        replay_from: The record that simulator ``replay`` answers from.
        shadow: Whether every answer of a model is held against what the domain's world would have said, and what
            differs is counted in the record.
        grammar: Which of its grammars, where the domain has several; ``None`` is its first.
    """

    env: str
    split: Literal["train", "test", "all"] = "train"
    generated: int = 0
    data: str | Path | None = None
    domain: str | Path | None = None
    simulator: str = "auto"
    user: str | None = None
    prompt: Literal["full", "compact"] = "full"
    max_turns: int | None = None
    options: Mapping[str, Any] = field(default_factory=dict)
    strategy: Literal["auto", "ledger", "reference"] = "auto"
    judge: str | None = None
    votes: int = 1
    feedback: Feedback = "terse"
    model: str | None = None
    roles: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    routes: Mapping[str, str] = field(default_factory=dict)
    pins: bool = True
    replay_from: str | Path | None = None
    shadow: bool = False
    grammar: str | None = None

    def __post_init__(self) -> None:
        """Refuse values that cannot mean anything.

        Raises:
            InputError: Names the setting.
        """
        for name, kinds in _KINDS.items():
            value = getattr(self, name)
            if not isinstance(value, kinds) or (isinstance(value, bool) and bool not in kinds):
                wanted = " or ".join("nothing" if kind is type(None) else kind.__name__ for kind in kinds)
                raise InputError(f"{name} is {value!r}", where=name, fix=f"Give {wanted}.")
        for name, choices in _CHOICES.items():
            if getattr(self, name) not in choices:
                fix = f"Use {_either([choice for choice in choices if choice is not None])}."
                raise InputError(f"{name} is {getattr(self, name)!r}", where=name, fix=fix)
        for tool, route in self.routes.items():
            if route not in ("world", "llm"):
                raise InputError(f"the route of {tool!r} is {route!r}", where="routes", fix="Use world or llm.")
        if not 0 <= self.generated <= MOST_GENERATED:
            fix = f"Use 0 to {MOST_GENERATED}."
            raise InputError(f"generated is {self.generated}", where="generated", fix=fix)
        if self.votes < 1 or self.votes % 2 == 0:
            raise InputError(f"votes is {self.votes}", where="votes", fix="Use an odd number, such as 1 or 3.")
        check_settings(self)
        if self.max_turns is not None and self.max_turns < 1:
            raise InputError(f"max_turns is {self.max_turns}", where="max_turns", fix="Use 1 or more.")
        if self.env == CUSTOM and not self.domain:
            raise InputError(f"{CUSTOM} needs the folder of your domain", where="domain", fix="Pass domain=PATH.")
        if self.env != CUSTOM and self.domain:
            raise InputError(f"domain= is for {CUSTOM} only", where="domain", fix=f"Use {CUSTOM} with it.")

    def to_json(self) -> JsonObject:
        """Plain JSON values; settings at their default are left out."""
        default = {item.name: item.default for item in dataclasses.fields(self)}
        out = {name: getattr(self, name) for name in default}
        out.update({name: dict(out[name]) for name in ("options", "routes")})
        out["roles"] = {role: dict(settings) for role, settings in self.roles.items()}
        out.update({name: str(out[name]) for name in ("data", "domain", "replay_from") if out[name] is not None})
        return {name: value for name, value in out.items() if name == "env" or (value != default[name] and value != {})}

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> EnvConfig:
        """Read back what `to_json` wrote.

        Raises:
            InputError: There is a setting that does not exist.
        """
        data = {_FORMER.get(name, name): value for name, value in data.items()}
        known = {item.name for item in dataclasses.fields(cls)}
        unknown = sorted(set(data) - known)
        if unknown:
            raise InputError(f"there are no settings {unknown}", where="config", fix=f"Known: {sorted(known)}.")
        if "env" not in data:
            raise InputError("the settings name no environment", where="config", fix="Add 'env'.")
        return cls(**data)


def _either(words: list[str]) -> str:
    return words[0] if len(words) == 1 else f"{', '.join(words[:-1])} or {words[-1]}"
