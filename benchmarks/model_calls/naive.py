"""A plain implementation of the episodes: one coroutine each, `AsyncOpenAI`, and full message lists in each request."""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import Sequence
from importlib.metadata import version
from pathlib import Path
from typing import Any

from openai import AsyncOpenAI

from benchmarks.model_calls.measure import CLIENT_CORE, Meter, pin, report, settings


async def play(policy: AsyncOpenAI, simulator: AsyncOpenAI, start: dict[str, Any], meter: Meter, until: float) -> int:
    """Play one episode: call the policy, call the simulator, append its reply to the policy's messages.

    Returns:
        Number of turns that were played.
    """
    messages: list[Any] = [
        {"role": "system", "content": start["system"]},
        {"role": "user", "content": start["opening"]},
    ]
    turns = 0
    for asked in start["asks"]:
        began = time.perf_counter()
        if began > until:
            break
        said = await policy.chat.completions.create(model="policy", messages=messages)
        message = said.choices[0].message
        assert message.tool_calls
        call = message.tool_calls[0]
        messages.append(message.model_dump(include={"role", "content", "tool_calls"}))
        question: list[Any] = [
            {"role": "system", "content": start["simulator"]},
            {"role": "user", "content": asked},
        ]
        answered = await simulator.chat.completions.create(
            model="simulator", messages=question, response_format={"type": "json_object"}
        )
        reply = json.loads(answered.choices[0].message.content or "")
        messages.append({"role": "tool", "tool_call_id": call.id, "content": reply["observation"]})
        meter.turns.append(time.perf_counter() - began)
        turns += 1
    return turns


async def run(options: dict[str, Any]) -> None:
    """Play the given number of concurrent episodes, repeatedly."""
    starts: Sequence[dict[str, Any]] = json.loads(Path(options["answers"]).read_text(encoding="utf-8"))["episodes"]
    concurrency = options["concurrency"]
    meter = Meter(concurrency, options["mean_latency"])
    address = f"http://127.0.0.1:{options['port']}"
    async with (
        AsyncOpenAI(base_url=f"{address}/policy/v1", api_key="none", max_retries=0, timeout=300) as policy,
        AsyncOpenAI(base_url=f"{address}/simulator/v1", api_key="none", max_retries=0, timeout=300) as simulator,
    ):
        await play(policy, simulator, starts[0], Meter(1, 1.0), time.perf_counter() + 600)
        meter.begin()
        until = time.perf_counter() + options["seconds"]
        queue = iter(range(options["episodes"]))

        async def work() -> int:
            return sum([await play(policy, simulator, starts[n % len(starts)], meter, until) for n in queue])

        turns = sum(await asyncio.gather(*(work() for _ in range(concurrency))))
        report(meter.end(turns, versions={"openai": version("openai")}))


if __name__ == "__main__":
    pin(CLIENT_CORE)
    asyncio.run(run(settings()))
