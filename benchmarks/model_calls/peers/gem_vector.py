"""GEM (`gem-llm`): its `AsyncVectorEnv`, whose environments call the simulator's model, and concurrent policy calls."""

# The framework is installed only in its own virtual environment.
# mypy: disable-error-code="import-not-found, misc"

from __future__ import annotations

import asyncio
import logging
import time
from importlib.metadata import version
from typing import Any

import gem
from gem.core import Env
from openai import AsyncOpenAI, OpenAI

from benchmarks.model_calls.measure import Meter, report
from benchmarks.model_calls.peers.shared import ModelWorld, opening, setting, told


class ModelEnv(Env):
    """An environment whose steps call the simulator's model."""

    def __init__(self, start: dict[str, Any], client: OpenAI, **_: Any) -> None:
        super().__init__()
        self._start, self._client = start, client
        self._world = ModelWorld(start, client)

    def reset(self, seed: int | None = None) -> tuple[str, dict[str, Any]]:
        """Begin the episode again."""
        super().reset(seed)
        self._world = ModelWorld(self._start, self._client)
        return self._start["opening"], {}

    def step(self, action: str) -> tuple[str, float, bool, bool, dict[str, Any]]:
        """Call the simulator's model."""
        return self._world.answer(), 0.0, False, self._world.over, {}


async def ask(policy: AsyncOpenAI, messages: list[Any]) -> str:
    said = await policy.chat.completions.create(model="policy", messages=messages)
    message = said.choices[0].message
    assert message.tool_calls
    messages.append(message.model_dump(include={"role", "content", "tool_calls"}))
    return message.tool_calls[0].id


def main() -> None:
    options, starts, address = setting()
    logging.getLogger("httpx2").setLevel(logging.WARNING)  # otherwise it logs every request
    concurrency = options["concurrency"]
    client = OpenAI(base_url=f"{address}/simulator/v1", api_key="none", max_retries=0, timeout=300)
    policy = AsyncOpenAI(base_url=f"{address}/policy/v1", api_key="none", max_retries=0, timeout=300)
    gem.register("bench:Model-v0", "benchmarks.model_calls.peers.gem_vector:ModelEnv")
    lanes = [{"start": starts[lane % len(starts)], "client": client} for lane in range(concurrency)]
    environment = gem.make_vec(["bench:Model-v0"] * concurrency, vec_kwargs=lanes, async_mode=True)
    histories = [opening(starts[lane % len(starts)]) for lane in range(concurrency)]
    meter = Meter(concurrency, options["mean_latency"])
    loop = asyncio.new_event_loop()

    async def policies() -> list[str]:
        return list(await asyncio.gather(*(ask(policy, messages) for messages in histories)))

    environment.reset(seed=0)
    turns = 0
    meter.begin()
    for _ in starts[0]["asks"]:
        began = time.perf_counter()
        ids = loop.run_until_complete(policies())
        observations, *_ = environment.step(ids)
        for messages, call_id, observation in zip(histories, ids, observations, strict=True):
            messages.append(told(call_id, observation))
        meter.turns += [time.perf_counter() - began] * concurrency
        turns += concurrency
    report(meter.end(turns, versions={"gem-llm": version("gem-llm"), "openai": version("openai")}))


if __name__ == "__main__":
    main()
