"""The options that say which model plays what, and what it may cost; the same for every command that has them."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from simia_gym.errors import InputError
from simia_gym.parts import ROLES, Parts


@dataclass(frozen=True, kw_only=True)
class ModelOptions:
    """The options as they were typed."""

    model: str | None = None
    base_url: str | None = None
    user_model: str | None = None
    user_base_url: str | None = None
    judge: str | None = None
    judge_model: str | None = None
    judge_base_url: str | None = None
    strategy: str = "ledger"
    feedback: str = "terse"
    route: tuple[str, ...] = ()
    role: tuple[str, ...] = ()
    pins: bool = True
    recorded: str | None = None
    shadow: bool = False
    record_cassette: Path | None = None
    replay_cassette: Path | None = None
    max_cost: float | None = None
    max_calls: int | None = None
    max_tokens: int | None = None

    def settings(self) -> dict[str, Any]:
        """The arguments of `EnvConfig` among them.

        Raises:
            InputError: A word cannot be read.
        """
        roles = parse_roles(self.role)
        for role, name in (("user", self.user_model), ("judge", self.judge_model)):
            if name is not None:
                roles.setdefault(role, {})["model"] = name
        return {
            "model": self.model,
            "roles": roles,
            "routes": parse_routes(self.route),
            "judge": self.judge,
            "strategy": self.strategy,
            "feedback": self.feedback,
            "pins": self.pins,
            "recorded": self.recorded,
            "shadow": self.shadow,
        }

    def parts(self, *, resume: bool = False) -> Parts:
        """The live parts: addresses, cassette, budget.

        Args:
            resume: A cassette that is there already is continued.

        Raises:
            InputError: The cassette cannot be read or written, or a limit is impossible.
        """
        urls = {"user": self.user_base_url, "judge": self.judge_base_url}
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
            from simia_gym.llm.cassette import Cassette

            mode = "record" if self.replay_cassette is None else "replay"
            cassette = Cassette(path, mode, resume=resume) if mode == "record" else Cassette(path, mode)
        return Parts(base_url=self.base_url, base_urls=base_urls, budget=budget, cassette=cassette)


def parse_roles(words: Iterable[str]) -> dict[str, dict[str, Any]]:
    """Read ``ROLE.KEY=VALUE`` words; a value that is JSON is taken as such, any other as text.

    Raises:
        InputError: A word has another form, or names no role.
    """
    roles: dict[str, dict[str, Any]] = {}
    for word in words:
        place, equals, text = word.partition("=")
        role, dot, key = place.partition(".")
        if not equals or not dot or not key or role not in ROLES:
            fix = f"Write for example --role judge.temperature=0; roles: {', '.join(ROLES)}."
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
