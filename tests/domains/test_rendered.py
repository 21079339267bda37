"""What code answers by a rendering rule, without a model, is what the world answers: every read of every fixed task."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

import pytest

from simia_gym.assembly.resources import Resources
from simia_gym.assembly.settings import EnvConfig
from simia_gym.assembly.suite import load_suite
from simia_gym.contracts import StepContext
from simia_gym.domain.domain import Domain
from simia_gym.domain.world import World as Code
from simia_gym.simulators.rendered import rendered
from simia_gym.types import ToolCall, Transition

from ..proof.stage import play_all
from ..sweeps import sizes
from .table import World


class Compared:
    """Answers as the world does, and compares with it what code makes of the rendering rules."""

    name = "compared"

    def __init__(self, domain: Domain, world: Code, routes: Counter[str]) -> None:
        self.domain, self.world, self.routes = domain, world, routes
        self.io = world.io

    def begin(self, context: StepContext) -> None:
        """Nothing has to be prepared."""

    async def open(self, context: StepContext) -> Transition:
        return await self.domain.opening(context.state, context.task)

    async def call(self, call: ToolCall, context: StepContext) -> Transition:
        truth = await self.world.answer(context.state, call)
        if call.name in self.domain.specs and self.world.refuse(context.state, call) is None:
            answer = rendered(self.domain, context.state, call)
            self.routes["world" if answer is None else "render"] += 1
            if answer is not None:
                assert replace(answer, meta={}) == replace(truth, meta={})
                assert answer.state is truth.state
        return truth


@pytest.mark.parametrize("policy", ["expert", "random"])
@pytest.mark.parametrize("most", sizes(40, 10_000))
def test_code_answers_reads_as_the_world_does(world: World, most: int, policy: str) -> None:
    domain, routes = world.domain, Counter[str]()
    code = domain.world
    reading = any(spec.render is not None and spec.effect != "write" for spec in domain.specs.values())
    if code is None or not reading:
        assert not reading
        return
    config = EnvConfig(world.env, **{"split": "all", **world.settings})
    suite = load_suite(config, Resources(simulator=lambda: Compared(domain, code, routes)))
    tasks = world.tasks()
    play_all(suite, tasks[:: max(1, len(tasks) // most)], policy)
    assert routes["render"] > 0
