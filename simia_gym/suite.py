"""From settings to episodes: loads the domain, lists the tasks, puts simulator, user and reward together."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from pathlib import Path

from simia_gym.config import CUSTOM, EnvConfig
from simia_gym.domain import Domain, load_domain
from simia_gym.episode import Episode
from simia_gym.errors import InputError
from simia_gym.registration import domain_path
from simia_gym.scene import Simulator, User
from simia_gym.simulators.world import WorldSimulator
from simia_gym.tasks import TaskList
from simia_gym.types import Split, Task
from simia_gym.users import make_user


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
            raise InputError(f"there are no tasks in split {config.split!r}", where="split", fix=fix)
        self.simulator_name = self._simulator_name()

    @cached_property
    def tasks(self) -> Sequence[Task]:
        """The fixed tasks of the split, then the generated ones."""
        wanted = self.config.split
        splits: tuple[Split, ...] = ("train", "test") if wanted == "all" else (wanted,)
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
        for task in self.tasks:
            if task.id == task_id:
                return task
        raise InputError(f"there is no task {task_id!r} in {self.config.env}", where="task", fix="See `simia list`.")

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
            reward=self.domain.make_reward(),
            prompt=self.config.prompt,
            max_turns=self.config.max_turns,
        )


def load_suite(config: EnvConfig) -> Suite:
    """Load what the settings name.

    Raises:
        InputError: A setting is wrong; says which and what would be right.
    """
    return Suite(config)
