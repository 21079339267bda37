"""The options that say which model plays what, and what it may cost; the same for every command that has them."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, fields
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

from simia_gym.assembly.resources import ROLES, Resources
from simia_gym.errors import InputError

if TYPE_CHECKING:
    from simia_gym.llm.cassette.cassette import Cassette

POLICY = "policy"
MAX_COST = "--max-cost"
POLICY_SETTINGS = (
    *("temperature", "max_tokens", "timeout", "retries", "backoff", "concurrency"),
    *("price_in", "price_cached", "price_out", "native_tools", "extra"),
)


_TYPED = {
    "model": "--model",
    "base_url": "--base-url",
    "base_urls": "--{role}-base-url",
    "votes": "--votes",
    "strategy": "--strategy",
    "shadow": "--shadow",
    "replay_from": "--replay-from",
    "routes": "--route",
    "roles": "--role {role}",
    "escalation": "--role escalation.{role}",
}
"""Names of settings as options."""


@dataclass(frozen=True, kw_only=True)
class ModelOptions:
    """The options as they were typed."""

    model: str | None = None
    base_url: str | None = None
    escalation_base_url: str | None = None
    user_model: str | None = None
    user_base_url: str | None = None
    judge: str | None = None
    votes: int = 1
    judge_model: str | None = None
    judge_base_url: str | None = None
    strategy: str = "auto"
    feedback: str = "terse"
    route: tuple[str, ...] = ()
    role: tuple[str, ...] = ()
    pins: bool = True
    replay_from: str | None = None
    shadow: bool = False
    record_cassette: Path | None = None
    replay_cassette: Path | None = None
    max_cost: float | None = None
    max_calls: int | None = None
    max_tokens: int | None = None

    @classmethod
    def typed(cls, given: Mapping[str, Any]) -> Self:
        """Those among a command's options.

        Args:
            given: All options of the command by name; one that may be repeated is a list, or nothing.
        """
        found = {item.name: given[item.name] for item in fields(cls) if item.name in given}
        return cls(**found | {name: tuple(found[name] or ()) for name in ("route", "role") if name in found})

    def settings(self) -> dict[str, Any]:
        """The arguments of `EnvConfig` among them.

        Raises:
            InputError: A word cannot be read.
        """
        roles = {role: given for role, given in parse_roles(self.role).items() if role != POLICY}
        for role, name in (("user", self.user_model), ("judge", self.judge_model)):
            if name is not None:
                roles.setdefault(role, {})["model"] = name
        return {
            "model": self.model,
            "roles": roles,
            "routes": parse_routes(self.route),
            "judge": self.judge,
            "votes": self.votes,
            "strategy": self.strategy,
            "feedback": self.feedback,
            "pins": self.pins,
            "replay_from": self.replay_from,
            "shadow": self.shadow,
        }

    def policy_settings(self) -> dict[str, Any]:
        """The settings of the policy's model among them, as `PolicyOptions` has them.

        Raises:
            InputError: There is no such setting.
        """
        given = parse_roles(self.role).get(POLICY, {})
        for name in given:
            if name not in POLICY_SETTINGS:
                fix = f"Known: {', '.join(POLICY_SETTINGS)}."
                raise InputError(f"unknown setting {name!r}", where="--role policy", fix=fix)
        return given

    def as_typed(self, error: InputError) -> InputError:
        """The same complaint about a setting, under the name that it has on the command line."""
        name, _, role = error.where.partition(".")
        if type(error) is not InputError or name not in _TYPED:
            return error
        where = _TYPED[name].format(role=role)
        if name == "roles" and {"user": self.user_model, "judge": self.judge_model}.get(role) is not None:
            where = f"--{role}-model"
        return InputError(error.what, where=where, fix=error.fix)

    def check_used(self) -> None:
        """Refuse what is about models in a run that asks none.

        Raises:
            InputError: Names the option.
        """
        given = {
            "--record-cassette": self.record_cassette,
            "--replay-cassette": self.replay_cassette,
            MAX_COST: self.max_cost,
            "--max-calls": self.max_calls,
            "--max-tokens": self.max_tokens,
            "--no-pins": None if self.pins else True,
        }
        for name, value in given.items():
            if value is not None:
                fix = "Say what a model plays (--simulator, --user, --judge or --policy llm), or leave it out."
                raise InputError("nothing is played by a model", where=name, fix=fix)

    @property
    def replaying(self) -> bool:
        """Whether answers come from a file, so that no model is asked."""
        return self.replay_cassette is not None

    def resources(self, *, resume: bool = False) -> Resources:
        """The live resources: addresses, cassette, budget.

        Args:
            resume: A cassette that is there already is continued.

        Raises:
            InputError: The cassette cannot be read or written, or a limit is impossible.
        """
        urls = {"escalation": self.escalation_base_url, "user": self.user_base_url, "judge": self.judge_base_url}
        base_urls = {role: url for role, url in urls.items() if url is not None}
        budget = cassette = None
        limits = (self.max_calls, self.max_tokens, self.max_cost)
        if any(limit is not None for limit in limits):
            from simia_gym.llm.budget import Budget

            budget = Budget(max_calls=self.max_calls, max_tokens=self.max_tokens, max_cost=self.max_cost)
        if self.record_cassette is not None and self.replay_cassette is not None:
            fix = "Give one of them."
            raise InputError("a run either records a cassette or replays one", where="--replay-cassette", fix=fix)
        path = self.replay_cassette or self.record_cassette
        if path is not None:
            from simia_gym.llm.cassette.cassette import Cassette

            cassette = Cassette(path, "replay") if self.replaying else Cassette(path, "record", resume=resume)
        return Resources(base_url=self.base_url, base_urls=base_urls, budget=budget, cassette=cassette)


def drop_empty(cassette: Cassette | None) -> None:
    """Leave no file behind where a run that was to be recorded did not begin."""
    if cassette is not None and cassette.mode == "record":
        cassette.close()
        if cassette.path.is_file() and cassette.path.stat().st_size == 0:
            cassette.path.unlink()


def parse_roles(words: Iterable[str]) -> dict[str, dict[str, Any]]:
    """Read ``ROLE.KEY=VALUE`` words; a value that is JSON is taken as such, any other as text.

    Raises:
        InputError: A word has another form, or names no role.
    """
    roles: dict[str, dict[str, Any]] = {}
    for word in words:
        place, equals, text = word.partition("=")
        role, dot, key = place.partition(".")
        if not equals or not dot or not key or role not in (*ROLES, POLICY):
            fix = f"Write for example --role judge.temperature=0; roles: {', '.join((*ROLES, POLICY))}."
            raise InputError(f"{word!r} is not ROLE.KEY=VALUE", where="--role", fix=fix)
        try:
            roles.setdefault(role, {})[key] = json.loads(text)
        except ValueError:
            roles.setdefault(role, {})[key] = text
    return roles


def parse_routes(words: Iterable[str]) -> dict[str, str]:
    """Read ``TOOL=world`` and ``TOOL=llm`` words.

    Raises:
        InputError: A word has another form.
    """
    routes: dict[str, str] = {}
    for word in words:
        tool, equals, route = word.partition("=")
        if not equals or not tool or route not in ("world", "llm"):
            fix = "Write for example --route get_order_details=llm."
            raise InputError(f"{word!r} is not TOOL=world or TOOL=llm", where="--route", fix=fix)
        routes[tool] = route
    return routes
