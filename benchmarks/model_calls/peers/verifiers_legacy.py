"""verifiers: its classic `MultiTurnEnv` whose environment response calls the simulator's model."""

# The framework is installed only in its own virtual environment.
# mypy: disable-error-code="import-not-found, misc"

from __future__ import annotations

import asyncio
import json
import os
from importlib.metadata import version
from typing import Any

import verifiers.legacy as vf
from datasets import Dataset
from openai import AsyncOpenAI
from verifiers.legacy.types import ClientConfig, ToolMessage

from benchmarks.model_calls.measure import Meter, report
from benchmarks.model_calls.peers.shared import opening, setting


class ModelEnv(vf.MultiTurnEnv):
    """An environment that answers each tool call with the simulator's model."""

    def __init__(self, starts: list[dict[str, Any]], client: AsyncOpenAI, **more: Any) -> None:
        super().__init__(max_turns=len(starts[0]["asks"]), **more)
        self._starts, self._client = starts, client

    async def env_response(self, messages: Any, state: Any, **_: Any) -> Any:
        """Call the simulator's model."""
        return [await self._answer(messages[-1], state, len(state["trajectory"]) - 1)]

    async def _answer(self, last: Any, state: Any, turn: int) -> ToolMessage:
        start = self._starts[int(state["info"]["start"])]
        answered = await self._client.chat.completions.create(
            model="simulator",
            messages=[
                {"role": "system", "content": start["simulator"]},
                {"role": "user", "content": start["asks"][turn]},
            ],
            response_format={"type": "json_object"},
        )
        observation = json.loads(answered.choices[0].message.content or "")["observation"]
        return ToolMessage(tool_call_id=last.tool_calls[0].id, content=observation)


async def run() -> None:
    options, starts, address = setting()
    concurrency = options["concurrency"]
    os.environ["BENCH_KEY"] = "none"
    client = AsyncOpenAI(base_url=f"{address}/simulator/v1", api_key="none", max_retries=0, timeout=300)
    numbers = [n % len(starts) for n in range(concurrency)]
    rows = [{"prompt": opening(starts[n]), "answer": "", "info": {"start": n}} for n in numbers]

    async def last_turn(state: Any) -> float:
        """Call the simulator for the last tool call, too, which the framework's episode does not answer."""
        await environment._answer(state["trajectory"][-1]["completion"][-1], state, len(state["trajectory"]) - 1)
        return 0.0

    rubric = vf.Rubric(funcs=[last_turn])
    environment = ModelEnv(starts, client, dataset=Dataset.from_list(rows), rubric=rubric)
    config = ClientConfig(api_key_var="BENCH_KEY", api_base_url=f"{address}/policy/v1", max_retries=0)
    inputs = environment.get_dataset()
    meter = Meter(concurrency, options["mean_latency"])
    meter.begin()
    found = await environment.generate(inputs, config, "policy", on_start=_quiet, on_progress=_quiet, on_log=_quiet)
    turns = sum(int(output["metrics"]["num_turns"]) for output in found["outputs"])
    versions = {"verifiers": f"{version('verifiers')}, legacy package of the public repository"}
    report(meter.end(turns, versions={**versions, "openai": version("openai")}))


def _quiet(*_: Any, **__: Any) -> None:
    pass


if __name__ == "__main__":
    asyncio.run(run())
