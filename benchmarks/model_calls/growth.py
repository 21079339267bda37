"""Growth of a turn's cost with the history: long episodes one after the other, with a server without latency."""

from __future__ import annotations

import asyncio
import statistics
from collections.abc import Awaitable, Sequence
from typing import Any

from benchmarks.model_calls.measure import CLIENT_CORE, cpu_seconds, pin, report, settings
from benchmarks.model_calls.workload import config, endpoint, policy_options
from simia_gym.assembly.suite import load_suite
from simia_gym.policies.llm import LLMPolicy
from simia_gym.rollout.play import play
from simia_gym.types import Message, PolicyAction

TURNS = 100
_AT = 5
"""Number of turns at the start and at the end to compare; the first turn, which opens connections, is left out."""


class Counting(LLMPolicy):
    """The policy; also records the CPU time at the start of each turn."""

    def __init__(self, *args: Any) -> None:
        super().__init__(*args)
        self.used: list[tuple[float, float]] = []
        self.size = 0

    def act(self, messages: Sequence[Message]) -> Awaitable[PolicyAction]:  # type: ignore[override]
        """Record the CPU time and call the model."""
        self.used.append(cpu_seconds())
        self.size = len(messages)
        return super().act(messages)


async def run(options: dict[str, Any]) -> None:
    """Play long episodes and compare their first turns with their last."""
    suite = load_suite(config(TURNS), endpoint(options["port"]))
    task = suite.tasks[0]
    made: list[Counting] = []
    for number in range(options["episodes"] + 1):
        policy = Counting(policy_options(options["port"]))
        episode = suite.episode()
        await play(episode, task, seed=number, policy=policy)
        if episode.turn != TURNS or episode.fault is not None:
            raise RuntimeError(f"a long episode broke off at turn {episode.turn}: {episode.fault}")
        made.append(policy)
    spent = [
        [(after[0] - before[0], after[1] - before[1]) for before, after in zip(one.used, one.used[1:], strict=False)]
        for one in made[1:]
    ]
    early, late = (_median(spent, turns) for turns in (range(1, 1 + _AT), range(TURNS - 1 - _AT, TURNS - 1)))
    found = {"turns": TURNS, "episodes": len(spent), "early_cpu_ms": early, "late_cpu_ms": late}
    found["ratio"] = round(late["all"] / early["all"], 3)
    by_turn = [round(1000 * statistics.median(sum(one[turn]) for one in spent), 4) for turn in range(TURNS - 1)]
    report({**found, "messages_at_end": made[-1].size, "cpu_ms_by_turn": by_turn})


def _median(spent: list[list[tuple[float, float]]], turns: range) -> dict[str, float]:
    """Median milliseconds of a turn, over these turns of all episodes."""
    taken = [one[turn] for one in spent for turn in turns]
    kinds = {"all": [sum(pair) for pair in taken], "user": [u for u, _ in taken], "system": [s for _, s in taken]}
    return {kind: round(1000 * statistics.median(values), 4) for kind, values in kinds.items()}


if __name__ == "__main__":
    pin(CLIENT_CORE)
    asyncio.run(run(settings()))
