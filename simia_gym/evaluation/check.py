"""The domain checker: finds mistakes in a domain's files, tools and tasks.

It checks the files, ``tools.json`` against the world's declarations, the initial state against its schema, and the
tools' self-tests. Then it checks every task: the rubric must be valid, the gold actions must reach the goal, the
domain's expert must succeed, and two policies that do no work (``null`` and ``claimer``) must fail. A task in which a
policy that only refuses (``refuser``) succeeds is noted. For simulation by a model, it checks each gold call: on the
declared state slice the world must answer as on the whole state, and the rendering rule must give the world's
observation. For a domain without a world, only the files are checked.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from simia_gym.assembly.settings import EnvConfig
from simia_gym.assembly.suite import Suite, load_suite
from simia_gym.common.event_loop import run_sync
from simia_gym.common.files import read_json
from simia_gym.common.json_encoding import encode
from simia_gym.domain.domain import Domain
from simia_gym.domain.loading import load_domain
from simia_gym.domain.registration import CUSTOM
from simia_gym.errors import DomainError, InputError, PatchError
from simia_gym.evaluation.gold import try_gold
from simia_gym.evaluation.gold import write_goals as write_goals_of
from simia_gym.evaluation.selftests import FILE as SELFTESTS
from simia_gym.evaluation.selftests import SelfTest, run_selftests
from simia_gym.evaluation.slice_check import declaration_problems, gold_problems
from simia_gym.policies import Policy, load_policy
from simia_gym.prompts import prompt_problems
from simia_gym.rollout.foreign import foreign_code
from simia_gym.rollout.play import play_new
from simia_gym.state.schema import read_state_schema
from simia_gym.types import Task

IDLE = ("null", "claimer")
REFUSER = "refuser"
_SHOWN = 5
_LONGEST = 80
_MARKS = {
    "effect": "'write', with nothing in its write set",
    "reads": "nothing, so that a model that plays it sees no state",
    "writes": "nothing, so that a model that plays it changes nothing",
}

Progress = Callable[[str], None]


@dataclass(frozen=True, slots=True)
class TaskResult:
    """The results of one task.

    Attributes:
        task: The task's id.
        split: The task's split.
        kind: The task's kind.
        gold: Whether the gold actions reach the goal; ``None`` without a goal.
        policies: Whether each policy succeeded; ``None`` if its episode was invalid.
    """

    task: str
    split: str
    kind: str
    gold: bool | None
    policies: Mapping[str, bool | None]


@dataclass
class Report:
    """The findings of the checker.

    Attributes:
        folder: The domain's folder.
        loaded: Whether the folder could be loaded.
        played: Whether the domain has a world, so that self-tests and tasks were run.
        name: The domain's name.
        problems: The mistakes, each with file, place and fix.
        notes: Findings that are not mistakes, such as defaults that were filled in.
        tools: Number of tools.
        rows: Number of rows in the initial state.
        selftests: Results of the self-tests.
        tasks: Results of the tasks.
    """

    folder: Path
    loaded: bool = False
    played: bool = False
    name: str = ""
    problems: list[InputError] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    tools: int = 0
    rows: int = 0
    selftests: list[SelfTest] = field(default_factory=list)
    tasks: list[TaskResult] = field(default_factory=list)

    @property
    def ok(self) -> bool:
        """Whether no mistake was found."""
        return not self.problems


def check_folder(
    path: Path, *, write_tools: bool = False, write_goals: bool = False, progress: Progress = lambda step: None
) -> Report:
    """Check a domain.

    Args:
        path: The domain's folder.
        write_tools: Whether to rewrite ``tools.json`` from the world's declarations.
        write_goals: Whether to write the tasks' goals from their gold actions, if the domain has a world.
        progress: Called with the name of each step.

    Returns:
        The report. Mistakes are listed in it, not raised.
    """
    report = Report(path)
    progress("files")
    try:
        with foreign_code(path):
            domain = load_domain(path)
            domain.make_reward()
            if write_goals and domain.world is not None:
                report.notes += write_goals_of(domain)
                domain = load_domain(path, fresh=True)
    except DomainError as error:
        report.problems.extend(error.problems or (error,))
        return report
    except InputError as error:
        report.problems.append(error)
        return report
    report.loaded, report.name, report.tools = True, domain.name, len(domain.specs)
    _collect(report, lambda: _check_texts(domain))
    report.problems += prompt_problems(domain.folder)
    _collect(report, lambda: _check_task_files(domain, report))
    if domain.endless:
        report.notes.append(
            "warning: every episode runs to the turn limit: there is no user, no terminal tool, no rule in ends and no "
            "end action in the grammar, and ends_on_reply is false"
        )
    _collect(report, lambda: _check_tools(domain, report, write_tools))
    progress("state")
    _collect(report, lambda: _check_state(domain, report))
    _collect(report, lambda: _check_declarations(domain, report))
    _collect(report, lambda: _check_setups(domain, report))
    if domain.world is None:
        report.notes.append(
            "there is no world: only a model could answer the tools' calls (`simia rollout PATH --simulator llm`), and "
            "tools, self-tests and tasks were not tried"
        )
        _collect(report, lambda: _check_rubrics(domain, report))
        return report
    report.played = True
    progress("self-tests")
    _collect(report, lambda: _check_selftests_file(domain))
    report.selftests = list(run_selftests(domain.folder, domain.world, domain.base))
    report.problems += [test.problem for test in report.selftests if test.problem is not None]
    untested = sorted(set(domain.specs) - {test.tool for test in report.selftests})
    if untested:
        report.notes.append(f"tools without a self-test in {SELFTESTS}: {', '.join(untested)}")
    _collect(report, lambda: _check_tasks(domain, report, progress))
    return report


def _collect(report: Report, part: Callable[[], None]) -> None:
    """Run one check; add an error that it raises to the report's problems."""
    try:
        with foreign_code(report.folder):
            part()
    except DomainError as error:
        report.problems.extend(error.problems or (error,))
    except InputError as error:
        report.problems.append(error)


