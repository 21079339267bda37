"""The look at every model before the first episode: what cannot work is said in one line, and nothing is spent."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import cast

import orjson

from simia_gym.assembly.suite import Suite
from simia_gym.common.json_encoding import encode
from simia_gym.contracts import StepContext
from simia_gym.errors import InputError, Role
from simia_gym.llm.settings import Endpoint, ModelSettings
from simia_gym.prompts import load_prompt
from simia_gym.record.ledger import Ledger
from simia_gym.simulators.prefix import ledger_prefix, reference_prefix

Places = Mapping[str, tuple[ModelSettings, Endpoint]]


@dataclass(frozen=True)
class Target:
    """One model at one endpoint.

    Attributes:
        roles: Who asks it.
        settings: How the first of them asks.
        endpoint: Where it is.
    """

    roles: tuple[str, ...]
    settings: ModelSettings
    endpoint: Endpoint

    @property
    def role(self) -> Role:
        """The first role, as faults name it; the stronger simulator is a simulator."""
        return "simulator" if self.name == "escalation" else cast(Role, self.name)

    @property
    def name(self) -> str:
        """The first role, as settings and variables name it."""
        return self.roles[0]


def targets(places: Places) -> list[Target]:
    """Every model once, whoever asks it.

    Args:
        places: Settings and endpoint by role.
    """
    found: dict[tuple[object, ...], Target] = {}
    for role, (settings, endpoint) in places.items():
        client = endpoint.client
        key = (endpoint.url, endpoint.api_key, None if client is None else id(client), settings.model)
        known = found.get(key)
        roles = (role,) if known is None else (*known.roles, role)
        found[key] = Target(roles, settings if known is None else known.settings, endpoint)
    return list(found.values())


def look_at_models(suite: Suite, policy: Places | None = None) -> list[str]:
    """Ask every model of a run one short question, with as much to read as it will always have.

    Args:
        suite: The environment.
        policy: Where the policy's model is asked, if it is one.

    Returns:
        What went wrong and may pass, in a line each.

    Raises:
        InputError: An endpoint is not there, refuses the key, does not know the model, or reads too little.
    """
    places = {**suite.models.places(suite.model_names), **(policy or {})}
    return asyncio.run(_look(suite, targets(places))) if places else []


async def _look(suite: Suite, asked: Iterable[Target]) -> list[str]:
    from simia_gym.llm.probe import preflight
    from simia_gym.llm.transport.http import close_connections

    worries = []
    try:
        for target in asked:
            reading = max((_reading(suite, role) for role in target.roles), key=len)
            # As plain text: no reader should take this for a question of the run itself.
            plain = reading.replace("<<", "< <")
            settings, endpoint = target.settings, target.endpoint
            worries.append(await preflight(settings, endpoint, target.role, reading=plain, name=target.name))
    finally:
        await close_connections()
    return [worry for worry in worries if worry is not None]


def _reading(suite: Suite, role: str) -> str:
    """What stands at the beginning of every request of a role; nothing, where only its episodes can tell why not."""
    try:
        return _static_text(suite, role)
    except InputError:
        raise
    except Exception:
        return ""


def _static_text(suite: Suite, role: str) -> str:
    domain, task = suite.domain, suite.tasks[0]
    if role == "policy":
        return domain.prompts[suite.config.prompt]
    if role == "user":
        return load_prompt("user", domain.folder).text + encode(task.user or {}).decode()
    if role == "judge":
        return load_prompt("judge", domain.folder).text + domain.policy
    state, digest = domain.begin(task)
    context = StepContext(task, state, Ledger(), 0, 0, digest)
    prefix = reference_prefix if suite.strategy == "reference" else ledger_prefix
    content: str = orjson.loads(prefix(domain, context, suite.config.feedback).prompt.messages_json())[0]["content"]
    return content
