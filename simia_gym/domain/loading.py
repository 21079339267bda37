"""Loads a domain's folder: reads and checks all files, and reports all mistakes together."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, cast

import orjson

from simia_gym.actions import Grammar, get_grammar
from simia_gym.common.dotted_names import keep_modules, load_function, load_object, use_edition
from simia_gym.common.file_marks import Newest, folder_mark
from simia_gym.common.files import Lines, read_json, read_text
from simia_gym.common.json_encoding import encode
from simia_gym.common.validation import validated
from simia_gym.contracts import EPISODE
from simia_gym.domain.config import SUPPLIED, DomainConfig, read_config, read_items, read_tables
from simia_gym.domain.data import SETTINGS, DomainData
from simia_gym.domain.domain import Domain
from simia_gym.domain.tasks import read_tasks
from simia_gym.domain.tools import ToolSpec, spec_from_entry
from simia_gym.domain.world import World
from simia_gym.errors import ActionError, DomainError, InputError, did_you_mean
from simia_gym.state import State
from simia_gym.types import JsonObject, Split, Task
from simia_gym.users.cues import Cues
from simia_gym.views.history import HistoryView, compile_history
from simia_gym.views.render import Renderer, compile_render
from simia_gym.views.slices import Slicer, compile_reads

_Settings = tuple[Path, bytes, Path | None, str | None]
_domains: Newest[_Settings, Domain] = Newest(32)


def _load(settings: _Settings) -> Domain:
    folder, _, data, _ = settings
    mark = folder_mark(folder)
    use_edition(folder, mark)
    mark += b"" if data is None else folder_mark(data)
    return _domains.get(settings, mark, lambda: _Loader(settings, mark).load())


def _load_again(settings: _Settings, mark: bytes) -> Domain:
    """The domain of files with this mark, while something uses it; else of the files as they are."""
    return _domains.living(settings, mark) or _load(settings)


def load_domain(
    folder: Path | str,
    options: Mapping[str, Any] | None = None,
    data: Path | str | None = None,
    grammar: str | None = None,
    *,
    mark: bytes = b"",
) -> Domain:
    """Load a domain's folder; once for the same settings, until a file of the folder or of the data changes.

    An edited folder gives a new domain, with its Python files imported anew. What runs on the old one goes on with it.

    Args:
        folder: The folder with ``domain.yaml``.
        options: Options of its world.
        data: Path of custom data for the domain.
        grammar: Name of one of its grammars, if it has several; by default the first.
        mark: The mark of a domain that was loaded before: that one, while something uses it.

    Returns:
        The domain.

    Raises:
        DomainError: The folder has mistakes; ``problems`` holds every one.
        InputError: An option or the data is wrong.
    """
    path = Path(folder).expanduser().resolve()
    own = None if data is None else Path(data).expanduser().resolve()
    return _load_again((path, encode(dict(sorted((options or {}).items()))), own, grammar), mark)


class _Loader:
    """Loads the parts of a domain in order and collects all mistakes before it raises."""

    def __init__(self, settings: _Settings, mark: bytes) -> None:
        self.settings, self.mark = settings, mark
        self.folder, options, self.data_path, self.grammar_name = settings
        self.asked: Mapping[str, Any] = orjson.loads(options)
        self.problems: list[InputError] = []
        self.task_lines: dict[str, int] = {}

    def load(self) -> Domain:
        if not self.folder.is_dir():
            raise DomainError("there is no such folder", where=str(self.folder), fix="Check the path.")
        file = self.folder / "domain.yaml"
        if not file.is_file():
            fix = "Name the folder of a domain, or make one with `simia new-domain PATH`."
            raise DomainError("this folder has no domain.yaml", where=str(self.folder), fix=fix)
        self.lines = Lines(file)
        self.config = read_config(file)
        data = self.try_(self._data, None)
        self.of_samples = next(iter(_by_name(self.config.grammar).items()))
        self.config = self.try_(lambda: self._with_settings(data), self.config)
        options = self.try_(lambda: self._options(data), {})
        named, grammar = self.try_(lambda: self._grammar(options), ("", None))
        policy = self.try_(lambda: self._policy(data), "")
        world = self.try_(lambda: self._world(options), None)
        specs = self.try_(lambda: self._specs(world), {})
        slicers, renderers = self._compiled(specs)
        if world is not None:
            world.renderers.update(renderers)
        opening = self.try_(lambda: self._function("opening"), None)
        info = self.try_(lambda: self._function("info"), None)
        history = self.try_(self._history, None)
        base = self.try_(lambda: self._state(data), State.from_tables({}))
        cues = self.try_(self._cues, {})
        rubric = self.try_(self._rubric, [])
        tasks = self.try_(lambda: self._tasks(data, options), {})
        if self.problems:
            once = {str(problem): problem for problem in self.problems}  # several parts may need what has a mistake
            raise DomainError.of(list(once.values()), "; `simia check` lists them")
        user = self.config.user if data is None or data.user is None else data.user
        domain = Domain(
            config=self.config,
            folder=self.folder,
            grammar=grammar,
            grammar_name=named,
            samples=self._samples(named, grammar),
            policy=policy,
            specs=specs,
            world=world,
            base=base,
            tasks=tasks,
            user=user,
            options=options,
            source=(_load_again, (self.settings, self.mark)),
            mark=self.mark,
            slicers=slicers,
            renderers=renderers,
            open=opening,
            info=info,
            history=history,
            data=data,
            cues=cues,
            rubric=tuple(rubric),
            lines=self.task_lines,
        )
        keep_modules(self.folder, domain)
        assert domain.hash  # that of the files as they were read
        return domain

    def try_(self, part: Callable[[], Any], otherwise: Any) -> Any:
        try:
            return part()
        except DomainError as error:
            self.problems.extend(error.problems or (error,))
        except InputError as error:
            self.problems.append(error)
        return otherwise

    def _data(self) -> DomainData | None:
        if self.data_path is None:
            return None
        if self.config.data is None:
            raise InputError(f"{self.config.name} takes no data of your own", where="data", fix="Leave data out.")
        return cast(DomainData, self._function("data")(self.data_path))

    def _with_settings(self, data: DomainData | None) -> DomainConfig:
        """The keys of ``domain.yaml`` after those that the data sets."""
        given = {} if data is None else {key: getattr(data, key) for key in SETTINGS}
        changes = {key: value for key, value in given.items() if value is not None}
        if not changes:
            return self.config
        if "grammar" in changes:
            several = _by_name(self.config.grammar)
            first = _known(changes["grammar"], several, self.config.name, "data: grammar")
            if isinstance(self.config.grammar, dict):
                changes["grammar"] = {first: several[first], **several}
        keys = {**self.config.model_dump(exclude_unset=True), **changes}
        return validated(DomainConfig, keys, where="data: ", fix="Let the domain's data function set another value.")

    def _grammar(self, options: Mapping[str, Any]) -> tuple[str, Grammar]:
        """The requested grammar, or the first one, after its name."""
        several = _by_name(self.config.grammar)
        asked = _known(self.grammar_name or next(iter(several)), several, self.config.name, "grammar")
        grammar = get_grammar(several[asked], folder=self.folder, where=self.lines.where(["grammar"]))
        suited = getattr(grammar, "with_options", None)
        return asked, grammar if suited is None else suited(options)

    def _samples(self, name: str, grammar: Grammar) -> tuple[str, ...]:
        """The sample actions, which are written in the first grammar, as far as the chosen one can say them."""
        samples, (first_name, spec) = self.config.samples, self.of_samples
        if name == first_name:
            return samples
        first, said = get_grammar(spec, folder=self.folder), []
        for sample in samples:
            with suppress(ActionError, InputError):
                said.append(grammar.render(first.parse(sample)))
        return tuple(said)

    def _options(self, data: DomainData | None) -> dict[str, Any]:
        known = dict(self.config.options)
        unknown = sorted(set(self.asked) - set(known))
        if unknown:
            hint = did_you_mean(unknown[0], known)
            fix = f"{hint}Known: {', '.join(known) or 'none'}."
            raise InputError(f"{self.config.name} has no option {unknown[0]!r}", where="options", fix=fix)
        return {**known, **(data.options if data is not None else {}), **self.asked}

    def _world(self, options: Mapping[str, Any]) -> World | None:
        return None if self.config.world is None else load_world(self.config, self.folder, options)

    def _policy(self, data: DomainData | None) -> str:
        if data is not None and data.policy is not None:
            return data.policy
        return read_text(self.folder / self.config.policy, what="policy text")

    def _function(self, key: str) -> Any:
        """The function that a key of ``domain.yaml`` names, if any."""
        name, where = getattr(self.config, key), self.lines.where([key])
        return None if name is None else load_function(name, folder=self.folder, where=where)

    def _history(self) -> HistoryView | None:
        where = self.lines.where(["history"])
        return compile_history(self.config.history, folder=self.folder, where=where)

    def _specs(self, world: World | None) -> dict[str, ToolSpec]:
        """The world's tools and those of ``tools.json`` that a model simulates; without a world, the whole file."""
        path = self.folder / self.config.tools
        known = {} if world is None else dict(world.tools)
        if world is not None and not path.is_file():
            return known
        entries = read_json(path, what="tools file")
        if not isinstance(entries, list):
            raise DomainError("is not a list of tools", where=str(path), fix="Write a JSON array of OpenAI tools.")
        lines = Lines(path)
        for i, entry in enumerate(entries):
            if world is not None and not _played_by_model(entry):
                continue
            spec = spec_from_entry(entry, lambda parts, i=i: lines.line([i, *parts]), self.folder)  # type: ignore[misc]
            if world is None and spec.name in known:
                where, fix = lines.line([i]), "Give every tool its own name."
                raise DomainError(f"there are two tools {spec.name!r}", where=where, fix=fix)
            known.setdefault(spec.name, spec)
        return known

    def _compiled(self, specs: Mapping[str, ToolSpec]) -> tuple[dict[str, Slicer], dict[str, Renderer | None]]:
        """The slicers and renderers of the tools."""
        slicers: dict[str, Slicer] = {}
        renderers: dict[str, Renderer | None] = {}
        for name, spec in specs.items():
            try:
                slicers[name] = compile_reads(
                    spec.reads, f"tool {name}", folder=self.folder, cap=self.config.limits.but(spec.limits).slice
                )
                renderers[name] = compile_render(spec.render, f"tool {name}", folder=self.folder)
            except InputError as error:
                where = f"{self.folder / self.config.tools}: {error.where}"
                self.problems.append(InputError(error.what, where=where, fix=error.fix))
        return slicers, renderers

    def _state(self, data: DomainData | None) -> State:
        tables = data.tables if data is not None and data.tables is not None else read_tables(self.config, self.folder)
        return State.from_tables({**tables, EPISODE: {"main": {"seed": 0}}})

    def _items(self, key: str) -> Any:
        name = getattr(self.config, key)
        return None if name is None else read_items(name, self.folder)

    def _rubric(self) -> list[Any]:
        """The domain's own rubric items, which change those of a service with their ids, then the service's others."""
        own, service = self._items("rubric") or [], self.config.service
        if not isinstance(own, list):
            where = str(self.folder / str(self.config.rubric))
            raise DomainError("is not a list of criteria", where=where, fix="Start items with '- id:'.")
        if service is None:
            return own
        known = {item["id"]: item for item in read_items(SUPPLIED["rubric"].format(service), self.folder)}
        merged = [{**known.pop(str(item.get("id")), {}), **item} if isinstance(item, dict) else item for item in own]
        return [*merged, *known.values()]

    def _cues(self) -> JsonObject:
        content = self._items("cues") or {}
        Cues(content, Lines(self.folder / str(self.config.cues)).where)
        return cast("JsonObject", content)

    def _tasks(self, data: DomainData | None, options: Mapping[str, Any]) -> Mapping[Split, Sequence[Task]]:
        if data is not None and data.tasks is not None:
            return data.tasks(options) if callable(data.tasks) else data.tasks
        tasks: dict[Split, Sequence[Task]] = {"train": (), "test": ()}
        places: dict[str, str] = {}
        for split, name in self.config.tasks.items():
            tasks[split], lines, problems = read_tasks(self.folder / name, split)
            for task, line in lines.items():
                if (first := places.setdefault(task, f"{name}:{line}")) != f"{name}:{line}":
                    what, where = f"task id {task!r} stands in {first} too", f"{self.folder / name}:{line}"
                    self.problems.append(DomainError(what, where=where, fix="Give every task its own id."))
            self.task_lines.update(lines)
            self.problems.extend(problems)
        return tasks


