"""`simia doctor`."""

from __future__ import annotations

import asyncio
import os
import platform
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from importlib.metadata import PackageNotFoundError, requires, version
from importlib.util import find_spec
from typing import Annotated, NamedTuple, cast

import typer
from rich.table import Table
from rich.text import Text

from simia_gym.assembly.settings import EnvConfig
from simia_gym.assembly.suite import load_suite
from simia_gym.cli.list_envs import describe_environment
from simia_gym.cli.options import AsJson
from simia_gym.common.dotted_names import foreign_code
from simia_gym.common.event_loop import run_sync
from simia_gym.common.fitting_table import FittingTable
from simia_gym.common.formatting import counted, percent, shown
from simia_gym.common.output import Output
from simia_gym.domain.loading import load_domain
from simia_gym.domain.registration import domain_path, env_ids, resolve_env
from simia_gym.errors import InputError, Role
from simia_gym.evaluation.replies import PLAYED, Replies, read_replies, sampled_env
from simia_gym.llm.accounts import Accounts
from simia_gym.llm.endpoint_model import EndpointModel
from simia_gym.llm.probe import Found, probe
from simia_gym.llm.settings import ModelSettings, configured, resolve_endpoint, resolve_model
from simia_gym.policies import NullPolicy
from simia_gym.rollout.play import play
from simia_gym.rollout.preflight import Target, forms_of, targets
from simia_gym.sandbox.trial import findings
from simia_gym.version import __version__

DISTRIBUTION = "simia-gym"
_NO_MODEL = "none is configured: set SIMIA_MODEL and SIMIA_BASE_URL, or give --model and --base-url"
ROLES = ("simulator", "user", "judge", "policy")
VARIABLES = (
    *(f"SIMIA_{name}" for name in ("MODEL", "BASE_URL", "API_KEY")),
    *(f"SIMIA_{role.upper()}_{name}" for role in ROLES for name in ("MODEL", "BASE_URL", "API_KEY")),
    *(f"SIMIA_ESCALATION_{name}" for name in ("BASE_URL", "API_KEY")),
    "OPENAI_BASE_URL",
    "OPENAI_API_KEY",
)
_HEADINGS = {
    "at_once": "read at once",
    "normalised": "normalised",
    "repaired": "repaired",
    "asked_again": "asked again",
    "rejected": "broke rules",
    "faulted": "fault",
}
_REQUIREMENT = re.compile(r"^([A-Za-z0-9._-]+)(?:\[.*?\])?[^;]*(?:;.*?extra\s*==\s*['\"]([^'\"]+)['\"])?")


class Finding(NamedTuple):
    """The result of one check: of a part of the installation, such as ``package`` or ``model``, the item's name.

    ``ok`` says whether it is in order (``None`` if both states are fine), ``says`` what was found.
    """

    part: str
    name: str
    ok: bool | None
    says: str


def examine(
    *,
    model: Annotated[
        str | None, typer.Option(metavar="NAME", help="Try this model. [default: those that the variables name]")
    ] = None,
    base_url: Annotated[str | None, typer.Option(metavar="URL", help="Its OpenAI-compatible endpoint.")] = None,
    domain: Annotated[
        str | None, typer.Option(metavar="DIR", help="Check what this domain needs, too: a folder.")
    ] = None,
    timeout: Annotated[float, typer.Option(metavar="S", help="Seconds to wait for each reply of a model.")] = 30.0,
    replies: Annotated[
        int,
        typer.Option(
            metavar="N",
            min=0,
            help="Send this many real prompts of each role, and count how the replies are read. They are those of the "
            "train tasks of --domain, else of the first environment with a customer.",
        ),
    ] = 0,
    json: AsJson = False,
) -> int:
    """Check this installation, and what the endpoints of models can do.

    Returns:
        The exit code: 0, or 1 if a check failed.

    Raises:
        InputError: The given model or endpoint is incomplete, or the timeout is not positive.
    """
    output = Output(json)
    probed = []
    for target in _targets(model, base_url, timeout):
        with output.console.status(f"asking {target.settings.model} at {target.endpoint.host}"):
            probed.append((target, asyncio.run(_probed(target, domain))))
    read: list[Replies] = []
    if replies and (asked := _asked(probed)):
        env = domain or sampled_env(env_ids())
        with output.console.status(f"reading replies to prompts of {env}"):
            read = asyncio.run(_read(env, asked, replies))
    findings = [*_packages(), *_variables(), *_sandbox(), *_environments(domain), *_models(probed), *_replies(read)]
    wrong = [item for item in findings if item.ok is False]
    output.say(f"{counted(len(wrong), 'problem')}:" if wrong else "no problem found")
    for item in wrong:
        output.say(f"  {item.part} {item.name}: {item.says}")
    output.say("")
    output.console.print(_table(findings))
    models = [
        {
            "roles": list(target.roles),
            "model": target.settings.model,
            "host": target.endpoint.host,
            "found": {one.name: {"status": one.status, "text": one.text} for one in found},
        }
        for target, found in probed
    ]
    if read:
        output.say("")
        output.console.print(_replies_table(read))
        for line in _kinds(read):
            output.say(line)
    result = {"ok": not wrong, "findings": [item._asdict() for item in findings], "models": models}
    output.result({**result, **({"replies": {role.role: role.to_json() for role in read}} if replies else {})})
    return 1 if wrong else 0


