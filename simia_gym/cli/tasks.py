"""`simia tasks`: the tasks of an environment, and one of them before it is played."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Any

import typer
from rich import box
from rich.table import Table
from rich.text import Text

from simia_gym.assembly.settings import EnvConfig
from simia_gym.assembly.suite import domain_of, folder_of, tasks_of
from simia_gym.cli.options import AsJson, Environment, Typed, with_options
from simia_gym.common.dotted_names import foreign_code
from simia_gym.common.event_loop import run_sync
from simia_gym.common.formatting import counted, one_line
from simia_gym.common.output import Output
from simia_gym.contracts import StepContext
from simia_gym.domain.domain import Domain
from simia_gym.domain.registration import resolve_env
from simia_gym.errors import InputError
from simia_gym.record.ledger import Ledger
from simia_gym.rollout.jobs import choose
from simia_gym.types import JsonObject, Task
from simia_gym.users import make_user
from simia_gym.users.profile import asked, profile

_OPTIONS = ("split", "generated", "without_dev", "data", "domain", "prompt", "options", "grammar")
_WHICH = ("split", "generated", "without_dev")
_OMITTED = [name for name in EnvConfig.fields() if name not in _OPTIONS]
_MOST = 6_000
"""The longest first message that is shown whole, in characters."""
_LABEL, _GAP = 14, 2
_WIDEST, _LEAST = 26, 20
"""The widest column of ids or kinds, and the least width of what is asked for, in characters."""
_SEED = 0
"""The seed of the first message that is shown; another seed may choose another wording."""


@with_options(EnvConfig, omit=_OMITTED)
def list_tasks(
    typed: Typed,
    env: Environment,
    task: Annotated[
        str | None, typer.Argument(metavar="[ID]", help="A task to show, as it is before it is played.")
    ] = None,
    *,
    limit: Annotated[int | None, typer.Option(metavar="N", min=1, help="List only the first N tasks.")] = None,
    json: AsJson = False,
) -> int:
    """List the tasks of an environment, or show one: first message, tools, what the user wants, what is rewarded.

    Raises:
        InputError: There is no such environment or task, or an option does not fit.
    """
    chosen = typed.values(EnvConfig)
    name, folder = resolve_env(env, chosen.pop("domain", None))
    config, output = EnvConfig(env=name, domain=folder, **chosen), Output(json)
    with foreign_code(folder_of(config)):
        domain = domain_of(config)
        tasks = tasks_of(domain, config)
        if task is None:
            return _list(output, domain, [tasks[i] for i in range(min(len(tasks), limit or len(tasks)))], len(tasks))
        if limit is not None:
            raise InputError("one task is shown", where="--limit", fix="Leave it out, or the task's id.")
        narrowed = any(option.name in _WHICH for option in typed.changed())
        places = choose(tasks, [task]) if narrowed else None
        _show(output, domain, domain.find_task(task) if places is None else tasks[places[0]], config.prompt)
    return 0


def _list(output: Output, domain: Domain, tasks: Sequence[Task], total: int) -> int:
    rows = [(task.id, task.kind, asked(task)) for task in tasks]
    table = Table(box=box.SIMPLE_HEAD, show_edge=False, pad_edge=False, padding=(0, _GAP - 1, 0, 0))
    left = output.console.width
    for place, heading in enumerate(("id", "kind")):
        width = min(_WIDEST, max(len(heading), *(len(row[place]) for row in rows)))
        table.add_column(heading, width=width, overflow="fold")
        left -= width + _GAP
    table.add_column("asks for", no_wrap=True)
    for name, kind, asks in rows:
        table.add_row(Text(name), Text(kind), Text(one_line(asks, max(left, _LEAST))))
    if not output.json:
        output.console.print(table)
    listed = counted(total, "task") if len(tasks) == total else f"{len(tasks):,} of {counted(total, 'task')}"
    output.say(f"\n{listed} of {domain.name}; one of them: simia tasks ENV ID")
    output.result([{**_named(task), "asks": asked(task)} for task in tasks])
    return 0


def _show(output: Output, domain: Domain, task: Task, prompt: str) -> None:
    first = _first(domain, task)
    criteria = _criteria(domain, task)
    customer = profile(task)
    system = domain.prompts[prompt]
    output.say(f"{task.id} · {task.kind} · {task.split} · {domain.config.title}")
    grid = Table.grid(padding=(0, 2))
    grid.add_column(width=_LABEL, style="dim")
    grid.add_column(overflow="fold")
    more = len(first) - _MOST
    shown = first if more <= 0 else f"{first[:_MOST]}… {more:,} more characters; --json prints all"
    rows: list[tuple[str, str]] = [("", ""), ("first message", shown), ("", "")]
    rows.append(("system message", f"{len(system):,} characters: what the agent is and how it acts; --json prints it"))
    rows.append(("tools", ", ".join(domain.specs) or "none"))
    if customer:
        rows += [("", ""), ("the customer", ""), *customer]
    rows += [("", ""), ("reward", _rewarded(domain))]
    rows += [(one["kind"], f"{one['says']} ({_weighed(one)})") for one in criteria]
    rows += [("", ""), ("gold", _gold(task))]
    for label, text in rows:
        grid.add_row(Text(label), Text(text))
    output.console.print(grid)
    output.result(
        {
            **_named(task),
            "asks": asked(task),
            "system": system,
            "first": first,
            "tools": [*domain.specs],
            "user": task.user,
            "reward": _rewarded(domain),
            "criteria": criteria,
            "gold_calls": len(_gold_calls(task)),
            "goal": None if task.goal is None else len(task.goal),
        }
    )


def _named(task: Task) -> JsonObject:
    return {"id": task.id, "kind": task.kind, "split": task.split}


def _first(domain: Domain, task: Task) -> str:
    """The first message of an episode, by code; a customer that only a model can play has none yet."""
    prepared = domain.prepare(task)
    if domain.user is None:
        io = domain.world is not None and domain.world.io
        return run_sync(domain.opening(prepared.initial, task), inline=not io).observation
    if domain.user == "llm":
        return "(a model that plays the customer writes it)"
    user = make_user(domain.user, domain.cues)
    context = StepContext(prepared, prepared.initial, Ledger(), _SEED, 0)
    user.begin(context)
    return run_sync(user.open(context), inline=not user.io).observation


def _criteria(domain: Domain, task: Task) -> list[JsonObject]:
    """The rubric's criteria for a task; nothing of a reward that is no rubric."""
    reward: Any = domain.make_reward()
    found = reward.criteria(task) if hasattr(reward, "criteria") else ()
    return [
        {"id": one.id, "kind": one.kind, "required": one.required, "weight": one.weight, "says": one.says or one.id}
        for one in found
    ]


def _rewarded(domain: Domain) -> str:
    grade = domain.config.reward_options.get("grade")
    if grade is not None:
        return f"0 to 1, the grade {domain.config.reward_options.get('name') or grade}"
    if domain.config.reward_options.get("value") == "weighted":
        return "0 to 1, the weighted share of the criteria that are met; 0 if something forbidden happens"
    return "1 if all that is required is met and nothing forbidden happens, else 0"


def _weighed(one: JsonObject) -> str:
    if one["kind"] in ("forbidden", "conduct"):
        return str(one["id"])
    return f"{one['id']}, {'required' if one['required'] else 'not required'}, weight {one['weight']:g}"


def _gold_calls(task: Task) -> list[JsonObject]:
    return [action for action in task.gold if "name" in action]


def _gold(task: Task) -> str:
    parts = []
    if task.gold:
        parts.append(f"{counted(len(_gold_calls(task)), 'call')} of the ideal agent")
    if task.goal is not None:
        tests = f"the goal tests {counted(len(task.goal), 'value')} of the final state"
        parts.append(tests if task.goal else "the goal is that nothing changes")
    return "; ".join(parts) or "none"
