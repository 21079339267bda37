"""Plays retail episodes to their end, through the engine."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import lru_cache
from typing import Any, cast

from simia_gym.actions.calls import read_action
from simia_gym.assembly.settings import EnvConfig
from simia_gym.assembly.suite import Suite, load_suite
from simia_gym.common.event_loop import run_inline
from simia_gym.episode import Episode
from simia_gym.policies import Policy, PolicyStart
from simia_gym.rollout.play import play
from simia_gym.service import Generator
from simia_gym.types import Message, PolicyAction, Split, Task, Verdict

ENV = "simia/retail-v0"
SPLITS: tuple[Split, ...] = ("train", "test")


@lru_cache(maxsize=1)
def suite() -> Suite:
    return load_suite(EnvConfig(env=ENV, split="all"))


def generator() -> Generator:
    made = suite().domain.generator
    assert isinstance(made, Generator)
    return made


def fixed() -> Sequence[Task]:
    return suite().tasks


@lru_cache(maxsize=4)
def generated(n: int) -> Sequence[Task]:
    """The first tasks of both splits."""
    return [generator()(split, index) for split in SPLITS for index in range(n)]


def forbidden(task: Task) -> bool:
    return task.kind.startswith("refuse")


Watch = Callable[[str, Sequence[Message]], None]


class Play:
    """One policy, or a built-in one by name, in one episode after another."""

    def __init__(self, policy: str | Policy) -> None:
        self.policy: Policy = suite().load_policy(policy)() if isinstance(policy, str) else policy
        self.episode: Episode = suite().episode()
        self.watch: Watch | None = None

    def __call__(self, task: Task, seed: int = 0, *, watch: Watch | None = None) -> Verdict:
        """Play a task; ``watch`` sees every action and the messages before it."""
        self.watch = watch
        start = getattr(self.policy, "start", None)
        if start is not None:
            domain = suite().domain
            start(PolicyStart(env=ENV, seed=seed, tools=domain.tools, grammar=domain.grammar, samples=()))
        assert run_inline(play(self.episode, task, seed=seed, policy=self)) is None
        assert self.episode.verdict is not None
        return self.episode.verdict

    def act(self, messages: Sequence[Message]) -> PolicyAction:
        """The policy's action."""
        action = cast(PolicyAction, self.policy.act(messages))
        if self.watch is not None:
            self.watch(read_action(suite().domain.grammar, action)[0], messages)
        return action


def successes(policy: str | Policy, tasks: Sequence[Task]) -> list[Task]:
    """The tasks that a policy succeeds on; every verdict must be valid."""
    player = Play(policy)
    verdicts = [player(task, seed) for seed, task in enumerate(tasks)]
    assert all(verdict.valid for verdict in verdicts)
    return [task for task, verdict in zip(tasks, verdicts, strict=True) if verdict.success]


def rate(policy: str | Policy, tasks: Sequence[Task]) -> float:
    """Share of the tasks that a policy succeeds on."""
    return len(successes(policy, tasks)) / len(tasks)


def strings(value: Any) -> Iterator[str]:
    """Every text in a JSON value."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict | list):
        for item in value.values() if isinstance(value, dict) else value:
            yield from strings(item)
