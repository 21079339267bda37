"""Progress of a training: a progress bar in a terminal, else one line for each step."""

from __future__ import annotations

import time
from collections.abc import Mapping
from typing import Any

from rich.progress import BarColumn, Progress, TaskID, TextColumn, TimeElapsedColumn, TimeRemainingColumn
from rich.table import Column

from simia_gym.common.formatting import compact, number, percent
from simia_gym.common.output import Output
from simia_gym.evaluation.health import health_words

_STARTING = "starting Ray and the workers"
_TOLD = ("equal_rewards", "faults")
"""Signs of a step's health of which its line tells already."""
_EVERY = 20.0
"""Seconds between two lines while no step ends, without a terminal."""


class TrainingDisplay:
    """The progress of a training; ``episodes`` of one step are ``None`` if their number is not known in advance.

    In a terminal, ``bar`` has to be entered as a context.
    """

    def __init__(self, output: Output, name: str, *, steps: int, done: int, episodes: int | None) -> None:
        self._output, self._name, self._steps, self._episodes = output, name, steps, episodes
        self._began, self._said, self._stage = time.monotonic(), time.monotonic(), _STARTING
        self.bar = Progress(
            TextColumn("{task.description}"),
            BarColumn(18),
            TextColumn("step {task.completed:.0f}/{task.total:.0f}"),
            TextColumn("{task.fields[facts]}", table_column=Column(no_wrap=True, overflow="ellipsis", ratio=1)),
            TimeElapsedColumn(),
            TextColumn("left"),
            TimeRemainingColumn(),
            console=output.console,
            disable=not output.console.is_terminal,
            refresh_per_second=2,
            expand=True,
        )
        self._task: TaskID = self.bar.add_task(name, total=steps, completed=done, facts=_STARTING)

    def step(self, line: Mapping[str, Any]) -> None:
        """Show a line of the metrics."""
        facts = facts_of(line)
        self.bar.update(self._task, completed=line["step"], facts=facts)
        self._stage, self._said = facts, time.monotonic()
        if not self._output.console.is_terminal:
            self._output.say(f"step {line['step']}/{self._steps}: {facts}")

    def waiting(self, ended: int, step: int) -> None:
        """Show how many episodes of the current step have finished."""
        if ended:
            of = "" if self._episodes is None else f"/{self._episodes}"
            self.bar.update(self._task, facts=f"{self._stage} · {ended}{of} episodes")
        now = time.monotonic()
        if not self._output.console.is_terminal and now - self._said > _EVERY:
            self._said = now
            of = "" if self._episodes is None else f" of {self._episodes}"
            what = f"step {step}: {ended}{of} episodes have ended" if ended else self._stage
            self._output.say(f"after {now - self._began:.0f} s: {what}")


def facts_of(line: Mapping[str, Any]) -> str:
    """Reward, success, valid share and speed of a step, and the scores of its validation."""
    parts = []
    if train := line.get("train"):
        parts += [f"reward {number(train['reward'])}", f"success {percent(train['success'])}"]
        parts += [f"valid {percent(train['valid_share'])}"]
        parts += [f"{train['prompt']} prompt"] if "prompt" in train else []
        groups = train.get("groups")
        parts += [f"{groups['mixed']} of {groups['played']} groups teach"] if groups else []
        told = {name: sign for name, sign in train.get("health", {}).items() if name not in _TOLD}
        parts += health_words(told)
    if "tokens_per_second" in line:
        parts.append(f"{compact(line['tokens_per_second'])} tokens/s")
    if val := line.get("val"):
        prompt = f" ({val['prompt']} prompt)" if "prompt" in val else ""
        parts.append(f"{on_split(val)}: reward {number(val['reward'])}, success {percent(val['success'])}{prompt}")
    return " · ".join(parts) or "no episode"


def on_split(val: Mapping[str, Any]) -> str:
    """What a validation is called, with the split of its tasks where it is known."""
    return f"validation on {val['split']}" if val.get("split") else "validation"