def _by_name(grammar: str | Mapping[str, str]) -> Mapping[str, str]:
    return {grammar: grammar} if isinstance(grammar, str) else grammar


def _known(grammar: str, several: Mapping[str, str], domain: str, where: str) -> str:
    if grammar not in several:
        fix = f"{did_you_mean(grammar, several)}It has: {', '.join(several)}."
        raise InputError(f"{domain} has no grammar {grammar!r}", where=where, fix=fix)
    return grammar


def load_world(config: DomainConfig, folder: Path, options: Mapping[str, Any]) -> World:
    """Make the world that ``domain.yaml`` names, with the domain's limits.

    Raises:
        InputError: It is no world, or cannot be made with these options.
    """
    where = Lines(folder / "domain.yaml").where(["world"])
    cls = load_object(config.world or "", folder=folder, where=where)
    if not (isinstance(cls, type) and issubclass(cls, World)):
        fix = "Let it inherit from simia_gym.domain.world.World."
        raise DomainError(f"world {config.world!r} is no World class", where=where, fix=fix)
    try:
        world = cls(options)
    except InputError:
        raise
    except Exception as error:
        place = where if options == config.options else "options"
        what = f"{config.world} cannot be made: {error}"
        raise InputError(what, where=place, fix="Change the option, or mend the class.") from error
    world.limit(config.limits)
    return world


def _played_by_model(entry: Any) -> bool:
    marks = entry.get("x-simia") if isinstance(entry, dict) else None
    return isinstance(marks, dict) and marks.get("route") == "llm"