def _table(findings: Sequence[Finding]) -> Table:
    """The table of findings; packages, extras and variables share one row per state."""
    marks = {True: "", False: "problem: ", None: "note: "}
    lines: dict[tuple[str, str], list[str]] = {}
    for part, name, ok, says in findings:
        if part == "package":
            lines.setdefault((part, ""), []).append(f"{name} {says if ok else '(missing)'}")
        elif part == "extra":
            lines.setdefault((part, "installed: " if ok else "not installed: "), []).append(name)
        elif part == "variable":
            lines.setdefault((part, "set: "), []).extend([name] if says == "set" else [])
        else:
            lines.setdefault((part, f"{name}: " if name else ""), []).append(marks[ok] + says)
    table = Table(box=None, show_header=False, pad_edge=False)
    table.add_column(no_wrap=True)
    table.add_column(overflow="fold")
    for (part, beginning), texts in lines.items():
        table.add_row(part, Text(beginning + (", ".join(texts) or "none")))
    return table


def _replies_table(read: Sequence[Replies]) -> FittingTable:
    """What share of the replies of each role was read how."""
    table = FittingTable("role")
    for role in read:
        shares = role.to_json()["shares"]
        cells = {heading: percent(shares.get(way)) for way, heading in _HEADINGS.items()}
        table.add(role.role, {"replies": str(len(role.read)), **cells})
    return table


def _kinds(read: Sequence[Replies]) -> Iterator[str]:
    """What was put right or went wrong, with an example, one line for each role and way."""
    for role in read:
        found = role.to_json()
        for way, heading in _HEADINGS.items():
            parts = [", ".join(f"{kind} {count}" for kind, count in found["kinds"].get(way, {}).items())]
            if example := found["examples"].get(way):
                parts.append(f"for example: {example['problem']}; it said {shown(example['reply'])}")
            if says := "; ".join(filter(None, parts)):
                yield f"{role.role}, {heading}: {says}"


def _asked(probed: Sequence[tuple[Target, list[Found]]]) -> dict[str, EndpointModel]:
    """The models by role whose replies can be read; without those that do not answer."""
    return {
        role: EndpointModel(cast(Role, role), target.settings, target.endpoint, accounts=Accounts())
        for target, found in probed
        for role in target.roles
        if role in PLAYED and not any(one.name == "answers" and one.status == "error" for one in found)
    }


async def _read(env: str, models: Mapping[str, EndpointModel], most: int) -> list[Replies]:
    from simia_gym.llm.transport.http import close_connections

    try:
        return await read_replies(env, models, most)
    finally:
        await close_connections()


def _replies(read: Sequence[Replies]) -> Iterator[Finding]:
    """Findings on the replies: a problem where half of them are faults, a note where any is."""
    for role in read:
        faults, asked = role.count("faulted"), len(role.read)
        if not asked:
            yield Finding("replies", role.role, None, "the tasks have no prompts of this role")
            continue
        ok = None if faults else True
        says = f"{asked - faults} of {asked} could be used" + ("; each of the others ends an episode" if faults else "")
        yield Finding("replies", role.role, False if 2 * faults >= asked else ok, says)


def _targets(model: str | None, base_url: str | None, timeout: float) -> list[Target]:
    """The configured models, without duplicates."""
    if model is not None or base_url is not None:
        name = resolve_model("simulator", model)
        place = resolve_endpoint("simulator", base_url=base_url)
        return [Target(("simulator", "user", "judge"), ModelSettings(model=name, timeout=timeout), place)]
    known = [role for role in ROLES if configured(role)]
    settings = {role: ModelSettings(model=resolve_model(role), timeout=timeout) for role in known}
    return targets({role: (settings[role], resolve_endpoint(role)) for role in known})


