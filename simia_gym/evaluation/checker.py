"""The domain checker: finds mistakes in a domain's files, tools and tasks.

It checks the files, ``tools.json`` against the world's declarations, the initial state against its schema, and the
tools' self-tests. Then it checks every task: the rubric must be valid, the gold actions must reach the goal, the
domain's expert must succeed, and two policies that do no work (``null`` and ``claimer``) must fail. Gold actions of a
task without a goal, or with messages or an end among them, are played as a policy, too, and must succeed. A task in
which a policy that only refuses (``refuser``) succeeds is noted. For simulation by a model, it checks each gold call:
on the declared state slice the world must answer as on the whole state, and the rendering rule must give the world's
observation. For a domain without a world, only the files are checked.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass, field
from functools import partial
from itertools import combinations
from pathlib import Path
from typing import Any, NamedTuple, get_args

from simia_gym.assembly.settings import EnvConfig
from simia_gym.assembly.suite import Suite, load_suite
from simia_gym.common.dotted_names import foreign_code
from simia_gym.common.event_loop import run_sync
from simia_gym.common.files import Lines, read_json
from simia_gym.common.formatting import counted, one_line
from simia_gym.common.json_encoding import encode
from simia_gym.common.writing import write_whole
from simia_gym.contracts import EPISODE, NO_JUDGE
from simia_gym.domain.config import DomainConfig
from simia_gym.domain.domain import SPLITS, Domain, Hook
from simia_gym.domain.loading import load_domain
from simia_gym.domain.registration import CUSTOM
from simia_gym.domain.tasks import TaskList, task_to_json
from simia_gym.domain.world import own_code
from simia_gym.errors import DomainError, Fault, InputError, PatchError
from simia_gym.evaluation.cheats import Score, play_cheats
from simia_gym.evaluation.gold import GoldPolicy, is_whole, try_gold
from simia_gym.evaluation.gold import write_goals as write_goals_of
from simia_gym.evaluation.manifest_check import (
    beginning_problems,
    manifest_problems,
    parts_problems,
    tool_problems,
)
from simia_gym.evaluation.selftests import FILE as SELFTESTS
from simia_gym.evaluation.selftests import SelfTest, run_selftests
from simia_gym.evaluation.slice_check import declaration_problems, gold_problems
from simia_gym.policies import Policy, load_policy
from simia_gym.prompts import prompt_problems
from simia_gym.record.ledger import first_divergence
from simia_gym.rollout.play import play_new
from simia_gym.state.pointer import pointer_parts
from simia_gym.state.schema import read_state_schema
from simia_gym.types import JsonObject, Split, SplitChoice, Task
from simia_gym.users.scripted_script import script_from_json

IDLE = ("null", "claimer")
REFUSER = "refuser"
_SHOWN = 5
_TRIED = 5
"""Number of generated tasks of each split that are compared."""
_MARKS = {
    "effect": "'write', with nothing in its write set",
    "reads": "nothing, so that a model that plays it sees no state",
    "writes": "nothing, so that a model that plays it changes nothing",
}

Progress = Callable[[str], None]
Problems = Iterator[InputError]


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
        tasks: Per task its id, split and kind; whether its gold actions reach its goal, and succeed if they are played
            (``None`` if neither can be tried); and per policy whether it succeeded (``None`` if its episode was
            invalid).
        cheats: The scores of cheats, if some were given and nothing else is wrong.
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
    tasks: list[JsonObject] = field(default_factory=list)
    cheats: list[Score] = field(default_factory=list)

    @property
    def ok(self) -> bool:
        """Whether no mistake was found."""
        return not self.problems

    def collect(self, found: Callable[[], Iterable[InputError]]) -> None:
        """Run one check: add the mistakes that it yields, and the one that it raises."""
        new: list[InputError] = []
        try:
            with foreign_code(self.folder):
                new.extend(found())
        except DomainError as error:
            new.extend(error.problems or (error,))
        except InputError as error:
            new.append(error)
        except Fault as error:
            new.append(DomainError(str(error), where=str(self.folder), fix="Mend the world."))
        told = {str(problem): problem for problem in (*self.problems, *new)}  # several tasks may have the same mistake
        self.problems = list(told.values())

    def to_json(self) -> JsonObject:
        """The report as printed by ``simia check --json``."""
        passed = sum(test.problem is None for test in self.selftests)
        return {
            "domain": self.name,
            "folder": str(self.folder),
            "ok": self.ok,
            "loaded": self.loaded,
            "played": self.played,
            "tools": self.tools,
            "rows": self.rows,
            "selftests": {"total": len(self.selftests), "passed": passed},
            "tasks": self.tasks,
            "cheats": [asdict(score) for score in self.cheats],
            "problems": [{"where": error.where, "what": error.what, "fix": error.fix} for error in self.problems],
            "notes": self.notes,
        }


def check_folder(
    path: Path,
    *,
    write_tools: bool = False,
    write_goals: bool = False,
    cheats: Sequence[type[Policy]] = (),
    progress: Progress = lambda step: None,
) -> Report:
    """Check a domain.

    Args:
        path: The domain's folder.
        write_tools: Whether to rewrite ``tools.json`` from the world's declarations.
        write_goals: Whether to write the tasks' goals from their gold actions, if the domain has a world.
        cheats: Cheats to play on the tasks, each with its twin.
        progress: Called with the name of each step.

    Returns:
        The report. Mistakes are listed in it, not raised.
    """
    report = Report(path)
    progress("files")
    report.collect(lambda: _load(path, report, write_goals))
    if not report.ok:
        return report
    domain = load_domain(path)
    report.loaded, report.name, report.tools = True, domain.name, len(domain.specs)
    progress("parts")
    report.collect(lambda: parts_problems(domain))
    if report.problems:
        return report
    report.collect(lambda: _check_files(domain, report))
    report.collect(lambda: _check_tools(domain, report, write_tools))
    progress("state")
    report.collect(lambda: _check_state(domain, report))
    report.collect(lambda: _check_declarations(domain, report))
    report.collect(lambda: _check_task_files(domain, report))
    progress("generator")
    report.collect(lambda: _check_generator(domain, report))
    if domain.world is None:
        report.notes.append(
            "there is no world: only a model could answer the tools' calls (`simia rollout PATH --simulator llm`), and "
            "tools, self-tests and tasks were not tried"
        )
        return report
    report.played = True
    progress("self-tests")
    report.selftests = list(run_selftests(domain.folder, domain.world, domain.base))
    report.problems += [test.problem for test in report.selftests if test.problem is not None]
    untested = sorted(set(domain.specs) - {test.tool for test in report.selftests})
    if untested:
        report.notes.append(f"tools without a self-test in {SELFTESTS}: {', '.join(untested)}")
    report.collect(lambda: _check_tasks(domain, report, progress))
    if cheats and report.ok:
        report.collect(lambda: _check_cheats(domain, report, cheats, progress))
    return report


def _load(path: Path, report: Report, write_goals: bool) -> Problems:
    domain = load_domain(path)
    domain.make_reward()
    if write_goals and domain.world is not None:
        report.notes += write_goals_of(domain)
    yield from ()


def _check_files(domain: Domain, report: Report) -> Problems:
    config = domain.config
    if not domain.policy.strip():
        fix = "Write what the agent is to do and what it must not."
        yield DomainError("the policy text is empty", where=str(domain.folder / config.policy), fix=fix)
    yield from prompt_problems(domain.folder)
    yield from manifest_problems(domain)
    for command in get_args(Hook):
        domain.hook(command)  # raises if it cannot be loaded
    own = domain.hook("check")
    if own is not None:
        yield from own_code("check", lambda: list(own(domain)))
    fix = "Write a task into it, or leave the split out of domain.yaml."
    for split, name in config.tasks.items():
        if not domain.tasks.get(split):
            yield DomainError("holds no task", where=str(domain.folder / name), fix=fix)
    unread = domain.folder / DomainConfig.model_fields["rubric"].default
    if config.rubric != unread.name and unread.is_file():
        source = config.rubric or config.service or "nowhere (rubric: null)"
        more = f"`rubric: {unread.name}` in domain.yaml has it read"
        report.notes.append(f"warning: {unread} is not read: the criteria come from {source}; {more}")
    if domain.endless:
        report.notes.append(
            "warning: every episode runs to the turn limit: there is no user, no terminal tool, no rule in ends and no "
            "end action in the grammar, and ends_on_reply is false"
        )


def _check_tools(domain: Domain, report: Report, write: bool) -> Problems:
    """Compare ``tools.json`` with the world's declarations; note the tools that get defaults for their simulation."""
    path = domain.folder / domain.config.tools
    declared = [spec.entry for spec in domain.specs.values()]
    if domain.world is not None and write:
        write_whole(path, json.dumps(declared, indent=2, ensure_ascii=False) + "\n")
        report.notes.append(f"{path} was written: {len(declared)} tools")
    mistake = partial(DomainError, where=str(path), fix="Run `simia check PATH --write-tools`.")
    if not path.is_file():
        raise mistake("there is no such tools file")
    entries = read_json(path, what="tools file")
    by_name = {_name(entry): entry for entry in entries}
    yield from tool_problems(domain, [_name(entry) for entry in entries], path)
    for name, entry in by_name.items():
        marks = entry.get("x-simia", {}) if isinstance(entry, dict) else {}
        missing = [f"{key} ({value})" for key, value in _MARKS.items() if key not in marks]
        if missing:
            report.notes.append(f"{path}: tool {name!r} gets the default of x-simia {', '.join(missing)}")
    if domain.world is None:
        return
    for spec in domain.specs.values():
        if spec.name not in domain.world.tools:
            continue  # tools that only a model plays are declared in the file itself
        if spec.name not in by_name:
            yield mistake(f"lacks the tool {spec.name!r} of the world")
        elif spec.entry == by_name[spec.name]:
            if encode(spec.entry) != encode(by_name[spec.name]):
                yield mistake(f"tool {spec.name!r} has its keys in another order than the world declares")
        elif differs := first_divergence([spec.entry], [by_name[spec.name]]):
            expected, got = (one_line(repr(value), 80) for value in (differs.expected, differs.got))
            how = f"{differs.path} is {got}, declared is {expected}"
            line = Lines(path).line([[*by_name].index(spec.name), *pointer_parts(differs.path)])
            yield mistake(f"tool {spec.name!r} is not as the world declares it: {how}", where=line)
    for name in sorted(by_name.keys() - domain.specs.keys()):
        yield mistake(f"the world has no tool {name!r}")


