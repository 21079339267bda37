"""The same episodes in our vector environment, where all environments wait for the slowest in every turn."""

from __future__ import annotations

import asyncio
from importlib.metadata import version
from typing import Any

from benchmarks.model_calls.measure import CLIENT_CORE, Meter, pin, report, settings
from benchmarks.model_calls.scripts import TURNS
from benchmarks.model_calls.workload import ENV, MODEL, policy_options
from simia_gym.common.event_loop import background_loop
from simia_gym.policies import PolicyStart
from simia_gym.policies.llm import LLMPolicy
from simia_gym.types import PolicyAction
from simia_gym.vector import SimiaVectorEnv


def main(options: dict[str, Any]) -> None:
    """Measure full rounds of all environments until the number of episodes is reached."""
    port, lanes = options["port"], options["concurrency"]
    world: dict[str, Any] = {"base_url": f"http://127.0.0.1:{port}/simulator/v1", "api_key": "none"}
    environment = SimiaVectorEnv(ENV, lanes, simulator="llm", render="model", model=MODEL, max_turns=TURNS, **world)
    tasks = environment.suite.tasks
    policies = [LLMPolicy(policy_options(port)) for _ in range(lanes)]
    loop = background_loop()

    async def actions() -> list[PolicyAction]:
        episodes = environment.episodes
        return list(await asyncio.gather(*(p.act(e.messages) for p, e in zip(policies, episodes, strict=True))))

    def lane(number: int, seed: int) -> None:
        domain = environment.suite.domain
        start = PolicyStart(ENV, seed, domain.tools, domain.grammar)
        policies[number].start(start)

    meter = Meter(lanes, options["mean_latency"])
    turns = 0
    meter.begin()
    for first in range(0, options["episodes"], lanes):
        environment.reset(seed=first)
        for number in range(lanes):
            lane(number, first + number)
        for _ in range(TURNS):
            environment.step(asyncio.run_coroutine_threadsafe(actions(), loop).result())
            turns += lanes
        ended = {episode.ended for episode in environment.episodes}
        if ended != {"turn_limit"}:
            raise RuntimeError(f"the lanes ended by {sorted(map(str, ended))}, of {len(tasks)} tasks")
    report(meter.end(turns, versions={"simia-gym": version("simia-gym")}))


if __name__ == "__main__":
    pin(CLIENT_CORE)
    main(settings())