def _check_texts(domain: Domain) -> None:
    """Raise an error if the policy text is empty."""
    if not domain.policy.strip():
        fix = "Write what the agent is to do and what it must not."
        raise DomainError("the policy text is empty", where=str(domain.folder / domain.config.policy), fix=fix)


def _check_task_files(domain: Domain, report: Report) -> None:
    fix = "Write a task into it, or leave the split out of domain.yaml."
    for split, name in domain.config.tasks.items():
        if not domain.tasks.get(split):
            report.problems.append(DomainError("holds no task", where=str(domain.folder / name), fix=fix))


def _check_selftests_file(domain: Domain) -> None:
    path = domain.folder / SELFTESTS
    if path.exists() and not path.is_file():
        raise DomainError("is not a file", where=str(path), fix="Write one self-test a line, or remove it.")


def _check_tools(domain: Domain, report: Report, write: bool) -> None:
    path = domain.folder / domain.config.tools
    declared = [spec.entry for spec in domain.specs.values()]
    if domain.world is not None and write:
        path.write_text(json.dumps(declared, indent=2, ensure_ascii=False) + "\n", encoding="utf-8")
        report.notes.append(f"{path} was written: {len(declared)} tools")
    fix = "Run `simia check PATH --write-tools`."
    if not path.is_file():
        raise DomainError("there is no such tools file", where=str(path), fix=fix)
    written = read_json(path, what="tools file")
    if not isinstance(written, list):
        raise DomainError("is not a list of tools", where=str(path), fix=fix)
    if domain.world is None:
        report.notes += _defaults(written, path)
        return
    by_name = {_name(entry): entry for entry in written}
    for entry in declared:
        name = _name(entry)
        if name not in domain.world.tools:
            continue  # tools that only a model plays are declared in the file itself
        if name not in by_name:
            report.problems.append(DomainError(f"lacks the tool {name!r} of the world", where=str(path), fix=fix))
        elif encode(by_name[name]) != encode(entry):
            what = f"tool {name!r} is not as the world declares it: {_difference(by_name[name], entry)}"
            report.problems.append(DomainError(what, where=str(path), fix=fix))
    for name in sorted(by_name.keys() - domain.specs.keys()):
        report.problems.append(DomainError(f"the world has no tool {name!r}", where=str(path), fix=fix))
    report.notes += _defaults(written, path)


