"""``domain.yaml`` as typed data. Every mistake is reported with its line and a fix."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any, Literal, Self, cast

from pydantic import Field, field_validator, model_validator

from simia_gym.common.dotted_names import load_function
from simia_gym.common.files import Lines, read_json, read_yaml
from simia_gym.common.json_encoding import decode, encode
from simia_gym.common.validation import StrictModel, validated
from simia_gym.domain.limits import Limits
from simia_gym.errors import DomainError, InputError
from simia_gym.users import USERS

_FILES = frozenset({"policy", "tools", "state", "state_schema", "service", "cues", "rubric", "tasks"})
_NAMING = (*sorted(_FILES - {"tasks"}), "world", "opening", "info", "reward", "judge", "generator", "history", "data")
_MOST = 100_000
"""The greatest limits; an episode of as many turns takes minutes if they do nothing."""
NAME = r"^[a-z][a-z0-9_]*$"
SUPPLIED = {"user": "scripted", "cues": "{}:cues", "rubric": "{}:rubric", "generator": "{}:generator"}
"""What a service supplies for keys of ``domain.yaml``."""


class EndRule(StrictModel):
    """A rule that ends the episode: a value of the state, or a number of equal or invalid actions in a row."""

    path: str | None = Field(None, description="JSON Pointer into the state, as /session/main/bought.", pattern="^/")
    value: Any = Field(None, description="The value at `path` that ends the episode.")
    repeat: int | None = Field(None, ge=2, strict=True, description="So many equal actions in a row end the episode.")
    invalid: int | None = Field(
        None,
        ge=1,
        strict=True,
        description="So many invalid actions in a row end it: malformed ones, unknown tools, invalid arguments.",
    )
    reason: str = Field("", description="The word that is reported as the reason.")

    @model_validator(mode="after")
    def _one_rule(self) -> Self:
        given = self.model_fields_set - {"reason"}
        if given not in ({"path", "value"}, {"repeat"}, {"invalid"}):
            raise ValueError("give either path and value, or repeat, or invalid")
        return self


class DomainConfig(StrictModel):
    """The keys of ``domain.yaml``.

    Names of code are written ``package.module:Name`` or ``file.py:Name``, the latter relative to the folder.
    ``service`` supplies the keys of `SUPPLIED` that are not given, and the policies ``expert`` and ``pushover``.
    """

    name: str = Field(pattern=NAME, description="The domain's name; lower case, as in simia/NAME-v0.")
    version: int = Field(1, ge=1, strict=True, description="Raised whenever results stop being comparable.")
    title: str = ""
    description: str = ""
    grammar: str | dict[str, str] = Field(
        description="How actions are written: tools, or a Grammar class; or several by name, the first is default.",
        min_length=1,
    )
    parallel_tool_calls: Literal["allow", "error"] = "allow"
    max_turns: int = Field(ge=1, le=_MOST, strict=True, description="The turn limit; there is no other.")
    max_calls: int = Field(16, ge=1, le=_MOST, strict=True, description="Most tool calls in one action.")
    policy: str = "policy.md"
    tools: str = "tools.json"
    world: str | None = Field(None, description="The World class; without one, a model plays every tool.")
    state: str | None = Field("state.json", description="JSON file of tables, or a function that returns them.")
    state_schema: str | None = "state.schema.json"
    service: str | None = Field(
        None, description="The declaration of customer service, such as service.yaml; supplies other keys."
    )
    opening: str | None = Field(
        None, description="Function(state, task) -> the first observation; if there is no world."
    )
    info: str | None = Field(None, description="Function(state) -> the extras in info['world']; if there is no world.")
    user: str | None = Field(None, description="The default user simulator; none if the domain has no user.")
    cues: str | None = Field(
        None, description="The scripted user's cue patterns: YAML file, or a function that returns them."
    )
    reward: str = Field("simia_gym.rewards.rubric:RubricReward", description="The Reward class.")
    judge: str = Field(
        "simia_gym.rewards.judge.judge:LLMJudge", description="The class of the judge that asks a model."
    )
    rubric: str | None = Field("rubric.yaml", description="YAML file of criteria, or a function that returns them.")
    reward_options: dict[str, Any] = Field(default_factory=dict)
    tasks: dict[Literal["train", "test"], str] = Field(default_factory=dict)
    generator: str | None = Field(None, description="Function generate(split, index) -> Task.")
    history: str = Field(
        "transcript", description="What a policy is shown: transcript, page, steps, or a function of the history."
    )
    policies: dict[str, str] = Field(default_factory=dict, description="The domain's own policies, such as expert.")
    verify: str | None = Field(None, description="Function of simia verify-recorded.")
    recorded: str | None = Field(None, description="Function of simia compare that plays recorded rollouts again.")
    export: str | None = Field(None, description="Function of simia export.")
    export_folder: str | None = Field(
        None, description="Function of simia export that writes an episode's end as files."
    )
    doctor: str | None = Field(None, description="Function of simia doctor.")
    check: str | None = Field(None, description="Function of simia check that yields mistakes in own files.")
    view: str | None = Field(None, description="Function of simia view that shows parts of the state as HTML.")
    data: str | None = Field(None, description="Function that loads a user's own data by path.")
    options: dict[str, Any] = Field(default_factory=dict, description="Options of the world, with their defaults.")
    roles: dict[Annotated[str, Field(pattern=NAME)], str] = Field(
        default_factory=dict, description="The language models that the tools ask: a role's name, and what it is for."
    )
    scores_by: tuple[str, ...] = Field(
        (), description="Options of tasks by whose values scores are shown, too, such as the number of apps."
    )
    limits: Limits = Limits()
    ends: tuple[EndRule, ...] = ()
    ends_on_reply: bool | None = Field(
        None,
        description="Whether a reply without calls ends the episode of a domain without a user; by default, if nothing"
        " else ends it: no terminal tool, no rule in ends, no end action in the grammar.",
    )
    samples: tuple[str, ...] = Field((), description="Plausible actions, for the space's sample().")

    @model_validator(mode="before")
    @classmethod
    def _supplied(cls, given: Any) -> Any:
        service = given.get("service")
        if not isinstance(service, str):
            return given
        own = given.get("policies", {})
        named = {name: f"{service}:{name}" for name in ("expert", "pushover")}
        policies = {**named, **own} if isinstance(own, Mapping) else own
        return {**{key: form.format(service) for key, form in SUPPLIED.items()}, **given, "policies": policies}

    @field_validator(*_NAMING)
    @classmethod
    def _named(cls, name: str | None) -> str | None:
        if name == "":
            raise ValueError("names nothing; leave the key out, or write null where it may be")
        return name

    @field_validator("options", "reward_options")
    @classmethod
    def _json(cls, options: dict[str, Any]) -> dict[str, Any]:
        try:
            same = decode(encode(options)) == options
        except InputError as error:
            raise ValueError(error.what) from error
        if not same:
            raise ValueError("a number is none that JSON has")
        return options

    @field_validator("user")
    @classmethod
    def _known_user(cls, name: str | None) -> str | None:
        if name is not None and name not in USERS:
            raise ValueError(f"there is no user {name!r}; known: {', '.join(USERS)}, or null")
        return name


_SUFFIXES = (".py", ".yaml")


def read_config(path: Path) -> DomainConfig:
    """Read ``domain.yaml``.

    Raises:
        DomainError: With every mistake in ``problems``.
    """
    value = read_yaml(path)
    if not isinstance(value, dict):
        raise DomainError("is not a mapping of keys", where=str(path), fix="Write `name: ...`, `grammar: ...` lines.")
    lines = Lines(path)
    config = validated(DomainConfig, value, where=lines.where, fix="Change the value.")
    _check_inside(config, path.parent, lines)
    return config


def _check_inside(config: DomainConfig, folder: Path, lines: Lines) -> None:
    """Refuse files outside of the folder: no hash covers them, and a prompt may show their text to a server."""
    homes = {folder.resolve(), (folder / "domain.yaml").resolve().parent}  # an installer may make links of all files
    named: dict[tuple[str, ...], Any] = {(key,): getattr(config, key) for key in DomainConfig.model_fields}
    named |= {(key, name): text for key in ("tasks", "policies") for name, text in getattr(config, key).items()}
    for place, text in named.items():
        name, colon, _ = text.partition(":") if isinstance(text, str) else ("", "", "")
        is_file = name.endswith(_SUFFIXES) if colon else place[0] in _FILES
        try:
            path = (folder / name).resolve()
        except (OSError, RuntimeError, ValueError) as error:  # a link to itself, or no path at all
            raise DomainError(f"{name!r} leads nowhere", where=lines.where(place), fix="Name a file.") from error
        if is_file and not any(path.is_relative_to(home) for home in homes):
            fix = "Copy it into the folder; data from elsewhere can be given with data=."
            raise DomainError(f"{name} is outside of the domain's folder", where=lines.where(place), fix=fix)


def read_items(name: str, folder: Path) -> Any:
    """The content of a YAML file, or what a function returns, such as ``desk.py:cues``."""
    if ":" not in name:
        return read_yaml(folder / name)
    return load_function(name, folder=folder, where=f"{folder / 'domain.yaml'}: {name}")()


def read_tables(config: DomainConfig, folder: Path) -> Mapping[str, Mapping[str, Any]]:
    """The initial state that all tasks share, as ``{table: {key: row}}``, from its file or function."""
    if config.state is None:
        return {}
    if ":" in config.state:
        return cast("Mapping[str, Mapping[str, Any]]", read_items(config.state, folder))
    path = folder / config.state
    tables = read_json(path, what="state file")
    if not isinstance(tables, dict) or not all(
        isinstance(rows, dict) and all(isinstance(row, dict) for row in rows.values()) for rows in tables.values()
    ):
        raise DomainError("is not {table: {key: row}}", where=str(path), fix="Make every row a JSON object.")
    return tables
