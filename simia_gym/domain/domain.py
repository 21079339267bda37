"""A domain: a folder, loaded and checked once, shared by every episode that is played in it."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, fields
from functools import cached_property, lru_cache
from pathlib import Path
from typing import Any, cast

import orjson

from simia_gym.actions import Grammar, Replies, get_grammar
from simia_gym.assembly.settings import EnvConfig
from simia_gym.common.dotted_names import load_object
from simia_gym.common.files import read_json, read_text, read_yaml
from simia_gym.common.json_encoding import encode
from simia_gym.contracts import PreparedTask
from simia_gym.domain.config import DomainConfig, read_config
from simia_gym.domain.data import DomainData
from simia_gym.domain.tasks import read_tasks, task_hash
from simia_gym.domain.tools import ToolSpec, spec_from_entry
from simia_gym.domain.world import World
from simia_gym.errors import DomainError, InputError, did_you_mean
from simia_gym.llm.types import ChatModel
from simia_gym.record.finished_episode import Reward
from simia_gym.state import State
from simia_gym.state.schema import StateSchema, read_state_schema
from simia_gym.types import End, JsonObject, Split, Task
from simia_gym.views.render import Renderer, compile_render
from simia_gym.views.slices import Slicer, compile_reads

_REMEMBERED = 1024
SPLITS: tuple[Split, ...] = ("train", "test")
_SETTINGS = [item.name for item in fields(EnvConfig)]
_HASHED = (".yaml", ".md", ".json", ".py")


@dataclass(frozen=True, eq=False)
class Domain:
    """Everything a domain is.

    Attributes:
        config: What ``domain.yaml`` says.
        folder: Where it lies.
        policy: The policy text, for the system message.
        specs: Tool name to specification.
        world: The executable world, where the domain has one.
        base: The initial state that all tasks share.
        tasks: The fixed tasks of each split.
        user: The user that plays by default.
        options: The world's options, defaults filled in.
        source: What it was loaded from: folder, options as JSON, path of the user's own data.
        data: What the user's own data replaced, if anything.
        cues: The scripted user's cue patterns.
        rubric: The domain's rubric items.
    """

    config: DomainConfig
    folder: Path
    policy: str
    specs: Mapping[str, ToolSpec]
    world: World | None
    base: State
    tasks: Mapping[Split, Sequence[Task]]
    user: str | None
    options: Mapping[str, Any]
    source: tuple[Path, bytes, Path | None]
    data: DomainData | None = None
    cues: JsonObject = field(default_factory=dict)
    rubric: tuple[JsonObject, ...] = ()
    _prepared: dict[int, PreparedTask] = field(default_factory=dict, init=False, repr=False)
    _slicers: dict[str, Slicer] = field(default_factory=dict, init=False, repr=False)
    _renderers: dict[str, Renderer | None] = field(default_factory=dict, init=False, repr=False)

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle what it was loaded from; compiled slices and rendering rules hold closures and cannot be pickled."""
        return _load, self.source

    @property
    def name(self) -> str:
        """The domain's name."""
        return self.config.name

    @cached_property
    def grammar(self) -> Grammar:
        """The grammar of its actions."""
        return get_grammar(self.config.grammar)

    @cached_property
    def tools(self) -> list[JsonObject]:
        """OpenAI tool schemas, in the order of declaration; read-only."""
        return [spec.schema for spec in self.specs.values()]

    def own_tools(self) -> list[JsonObject]:
        """The same as plain values that the caller may change."""
        return cast("list[JsonObject]", orjson.loads(self._tools_json))

    @cached_property
    def _tools_json(self) -> bytes:
        return orjson.dumps(self.tools)

    @cached_property
    def tool_entries(self) -> dict[str, JsonObject]:
        """Tool name to its ``tools.json`` entry."""
        return {name: spec.entry for name, spec in self.specs.items()}

    @cached_property
    def hash(self) -> str:
        """Content hash of everything that decides what happens in an episode, tasks left out; 16 hex digits."""
        digest = hashlib.sha256()
        skip = {*self.config.tasks.values(), "README.md"}
        for path in sorted(self.folder.rglob("*")):
            name = path.relative_to(self.folder).as_posix()
            hidden = any(part.startswith((".", "__")) for part in path.relative_to(self.folder).parts[:-1])
            if path.suffix in _HASHED and name not in skip and not hidden and path.is_file():
                digest.update(f"{name}\0".encode())
                digest.update(hashlib.sha256(path.read_bytes()).digest())
        digest.update(encode(dict(self.options)))
        if self.data is not None:
            digest.update(self.data.hash.encode())
        return digest.hexdigest()[:16]

    @cached_property
    def replies(self) -> Replies:
        """What a reply without calls does: it reaches the user, ends the episode, or is an error."""
        if self.user is not None:
            return "user"
        ends = self.config.ends_on_reply
        return "end" if ends or (ends is None and not self._ends_otherwise) else "error"

    @cached_property
    def _ends_otherwise(self) -> bool:
        """Whether a tool, a rule on the state or the grammar can end an episode."""
        if self.config.ends or any(spec.terminal for spec in self.specs.values()):
            return True
        try:
            return bool(self.grammar.render(End("done")))
        except InputError:
            return False

    @property
    def endless(self) -> bool:
        """Whether every episode runs to the turn limit."""
        return self.replies == "error" and not self._ends_otherwise

    def how_to_act(self, *, compact: bool = False) -> str:
        """The part of the system message that explains how actions are written."""
        parallel = self.config.parallel_tool_calls == "allow"
        return self.grammar.instructions(self.tools, compact, parallel, self.replies).strip()

    @cached_property
    def prompts(self) -> dict[str, str]:
        """The system message, ``full`` and ``compact``."""
        short = self.folder / "policy.compact.md"
        brief = read_text(short) if self.data is None and short.is_file() else self.policy
        return {
            "full": f"{self.policy.strip()}\n\n{self.how_to_act()}",
            "compact": f"{brief.strip()}\n\n{self.how_to_act(compact=True)}",
        }

    def prepare(self, task: Task) -> PreparedTask:
        """Work out what all episodes of a task share; the last few tasks are remembered, by identity.

        Raises:
            PatchError: The task's changes do not fit the initial state.
        """
        known = self._prepared.get(id(task))
        if known is None or known.task is not task:
            if len(self._prepared) >= _REMEMBERED:
                self._prepared.clear()
            known = PreparedTask(task, self.base.apply(task.setup) if task.setup else self.base, task_hash(task))
            self._prepared[id(task)] = known
        return known

    def find_task(self, task_id: str) -> Task:
        """Find a task by its id: a fixed one of any split, or a generated one.

        Raises:
            InputError: There is none; names a similar one.
        """
        fixed = {task.id: task for tasks in self.tasks.values() for task in tasks}
        if task_id in fixed:
            return fixed[task_id]
        number = re.search(r"\d+$", task_id)
        if number is not None and self.generator is not None:  # generated tasks are numbered; none need be searched
            for split in SPLITS:
                task = self.generator(split, int(number.group()))
                if task.id == task_id:
                    return task
        fix = did_you_mean(task_id, fixed) or f"Such as {', '.join([*fixed][:3])}."
        raise InputError(f"there is no task {task_id!r} in {self.name}", where="task", fix=fix.strip())

    @cached_property
    def state_schema(self) -> StateSchema | None:
        """What the state may be; ``None`` where nothing says so.

        Raises:
            DomainError: The file has mistakes.
        """
        name = self.config.state_schema
        return None if name is None else read_state_schema(self.folder / name)

    def slicer(self, tool: str) -> Slicer:
        """What takes the slice of the state that a call of a tool can touch; made once.

        Args:
            tool: Name of one of the domain's tools.
        """
        made = self._slicers.get(tool)
        if made is None:
            made = compile_reads(self.specs[tool].reads, f"tool {tool}", folder=self.folder)
            self._slicers[tool] = made
        return made

    def renderer(self, tool: str) -> Renderer | None:
        """What writes the observation of a successful call from the state after it; ``None`` where no rule does.

        Args:
            tool: Name of one of the domain's tools.
        """
        if tool not in self._renderers:
            self._renderers[tool] = compile_render(self.specs[tool].render, f"tool {tool}", folder=self.folder)
        return self._renderers[tool]

    def opening(self, state: State, task: Task) -> str:
        """The first observation where nobody talks, for simulators other than the world."""
        if self._opening is None:
            return task.instruction or ""
        return self._opening(state, task)

    @cached_property
    def _opening(self) -> Callable[[State, Task], str] | None:
        name = self.config.opening
        return None if name is None else cast("Callable[[State, Task], str]", load_object(name, folder=self.folder))

    def extras(self, state: State) -> Mapping[str, Any]:
        """Public extras of the present state, such as a page's clickables, for simulators other than the world."""
        return {} if self._extras is None else self._extras(state)

    @cached_property
    def _extras(self) -> Callable[[State], Mapping[str, Any]] | None:
        name = self.config.info
        return (
            None if name is None else cast(Callable[[State], Mapping[str, Any]], load_object(name, folder=self.folder))
        )

    @cached_property
    def generator(self) -> Callable[[Split, int], Task] | None:
        """The function that makes further tasks; none where the user's own data took the place of the domain's."""
        if self.config.generator is None or self.data is not None:
            return None
        return cast("Callable[[Split, int], Task]", load_object(self.config.generator, folder=self.folder))

    def make_reward(self, judge_model: ChatModel | None = None, judge_scope: str = "llm", votes: int = 1) -> Reward:
        """A reward function for one episode after another.

        Args:
            judge_model: Who judges what no program can; ``None``: nobody.
            judge_scope: ``llm``: only that; ``all``: everything.
            votes: How many of its votes decide a criterion that the reward hangs on.
        """
        spec = self.config.reward if self.data is None or self.data.reward is None else self.data.reward
        cls = cast("type[Any]", load_object(spec, folder=self.folder, where=str(self.folder / "domain.yaml")))
        where = str(self.folder / (self.config.rubric or "domain.yaml"))
        judged: dict[str, Any] = {}
        if judge_model is not None:
            make = cast("Callable[..., Any]", load_object(self.config.judge, folder=self.folder, where=where))
            judged = {"judge": make(self, judge_model, votes_gating=votes), "judge_scope": judge_scope}
        made = cls.for_domain(self.rubric, self.config.reward_options, folder=self.folder, where=where, **judged)
        return cast(Reward, made)


