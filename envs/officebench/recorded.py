"""Reads the benchmark's tasks, runs every evaluator on the offices as they are given, and names what cannot run."""

from __future__ import annotations

from pathlib import Path

from simia_gym.domain.domain import Domain
from simia_gym.envs.officebench.evaluators import PublishedReward
from simia_gym.envs.officebench.public_data import Public, read_public
from simia_gym.errors import InputError
from simia_gym.record.finished_episode import FinishedEpisode
from simia_gym.rewards.criteria import Criterion, ProgramCheck
from simia_gym.rewards.finding import Finding
from simia_gym.types import JsonObject


def verify(domain: Domain, *, data: Path | None, rollouts: Path | None) -> JsonObject:
    """Run the evaluators of all public tasks before anything is done.

    Returns:
        ``tasks``, ``evaluators``, ``evaluators_run``, ``causes`` by task, ``pictures`` (tasks whose office holds
        pictures, which no app reads), ``true_at_start`` (tasks that are solved before anything is done), ``agree``
        (whether every evaluator ran or has a cause) and ``differences``.

    Raises:
        InputError: No data are named, or they cannot be read.
    """
    if data is None or rollouts is not None:
        fix = "Give --data DIR with the benchmark's tasks, and no --rollouts: there are none of it."
        raise InputError("the office verifies the benchmark's own tasks", fix=fix)
    found, reward = read_public(data), PublishedReward()
    run, true, problems = 0, list[str](), list[str]()
    for one in found:
        start = domain.prepare(one.task).initial
        ended = FinishedEpisode(one.task, (), start, start, "turn_limit", 0, domain.tool_entries)
        try:
            checked = [_checked(item, ended) for item in reward.rubric.for_task(one.task.id, one.task.criteria)]
        except Exception as error:  # a bug of an evaluator is a difference, and the others run
            problems.append(f"{one.name}: {type(error).__name__}: {error}")
            continue
        run += len(checked)
        if checked and not one.causes and all(finding.met for finding in checked):
            true.append(one.name)
    return {
        "tasks": len(found),
        "evaluators": sum(one.evaluators for one in found),
        "evaluators_run": run,
        "causes": {one.name: one.causes for one in found if one.causes},
        "pictures": [one.name for one in found if one.pictures],
        "true_at_start": true,
        "agree": not problems and run + _lost(found) == sum(one.evaluators for one in found),
        "differences": problems,
    }


def _checked(item: Criterion, ended: FinishedEpisode) -> Finding:
    assert isinstance(item.check, ProgramCheck)
    found: Finding = item.check.program.function(ended, item.check.args)
    return found


def _lost(found: list[Public]) -> int:
    return sum(len(one.causes) for one in found)
