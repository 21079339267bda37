"""skyrl-gym: a text environment whose step calls the simulator's model, driven as SkyRL's generator drives it.

The package has no driver of its own. SkyRL's generator runs one coroutine for each episode, and each `env.step` in
a thread pool. Here the pool has as many threads as episodes, which is its best case.
"""

# The framework is installed only in its own virtual environment.
# mypy: disable-error-code="import-not-found, misc"

from __future__ import annotations

import asyncio
import time
from concurrent.futures import ThreadPoolExecutor
from importlib.metadata import version
from typing import Any

import skyrl_gym
from openai import AsyncOpenAI, OpenAI
from skyrl_gym.envs.base_text_env import BaseTextEnv, BaseTextEnvStepOutput

from benchmarks.model_calls.measure import Meter, report
from benchmarks.model_calls.peers.shared import ModelWorld, opening, setting, told


class ModelEnv(BaseTextEnv):
    """An environment whose steps call the simulator's model."""

    def __init__(self, env_config: Any, extras: dict[str, Any]) -> None:
        super().__init__()
        self._world = ModelWorld(extras["start"], extras["client"])
        self.max_turns = len(extras["start"]["asks"])

    def step(self, action: str) -> BaseTextEnvStepOutput:
        """Call the simulator's model."""
        self.turns += 1
        seen = told(action, self._world.answer())
        return BaseTextEnvStepOutput(observations=[seen], reward=0.0, done=self._world.over, metadata={})


async def play(start: dict[str, Any], policy: AsyncOpenAI, client: OpenAI, pool: Any, meter: Meter) -> int:
    environment = skyrl_gym.make("bench", env_config={}, extras={"start": start, "client": client})
    loop = asyncio.get_running_loop()
    messages, _ = environment.init(opening(start))
    turns, done = 0, False
    while not done:
        began = time.perf_counter()
        said = await policy.chat.completions.create(model="policy", messages=messages)
        message = said.choices[0].message
        assert message.tool_calls
        messages.append(message.model_dump(include={"role", "content", "tool_calls"}))
        output = await loop.run_in_executor(pool, environment.step, message.tool_calls[0].id)
        messages += output["observations"]
        done = output["done"]
        meter.turns.append(time.perf_counter() - began)
        turns += 1
    return turns


async def run() -> None:
    options, starts, address = setting()
    concurrency = options["concurrency"]
    skyrl_gym.register(id="bench", entry_point="benchmarks.model_calls.peers.skyrl_driver:ModelEnv")
    client = OpenAI(base_url=f"{address}/simulator/v1", api_key="none", max_retries=0, timeout=300)
    policy = AsyncOpenAI(base_url=f"{address}/policy/v1", api_key="none", max_retries=0, timeout=300)
    meter = Meter(concurrency, options["mean_latency"])
    with ThreadPoolExecutor(concurrency) as pool:
        meter.begin()
        played = [play(starts[n % len(starts)], policy, client, pool, meter) for n in range(concurrency)]
        turns = sum(await asyncio.gather(*played))
        report(meter.end(turns, versions={"skyrl-gym": version("skyrl-gym"), "openai": version("openai")}))


if __name__ == "__main__":
    asyncio.run(run())
