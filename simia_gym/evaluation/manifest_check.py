"""What ``domain.yaml`` and the tools' file say, compared with each other and with what there is."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from pathlib import Path

from simia_gym.common.dotted_names import load_function
from simia_gym.common.event_loop import run_sync
from simia_gym.common.files import Lines
from simia_gym.common.formatting import one_line
from simia_gym.domain.domain import SPLITS, Domain
from simia_gym.domain.world import refuse_call
from simia_gym.errors import ActionError, DomainError, InputError, did_you_mean
from simia_gym.state.pointer import pointer_parts
from simia_gym.state.schema import read_state_schema
from simia_gym.types import Calls, Task


def manifest_problems(domain: Domain) -> Iterator[InputError]:
    """The keys of ``domain.yaml`` that change nothing, name nothing, or cannot be used."""
    config, lines = domain.config, Lines(domain.folder / "domain.yaml")
    tables = [name for name in domain.tables if not name.startswith("_")]
    for key in ("data", "judge"):
        if getattr(config, key) is not None:
            load_function(getattr(config, key), folder=domain.folder, where=domain.place(key))
    for number, rule in enumerate(config.ends):
        table = "" if rule.path is None else pointer_parts(rule.path)[0]
        if rule.path is not None and not table.startswith("_") and table not in tables:
            where, fix = lines.where(["ends", number, "path"]), f"The domain's tables: {', '.join(tables)}."
            what = f"{rule.path!r} names no table, so that the rule never holds"
            yield DomainError(what, where=where, fix=f"{did_you_mean(table, tables)}{fix}")
    for number, sample in enumerate(domain.samples):
        if problem := _refused(domain, sample):
            where, fix = lines.where(["samples", number]), "Write an action that the grammar and the tools take."
            yield DomainError(f"it is no valid action: {problem}", where=where, fix=fix)


def _refused(domain: Domain, sample: str) -> str:
    try:
        action = domain.grammar.parse(sample)
    except (ActionError, InputError) as error:
        return one_line(str(error))
    refusals = [refuse_call(domain.specs, call) for call in action.calls] if isinstance(action, Calls) else []
    return next((refusal.observation for refusal in refusals if refusal is not None), "")


def parts_problems(domain: Domain) -> Iterator[InputError]:
    """What nothing else can be checked without: the state's schema, and tasks from the generator."""
    if domain.config.state_schema is not None:
        read_state_schema(domain.folder / domain.config.state_schema)
    for split in SPLITS:
        made: object = Task("", split, "") if domain.generator is None else domain.generator(split, 0)
        if not isinstance(made, Task):
            what = f"for {split} and 0 it made {str(made)[:80]!r}, which is no task"
            yield DomainError(what, where=domain.place("generator"), fix="Return a simia_gym.types.Task.")
            return


def tool_problems(domain: Domain, names: list[str], path: Path) -> Iterator[InputError]:
    """Tools of the same name, and arguments that are required and not declared."""
    lines = Lines(path)
    for name, count in Counter(names).items():
        if count > 1:
            where = lines.line([len(names) - 1 - names[::-1].index(name)])
            yield DomainError(f"there are {count} tools {name!r}", where=where, fix="Leave one of them.")
    for name, spec in domain.specs.items():
        known = spec.parameters.get("properties", {})
        for argument in spec.parameters.get("required", ()):
            if argument not in known:
                where = f"{lines.line([names.index(name)]) if name in names else path}: tool {name!r}"
                fix = f"{did_you_mean(argument, known)}Its properties: {', '.join(known) or 'none'}."
                yield DomainError(f"requires {argument!r}, which is none of its properties", where=where, fix=fix)


def beginning_problems(domain: Domain, task: Task, where: str) -> Iterator[InputError]:
    """A domain without a user: what nobody says, and a first observation that is none."""
    if domain.user is not None:
        return
    if task.user:
        fix = "Give the domain a user, such as `user: scripted`, or leave it out."
        yield DomainError("the domain has no user, who would read it", where=f"{where}: user", fix=fix)
    world = domain.world
    first = run_sync(domain.opening(domain.prepare(task).initial, task), inline=world is None or not world.io)
    text: object = first.observation
    if not isinstance(text, str) or not text.strip():
        fix = "Give the task an instruction, or the domain an opening that returns a text, or a user."
        yield DomainError(f"the agent is told nothing: the first observation is {text!r}", where=where, fix=fix)
