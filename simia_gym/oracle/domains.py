"""The domains that an oracle knows: their worlds, and, unless it is data-free, their tasks."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, cast

from simia_gym.common.dotted_names import load_object
from simia_gym.common.files import read_yaml
from simia_gym.common.json_encoding import encode
from simia_gym.domain.config import DomainConfig, read_config
from simia_gym.domain.domain import Domain, load_domain
from simia_gym.domain.registration import domain_path
from simia_gym.domain.world import World
from simia_gym.errors import InputError
from simia_gym.oracle.options import OracleOptions
from simia_gym.oracle.reading import Refused, Static
from simia_gym.prompts import load_prompt
from simia_gym.types import Feedback, JsonObject, Split, Task

_SPLITS: tuple[Split, ...] = ("train", "test")


class Domains:
    """Finds what the block ``domain`` of a prompt names.

    Args:
        options: The oracle's options: folders, data, and whether it is data-free.

    Raises:
        InputError: A folder holds no domain.
    """

    def __init__(self, options: OracleOptions) -> None:
        self.data_free = options.data_free
        self._data = options.data
        self._folders: dict[str, Path] = {}
        for place in options.domains:
            folder = Path(place).expanduser().resolve()
            self._folders[read_config(folder / "domain.yaml").name] = folder
        self._configs: dict[str, tuple[Path, DomainConfig]] = {}
        self._worlds: dict[tuple[str, bytes], World] = {}
        self._loaded: dict[tuple[str, bytes], Domain] = {}
        self._tasks: dict[tuple[int, str, str], Task] = {}
        self._cues: dict[str, JsonObject] = {}
        self._rewards: dict[int, Any] = {}

    def config(self, named: Any) -> tuple[Path, DomainConfig]:
        """The folder and the settings of a domain.

        Args:
            named: The value of a block ``domain``.

        Raises:
            Refused: There is no such domain.
        """
        name = named.get("name") if isinstance(named, Mapping) else None
        if not isinstance(name, str):
            raise Refused("the block 'domain' names no domain")
        if name not in self._configs:
            try:
                folder = self._folders.get(name) or domain_path(f"simia/{name}-v0")
                self._configs[name] = folder, read_config(folder / "domain.yaml")
            except InputError as error:
                hint = f"start it with --domain FOLDER to play {name!r}"
                raise Refused(f"this oracle does not know the domain {name!r}; {hint} ({error})") from error
        return self._configs[name]

    def world(self, named: Any) -> World:
        """The domain's world, made of its class alone: no task and no state is read.

        Raises:
            Refused: There is none.
        """
        folder, config = self.config(named)
        key = config.name, encode(_options(named))
        world = self._worlds.get(key)
        if world is None:
            if config.world is None:
                raise Refused(f"domain {config.name!r} has no world; start the oracle with a folder that has one")
            try:
                made: Any = load_object(config.world, folder=folder)
                world = made({**config.options, **_options(named)})
            except (InputError, ValueError) as error:
                raise Refused(f"the world of {config.name!r} cannot be made: {error}") from error
            assert isinstance(world, World)
            self._worlds[key] = world
        return world

    def domain(self, named: Any) -> Domain:
        """The whole domain.

        Raises:
            Refused: It cannot be loaded, or this oracle reads no data.
        """
        folder, config = self.config(named)
        if self.data_free:
            raise Refused("this oracle was started without data: it plays ledger and user alone")
        key = config.name, encode(_options(named))
        if key not in self._loaded:
            data = self._data if config.data is not None else None
            try:
                self._loaded[key] = load_domain(folder, _options(named), data)
            except InputError as error:
                raise Refused(f"domain {config.name!r} cannot be loaded: {error}") from error
        return self._loaded[key]

    def task(self, domain: Domain, named: Any) -> Task:
        """The task that a block ``task`` names.

        Raises:
            Refused: There is none, or it has another content than the prompt's.
        """
        if not isinstance(named, Mapping) or not isinstance(named.get("id"), str):
            raise Refused("the block 'task' names no task")
        digest = str(named.get("digest") or "")
        key = id(domain), named["id"], digest
        task = self._tasks.get(key)
        if task is None:
            try:
                task = domain.find_task(named["id"])
            except InputError as error:
                raise Refused(error.what) from error
            found = domain.prepare(task).digest
            if digest and found != digest:
                raise Refused(f"task {named['id']!r} has the content {found} here and {digest} in the prompt")
            self._tasks[key] = task
        return task

    def feedback(self, static: Static) -> Feedback:
        """Which kind of error text the prompt asks for, seen by the instructions for the richer kind."""
        if "feedback" not in static.memo:
            folder, _ = self.config(static.need("domain"))
            words = load_prompt("errors_explain", folder).text.strip()
            static.memo["feedback"] = "explain" if any(words in text for text in static.texts) else "terse"
        return cast(Feedback, static.memo["feedback"])

    def cues(self, named: Any) -> JsonObject:
        """The cue patterns of the domain's scripted user."""
        folder, config = self.config(named)
        if config.name not in self._cues:
            self._cues[config.name] = {} if config.cues is None else read_yaml(folder / config.cues)[0] or {}
        return self._cues[config.name]

    def reward(self, domain: Domain) -> Any:
        """The domain's reward, which knows its criteria."""
        if id(domain) not in self._rewards:
            self._rewards[id(domain)] = domain.make_reward()
        return self._rewards[id(domain)]


def _options(named: Any) -> dict[str, Any]:
    options = named.get("options")
    return dict(options) if isinstance(options, Mapping) else {}