def _name(entry: Any) -> str:
    function = entry.get("function", entry) if isinstance(entry, dict) else {}
    return str(function.get("name", "?")) if isinstance(function, dict) else "?"


def _check_state(domain: Domain, report: Report) -> Problems:
    report.rows = sum(domain.base.count(table) for table in domain.base.tables if table != EPISODE)
    if domain.config.state_schema is None:
        report.notes.append("there is no state schema, so that the initial state is not checked")
        return
    path = domain.folder / domain.config.state_schema
    schema = read_state_schema(path)
    lines = Lines(domain.folder / (domain.config.state or "domain.yaml"))
    for text in schema.problems(domain.base):
        where = lines.line(pointer_parts(text.partition(": ")[0]) if text.startswith("/") else ())
        yield DomainError(text, where=where, fix="Mend the row, or the schema.")
    for table in schema.tables:
        if table not in domain.base.tables:
            report.notes.append(f"{path}: the initial state has no table {table!r}")


def _check_declarations(domain: Domain, report: Report) -> Problems:
    """Check that the tables and arguments that tools declare exist."""
    for name, text in declaration_problems(domain):
        yield _declaration(domain, name, text)
    for name, spec in domain.specs.items():
        for key, needed in (("reads", spec.effect != "none"), ("writes", spec.effect == "write")):
            if needed and not getattr(spec, key):
                report.notes.append(f"{domain.folder / domain.config.tools}: tool {name!r} {key} {_MARKS[key]}")


