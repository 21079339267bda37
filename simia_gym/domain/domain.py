"""A loaded domain, shared by all of its episodes."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import chain
from pathlib import Path
from typing import Any, Literal, TypeVar, cast

from simia_gym.actions import Grammar, Replies, native_instructions
from simia_gym.common.dotted_names import load_function, load_object
from simia_gym.common.event_loop import run_sync
from simia_gym.common.files import Lines, dotted, read_json, read_text
from simia_gym.common.json_encoding import encode, hash_of
from simia_gym.contracts import PreparedTask
from simia_gym.domain.config import DomainConfig, EndRule
from simia_gym.domain.content import content_hash
from simia_gym.domain.data import DomainData
from simia_gym.domain.limits import Limits
from simia_gym.domain.tasks import TaskList, index_in, task_blob
from simia_gym.domain.tools import ToolSpec
from simia_gym.domain.world import World, own_code, world_opening
from simia_gym.errors import InputError, PatchError, did_you_mean
from simia_gym.llm.types import ChatModel
from simia_gym.policies.base import PolicyStart
from simia_gym.record.finished_episode import Reward
from simia_gym.state import FrozenList, State, make_pointer
from simia_gym.state.schema import StateSchema, read_state_schema, state_schema_of
from simia_gym.types import End, JsonObject, Split, SplitChoice, Task, Transition
from simia_gym.views.history import HistoryView, compile_history
from simia_gym.views.render import Renderer
from simia_gym.views.slices import Slicer

T = TypeVar("T")

_REMEMBERED = 1024
Hook = Literal["verify", "recorded", "export", "export_folder", "doctor", "check", "view"]
SPLITS: tuple[Split, ...] = ("train", "dev", "test")
FIXED_SPLITS: tuple[Split, ...] = ("train", "test")
"""The splits that have files of tasks; ``all`` is both."""
DEV_TASKS = 20
"""Number of dev tasks of a domain with a generator, without further ones."""
_DEV_SHARE = 5


@dataclass(frozen=True, eq=False)
class Domain:
    """A loaded and checked domain folder.

    Attributes:
        config: The contents of ``domain.yaml``.
        folder: The domain's folder.
        grammar: The grammar of its actions.
        grammar_name: The name under which ``domain.yaml`` has it.
        samples: Plausible actions, in this grammar.
        policy: The policy text, for the system message.
        specs: Tool name to specification.
        world: The executable world, or ``None`` if only a model can simulate the tools.
        base: The initial state that all tasks share.
        tasks: The fixed tasks of ``train`` and ``test``, as in their files; see `tasks_of`.
        user: The default user simulator; ``None`` if the domain has no user.
        options: The world's options, including defaults.
        source: The function that loaded the domain, and its arguments, for pickling.
        mark: The mark of its files when they were read; another content has another one.
        slicers: Tool name to the function that selects its slice of the state.
        renderers: Tool name to the function that writes its observation, or ``None``.
        open: The function of ``opening`` in ``domain.yaml``, if any.
        info: The function of ``info`` in ``domain.yaml``, if any.
        history: What policies are shown of the history; ``None`` for the whole transcript.
        data: The custom data that replaces the domain's own, if any.
        cues: The scripted user's cue patterns.
        rubric: The domain's rubric items.
        lines: Id of a fixed task to its line in its file.
    """

    config: DomainConfig
    folder: Path
    grammar: Grammar
    grammar_name: str
    samples: tuple[str, ...]
    policy: str
    specs: Mapping[str, ToolSpec]
    world: World | None
    base: State
    tasks: Mapping[Split, Sequence[Task]]
    user: str | None
    options: Mapping[str, Any]
    source: tuple[Callable[..., Domain], tuple[Any, ...]]
    mark: bytes
    slicers: Mapping[str, Slicer]
    renderers: Mapping[str, Renderer | None]
    open: Callable[[State, Task], str] | None
    info: Callable[[State], Mapping[str, Any]] | None
    history: HistoryView | None = None
    data: DomainData | None = None
    cues: JsonObject = field(default_factory=dict)
    rubric: tuple[JsonObject, ...] = ()
    lines: Mapping[str, int] = field(default_factory=dict)
    _prepared: dict[int, PreparedTask] = field(default_factory=dict, init=False, repr=False)
    _made: dict[str, Any] = field(default_factory=dict, init=False, repr=False)

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle the loading function and its arguments, because compiled rules are closures and cannot be pickled."""
        return self.source

    @property
    def name(self) -> str:
        """The domain's name."""
        return self.config.name

    def history_view(self, name: str | None) -> HistoryView | None:
        """What policies are shown of the history, by its name; ``None`` for the domain's own."""
        return self.history if name is None else compile_history(name, folder=self.folder)

    def place(self, key: str) -> str:
        """Where a key stands in ``domain.yaml``, for errors."""
        return Lines(self.folder / "domain.yaml").where([key])

    def once(self, name: str, make: Callable[[], T]) -> T:
        """Return a value derived from the domain, such as the beginning of a prompt; it is computed once and cached.

        Args:
            name: Cache key; each kind of derived value has its own.
            make: Computes the value; called on a cache miss only.
        """
        if name not in self._made:
            self._made[name] = make()
        return cast(T, self._made[name])

    @cached_property
    def without_rules(self) -> Domain:
        """The same domain, none of whose tools has a rendering rule: whoever plays them writes what they return."""
        specs = {name: replace(spec, render=None, render_errors=False) for name, spec in self.specs.items()}
        return replace(self, specs=specs, renderers=dict.fromkeys(specs))

    @property
    def about(self) -> JsonObject:
        """Name, version and options of the domain, for prompts."""
        return {"name": self.name, "version": self.config.version, "options": dict(self.options)}

    @cached_property
    def tools(self) -> FrozenList:
        """OpenAI tool schemas, in the order of declaration; all episodes share them."""
        return FrozenList(spec.schema for spec in self.specs.values())

    @cached_property
    def tool_entries(self) -> dict[str, JsonObject]:
        """Tool name to its ``tools.json`` entry."""
        return {name: spec.entry for name, spec in self.specs.items()}

    @cached_property
    def hash(self) -> str:
        """Content hash of the domain's files, except the tasks, and of its options; 16 hex digits.

        See `simia_gym.domain.content.content_hash` for the files.
        """
        digest = hashlib.sha256(content_hash(self.folder, self.config.tasks.values()))
        digest.update(encode(dict(self.options)))
        if isinstance(self.config.grammar, dict):  # the domain has several grammars
            digest.update(self.grammar_name.encode())
        if self.data is not None:
            digest.update(self.data.hash.encode())
        return digest.hexdigest()[:16]

    @cached_property
    def replies(self) -> Replies:
        """Effect of a reply without tool calls: it is sent to the user, ends the episode, or is an error."""
        if self.user is not None:
            return "user"
        ends = self.config.ends_on_reply
        return "end" if ends or (ends is None and not self._ends_otherwise) else "error"

    @cached_property
    def _ends_otherwise(self) -> bool:
        """Whether a tool, a rule on the state or the grammar can end an episode."""
        by_rule = any(rule.path for rule in self.config.ends) or any(spec.terminal for spec in self.specs.values())
        return by_rule or self.has_end

    @cached_property
    def has_end(self) -> bool:
        """Whether the grammar has an action that ends the episode."""
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
    def _policies(self) -> dict[str, str]:
        short = self.folder / "policy.compact.md"
        brief = read_text(short) if self.data is None and short.is_file() else self.policy
        return {"full": self.policy.strip(), "compact": brief.strip()}

    @cached_property
    def prompts(self) -> dict[str, str]:
        """The system message, ``full`` and ``compact``."""
        return {
            name: f"{text}\n\n{self.how_to_act(compact=name == 'compact')}" for name, text in self._policies.items()
        }

    @cached_property
    def native_prompts(self) -> dict[str, str]:
        """The system message for policies whose model is given the tools beside the messages, ``full`` and ``compact``.

        It holds neither the tools nor the format of calls. Empty if there are no tools, or if the grammar has an end
        action, which no call expresses.
        """
        if self.has_end or not self.specs:
            return {}
        how = native_instructions(self.config.parallel_tool_calls == "allow", self.replies)
        return {name: f"{text}\n\n{how}" for name, text in self._policies.items()}

    @cached_property
    def blobs(self) -> dict[str, tuple[str, bytes]]:
        """Hash and canonical JSON of what episodes are played with: the system messages, ``tools`` and ``state``."""
        state = {name: dict(self.base.rows(name)) for name in self.base.tables}
        native = {f"native_{name}": text for name, text in self.native_prompts.items()}
        values = {**self.prompts, **native, "tools": [*self.tool_entries.values()], "state": state}
        encoded = {name: encode(value) for name, value in values.items()}
        return {name: (hash_of(data), data) for name, data in encoded.items()}

    def prepare(self, task: Task) -> PreparedTask:
        """Derive the values that all episodes of a task share; cached by the task's identity.

        Raises:
            PatchError: The task's changes do not fit the initial state.
        """
        known = self._prepared.get(id(task))
        if known is None or known.task is not task:
            if len(self._prepared) >= _REMEMBERED:
                self._prepared.clear()
            known = PreparedTask(task, self.base.apply(task.setup) if task.setup else self.base, task_blob(task))
            self._prepared[id(task)] = known
        return known

    def tasks_of(self, split: SplitChoice, generated: int = 0, *, without_dev: bool = False) -> TaskList:
        """The tasks of a split; nothing else decides which they are.

        ``train`` and ``test`` have their fixed tasks, then generated ones; ``all`` is both. ``dev`` has `DEV_TASKS`
        generated tasks, then further ones; in a domain without a generator it is `dev_of_train`.

        Args:
            split: The split, or ``all``.
            generated: Number of generated tasks; with ``all``, half of them per split.
            without_dev: Whether to leave `dev_of_train` out of ``train``.
        """
        if split == "dev":
            counts: dict[Split, int] = {} if self.generator is None else {"dev": DEV_TASKS + generated}
            return TaskList(self.dev_of_train, counts, self.generator)
        splits: tuple[Split, ...] = FIXED_SPLITS if split == "all" else (split,)
        left_out = {task.id for task in self.dev_of_train} if without_dev else set()
        fixed = [task for name in splits for task in self.tasks.get(name, ()) if task.id not in left_out]
        first = generated - generated // len(splits) * (len(splits) - 1)
        counts = {name: (first if i == 0 else generated // len(splits)) for i, name in enumerate(splits)}
        return TaskList(fixed, counts, self.generator)

    @cached_property
    def dev_of_train(self) -> tuple[Task, ...]:
        """The train tasks that are ``dev``'s if the domain has no generator: a fifth, chosen by a hash of their ids."""
        train = self.tasks.get("train", ())
        if self.generator is not None or len(train) < 2:
            return ()
        ranked = sorted(train, key=lambda task: hashlib.sha256(f"dev task {task.id}".encode()).digest())
        chosen = {task.id for task in ranked[: max(1, len(train) // _DEV_SHARE)]}
        return tuple(task for task in train if task.id in chosen)

    def find_task(self, task_id: str) -> Task:
        """Find a task by its id: a fixed one of any split, or a generated one.

        Raises:
            InputError: There is no such task; the message suggests a similar id.
        """
        fixed = {task.id: task for tasks in self.tasks.values() for task in tasks}
        if task_id in fixed:
            return fixed[task_id]
        index = index_in(task_id)
        if index is not None and self.generator is not None:
            for split in (*FIXED_SPLITS, "dev"):
                task = self.generator(split, index)
                if task.id == task_id:
                    return task
        fix = did_you_mean(task_id, fixed) or f"Such as {', '.join([*fixed][:3])}."
        raise InputError(f"there is no task {task_id!r} in {self.name}", where="task", fix=fix.strip())

    def policy_start(self, seed: int, *, env: str = "", native_tools: bool = False) -> PolicyStart:
        """What a policy is told before an episode; ``env`` is the environment's id, by default the domain's name."""
        return PolicyStart(
            env=env or self.name,
            seed=seed,
            tools=self.tools,
            grammar=self.grammar,
            samples=self.samples,
            replies=self.replies,
            terminal=tuple(name for name, spec in self.specs.items() if spec.terminal),
            native_tools=native_tools,
        )

    def end_of(self, state: State) -> str | None:
        """The reason to end the episode if the state meets a rule of ``ends`` in ``domain.yaml``, else ``None``."""
        for rule in self.config.ends:
            if rule.path is not None:
                try:
                    if state.at(rule.path) == rule.value:
                        return rule.reason or "state"
                except PatchError:
                    continue
        return None

    @cached_property
    def limits_in_a_row(self) -> tuple[EndRule, ...]:
        """The rules of ``ends`` that count equal or invalid actions."""
        return tuple(rule for rule in self.config.ends if rule.path is None)

    def end_in_a_row(self, equal: int, invalid: int) -> str | None:
        """The reason to end the episode after so many equal and so many invalid actions in a row, if there is one."""
        for rule in self.limits_in_a_row:
            if rule.repeat is not None and equal >= rule.repeat:
                return rule.reason or "repeated_action"
            if rule.invalid is not None and invalid >= rule.invalid:
                return rule.reason or "invalid_action"
        return None

    @cached_property
    def uncounted(self) -> tuple[str, ...]:
        """Pointers of the tables that no goal counts: those with ``"goal": false`` in the state's schema."""
        tables = {} if self.state_schema is None else self.state_schema.tables
        return tuple(make_pointer(name) for name, rules in tables.items() if not rules.goal)

    def score_groups(self, task: Task) -> JsonObject:
        """The values of the task's options by which scores are shown, by name; those of ``scores_by``."""
        return {name: task.options[name] for name in self.config.scores_by if name in task.options}

    def rubric_of(self, task: Task) -> list[JsonObject]:
        """The rubric's items for a task; those of the task override keys of the domain's items."""
        items: dict[Any, JsonObject] = {}
        for item in (*self.rubric, *task.criteria):
            items[item.get("id")] = {**items.get(item.get("id"), {}), **item}
        return [item for item in items.values() if not item.get("drop")]

    def outside_goal(self, task: Task) -> tuple[str, ...]:
        """Pointers of what does not matter for a task's goal: `uncounted`, and what the rubric's goal check ignores."""
        checks = [item.get("check") for item in self.rubric_of(task)]
        goals = [each for each in checks if isinstance(each, Mapping) and each.get("program") == "goal_state"]
        ignored = [each.get("ignore", ()) for each in goals]
        return (*self.uncounted, *chain.from_iterable([one] if isinstance(one, str) else one for one in ignored))

    @cached_property
    def state_schema(self) -> StateSchema | None:
        """The schema of the state; ``None`` if the domain has none.

        Raises:
            DomainError: It has mistakes.
        """
        if self.data is not None and self.data.state_schema is not None:
            return state_schema_of(self.data.state_schema, _in_data, self.folder)
        name = self.config.state_schema
        return None if name is None else read_state_schema(self.folder / name)

    @property
    def state_schema_content(self) -> JsonObject | None:
        """The state's schema as it is written."""
        if self.data is not None and self.data.state_schema is not None:
            return dict(self.data.state_schema)
        name = self.config.state_schema
        return None if name is None else read_json(self.folder / name, what="state schema")

    @cached_property
    def tables(self) -> tuple[str, ...]:
        """The tables of the initial state, then those that only the schema has."""
        return tuple(dict.fromkeys((*self.base.tables, *(self.state_schema.tables if self.state_schema else ()))))

    def limits(self, tool: str) -> Limits:
        """The greatest sizes of a tool's calls and answers; for a name that is no tool's, the domain's."""
        return self.config.limits.but(self.specs[tool].limits if tool in self.specs else None)

    async def opening(self, state: State, task: Task, world: World | None = None) -> Transition:
        """The first observation of an episode without a user; code writes it, whoever answers the calls.

        What the world's opening changes belongs to the initial state.

        Args:
            state: The state after the task's setup.
            task: The task.
            world: The world to ask, such as one of an episode with models; by default the domain's.

        Raises:
            InputError: There is no world, and the task has no instruction.
            Fault: The domain's code raised an exception.
        """
        world = world or self.world
        if world is not None:
            return await world_opening(world, state, task)
        text = task.instruction or "" if self.open is None else own_code("opening", self.open, state, task)
        if not text:
            fix = "Give the task an instruction, or the domain a user, a world or an opening."
            raise InputError("there is nothing to begin with", where=f"task {task.id}", fix=fix)
        return Transition(text, (), speaker="env", info=self.extras(state), state=state)

    def begun(self, task: Task) -> State:
        """The state before the first call of an episode: after the setup, and without a user after the opening.

        An episode gets there by `Episode.reset`, with its own seed; this one is for code outside of episodes. Cached.

        Raises:
            PatchError: The task's changes do not fit the initial state.
            Fault: The world's opening raised an exception.
        """
        prepared, world = self.prepare(task), self.world
        if world is None or self.user is not None:
            return prepared.initial

        def opened(task: Task) -> State:
            first = run_sync(self.opening(prepared.initial, task), inline=not world.io)
            return prepared.initial if first.state is None else cast(State, first.state)

        return prepared.once("begun", opened)

    def extras(self, state: State) -> Mapping[str, Any]:
        """Public facts of a state, such as a page's clickable elements."""
        if self.world is not None:
            return own_code("info", self.world.info, state)
        return {} if self.info is None else own_code("info", self.info, state)

    @cached_property
    def generator(self) -> Callable[[Split, int], Task] | None:
        """The task generator, of custom data that of the data; ``None`` if there is none."""
        if self.data is not None:
            return self.data.generator
        if self.config.generator is None:
            return None
        return load_function(self.config.generator, folder=self.folder, where=self.place("generator"))

    def hook(self, command: Hook) -> Callable[..., Any] | None:
        """The function that the domain adds to a command, if ``domain.yaml`` names one; loaded when it is asked for.

        ``verify(domain, *, data, rollouts)``, both paths or ``None``, runs recorded rollouts of the domain's benchmark
        again, or its checks on its own data. It returns numbers, with ``agree``, whether nothing differs, and
        ``differences``, texts. ``recorded(domain, *, data, rollouts)`` yields a `RecordedRollout` for each of them.
        ``export(domain, records)`` returns records as one JSON value in the benchmark's own
        format. ``export_folder(domain, state)`` returns the end of an episode as the bytes of files by their paths in a
        folder. ``doctor()`` yields what the domain needs of this machine: a name, whether it is in order (``None`` if
        either is fine), and what was found. ``check(domain)`` yields an `InputError` for each mistake in files
        that only the domain's own code can read. ``view(domain, state)`` returns parts of a state as what they are,
        such as files or the open page: titles and HTML documents.
        """
        name, where = getattr(self.config, command), f"{self.folder / 'domain.yaml'}: {command}"
        return None if name is None else load_function(name, folder=self.folder, where=where)

    def make_reward(self, judge_model: ChatModel | None = None, judge_scope: str = "llm", votes: int = 1) -> Reward:
        """Make a reward function; one object can judge many episodes, one at a time.

        Args:
            judge_model: The model of the LLM judge; ``None`` for no judge.
            judge_scope: ``llm``: it judges the criteria that no program can; ``all``: every criterion.
            votes: Number of judge votes on each criterion that can decide the reward by itself (required or forbidden).

        Returns:
            The reward function.
        """
        spec = self.config.reward if self.data is None or self.data.reward is None else self.data.reward
        cls: Any = load_object(spec, folder=self.folder, where=self.place("reward"))
        where = str(self.folder / (self.config.rubric or "domain.yaml"))
        judged: dict[str, Any] = {}
        if judge_model is not None:
            make = load_function(self.config.judge, folder=self.folder, where=self.place("judge"))
            judged = {"judge": make(self, judge_model, votes_gating=votes), "judge_scope": judge_scope}
        made = cls.for_domain(self.rubric, self.config.reward_options, folder=self.folder, where=where, **judged)
        return cast(Reward, made)


def _in_data(parts: Sequence[str | int]) -> str:
    return f"data: {dotted(('state_schema', *parts))}"
