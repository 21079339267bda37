"""Element accuracy, action F1, step success, and their means over steps and over tasks."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from json import JSONDecodeError, loads
from pathlib import Path
from statistics import fmean
from typing import Any

from simia_gym.envs.mind2web.recorded.data import RecordedTask, Step
from simia_gym.envs.mind2web.recorded.tournament import Prediction
from simia_gym.errors import InputError

_LIST = re.compile(r"\s*+\[\s*+\[")
_NAMES = ("element_accuracy", "action_f1", "step_success")


@dataclass(frozen=True, slots=True)
class StepScore:
    """The score of one step."""

    element_accuracy: float
    action_f1: float
    step_success: float


def action_f1(predicted: str, wanted: str) -> float:
    """F1 over the different tokens of "OP value"."""
    ours, theirs = set(predicted.split()), set(wanted.split())
    if not ours or not theirs:
        return float(ours == theirs)
    return 2 * len(ours & theirs) / (len(ours) + len(theirs))


def score_step(step: Step, right: set[str], prediction: Prediction | None) -> StepScore:
    """The score of a prediction; of none, 0."""
    if prediction is None:
        return StepScore(0.0, 0.0, 0.0)
    element = float(prediction.element in right)
    f1 = action_f1(f"{prediction.op} {prediction.value}", f"{step.op} {step.value}")
    return StepScore(element, f1, float(element == 1.0 and f1 == 1.0))


def summary(
    tasks: Iterable[RecordedTask],
    predictions: Mapping[str, Prediction | None],
    *,
    published: bool,
    best: Mapping[str, set[str]] | None = None,
) -> dict[str, Any]:
    """Micro and macro averages, task success, and the counts of steps that nobody can solve.

    Args:
        tasks: The recorded tasks.
        predictions: By step; every step that counts needs one, and None says that nothing was chosen.
        published: Steps without a right candidate count 0; else they are left out.
        best: The candidates that were asked about, by step; without it, all of them. One that was chosen was asked
            about, whatever these say.

    Raises:
        InputError: A step has no prediction.
    """
    rows: list[list[StepScore]] = []
    no_positive = outside = 0
    for task in tasks:
        scores = []
        for step in task.steps:
            right = {candidate.id for candidate in step.right()}
            predicted = predictions.get(step.key)
            asked = right if best is None else best[step.key] | {"" if predicted is None else predicted.element}
            reached = right & asked
            no_positive += not right
            outside += bool(right) and not reached
            if not reached:
                if published:
                    scores.append(StepScore(0.0, 0.0, 0.0))
                continue
            if step.key not in predictions:
                raise InputError(f"task {task.id}, action {step.uid} has no prediction; add a line for it")
            scores.append(score_step(step, right, predictions[step.key]))
        if scores:
            rows.append(scores)
    flat = [score for scores in rows for score in scores]
    return {
        "steps": len(flat),
        "tasks": len(rows),
        "micro": {name: _mean(getattr(score, name) for score in flat) for name in _NAMES},
        "macro": {name: _mean(fmean(getattr(s, name) for s in scores) for scores in rows) for name in _NAMES},
        "task_success": _mean(min(score.step_success for score in scores) for scores in rows),
        "no_positive_in_page": no_positive,
        "outside_top_k": outside,
    }


def read_predictions(path: str | Path) -> dict[str, Prediction | None]:
    """A file of predictions: one JSON object a line, or the release's JSON list.

    An object has `annotation_id`, `action_uid`, `element`, `op` and `value`; `element` is a `backend_node_id`, or null
    where nothing was chosen. The list has rows such as `["ANNOTATION_ACTION", "12", "SELECT East"]`, with empty
    texts where nothing was chosen; an action without an element has its F1.

    Raises:
        InputError: A line cannot be used.
    """
    file = Path(path)
    found: dict[str, Prediction | None] = {}
    try:
        text = file.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(f"{file} cannot be read: {error}; give predictions as JSON Lines") from None
    if _LIST.match(text):
        return _listed(file, text)
    for number, line in enumerate(text.splitlines(), 1):
        if not line.strip():
            continue
        try:
            row = loads(line)
            key = f"{row['annotation_id']}_{row['action_uid']}"
            element = row["element"]
            prediction = None
            if element is not None:
                prediction = Prediction(str(element), str(row["op"]), str(row.get("value") or ""))
        except (JSONDecodeError, KeyError, TypeError, AttributeError):
            raise InputError(
                f"{file}, line {number} should be an object with annotation_id, action_uid, element, op and value"
            ) from None
        if key in found:
            raise InputError(f"{file}, line {number}: step {key} is there twice; leave one out")
        found[key] = prediction
    return found


def _listed(file: Path, text: str) -> dict[str, Prediction | None]:
    """Predictions in the release's layout."""
    found: dict[str, Prediction | None] = {}
    try:
        rows = loads(text)
    except JSONDecodeError as error:
        raise InputError(f"{file} is no JSON: {error}") from None
    for number, row in enumerate(rows):
        if not isinstance(row, list) or len(row) != 3 or not all(isinstance(part, str) for part in row):
            raise InputError(f"{file}, row {number} should be three texts: the step, the element, the action")
        key, element, action = row
        if key in found:
            raise InputError(f"{file}, row {number}: step {key} is there twice; leave one out")
        op, _, value = action.partition(" ")
        found[key] = Prediction(element, op, value) if element or action else None
    return found


def _mean(values: Iterable[float]) -> float | None:
    """The mean; None of nothing, which is no zero."""
    numbers = list(values)
    return fmean(numbers) if numbers else None
