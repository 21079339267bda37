"""The expert's actions in every world through verifiers' taskset for OpenEnv, against a served environment.

    python benchmarks/openenv_verifiers.py --verifiers V/bin/python --out benchmarks/results/openenv_verifiers.json

Runs where the extra openenv is installed; verifiers (``pip install "verifiers[openenv]==0.4.0"``) is in an environment
of its own, whose Python is named. Its taskset and its client are the real ones; the model is a list of replies. One
reset of each world names a task that does not exist: it must end without a reward.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import subprocess
import sys
from contextlib import AsyncExitStack
from pathlib import Path
from types import SimpleNamespace
from typing import Any


class Interaction:
    """Stands for verifiers' interaction with a model: gives the replies in order, and keeps the reward."""

    def __init__(self, replies: list[str]) -> None:
        self.replies, self.trace = [*replies], self
        self.rewards: dict[str, float] = {}

    async def __aenter__(self) -> Interaction:
        """Nothing to open."""
        return self

    async def __aexit__(self, *_: object) -> None:
        """Nothing to close."""

    async def turn(self, text: str) -> Any:
        """The next reply."""
        return SimpleNamespace(terminated=False, last_reply=self.replies.pop(0) if self.replies else "")

    def record_reward(self, name: str, value: float) -> None:
        """Keep a reward, as a trace does."""
        self.rewards[name] = value

    def stop(self, why: str) -> None:
        """Nothing is left to be said."""


async def play(worlds: list[dict[str, Any]]) -> list[list[Any]]:
    """Play all cases with verifiers; the rewards, or the error in words."""
    from verifiers.v1.tasksets.openenv import OpenEnvConfig, OpenEnvEnv, OpenEnvTaskset

    found: list[list[Any]] = []
    for world in worlds:
        resets = [case["reset"] for case in world["cases"]]
        tasks = OpenEnvTaskset(OpenEnvConfig(id="openenv", base_url=world["base"], resets=resets)).load()
        found.append([])
        for task, case in zip(tasks, world["cases"], strict=True):
            model = Interaction(case["replies"])
            player = SimpleNamespace(interaction=lambda _, model=model: model)
            try:
                await OpenEnvEnv.run(SimpleNamespace(), task, SimpleNamespace(player=player))
                found[-1].append(model.rewards["openenv_reward"])
            except RuntimeError as error:
                assert not model.rewards
                found[-1].append(str(error))
    return found


async def serve(python: str, natives: dict[str, list[Any]]) -> list[list[Any]]:
    """Serve all worlds here while verifiers plays them in its own environment."""
    from tests.serving import over_openenv
    from tests.serving.native import made
    from tests.serving.services import served

    async with AsyncExitStack() as stack:
        worlds = []
        for env, played in natives.items():
            server = await stack.enter_async_context(served(over_openenv, made(env).suite))
            call = {"type": "call_tool"}
            cases = [
                {
                    "reset": {"task": each.task, "seed": each.seed},
                    "replies": [json.dumps({**call, "tool_name": name, "arguments": a}) for name, a in each.calls],
                }
                for each in played
            ]
            worlds.append({"base": server.base, "cases": [*cases, {"reset": {"task": "nowhere"}, "replies": []}]})
        words = [python, __file__, "--play"]
        done = await asyncio.to_thread(
            subprocess.run, words, input=json.dumps(worlds), stdout=subprocess.PIPE, text=True, check=True
        )
    found: list[list[Any]] = json.loads(done.stdout.splitlines()[-1])
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--verifiers", default=sys.executable)
    parser.add_argument("--out", type=Path)
    parser.add_argument("--play", action="store_true")
    options = parser.parse_args()
    if options.play:
        print(json.dumps(asyncio.run(play(json.load(sys.stdin)))))
        return
    sys.path.insert(0, str(Path(__file__).parent.parent))
    from tests.serving.native import WORLDS, native

    natives = {env: [native(env, place) for place in range(3)] for env in WORLDS}
    found = asyncio.run(serve(options.verifiers, natives))
    rows = [
        {"env": env, "native": [each.outcome.reward for each in played], "verifiers": got[:-1], "no_task": got[-1]}
        for (env, played), got in zip(natives.items(), found, strict=True)
    ]
    text = json.dumps({"versions": {"verifiers": "0.4.0", "openenv": "0.10.0"}, "rows": rows}, indent=2)
    print(text)
    if options.out:
        options.out.write_text(text + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