def _declaration(domain: Domain, tool: str, text: str) -> DomainError:
    path = domain.folder / domain.config.tools
    names = [_name(entry) for entry in read_json(path, what="tools file")] if path.is_file() else []
    where = f"{Lines(path).line([names.index(tool)]) if tool in names else path}: tool {tool!r}"
    return DomainError(text, where=where, fix="Mend its declaration.")


def _place(domain: Domain, task: Task) -> str:
    name = "domain.yaml" if task.split == "dev" else domain.config.tasks[task.split]
    line = f":{domain.lines[task.id]}" if task.id in domain.lines else ""
    return f"{domain.folder / name}{line}: task {task.id}"


def _check_task_files(domain: Domain, report: Report) -> Problems:
    """Check the rubric of each fixed and dev task, and the rows of its initial state against the schema."""
    schema, rubric_problems = domain.state_schema, getattr(domain.make_reward(), "problems", None)
    tables = [name for name in domain.tables if not name.startswith("_")]
    generated = () if domain.generator is None else domain.tasks_of("dev")
    for task in (*(task for tasks in domain.tasks.values() for task in tasks), *generated):
        where = _place(domain, task)
        if (task.user or {}).get("type") == "scripted":
            report.collect(partial(_check_script, task, where))
        try:
            state = domain.begun(task)
            found = () if schema is None else schema.problems(state, state.touched_since(domain.base))
            for text in found:
                yield DomainError(text, where=where, fix="Mend the setup, the opening, or the schema.")
        except Fault as fault:
            yield DomainError(fault.message, where=where, fix="Mend the world's opening.")
        except PatchError as error:
            yield DomainError(f"the setup does not fit: {error}", where=where, fix="Mend its setup operations.")
        else:
            report.collect(partial(beginning_problems, domain, task, where))
        try:
            for problem in () if rubric_problems is None else rubric_problems(task, domain.tool_entries, tables):
                inside = problem.where.partition(f"task {task.id!r}")[2]
                yield DomainError(problem.what, where=f"{where}{inside}", fix=problem.fix) if inside else problem
        except Exception as error:
            what = f"the reward's problems() raised {type(error).__name__}: {error}"
            yield DomainError(what, where=where, fix="Mend the reward.")