def _name(entry: Any) -> str:
    function = entry.get("function", entry) if isinstance(entry, dict) else {}
    return str(function.get("name", "?")) if isinstance(function, dict) else "?"


def _difference(written: Any, declared: Any, place: str = "") -> str:
    """Describe the first difference between two JSON values."""
    if isinstance(written, dict) and isinstance(declared, dict):
        for name in [*declared, *(name for name in written if name not in declared)]:
            if name not in written:
                return f"{place}/{name} is missing"
            if name not in declared:
                return f"{place}/{name} is not declared"
            if encode(written[name]) != encode(declared[name]):
                return _difference(written[name], declared[name], f"{place}/{name}")
        return f"{place or '/'} has its keys in another order"
    return f"{place} is {_short(written)}, declared is {_short(declared)}"


def _short(value: Any) -> str:
    text = encode(value).decode()
    return text if len(text) <= _LONGEST else f"{text[:_LONGEST]}…"


def _defaults(entries: Iterable[Any], path: Path) -> list[str]:
    """A note on each tool whose ``x-simia`` lacks keys, naming their defaults."""
    notes = []
    for entry in entries:
        marks = entry.get("x-simia", {}) if isinstance(entry, dict) else {}
        missing = [f"{name} ({value})" for name, value in _MARKS.items() if name not in marks]
        if missing:
            notes.append(f"{path}: tool {_name(entry)!r} gets the default of x-simia {', '.join(missing)}")
    return notes


def _check_state(domain: Domain, report: Report) -> None:
    report.rows = sum(domain.base.count(table) for table in domain.base.tables)
    if domain.config.state_schema is None:
        report.notes.append("there is no state schema, so that the initial state is not checked")
        return
    schema = read_state_schema(domain.folder / domain.config.state_schema)
    fix = "Mend the row, or the schema."
    where = str(domain.folder / (domain.config.state or "domain.yaml"))
    report.problems += [DomainError(text, where=where, fix=fix) for text in schema.problems(domain.base)]
    for table in schema.tables:
        if table not in domain.base.tables:
            report.notes.append(f"{schema.path}: the initial state has no table {table!r}")


def _check_declarations(domain: Domain, report: Report) -> None:
    """Check that the tables and arguments that tools declare exist."""
    path = domain.folder / domain.config.tools
    fix = "Mend its declaration."
    for name, text in declaration_problems(domain):
        report.problems.append(DomainError(text, where=f"{path}: tool {name!r}", fix=fix))
    for name, spec in domain.specs.items():
        for key, needed in (("reads", spec.effect != "none"), ("writes", spec.effect == "write")):
            if needed and not getattr(spec, key):
                report.notes.append(f"{path}: tool {name!r} {key} {_MARKS[key]}")


def _check_setups(domain: Domain, report: Report) -> None:
    """Check the rows of each task's initial state against the schema."""
    schema = domain.state_schema
    for split, tasks in domain.tasks.items():
        for task in tasks:
            where = f"{domain.folder / domain.config.tasks[split]}: task {task.id}"
            try:
                state = domain.base.apply(task.setup)
            except PatchError as error:
                fix = "Mend its setup operations."
                report.problems.append(DomainError(f"the setup does not fit: {error}", where=where, fix=fix))
                continue
            found = () if schema is None else schema.problems(state, state.touched_since(domain.base))
            report.problems += [DomainError(text, where=where, fix="Mend the setup, or the schema.") for text in found]


def _check_rubrics(domain: Domain, report: Report) -> None:
    """Check the rubric of every task of a domain without a world."""
    problems = getattr(domain.make_reward(), "problems", None)
    for split, tasks in domain.tasks.items():
        for task in tasks if problems is not None else ():
            where = f"{domain.folder / domain.config.tasks[split]}: task {task.id}"
            report.problems += _rubric(problems, domain, task, where)


