"""The models of an environment by role, made from settings, addresses and keys."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from simia_gym.assembly.resources import ROLES, Resources
from simia_gym.assembly.settings import EnvConfig
from simia_gym.errors import InputError, Role
from simia_gym.llm.settings import Endpoint, ModelSettings, configured, resolve_endpoint, resolve_model
from simia_gym.llm.types import ChatModel

_TEMPERATURES: Mapping[str, float] = {"simulator": 0.0, "escalation": 0.0, "judge": 0.0, "user": 0.7, "teacher": 1.0}
_REPAIRS = 4
"""Requests repeated after a reply that cannot be read; more than for a policy, because here it becomes a fault."""
_TO_TEACH = 600.0
_ASKED_AS: Mapping[str, Role] = {
    "simulator": "simulator",
    "escalation": "simulator",
    "user": "user",
    "judge": "judge",
    "teacher": "teacher",
}


class RoleModels:
    """The models of an environment; ``own`` are the roles that its domain declares."""

    def __init__(self, config: EnvConfig, resources: Resources, own: Iterable[str] = ()) -> None:
        self._config, self._resources = config, resources
        known = (*ROLES, *own)
        places = ("base_urls", "api_keys", "clients", "models")
        for where, given in (("roles", config.roles), *((name, getattr(resources, name)) for name in places)):
            unknown = sorted(set(given) - set(known))
            if unknown:
                raise InputError(f"there is no role {unknown[0]!r}", where=where, fix=f"Roles: {', '.join(known)}.")
        self._made: dict[str, ChatModel] = {}

    def configured(self) -> bool:
        """Whether the simulator's model and endpoint are both known."""
        if "simulator" in self._resources.models:
            return True
        return configured("simulator", self._named("simulator"), **self._place("simulator"))

    def named(self, role: str) -> bool:
        """Whether a model is named for the role, in the settings, the resources or the environment variables."""
        try:
            return role in self._resources.models or bool(resolve_model(role, self._named(role)))
        except InputError:
            return False

    def settings(self, role: str) -> ModelSettings:
        """The settings of a role, including its model's name.

        Raises:
            InputError: No model is named, or a setting is invalid.
        """
        given = dict(self._config.roles.get(role, {}))
        given.setdefault("temperature", _TEMPERATURES.get(role, 0.0))
        given.setdefault("repairs", _REPAIRS)
        if role == "teacher":  # it writes a whole conversation in one reply
            given.setdefault("timeout", _TO_TEACH)
        given["model"] = self._named(role)
        if role == "escalation" and given["model"] is None and role not in self._resources.models:
            fix = "Give roles={'escalation': {'model': NAME}} (--role escalation.model=NAME)."
            raise InputError("the stronger model has no name of its own", where="roles.escalation.model", fix=fix)
        if role not in self._resources.models:
            given["model"] = resolve_model(_ASKED_AS.get(role, role), given["model"])
        return ModelSettings.from_json(given, where=f"roles.{role}")

    def endpoint(self, role: str) -> Endpoint:
        """The endpoint of a role's model.

        Raises:
            InputError: There is neither an address nor a key.
        """
        return resolve_endpoint(role, **self._place(role))

    def _place(self, role: str) -> dict[str, Any]:
        resources = self._resources
        return {
            "base_url": resources.base_urls.get(role, resources.base_url),
            "api_key": resources.api_keys.get(role, resources.api_key),
            "client": resources.clients.get(role, resources.client),
        }

    def get(self, role: str) -> ChatModel:
        """The model of a role.

        Raises:
            InputError: The model is not configured; the message says what is missing.
        """
        if role not in self._made:
            self._made[role] = self._make(role)
        return self._made[role]

    def places(self, roles: Iterable[str]) -> dict[str, tuple[ModelSettings, Endpoint]]:
        """Settings and endpoints by role, without roles whose replies come from a cassette or a `ChatModel` object."""
        cassette = self._resources.cassette
        if cassette is not None and cassette.mode == "replay":
            return {}
        asked = [role for role in roles if role not in self._resources.models]
        return {role: (self.settings(role), self.endpoint(role)) for role in asked}

    def has(self, role: str) -> bool:
        """Whether the settings or resources mention this role."""
        return role in self._config.roles or role in self._resources.models or role in self._resources.base_urls

    def _make(self, role: str) -> ChatModel:
        resources = self._resources
        settings = self.settings(role)
        model = resources.models.get(role)
        cassette = resources.cassette
        if cassette is not None and cassette.mode == "replay" and model is None:
            cassette.check(role, settings.model or "")
            return cassette.wrap(None, role, name=settings.model)  # no request is sent, so no address is needed
        if model is None:
            from simia_gym.llm.endpoint_model import EndpointModel  # imported late, because it imports the HTTP client

            model = EndpointModel(
                _ASKED_AS.get(role, "world"),
                settings,
                self.endpoint(role),
                accounts=resources.accounts,
                budget=resources.budget,
            )
        return model if cassette is None else cassette.wrap(model, role)

    def _named(self, role: str) -> str | None:
        given: Any = self._config.roles.get(role, {}).get("model")
        if given is None and role == "escalation":
            return None
        return self._config.model if given is None else str(given)