def _check_script(task: Task, where: str) -> Problems:
    script_from_json(task.user, f"{where}: user")
    yield from ()


def _check_generator(domain: Domain, report: Report) -> Problems:
    """Check that a task generator makes other tasks for each split, and what it says of itself."""
    if domain.generator is None:
        return
    yield from getattr(domain.generator, "problems", tuple)()
    report.notes += getattr(domain.generator, "notes", tuple)()
    found: dict[Split, tuple[list[str], list[JsonObject]]] = {}
    for split in SPLITS:
        tasks = list(TaskList((), {split: _TRIED}, domain.generator))
        plain = [{**task_to_json(task), "id": "", "split": ""} for task in tasks]
        found[split] = [task.id for task in tasks], plain
    where = domain.place("generator")
    for one, two in combinations(SPLITS, 2):
        if found[one][1] == found[two][1]:
            what = f"it makes the same tasks for {one} and {two}"
            fix = "Let each of train, dev and test have a range of seeds of its own."
            yield DomainError(what, where=where, fix=fix)
        elif twice := sorted({*found[one][0]} & {*found[two][0]}):
            fix = "Write the split into the id."
            yield DomainError(f"tasks of {one} and {two} have the same id {twice[0]!r}", where=where, fix=fix)


def _check_tasks(domain: Domain, report: Report, progress: Progress) -> Problems:
    """Check the declarations on each task's gold calls; play each task with every policy and with its gold actions.

    The policies play in every grammar of the domain.
    """
    split: SplitChoice = "all" if any(domain.tasks.values()) else "dev"
    if split == "dev" and domain.generator is None:
        report.notes.append("there are no tasks, so that nothing was played")
        return
    several = domain.config.grammar
    suite, *others = (
        load_suite(EnvConfig(env=CUSTOM, domain=str(domain.folder), split=split, grammar=grammar))
        for grammar in (several if isinstance(several, dict) else (None,))
    )
    names = [*(name for name in ("expert",) if name in domain.config.policies), *IDLE, REFUSER]
    if "expert" not in names:
        report.notes.append("domain.yaml names no expert, so that nothing proves that the tasks can be done")
    factories = {name: load_policy(name, domain.config.policies, folder=domain.folder) for name in names}
    fixed = suite.tasks if split == "all" else ()
    tasks = [*fixed, *(domain.tasks_of("dev") if domain.generator is not None else ())]
    wrong, masked = gold_problems(domain, tasks)
    for name, text in wrong.items():
        yield _declaration(domain, name, text)
    for name, count in masked.items():
        report.notes.append(f"tool {name!r} gives the same on its slice only up to its masks, in {count} gold calls")
    tries: list[_Try] = []
    for number, task in enumerate(tasks, start=1):
        results: JsonObject = {}
        for name, make in factories.items():
            progress(f"task {number} of {len(tasks)} ({task.id}), policy {name}")
            played = [_try_policy(one, task, name, make) for one in (suite, *others)]
            results[name] = played[0].success
            tries += played
        progress(f"task {number} of {len(tasks)} ({task.id}), gold actions")
        gold, problems = try_gold(domain, task, _place(domain, task))
        yield from problems
        if is_whole(task):
            tries.append(_try_policy(suite, task, "gold", partial(GoldPolicy, task)))
            gold = tries[-1].success is True and gold is not False
        report.tasks.append({"task": task.id, "split": task.split, "kind": task.kind, "gold": gold, **results})
    yield from _told(tries, report)
    refused = [item["task"] for item in report.tasks if item[REFUSER]]
    if refused:
        more = f" and {len(refused) - _SHOWN} more" if len(refused) > _SHOWN else ""
        report.notes.append(
            f"warning: {REFUSER}, who says the same refusal to everything, succeeds in {len(refused)} of "
            f"{len(report.tasks)} tasks: {', '.join(refused[:_SHOWN])}{more}; let them require that the reason is told"
        )


