"""Plays retail episodes to their end, through the engine."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import lru_cache
from typing import Any, cast

from simia_gym.actions.calls import read_action
from simia_gym.assembly.settings import EnvConfig
from simia_gym.assembly.suite import Suite, load_suite
from simia_gym.common.event_loop import run_inline
from simia_gym.envs.retail.generate import generate
from simia_gym.episode import Episode
from simia_gym.policies import Policy, PolicyStart, load_policy
from simia_gym.types import Message, PolicyAction, Split, Task, Verdict

ENV = "simia/retail-v0"
SPLITS: tuple[Split, ...] = ("train", "test")


@lru_cache(maxsize=1)
def suite() -> Suite:
    return load_suite(EnvConfig(env=ENV, split="all"))


def fixed() -> Sequence[Task]:
    return suite().tasks


def generated(n: int) -> list[Task]:
    """The first tasks of both splits."""
    return [generate(split, index) for split in SPLITS for index in range(n)]


def forbidden(task: Task) -> bool:
    return task.kind.startswith("refuse")


def policy(name: str) -> Policy:
    return load_policy(name, suite().domain.config.policies)()


class Play:
    """One policy in one episode after another."""

    def __init__(self, name: str) -> None:
        self.policy = policy(name)
        self.episode: Episode = suite().episode()

    def __call__(
        self, task: Task, seed: int = 0, *, watch: Callable[[str, Sequence[Message]], None] | None = None
    ) -> Verdict:
        """Play a task; ``watch`` sees every action and the messages before it."""
        domain = suite().domain
        start = getattr(self.policy, "start", None)
        if start is not None:
            samples = tuple(domain.config.samples)
            start(PolicyStart(env=ENV, seed=seed, tools=domain.tools, grammar=domain.grammar, samples=samples))
        run_inline(self.episode.reset(task, seed=seed))
        while True:
            action = cast(PolicyAction, self.policy.act(self.episode.messages))
            if watch is not None:
                watch(read_action(domain.grammar, action)[0], self.episode.messages)
            step = run_inline(self.episode.step(action))
            if step.verdict is not None:
                return step.verdict


def rate(name: str, tasks: Sequence[Task]) -> float:
    """Share of the tasks that a policy succeeds on; every verdict must be valid."""
    play = Play(name)
    verdicts = [play(task, seed) for seed, task in enumerate(tasks)]
    assert all(verdict.valid for verdict in verdicts)
    return sum(verdict.success for verdict in verdicts) / len(tasks)


def strings(value: Any) -> Iterator[str]:
    """Every text in a JSON value."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict | list):
        for item in value.values() if isinstance(value, dict) else value:
            yield from strings(item)
