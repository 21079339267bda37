"""The rows of a TRL dataset: each names environment, task and seed of an episode group, hidden from the model.

TRL passes only the prompts to a rollout function, and only the columns to an environment. So a row holds them twice: in
the column ``episode``, and under the key ``episode`` of the prompt's last message, which chat templates ignore.
"""

from __future__ import annotations

import json
from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from simia_gym.assembly.suite import Suite
from simia_gym.domain.tasks import task_from_json, task_to_json
from simia_gym.env import make_suite
from simia_gym.errors import InputError
from simia_gym.rl.extras import require
from simia_gym.rl.labels import labels
from simia_gym.rollout.jobs import episode_seed
from simia_gym.types import JsonObject, SplitChoice, Task

KEY = "episode"
"""Name of the column, and of the key in the prompt's last message."""

Source = str | Suite
"""The id of an environment, or a loaded one."""


@dataclass(frozen=True)
class EpisodeStart:
    """Environment, task and seed of an episode; the same for all members of a group.

    Attributes:
        env: The environment's name in `EpisodeRows.suites`.
        task: The task.
        seed: Random seed.
        text: The row's text in the dataset, which encodes environment, task and seed.
    """

    env: str
    task: Task
    seed: int
    text: str

    def group(self, round_: int | None = None) -> str:
        """Id of the group, whose episodes share a world; ``round_`` tells the steps of a training apart."""
        group = f"{self.env}:{self.task.id}:{self.seed}"
        return group if round_ is None else f"{group}@{round_}"


class EpisodeRows(ABC):
    """Encodes the rows of environments, and decodes them; what both interfaces of TRL have in common.

    Args:
        sources: Ids of environments, or loaded ones.
        settings: Settings of those that are not loaded, as for ``gymnasium.make``.

    Attributes:
        suites: The environments by id; several domains that are loaded from folders by the folders' names.

    Raises:
        InputError: A setting is wrong; there is no environment, or two are the same; or all are loaded already and
            there are settings.
    """

    def __init__(self, sources: Sequence[Source], settings: Mapping[str, Any]) -> None:
        if not sources:
            raise InputError("no environment is named", where="environments", fix="Name one, such as simia/retail-v0.")
        if settings and all(isinstance(source, Suite) for source in sources):
            name = next(iter(settings))
            raise InputError("the environment is loaded already", where=name, fix="Load it with this setting.")
        suites = [source if isinstance(source, Suite) else make_suite(source, settings) for source in sources]
        configs = [suite.config for suite in suites]
        ids = [config.env if config.domain is None else str(Path(config.domain).resolve()) for config in configs]
        twice = next((name for name in ids if ids.count(name) > 1), None)
        if twice is not None:
            raise InputError(f"{twice} is named twice", where="environments", fix="Name it once.")
        self.suites: Mapping[str, Suite] = dict(zip(labels(configs), suites, strict=True))
        self._tasks: dict[tuple[str, str], Task] = {}

    def dataset(
        self,
        rows: int | None = None,
        *,
        seed: int = 0,
        tasks: Iterable[Task] | None = None,
        split: SplitChoice | None = None,
        name: str | None = None,
    ) -> Any:
        """A ``datasets.Dataset`` with one row for each group: to train on or, with split ``dev``, to evaluate on.

        Args:
            rows: Number of rows; by default one for each task. Further rows repeat the tasks with other seeds. Several
                environments alternate.
            seed: Random seed, from which the seeds of the episodes are derived.
            tasks: Your own tasks instead of those of the split, with one environment.
            split: Another split than that of the environments, such as ``dev``.
            name: Value of the column ``environment``, by which TRL chooses from a dictionary of environments; by
                default the environment's id, which all domains that are loaded from a folder share.

        Raises:
            InputError: There are no rows or tasks, or two arguments exclude each other.
        """
        require("trl", "datasets")
        from datasets import Dataset

        made = self.rows(rows, seed=seed, tasks=tasks, split=split)
        return Dataset.from_list(made if name is None else [{**row, "environment": name} for row in made])

    def rows(
        self,
        rows: int | None = None,
        *,
        seed: int = 0,
        tasks: Iterable[Task] | None = None,
        split: SplitChoice | None = None,
    ) -> list[JsonObject]:
        """The rows of `dataset`, dictionaries with the columns ``prompt``, ``environment`` and ``episode``."""
        if tasks is not None and len(self.suites) > 1:
            raise InputError("tasks are given for several environments", where="tasks", fix="Make a dataset for each.")
        if tasks is not None and split is not None:
            raise InputError("tasks are given, too", where="split", fix="Give tasks or a split.")
        own = None if tasks is None else list(tasks)

        def of(suite: Suite) -> Sequence[Task]:
            return own if own is not None else suite.tasks if split is None else suite.domain.tasks_of(split)

        chosen = {env: of(suite) for env, suite in self.suites.items()}
        total = sum(map(len, chosen.values())) if rows is None else rows
        if total < 1 or not all(chosen.values()):
            raise InputError(f"{total} rows were asked for", where="rows", fix="Ask for 1 or more, of 1 task or more.")
        made: list[JsonObject] = []
        number = 0
        while len(made) < total:
            for env, found in chosen.items():
                if rows is not None or number < len(found):
                    made.append(self._row(env, found, number, seed, whole=own is not None))
            number += 1
        return made[:total]

    def find(self, text: Any) -> EpisodeStart:
        """Decode a row from the value of its column ``episode``, or of that key in its prompt.

        Raises:
            InputError: It was not encoded here, or names an unknown environment or task.
        """
        try:
            said = json.loads(text)
            env, task, seed = str(said["env"]), said["task"], int(said["seed"])
        except (TypeError, ValueError, KeyError):
            fix = "Make the dataset with the method dataset() of what you give to the trainer."
            raise InputError(f"the row says {str(text)[:60]!r}", where=f"column {KEY!r}", fix=fix) from None
        if env not in self.suites:
            fix = f"It is for {', '.join(self.suites)}."
            raise InputError(f"the row is for {env!r}", where=f"column {KEY!r}", fix=fix)
        return EpisodeStart(env, self._task(env, task), seed, text)

    def find_in_prompt(self, prompt: Any) -> EpisodeStart:
        """Decode a row from its prompt alone.

        Raises:
            InputError: As `find`.
        """
        last = prompt[-1] if isinstance(prompt, list) and prompt else {}
        return self.find(last.get(KEY) if isinstance(last, Mapping) else prompt)

    def _task(self, env: str, task: Any) -> Task:
        key = (env, json.dumps(task, sort_keys=True))
        if key not in self._tasks:
            whole = isinstance(task, dict)
            self._tasks[key] = task_from_json(task, f"column {KEY!r}") if whole else self.suites[env].task(str(task))
        return self._tasks[key]

    def _row(self, env: str, tasks: Sequence[Task], number: int, seed: int, *, whole: bool) -> JsonObject:
        task = tasks[number % len(tasks)]
        said = {
            "env": env,
            "task": task_to_json(task) if whole else task.id,
            "seed": episode_seed(seed, task.id, number // len(tasks)),
        }
        text = json.dumps(said, ensure_ascii=False, default=dict)
        *before, last = self._prompt(self.suites[env], task)
        return {"prompt": [*before, {**last, KEY: text}], "environment": env, KEY: text}

    @abstractmethod
    def _prompt(self, suite: Suite, task: Task) -> list[JsonObject]:
        """The messages of a row's prompt."""