def _check_cheats(domain: Domain, report: Report, cheats: Sequence[type[Policy]], progress: Progress) -> Problems:
    """Play cheats on the fixed tasks; where there are none, on generated ones."""
    split: SplitChoice = "all" if any(domain.tasks.values()) else "dev"
    suite = load_suite(EnvConfig(env=CUSTOM, domain=str(domain.folder), split=split))
    fix = "Let the rubric ask for what the cheat leaves out, or mend the cheat or its twin."
    for cheat in cheats:
        progress(f"cheat {len(report.cheats) + 1} of {len(cheats)}")
        for score in play_cheats(suite, suite.tasks, [cheat]):
            report.cheats.append(score)
            if not score.bent:
                what = f"in all {score.tasks} tasks it did what the expert does, so that nothing was measured"
                report.notes.append(f"cheat {score.cheat!r}: {what}")
            if score.problem is not None:
                yield DomainError(score.problem, where=f"cheat {score.cheat!r}", fix=fix)


class _Try(NamedTuple):
    """How a policy did in an episode.

    ``success`` is ``None`` if the episode is invalid; then ``invalid`` says why, and ``unjudged`` whether that is only
    for want of a judge. ``problem`` says what is wrong with a valid one.
    """

    where: str
    success: bool | None
    problem: InputError | None = None
    invalid: str = ""
    unjudged: bool = False


def _told(tries: Iterable[_Try], report: Report) -> Problems:
    """The problems of episodes; those that are invalid for the same reason are one."""
    invalid: dict[str, list[_Try]] = {}
    for one in tries:
        if one.success is None:
            invalid.setdefault(one.invalid, []).append(one)
        elif one.problem is not None:
            yield one.problem
    for reason, same in invalid.items():
        if same[0].unjudged:
            what = f"{reason}: {counted(len(same), 'episode')} without a verdict here"
            report.notes.append(f"warning: {what}; `simia rollout PATH --judge llm` gives them one")
        else:
            more = f" ({len(same)} episodes are invalid for this reason)" if len(same) > 1 else ""
            yield DomainError(f"the episode is invalid: {reason}{more}", where=same[0].where, fix="Mend what it names.")


def _try_policy(suite: Suite, task: Task, name: str, make: Callable[[], Policy]) -> _Try:
    episode = suite.episode()
    running = play_new(episode, task, seed=0, make_policy=make, env=suite.config.env)
    run_sync(running, inline=episode.inline)
    grammar = f", grammar {suite.config.grammar}" if suite.config.grammar else ""
    verdict, where = episode.verdict, f"{_place(suite.domain, task)}{grammar}"
    if verdict is None or not verdict.valid:
        reasons = {item.reason for item in verdict.criteria if item.passed is None} if verdict else set()
        invalid = verdict.reason if verdict else ""
        return _Try(f"{where}, policy {name}", None, invalid=invalid, unjudged=reasons == {NO_JUDGE})
    if name in IDLE and verdict.success:
        fix = "Ask for what a working agent must do or say: a goal, or a required criterion."
        return _Try(where, True, DomainError(f"{name} succeeds without doing anything", where=where, fix=fix))
    if name not in (*IDLE, REFUSER) and not verdict.success:
        missed = [f"{item.id} ({item.reason})" for item in verdict.criteria if item.required and not item.passed]
        what = f"{name} does not succeed (reward {verdict.reward}, ended by {episode.ended})"
        what += f": {'; '.join(missed)}" if missed else ""
        errors = (event for event in episode.ledger.events if event["type"] == "invalid" or event.get("error_code"))
        if first := next(errors, None):
            what += f"; its first error: {first.get('text', first.get('observation'))}"
        fix = f"Mend the task, its goal, its criteria, or the {'gold actions' if name == 'gold' else name}."
        return _Try(where, False, DomainError(what, where=where, fix=fix))
    return _Try(where, verdict.success)
