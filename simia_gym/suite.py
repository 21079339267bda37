"""From settings to episodes: loads the domain, lists the tasks, puts simulator, user and reward together."""

from __future__ import annotations

import logging
import re
from collections.abc import Sequence
from functools import cached_property
from pathlib import Path

from simia_gym.config import CUSTOM, EnvConfig
from simia_gym.domain import Domain, load_domain
from simia_gym.episode import Episode
from simia_gym.errors import InputError
from simia_gym.loop import run_sync
from simia_gym.registration import domain_path
from simia_gym.scene import Simulator, User
from simia_gym.simulators.world import WorldSimulator
from simia_gym.tasks import TaskList
from simia_gym.types import Split, Task
from simia_gym.users import make_user

logger = logging.getLogger("simia_gym")
SPLITS: tuple[Split, ...] = ("train", "test")


class Suite:
    """An environment's settings, loaded.

    Args:
        config: The settings.

    Raises:
        InputError: A setting does not fit the domain.
        DomainError: The domain has mistakes.
    """

    def __init__(self, config: EnvConfig) -> None:
        self.config = config
        folder = Path(config.domain or ".") if config.env == CUSTOM else domain_path(config.env)
        self.domain: Domain = load_domain(folder, config.options, config.data)
        if config.generated and self.domain.generator is None:
            reason = "with data of your own" if config.data else "in this domain"
            raise InputError(f"there is no task generator {reason}", where="generated", fix="Leave generated out.")
        if not self.tasks:
            fix = "Choose another split, or ask for generated tasks."
            if config.data is not None:
                fix = "Choose another split, or add the file with its tasks."
            place = f" of {config.data}" if config.data is not None else ""
            raise InputError(f"there are no tasks in split {config.split!r}{place}", where="split", fix=fix)
        self.simulator_name = self._simulator_name()
        self.max_turns = config.max_turns or self.domain.config.max_turns
        self._reward = self.domain.make_reward()
        if config.user is not None:
            run_sync((trial := self.episode()).reset(self.tasks[0]), inline=trial.inline)  # can it play these tasks?
        user = config.user or self.domain.user or "nobody"
        logger.info("%s: tool calls answered by %s, user played by %s", config.env, self.simulator_name, user)

    @cached_property
    def tasks(self) -> Sequence[Task]:
        """The fixed tasks of the split, then the generated ones."""
        wanted = self.config.split
        splits: tuple[Split, ...] = SPLITS if wanted == "all" else (wanted,)
        fixed = [task for split in splits for task in self.domain.tasks.get(split, ())]
        first = self.config.generated - self.config.generated // len(splits) * (len(splits) - 1)
        counts = {split: (first if i == 0 else self.config.generated // len(splits)) for i, split in enumerate(splits)}
        return TaskList(fixed, counts, self.domain.generator)

    def task(self, task_id: str) -> Task:
        """Find a task by its id, in any split.

        Raises:
            InputError: There is none.
        """
        for tasks in self.domain.tasks.values():
            for task in tasks:
                if task.id == task_id:
                    return task
        number = re.search(r"\d+$", task_id)
        generator = self.domain.generator
        if number is not None and generator is not None:  # generated tasks are numbered; none need be searched
            for split in SPLITS:
                task = generator(split, int(number.group()))
                if task.id == task_id:
                    return task
        some = ", ".join(task.id for task in self.tasks[:3])
        raise InputError(f"there is no task {task_id!r} in {self.config.env}", where="task", fix=f"Such as {some}.")

    def _simulator_name(self) -> str:
        asked = self.config.simulator
        if asked not in ("auto", "world"):
            raise InputError(f"simulator is {asked!r}", where="simulator", fix="Use auto or world.")
        if self.domain.world is None:
            fix = "Name a World class in domain.yaml."
            raise InputError(f"{self.domain.name} has no world to run", where="simulator", fix=fix)
        return "world"

    def make_simulator(self) -> Simulator:
        """The simulator of one episode."""
        if self.domain.world is None:
            raise InputError(f"{self.domain.name} has no world to run", where="simulator")
        return WorldSimulator(self.domain.world)

    def make_user(self) -> User | None:
        """The user of one episode, where the domain has one."""
        if self.domain.user is None:
            if self.config.user is not None:
                raise InputError(f"nobody talks in {self.domain.name}", where="user", fix="Leave user out.")
            return None
        return make_user(self.config.user or self.domain.user, self.domain.cues)

    def episode(self) -> Episode:
        """A new episode, independent of every other."""
        return Episode(
            self.domain,
            simulator=self.make_simulator(),
            user=self.make_user(),
            reward=self._reward,
            prompt=self.config.prompt,
            max_turns=self.max_turns,
        )


def load_suite(config: EnvConfig) -> Suite:
    """Load what the settings name.

    Raises:
        InputError: A setting is wrong; says which and what would be right.
    """
    return Suite(config)