@lru_cache(maxsize=32)
def _load(folder: Path, options: bytes, data: Path | None) -> Domain:
    return _Loader(folder, orjson.loads(options), data).load()


def load_domain(
    folder: Path | str,
    options: Mapping[str, Any] | None = None,
    data: Path | str | None = None,
    *,
    fresh: bool = False,
) -> Domain:
    """Load a domain's folder, or give the one that was loaded before with the same settings.

    Args:
        folder: The folder with ``domain.yaml``.
        options: Options of its world; unknown ones are refused.
        data: The user's own data for it.
        fresh: Read the files again; they have changed.

    Raises:
        DomainError: The folder has mistakes; ``problems`` holds every one.
        InputError: An option or the data is wrong.
    """
    if fresh:
        _load.cache_clear()
    path = Path(folder).expanduser().resolve()
    own = None if data is None else Path(data).expanduser().resolve()
    return _load(path, encode(dict(sorted((options or {}).items()))), own)


class _Loader:
    """Loads the parts one after another and collects every mistake before it gives up."""

    def __init__(self, folder: Path, options: Mapping[str, Any], data: Path | None) -> None:
        self.folder, self.asked, self.data_path = folder, options, data
        self.problems: list[InputError] = []

    def load(self) -> Domain:
        if not self.folder.is_dir():
            raise DomainError("there is no such folder", where=str(self.folder), fix="Check the path.")
        file = self.folder / "domain.yaml"
        if not file.is_file():
            fix = "Name the folder of a domain, or make one with `simia new-domain PATH`."
            raise DomainError("this folder has no domain.yaml", where=str(self.folder), fix=fix)
        self.config = read_config(file)
        data = self.try_(self._data, None)
        options = self.try_(lambda: self._options(data), {})
        policy = self.try_(lambda: self._policy(data), "")
        world = self.try_(lambda: self._world(options), None)
        specs = self.try_(lambda: self._specs(world), {})
        self.try_(lambda: self._function("opening"), None)
        self.try_(lambda: self._function("info"), None)
        base = self.try_(lambda: self._state(data), State.from_tables({}))
        cues = self.try_(lambda: self._yaml(self.config.cues), {}) or {}
        rubric = self.try_(lambda: self._yaml(self.config.rubric), []) or []
        if not isinstance(rubric, list):
            where = str(self.folder / str(self.config.rubric))
            self.problems.append(DomainError("is not a list of criteria", where=where, fix="Start items with '- id:'."))
            rubric = []
        tasks = self._tasks(data)
        if self.problems:
            raise DomainError.of(self.problems)
        user = self.config.user if data is None or data.user is None else data.user
        return Domain(
            config=self.config,
            folder=self.folder,
            policy=policy,
            specs=specs,
            world=world,
            base=base,
            tasks=tasks,
            user=user,
            options=options,
            source=(self.folder, encode(self.asked), self.data_path),
            data=data,
            cues=cues,
            rubric=tuple(rubric),
        )

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
        loader = cast("Callable[[Path], DomainData]", load_object(self.config.data, folder=self.folder))
        return loader(self.data_path)

    def _options(self, data: DomainData | None) -> dict[str, Any]:
        known = dict(self.config.options)
        unknown = sorted(set(self.asked) - set(known))
        if unknown:
            hint = did_you_mean(unknown[0], [*known, *_SETTINGS])
            fix = f"{hint}Known: {', '.join(known) or 'none'}."
            raise InputError(f"{self.config.name} has no option {unknown[0]!r}", where="options", fix=fix)
        return {**known, **(data.options if data is not None else {}), **self.asked}

    def _policy(self, data: DomainData | None) -> str:
        if data is not None and data.policy is not None:
            return data.policy
        return read_text(self.folder / self.config.policy, what="policy text")

    def _world(self, options: Mapping[str, Any]) -> World | None:
        if self.config.world is None:
            return None
        where = str(self.folder / "domain.yaml")
        cls = load_object(self.config.world, folder=self.folder, where=where)
        if not (isinstance(cls, type) and issubclass(cls, World)):
            fix = "Let it inherit from simia_gym.domain.world.World."
            raise DomainError(f"world {self.config.world!r} is no World class", where=where, fix=fix)
        try:
            return cls(options)
        except InputError:
            raise
        except Exception as error:
            place = f"{where}: world" if options == self.config.options else "options"
            what = f"{self.config.world} cannot be made: {error}"
            raise InputError(what, where=place, fix="Change the option, or mend the class.") from error

    def _function(self, key: str) -> None:
        """Look for a function that ``domain.yaml`` names."""
        name, where = getattr(self.config, key), f"{self.folder / 'domain.yaml'}: {key}"
        if name is not None and not callable(load_object(name, folder=self.folder, where=where)):
            raise DomainError(f"{name!r} is not a function", where=where, fix="Name a function.")

    def _specs(self, world: World | None) -> dict[str, ToolSpec]:
        """The world's tools, and those of ``tools.json`` that a model plays; without a world all of the file."""
        path = self.folder / self.config.tools
        known = {} if world is None else dict(world.tools)
        if world is not None and not path.is_file():
            return self._checked(known)
        entries = read_json(path, what="tools file")
        if not isinstance(entries, list):
            raise DomainError("is not a list of tools", where=str(path), fix="Write a JSON array of OpenAI tools.")
        for i, entry in enumerate(entries):
            where = f"{path}[{i}]"
            if world is None:
                spec = spec_from_entry(entry, where)
                if spec.name in known:
                    fix = "Give every tool its own name."
                    raise DomainError(f"there are two tools {spec.name!r}", where=where, fix=fix)
                known[spec.name] = spec
            elif _played_by_model(entry):
                spec = spec_from_entry(entry, where)
                known.setdefault(spec.name, spec)
        return self._checked(known)

    def _checked(self, specs: dict[str, ToolSpec]) -> dict[str, ToolSpec]:
        """Look for the functions that reads and rendering rules name."""
        problems: list[InputError] = []
        for name, spec in specs.items():
            where = f"{self.folder / self.config.tools}: tool {name!r}"
            try:
                compile_reads(spec.reads, where, folder=self.folder)
                compile_render(spec.render, where, folder=self.folder)
            except InputError as error:
                problems.append(error)
        if problems:
            raise DomainError.of(problems)
        return specs

    def _state(self, data: DomainData | None) -> State:
        if data is not None and data.tables is not None:
            return State.from_tables(data.tables)
        source = self.config.state
        if source is None:
            return State.from_tables({})
        if ":" in source:
            make = cast("Callable[[], Mapping[str, Mapping[str, Any]]]", load_object(source, folder=self.folder))
            return State.from_tables(make())
        path = self.folder / source
        tables = read_json(path, what="state file")
        if not isinstance(tables, dict) or not all(
            isinstance(rows, dict) and all(isinstance(row, dict) for row in rows.values()) for rows in tables.values()
        ):
            raise DomainError("is not {table: {key: row}}", where=str(path), fix="Make every row a JSON object.")
        return State.from_tables(tables)

    def _yaml(self, name: str | None) -> Any:
        return None if name is None else read_yaml(self.folder / name)[0]

    def _tasks(self, data: DomainData | None) -> Mapping[Split, Sequence[Task]]:
        if data is not None and data.tasks is not None:
            return data.tasks
        tasks: dict[Split, Sequence[Task]] = {"train": (), "test": ()}
        for split, name in self.config.tasks.items():
            tasks[split], problems = read_tasks(self.folder / name, split)
            self.problems.extend(problems)
        return tasks


def _played_by_model(entry: Any) -> bool:
    marks = entry.get("x-simia") if isinstance(entry, dict) else None
    return isinstance(marks, dict) and marks.get("route") == "llm"
