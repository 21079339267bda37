"""Metrics of a training, one line for each step: verl's numbers and statistics of the step's episodes.

verl's logger ``file`` writes one file for each start of the run. Its lines are read as they appear, joined with the
episode log, and appended to ``metrics.jsonl``. A resumed run first removes the lines after its checkpoint, so that no
step occurs twice.
"""

from __future__ import annotations

import json
import math
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import groupby
from pathlib import Path
from typing import Any

from simia_gym.common.writing import write_whole
from simia_gym.evaluation.health import Health
from simia_gym.rl.curve import Points, draw_curve
from simia_gym.rl.grpo.run.episodes import BATCHES, EPISODES, TRAIN, VAL, EpisodeLine, added_models
from simia_gym.rl.grpo.run.run_folder import RunFolder
from simia_gym.rl.verl_run.log import Tail


@dataclass
class Episodes:
    """The finished episodes of a run, by step and purpose.

    In verl's asynchronous modes an episode can be played in an earlier step than that whose batch its group is in; the
    sampler writes down which groups these are.
    """

    run: Path
    _tails: dict[Path, Tail] = field(default_factory=dict)
    _lines: list[EpisodeLine] = field(default_factory=list)
    _batches: dict[int, list[str]] = field(default_factory=lambda: defaultdict(list))

    def _look(self) -> None:
        """Read the lines that were added since the last call."""
        for line in self._added(self.run / BATCHES):
            self._batches[line["step"]] += line["groups"]
        for path in sorted((self.run / EPISODES).glob("*.jsonl")):
            self._lines += (EpisodeLine(**line) for line in self._added(path))

    def _added(self, path: Path) -> Iterator[dict[str, Any]]:
        return map(json.loads, self._tails.setdefault(path, Tail(path)).lines())

    def of(self, step: int, purpose: str) -> Sequence[EpisodeLine]:
        """The finished episodes of one step; in an asynchronous mode, before its batch is sampled, those that wait."""
        self._look()
        lines = [line for line in self._lines if line.purpose == purpose]
        if purpose == VAL or not self._batches:
            return [line for line in lines if line.step == step]
        if step in self._batches:
            lines = [line for line in lines if line.uid in self._batches[step]]
        else:
            taken = {uid for uids in self._batches.values() for uid in uids}
            lines = [line for line in lines if line.uid not in taken]
        # A resumed run plays groups again that were not finished: the last time counts.
        last: dict[str, int] = {}
        for line in lines:
            last[line.uid] = max(line.step, last.get(line.uid, 0))
        return [line for line in lines if line.step == last[line.uid]]


def summed(episodes: Iterable[EpisodeLine]) -> dict[str, Any]:
    """Statistics of a step's episodes.

    Means are over valid episodes; an episode with a fault has no reward and counts as masked.
    """
    lines = list(episodes)
    if not lines:
        return {}
    out = _rates(lines)
    out["prompt"] = ", ".join(sorted({line.prompt for line in lines}))
    out["split"] = ", ".join(sorted({line.split for line in lines if line.split}))
    out["turns"] = _mean(line.turns for line in lines)
    out["policy_tokens"] = sum(line.tokens for line in lines)
    out["length"] = _mean(line.length for line in lines)
    faults = Counter(f"{line.fault.get('role')}:{line.fault.get('kind')}" for line in lines if line.fault)
    out["faults"] = dict(sorted(faults.items()))
    out["ended"] = dict(sorted(Counter(line.ended for line in lines).items()))
    if len({line.uid for line in lines}) < len(lines):
        out["groups"] = _groups(lines)
    if health := _health(lines):
        out["health"] = health
    if models := added_models(line.models for line in lines):
        out["models"] = models
    out["by_env"] = {}
    for env, some in _grouped(lines, lambda line: line.env):
        kinds = _grouped(some, lambda line: line.kind or "-")
        out["by_env"][env] = {**_rates(some), "by_kind": {kind: _rates(part) for kind, part in kinds}}
    return out


def _grouped(
    lines: Iterable[EpisodeLine], name: Callable[[EpisodeLine], str]
) -> Iterator[tuple[str, list[EpisodeLine]]]:
    """The lines of each name, in the order of the names."""
    for key, some in groupby(sorted(lines, key=name), key=name):
        yield key, list(some)


def _groups(lines: Iterable[EpisodeLine]) -> dict[str, int]:
    """Number of groups, and of groups whose valid episodes have different rewards: only these have a gradient."""
    rewards = [{line.reward for line in group if line.valid} for _, group in _grouped(lines, lambda line: line.uid)]
    return {"played": len(rewards), "mixed": sum(len(found) > 1 for found in rewards)}


def _health(lines: Iterable[EpisodeLine]) -> dict[str, Any]:
    """Signs that something spoils the episodes, each with its count, its share and an example."""
    health = Health()
    for line in lines:
        health.add(
            line.health,
            turns=line.turns,
            reward=line.reward if line.valid else None,
            example={"task": line.task, "group": line.group, "sample": line.sample},
            group=(line.uid, 0),
        )
    return health.to_json()