def _check_tasks(domain: Domain, report: Report, progress: Progress) -> None:
    suite = load_suite(EnvConfig(env=CUSTOM, domain=str(domain.folder), split="all"))
    names = [*(name for name in ("expert",) if name in domain.config.policies), *IDLE, REFUSER]
    if "expert" not in names:
        report.notes.append("domain.yaml names no expert, so that nothing proves that the tasks can be done")
    factories = {name: load_policy(name, domain.config.policies, folder=domain.folder) for name in names}
    rubric_problems = getattr(domain.make_reward(), "problems", None)
    tasks = list(suite.tasks)
    path = domain.folder / domain.config.tools
    for name, text in gold_problems(domain, tasks):
        report.problems.append(DomainError(text, where=f"{path}: tool {name!r}", fix="Mend its declaration."))
    for number, task in enumerate(tasks, start=1):
        progress(f"task {number} of {len(tasks)}")
        where = f"{domain.folder / domain.config.tasks[task.split]}: task {task.id}"
        if rubric_problems is not None:
            report.problems += _rubric(rubric_problems, domain, task, where)
        results: dict[str, bool | None] = {}
        for name, make in factories.items():
            results[name], problem = _try_policy(suite, task, name, make, where)
            if problem is not None:
                report.problems.append(problem)
        gold, problems = try_gold(domain, task, where)
        report.problems += problems
        report.tasks.append(TaskResult(task.id, task.split, task.kind, gold, results))
    refused = [item.task for item in report.tasks if item.policies[REFUSER]]
    if refused:
        more = f" and {len(refused) - _SHOWN} more" if len(refused) > _SHOWN else ""
        report.notes.append(
            f"warning: {REFUSER}, who says the same refusal to everything, succeeds in {len(refused)} of "
            f"{len(report.tasks)} tasks: {', '.join(refused[:_SHOWN])}{more}; let them require that the reason is told"
        )


def _rubric(problems: Any, domain: Domain, task: Task, where: str) -> list[InputError]:
    """The problems that the reward finds in a task; an exception that it raises is a problem, too."""
    try:
        return list(problems(task, domain.tool_entries))
    except Exception as error:
        what = f"the reward's problems() raised {type(error).__name__}: {error}"
        return [DomainError(what, where=where, fix="Mend the reward.")]


def _try_policy(
    suite: Suite, task: Task, name: str, make: Callable[[], Policy], where: str
) -> tuple[bool | None, InputError | None]:
    episode = suite.episode()
    running = play_new(episode, task, seed=0, make_policy=make, env=suite.config.env)
    run_sync(running, inline=episode.inline)
    verdict = episode.verdict
    if verdict is None or not verdict.valid:
        reason = "" if verdict is None else verdict.reason
        return None, DomainError(f"the episode of {name} is invalid: {reason}", where=where, fix="Mend what it names.")
    if name in IDLE and verdict.success:
        fix = "Ask for what a working agent must do or say: a goal, or a required criterion."
        return True, DomainError(f"{name} succeeds without doing anything", where=where, fix=fix)
    if name not in (*IDLE, REFUSER) and not verdict.success:
        missed = [f"{item.id} ({item.reason})" for item in verdict.criteria if item.required and not item.passed]
        what = f"{name} does not succeed (reward {verdict.reward}, ended by {episode.ended})"
        what += f": {'; '.join(missed)}" if missed else ""
        return False, DomainError(what, where=where, fix="Mend the task, its goal, or the expert.")
    return verdict.success, None


def report_to_json(report: Report) -> dict[str, Any]:
    """The report as a JSON object."""
    return {
        "domain": report.name,
        "folder": str(report.folder),
        "ok": report.ok,
        "loaded": report.loaded,
        "played": report.played,
        "tools": report.tools,
        "rows": report.rows,
        "selftests": {
            "total": len(report.selftests),
            "passed": sum(test.problem is None for test in report.selftests),
        },
        "tasks": [
            {"task": item.task, "split": item.split, "kind": item.kind, "gold": item.gold, **item.policies}
            for item in report.tasks
        ],
        "problems": [{"where": error.where, "what": error.what, "fix": error.fix} for error in report.problems],
        "notes": report.notes,
    }
