"""The commands on recordings: scores of a file of predictions, and predictions of records in the release's layout."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any

from simia_gym.domain.domain import Domain
from simia_gym.envs.mind2web.recorded.metrics import read_predictions, summary
from simia_gym.envs.mind2web.recorded.opened import Recordings, opened
from simia_gym.envs.mind2web.recorded.ranks import RECALLS, recalls
from simia_gym.envs.mind2web.recorded.reward import prediction_of
from simia_gym.errors import InputError
from simia_gym.record.records import Record
from simia_gym.rollout.judge_again import finished_episode
from simia_gym.types import JsonObject


def verify(domain: Domain, *, data: Path | None, rollouts: Path | None) -> JsonObject:
    """Score a file of predictions: ``verify`` of ``domain.yaml``.

    Returns:
        Under ``published`` and ``sound``, averages over steps and over tasks, task success, and the counts of steps
        that nobody can solve, which ``sound`` leaves out; and recall of the ranked candidates.

    Raises:
        InputError: There is no file or no data, or a step has no prediction.
    """
    recordings = _recordings(domain)
    if rollouts is None:
        raise InputError("there are no predictions", where="--rollouts", fix="Give a file of them, as JSON Lines.")
    predictions = read_predictions(rollouts)
    unknown = next((key for key in predictions if key not in recordings.steps), None)
    if unknown is not None:
        raise InputError(
            f"the data has no step {unknown}", where=str(rollouts), fix="Give the data of these predictions."
        )
    top_k = domain.options["top_k"]
    most = max(top_k, *RECALLS)
    ranked = {key: recordings.ranked(key)[:most] for key in recordings.steps}
    best = {key: set(names[:top_k]) for key, names in ranked.items()}
    rights = {key: {each.id for each in step.right()} for key, (_, step) in recordings.steps.items()}
    found = recalls((ranked[key], right) for key, right in rights.items())
    return {
        "agree": True,
        "differences": [],
        "ranks": "words" if recordings.ranks is None else "file",
        "top_k": top_k,
        **{f"recall_at_{k}": found[k] for k in RECALLS},
        "published": summary(recordings.tasks, predictions, published=True, best=best),
        "sound": summary(recordings.tasks, predictions, published=False, best=best),
    }


def export(domain: Domain, records: Iterable[Record]) -> list[Any]:
    """Predictions in the release's layout, ``[step, element, "OP value"]``: ``export`` of ``domain.yaml``.

    Nothing chosen is an empty element and action.

    Raises:
        InputError: A record is of no recorded step, was ended by a fault, or is of a step that another one is of.
    """
    steps, rows = _recordings(domain).steps, dict[str, list[str]]()
    for record in records:
        where = f"line {record.line}"
        finished = finished_episode(record)
        if record.task not in steps:
            raise InputError(f"{record.task} is no step of the data", where=where, fix="Give the data of this record.")
        if finished is None:
            raise InputError("a fault ended the episode", where=where, fix="Play it again: --retry-invalid.")
        if record.task in rows:
            fix = "Give a record with one episode a step: --group 1."
            raise InputError(f"step {record.task} is there twice", where=where, fix=fix)
        won = prediction_of(finished.final)
        said = ["", ""] if won is None else [won.element, f"{won.op} {won.value}".strip()]
        rows[record.task] = [record.task, *said]
    return [*rows.values()]


def _recordings(domain: Domain) -> Recordings:
    first = next((task for tasks in domain.tasks.values() for task in tasks), None)
    if domain.data is None or first is None or "data" not in first.options:
        raise InputError("there are no recordings", where="--data", fix="Give Mind2Web data: a file or a folder.")
    return opened(first.options["data"])
