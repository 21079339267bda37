"""The domains that an oracle can play: their worlds and, unless the oracle is data-free, their tasks."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from functools import cached_property
from pathlib import Path
from typing import Any

from simia_gym.common.json_encoding import encode
from simia_gym.domain.config import read_config, read_items
from simia_gym.domain.domain import Domain
from simia_gym.domain.loading import load_domain, load_world
from simia_gym.domain.registration import domain_path
from simia_gym.domain.world import World
from simia_gym.errors import InputError
from simia_gym.oracle.options import OracleOptions
from simia_gym.oracle.reading import Refused, Static
from simia_gym.prompts import load_prompt
from simia_gym.types import Feedback, JsonObject, Task
from simia_gym.views.render import compile_render


class KnownDomain:
    """A domain with the options (``given``) that a prompt names. Its parts are loaded on first use."""

    def __init__(self, folder: Path, given: Mapping[str, Any], options: OracleOptions) -> None:
        self.config = read_config(folder / "domain.yaml")
        self._folder, self._given, self._options = folder, dict(given), options
        self._data = None if self.config.data is None else options.data
        self._tasks: dict[tuple[str, str], Task] = {}

    @cached_property
    def world(self) -> World:
        """The domain's world, created from its class alone: no task and no initial state is read.

        Custom data that is for this domain may set another class.

        Raises:
            Refused: The domain has no world, or it cannot be created.
        """
        name = self.config.name
        if self._data is not None and not self._options.data_free:
            with suppress(Refused):  # the data may be for another domain
                if self.domain.world is not None:
                    return self.domain.world
        if self.config.world is None:
            raise Refused(f"domain {name!r} has no world; start the oracle with a folder that has one")
        try:
            world = load_world(self.config, self._folder, {**self.config.options, **self._given})
            for tool, spec in world.tools.items():
                world.renderers[tool] = compile_render(spec.render, f"tool {tool}", folder=self._folder)
            return world
        except InputError as error:
            raise Refused(f"the world of {name!r} cannot be created: {error}") from error

    @cached_property
    def domain(self) -> Domain:
        """The whole domain.

        Raises:
            Refused: The domain cannot be loaded, or this oracle is data-free.
        """
        if self._options.data_free:
            raise Refused("this oracle was started without data: it plays only the ledger simulator")
        try:
            return load_domain(self._folder, self._given, self._data)
        except InputError as error:
            raise Refused(f"domain {self.config.name!r} cannot be loaded: {error}") from error

    @cached_property
    def reward(self) -> Any:
        """The domain's reward function, which holds the rubric."""
        return self.domain.make_reward()

    @cached_property
    def cues(self) -> JsonObject:
        """The cue patterns of the domain's scripted user."""
        return {} if self.config.cues is None else read_items(self.config.cues, self._folder) or {}

    def task(self, named: Any) -> Task:
        """The task that the prompt's block ``task`` names.

        Raises:
            Refused: The domain has no such task, or its content differs from the prompt's.
        """
        if not isinstance(named, Mapping) or not isinstance(named.get("id"), str):
            raise Refused("the block 'task' names no task")
        key = named["id"], str(named.get("digest") or "")
        if key not in self._tasks:
            try:
                task = self.domain.find_task(key[0])
            except InputError as error:
                raise Refused(error.what) from error
            digest = self.domain.prepare(task).digest
            if key[1] not in ("", digest):
                raise Refused(f"task {key[0]!r} has the content {digest} here and {key[1]} in the prompt")
            self._tasks[key] = task
        return self._tasks[key]

    def feedback(self, static: Static) -> Feedback:
        """The feedback mode of the prompt: ``explain`` if it holds the instructions for explained errors."""
        return "explain" if any(self._explain in text for text in static.texts) else "terse"

    @cached_property
    def _explain(self) -> str:
        return load_prompt("errors_explain", self._folder).text.strip()


class Domains:
    """Finds the domains that prompts name.

    Raises:
        InputError: A folder is not a domain.
    """

    def __init__(self, options: OracleOptions) -> None:
        self._options = options
        folders = [Path(place).expanduser().resolve() for place in options.domains]
        self._folders = {read_config(folder / "domain.yaml").name: folder for folder in folders}
        self._known: dict[tuple[str, bytes], KnownDomain] = {}

    def named(self, static: Static) -> KnownDomain:
        """The domain that the prompt's block ``domain`` names.

        Raises:
            Refused: The prompt has no such block, or no such domain is known.
        """
        named = static.need("domain")
        name = named.get("name") if isinstance(named, Mapping) else None
        if not isinstance(name, str):
            raise Refused("the block 'domain' names no domain")
        options = named["options"] if isinstance(named.get("options"), Mapping) else {}
        key = name, encode(options)
        if key not in self._known:
            try:
                folder = self._folders.get(name) or domain_path(f"simia/{name}-v0")
                self._known[key] = KnownDomain(folder, options, self._options)
            except InputError as error:
                hint = f"start it with --domain FOLDER to play {name!r}"
                raise Refused(f"this oracle does not know the domain {name!r}; {hint} ({error})") from error
        return self._known[key]