def _rates(lines: Sequence[EpisodeLine]) -> dict[str, Any]:
    valid = [line for line in lines if line.valid]
    return {
        "episodes": len(lines),
        "masked": len(lines) - len(valid),
        "valid_share": len(valid) / len(lines),
        "reward": _mean(line.reward for line in valid if line.reward is not None),
        "success": _mean(float(line.success) for line in valid),
    }


def _mean(values: Iterable[float]) -> float | None:
    found = list(values)
    return math.fsum(found) / len(found) if found else None


class Metrics:
    """Writes ``metrics.jsonl`` while a training runs, from the file that verl writes; ``written`` are its lines."""

    def __init__(self, folder: RunFolder, attempt: Path) -> None:
        self._folder, self._attempt = folder, Tail(attempt)
        self._episodes = Episodes(folder.path)
        self.written = read_metrics(folder.metrics)
        self._known = {int(line["step"]) for line in self.written}

    def look(self) -> list[dict[str, Any]]:
        """Write and return the lines of the steps that verl has measured since the last call."""
        new = []
        for value in map(json.loads, self._attempt.lines()):
            step, verl = int(value["step"]), value["data"]
            if step in self._known:
                continue
            line: dict[str, Any] = {"step": step}
            for purpose in (TRAIN, VAL):
                if sums := summed(self._episodes.of(step, purpose)):
                    line[purpose] = sums
            seconds = verl.get("timing_s/step")
            if seconds and TRAIN in line:
                line["seconds"] = seconds
                line["tokens_per_second"] = line[TRAIN]["policy_tokens"] / seconds
            new.append(_finite({**line, "verl": verl}))
            self._known.add(step)
        if new:
            with self._folder.metrics.open("a", encoding="utf-8") as file:
                file.writelines(json.dumps(line) + "\n" for line in new)
            self.written += new
        return new

    def ended(self, step: int) -> int:
        """Number of finished training episodes of a step that goes on."""
        return len(self._episodes.of(step, TRAIN))


def read_metrics(path: Path) -> list[dict[str, Any]]:
    """Read ``metrics.jsonl``; an incomplete last line is skipped."""
    return [json.loads(raw) for raw in Tail(path).lines()]


def go_back(folder: RunFolder, step: int) -> bool:
    """Restore the metrics to their state after a step (-1: none), from which the training resumes.

    Lines that are only in verl's own files are added; lines after the step are removed. Returns whether the line of the
    step itself is missing, because verl was stopped before it measured the step.
    """
    # The newest first: if a step was trained twice, the last start counts.
    for attempt in sorted(folder.attempts.glob("*.jsonl"), key=lambda path: int(path.stem), reverse=True):
        Metrics(folder, attempt).look()
    by_step = {int(line["step"]): line for line in read_metrics(folder.metrics) if int(line["step"]) <= step}
    _write(folder, [by_step[number] for number in sorted(by_step)])
    return step > 0 and step not in by_step


def make_up(folder: RunFolder, step: int) -> None:
    """Write the line of a step from its episodes alone, if verl was stopped before it measured the step."""
    line: dict[str, Any] = {"step": step, TRAIN: summed(Episodes(folder.path).of(step, TRAIN)), "verl": {}}
    _write(folder, [*read_metrics(folder.metrics), line])


def _write(folder: RunFolder, lines: Iterable[Mapping[str, Any]]) -> None:
    write_whole(folder.metrics, "".join(json.dumps(_finite(line)) + "\n" for line in lines))


def _finite(value: Any) -> Any:
    """Replace NaN and infinity by ``None``, since JSON has no such numbers."""
    if isinstance(value, Mapping):
        return {name: _finite(one) for name, one in value.items()}
    return None if isinstance(value, float) and not math.isfinite(value) else value


def totals(lines: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """Statistics of a whole training, for its final report."""
    train = [line[TRAIN] for line in lines if TRAIN in line]
    faults: Counter[str] = Counter()
    for sums in train:
        faults.update(sums["faults"])
    episodes, masked = sum(sums["episodes"] for sums in train), sum(sums["masked"] for sums in train)
    out: dict[str, Any] = {"steps": len(train), "episodes": episodes, "masked": masked, "faults": dict(faults)}
    if train:
        out |= {name: train[-1][name] for name in ("reward", "success", "prompt", "health") if name in train[-1]}
    looks = [line for line in lines if VAL in line]
    if models := added_models(sums.get("models", {}) for sums in (*train, *(line[VAL] for line in looks))):
        out["models"] = models
    if looks:
        last, names = looks[-1][VAL], ("episodes", "masked", "reward", "success", "prompt", "split")
        out["validation"] = {"step": looks[-1]["step"], **{name: last[name] for name in names if name in last}}
    return out


def draw(folder: RunFolder, title: str) -> None:
    """Draw the learning curve of a run; a step without a valid episode has no value.

    Raises:
        InputError: matplotlib is not installed.
    """
    lines = read_metrics(folder.metrics)
    names = {"reward": "mean reward", "success": "success", "valid_share": "valid episodes"}
    draw_curve(
        {label: (_points(lines, TRAIN, name), _points(lines, VAL, name)) for name, label in names.items()},
        folder.curve,
        title=title,
    )


def _points(lines: Sequence[Mapping[str, Any]], purpose: str, name: str) -> Points:
    found = [(line["step"], line[purpose].get(name)) for line in lines if purpose in line]
    return [(step, value) for step, value in found if value is not None]