async def _probed(target: Target, env: str | None) -> list[Found]:
    """Try a model, with the forms of the domain that is given, or of the first environment with a customer."""
    from simia_gym.llm.transport.http import close_connections

    name, own = resolve_env(env or sampled_env(env_ids()))
    forms = forms_of(load_domain(own or domain_path(name)), target.roles)
    try:
        return await probe(target.settings, target.endpoint, target.role, forms)
    finally:
        await close_connections()


def _models(probed: Sequence[tuple[Target, list[Found]]]) -> Iterator[Finding]:
    """Findings on the capabilities of the endpoints."""
    if not probed:
        yield Finding("model", "", None, _NO_MODEL)
    marks = {"ok": True, "warning": None, "error": False}
    for target, found in probed:
        for item in found:
            asked_by = f"{', '.join(target.roles)}: " if item.name == "answers" else ""
            yield Finding("model", item.name, marks[item.status], asked_by + item.text)


def _sandbox() -> Iterator[Finding]:
    """Whether a command runs in a sandbox here, and which tools it does not find there."""
    yield from (Finding("sandbox", *found) for found in findings())


def _requirements() -> Iterator[tuple[str, str]]:
    """Required packages, each with the extra that requires it, or ``""``."""
    with suppress(PackageNotFoundError):
        for line in requires(DISTRIBUTION) or ():
            if found := _REQUIREMENT.match(line):
                yield found.group(1), found.group(2) or ""


def _packages() -> Iterator[Finding]:
    """Findings on Python, the required packages and the extras."""
    yield Finding("python", platform.python_version(), True, platform.platform())
    yield Finding("package", DISTRIBUTION, True, __version__)
    extras: dict[str, list[str]] = {}
    for name, extra in _requirements():
        if not extra:
            found = _version(name)
            yield Finding("package", name, found is not None, found or "not installed: pip install simia-gym")
        elif name != DISTRIBUTION:
            extras.setdefault(extra, []).extend([] if _version(name) else [name])
    for extra, missing in extras.items():
        says = f"not installed: {', '.join(missing)}; pip install '{DISTRIBUTION}[{extra}]'" if missing else "installed"
        yield Finding("extra", extra, None if missing else True, says)


def _version(name: str) -> str | None:
    try:
        return version(name)
    except PackageNotFoundError:  # some packages are installed without metadata
        return "installed" if find_spec(name.replace("-", "_")) is not None else None


def _variables() -> Iterator[Finding]:
    """Whether each environment variable is set; values are never shown."""
    for name in VARIABLES:
        yield Finding("variable", name, None, "set" if os.environ.get(name) else "not set")


def _environments(own: str | None) -> Iterator[Finding]:
    """Findings on every environment, and on one short episode of the first that loads, with the ``null`` policy."""
    first: str | None = None
    for env in [*env_ids(), *([own] if own is not None else [])]:
        try:
            row = describe_environment(env)
            yield from _needs(env)
        except InputError as error:
            yield Finding("environment", env, False, str(error))
            continue
        first = first or env
        tasks = ", ".join(f"{count} {split}" for split, count in row["tasks"].items())
        yield Finding("environment", env, True, f"{row['tools']} tools, tasks: {tasks}")
    if first is None:
        yield Finding("episode", "", False, "no environment loads")
        return
    suite = load_suite(EnvConfig(env=first, split="all", max_turns=2))
    episode = suite.episode()
    run_sync(play(episode, suite.tasks[0], seed=0, policy=NullPolicy(), env=first), inline=episode.inline)
    verdict = episode.verdict
    valid = verdict is not None and verdict.valid
    says = f"{episode.turn} turns, ended by {episode.ended}" if valid else str(verdict and verdict.reason)
    yield Finding("episode", first, valid, says)


def _needs(env: str) -> Iterator[Finding]:
    """Findings on what a domain needs of this machine, by its own ``doctor``."""
    name, own = resolve_env(env)
    domain = load_domain(own or domain_path(name))
    examine_domain = domain.hook("doctor")
    if examine_domain is not None:
        with foreign_code(domain.folder):
            yield from [Finding(domain.name, *found) for found in examine_domain()]
