"""Checks of all models before the first episode, so that a misconfigured run fails at once with a one-line error."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import islice
from typing import cast

import orjson

from simia_gym.assembly.suite import Suite
from simia_gym.common.json_encoding import encode
from simia_gym.contracts import StepContext
from simia_gym.domain.domain import Domain
from simia_gym.errors import InputError, Role
from simia_gym.llm.settings import Endpoint, ModelSettings
from simia_gym.llm.types import ReplySchema
from simia_gym.prompts import load_prompt
from simia_gym.record.ledger import Ledger
from simia_gym.simulators.checking import REFERENCE_REPLY
from simia_gym.simulators.forms import ledger_form
from simia_gym.simulators.prefix import prompt_prefix
from simia_gym.types import JsonObject, Task
from simia_gym.users.llm import REPLY as CUSTOMER
from simia_gym.users.told import told

MAX_COST = "--max-cost"
_LOOKED_AT = 100
Places = Mapping[str, tuple[ModelSettings, Endpoint]]


@dataclass(frozen=True)
class Target:
    """One model at one endpoint, with the roles that use it and the model settings of the first role."""

    roles: tuple[str, ...]
    settings: ModelSettings
    endpoint: Endpoint

    @property
    def role(self) -> Role:
        """The first role as named in faults; the escalation model has the role ``simulator``."""
        return "simulator" if self.name == "escalation" else cast(Role, self.name)

    @property
    def name(self) -> str:
        """The first role as named in settings and environment variables."""
        return self.roles[0]


def targets(places: Places) -> list[Target]:
    """List the models of all roles, each model once."""
    found: dict[tuple[object, ...], Target] = {}
    for role, (settings, endpoint) in places.items():
        client = endpoint.client
        key = (endpoint.url, endpoint.api_key, None if client is None else id(client), settings.model)
        known = found.get(key)
        roles = (role,) if known is None else (*known.roles, role)
        found[key] = Target(roles, settings if known is None else known.settings, endpoint)
    return list(found.values())


def look_at_models(suite: Suite, policy: Places | None = None) -> list[str]:
    """Send every model of a run one short request that contains the static part of its role's prompts.

    ``policy`` holds settings and endpoint of the policy's model, if it has one.

    Returns:
        Warnings about problems that may be temporary, one line each.

    Raises:
        InputError: An endpoint does not respond, refuses the key, does not know the model, or has too little context.
    """
    places = {**suite.models.places(suite.model_names), **(policy or {})}
    native = any(getattr(settings, "native_tools", False) for settings, _ in (policy or {}).values())
    return asyncio.run(_check_models(suite, targets(places), native)) if places else []


def check_prices(places: Mapping[str, tuple[ModelSettings, Endpoint]]) -> None:
    """Raise an error if the price of a model is not known, which a cost limit requires."""
    for role, (settings, _) in places.items():
        if settings.price_in is None or settings.price_out is None:
            fix = f"Give its USD per million tokens: --role {role}.price_in=0.5 --role {role}.price_out=2."
            raise InputError(f"the price of the {role}'s model {settings.model} is not known", where=MAX_COST, fix=fix)


def warnings(suite: Suite) -> Iterator[str]:
    """Warn about settings that have no effect, or not the expected one; one sentence each."""
    yield from suite.warnings
    tasks = suite.tasks
    if suite.config.judge is not None and not any(judged(suite, task) for task in islice(iter(tasks), _LOOKED_AT)):
        more = "" if len(tasks) <= _LOOKED_AT else f" of the first {_LOOKED_AT}"
        yield (
            f"the judge will not be asked: in the tasks{more} a program decides every criterion. --judge llm-all has "
            "the judge look at these, too"
        )


def judged(suite: Suite, task: Task) -> list[JsonObject]:
    """The criteria of a task that the judge decides."""
    stateless = "simulator" in suite.model_names and suite.strategy == "reference"
    return [
        item
        for item in suite.domain.rubric_of(task)
        if suite.config.judge == "llm-all" or _needs_judge(item) or (stateless and item.get("kind") == "goal")
    ]


def _needs_judge(item: Mapping[str, object]) -> bool:
    """Whether a judge decides a criterion, whatever else it decides: one on conduct, or one without a program."""
    check = item.get("check")
    return item.get("kind") == "conduct" or (isinstance(check, Mapping) and "llm" in check)


def policy_reads(suite: Suite, *, native_tools: bool) -> tuple[str, str]:
    """What every request of the policy's model holds: the system message, and the tools beside the messages as JSON."""
    domain, prompt = suite.domain, suite.config.prompt
    if not native_tools or not (domain.native_prompts or domain.grammar.observation_role == "tool"):
        return domain.prompts[prompt], ""
    return domain.native_prompts.get(prompt, domain.prompts[prompt]), encode(domain.tools).decode()


async def _check_models(suite: Suite, asked: Iterable[Target], native_tools: bool) -> list[str]:
    from simia_gym.llm.probe import preflight
    from simia_gym.llm.transport.http import close_connections

    found = []
    try:
        for target in asked:
            reading = max((_reading(suite, role, native_tools) for role in target.roles), key=len)
            # Break the block tags, so that no server script takes this for a real request of the run.
            plain = reading.replace("<<", "< <")
            settings, endpoint = target.settings, target.endpoint
            forms = forms_of(suite.domain, target.roles, suite.strategy)
            found.append(await preflight(settings, endpoint, target.role, reading=plain, name=target.name, forms=forms))
    finally:
        await close_connections()
    return [warning for warning in found if warning is not None]


def forms_of(domain: Domain, roles: Iterable[str], strategy: str = "ledger") -> list[ReplySchema]:
    """Forms of the replies that simulator and user are asked for: of the simulator that of a tool that writes."""
    found: dict[str, ReplySchema] = {"user": CUSTOMER}
    if strategy == "reference":
        found["simulator"] = REFERENCE_REPLY
    elif specs := sorted(domain.specs.values(), key=lambda spec: bool(spec.writes)):
        spec = specs[-1]
        found["simulator"] = ledger_form(spec, domain.limits(spec.name), schema=domain.state_schema, cut=False)
    if "simulator" in found:
        found["escalation"] = found["simulator"]
    return list(dict.fromkeys(found[role] for role in roles if role in found))


def _reading(suite: Suite, role: str, native_tools: bool) -> str:
    """The static beginning of a role's requests; empty if it cannot be made, as the episodes will report the error."""
    domain = suite.domain
    try:
        task = suite.tasks[0]
        if role == "policy":
            return "\n\n".join(policy_reads(suite, native_tools=native_tools))
        if role == "user":
            return (
                load_prompt("user", domain.folder).text
                + encode(told(task.user or {}, f"task {task.id}: user")).decode()
            )
        if role == "judge":
            return load_prompt("judge", domain.folder).text + domain.policy
        prepared = domain.prepare(task)
        context = StepContext(prepared, prepared.initial, Ledger(), 0, 0)
        prefix = prompt_prefix(domain, context, suite.config.feedback, suite.strategy)
        return str(orjson.loads(prefix.prompt.messages_json())[0]["content"])
    except InputError:
        raise
    except Exception:
        return ""
