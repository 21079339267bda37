"""What an episode costs whose world and customer a model plays: tokens, calls, processor and wall time, by build.

    python -m benchmarks.model_world [--build NAME=PYTHON ...] [--rounds 3] [--out benchmarks/results/model_world.json]

Each build is a Python that has the package; without one, this Python is measured. All builds take turns and ask the
same server: the oracle of this Python, which answers after 100 ms. The policy is retail's expert, on 40 tasks, eight at
once. Wall times are those of the machine as it was; tokens and calls are the same on every machine.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from random import Random
from statistics import mean, stdev
from typing import Any

ENV, TASKS, AT_ONCE, LATENCY_MS = "simia/retail-v0", 40, 8, 100
_SIMIA = "import sys; from simia_gym.cli import main; sys.exit(main())"


def measured(address: str) -> dict[str, Any]:
    """Play the tasks once with this Python's package."""
    from simia_gym.assembly.resources import Resources
    from simia_gym.assembly.settings import EnvConfig
    from simia_gym.assembly.suite import load_suite
    from simia_gym.common.event_loop import new_loop
    from simia_gym.episode import Episode
    from simia_gym.rollout.play import play

    config = EnvConfig(env=ENV, simulator="llm", user="llm", model="oracle")
    suite = load_suite(config, Resources(base_url=address, api_key="none"))
    policy = suite.load_policy("expert")

    async def one(number: int, slots: asyncio.Semaphore) -> Episode:
        async with slots:
            episode = suite.episode()
            await play(episode, suite.tasks[number % TASKS], seed=number, policy=policy(), env=ENV)
            return episode

    async def every() -> tuple[list[Episode], float, float]:
        await one(TASKS, asyncio.Semaphore(1))  # opens connections and fills caches
        began, spent, slots = time.perf_counter(), time.process_time(), asyncio.Semaphore(AT_ONCE)
        episodes = await asyncio.gather(*(one(number, slots) for number in range(TASKS)))
        return episodes, time.perf_counter() - began, time.process_time() - spent

    with asyncio.Runner(loop_factory=new_loop) as runner:
        episodes, wall, spent = runner.run(every())
    asked = [event for episode in episodes for event in episode.ledger.events if event["type"] == "model"]
    assert all(episode.verdict is not None and episode.verdict.success for episode in episodes)
    of = {role: [event["usage"] for event in asked if event["role"] == role] for role in ("simulator", "user")}
    prompt = {role: sum(usage["prompt"] for usage in usages) for role, usages in of.items()}
    return {
        "prompt_tokens": round(sum(prompt.values()) / TASKS),
        "completion_tokens": round(sum(usage["completion"] for usages in of.values() for usage in usages) / TASKS),
        **{f"{role}_tokens": round(tokens / TASKS) for role, tokens in prompt.items()},
        **{f"{role}_calls": len(usages) for role, usages in of.items()},
        "wall_s": round(wall, 2),
        "cpu_s": round(spent, 2),
    }


def shared_prompt() -> dict[str, float]:
    """How much of the simulator's prompts the tasks share, in characters: the beginning that is the same in all."""
    from simia_gym.assembly.resources import Resources
    from simia_gym.assembly.settings import EnvConfig
    from simia_gym.assembly.suite import load_suite
    from simia_gym.common.event_loop import run_sync
    from simia_gym.llm.structured import read_reply
    from simia_gym.oracle import OracleOptions
    from simia_gym.oracle.answering import Oracle
    from simia_gym.rollout.play import play

    oracle, prompts = Oracle(OracleOptions()), list[list[str]]()

    class Watched:
        async def complete(self, request: Any) -> Any:
            body = request.prompt.messages_json()
            prompts[-1].append("\n".join(each["content"] for each in json.loads(body)))
            return read_reply(oracle.answer(b'{"messages":%b}' % body, Random(0)).reply.text, request)

    suite = load_suite(EnvConfig(env=ENV, simulator="llm", model="oracle"), Resources(models={"simulator": Watched()}))
    for task in suite.tasks[:TASKS]:
        prompts.append([])
        episode = suite.episode()
        run_sync(play(episode, task, seed=0, policy=suite.load_policy("expert")(), env=ENV), inline=False)
    every = [text for of_task in prompts for text in of_task]
    firsts = [of_task[0] for of_task in prompts if of_task]
    pairs = enumerate(zip(min(firsts), max(firsts), strict=False))
    shared = next((place for place, (one, other) in pairs if one != other), 0)
    return {"shared": round(shared / mean(map(len, every)), 4), "characters": round(mean(map(len, every)))}


@contextmanager
def served() -> Iterator[str]:
    """The address of an oracle that answers after the latency."""
    command = [sys.executable, "-c", _SIMIA, "serve-oracle", "--port", "0", "--latency-ms", str(LATENCY_MS)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as server:
        assert server.stdout is not None
        try:
            yield server.stdout.readline().split()[-1]
        finally:
            server.terminate()


def told_by(python: str, *options: str) -> dict[str, Any]:
    """What this file prints under a build's Python."""
    command = [python, str(Path(__file__).resolve()), *options]
    done = subprocess.run(command, capture_output=True, text=True, check=True, cwd="/")
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def summed(runs: list[dict[str, Any]]) -> dict[str, Any]:
    """Mean of each figure, and its standard deviation where the runs differ."""
    of: Callable[[str], list[float]] = lambda name: [run[name] for run in runs]  # noqa: E731
    told: dict[str, Any] = {"n": len(runs)}
    for name in runs[0]:
        told[name] = round(mean(of(name)), 2)
        if len(set(of(name))) > 1:
            told[f"{name}_sd"] = round(stdev(of(name)), 2)
    return told


def main() -> None:
    """Measure, and write the result."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", action="append", metavar="NAME=PYTHON", help="a build; the first is the baseline")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--out", type=Path, default=Path("benchmarks/results/model_world.json"))
    parser.add_argument("--one", metavar="ADDRESS", help="measure this Python alone, and print")
    parser.add_argument("--shared", action="store_true", help="print what of the prompt the tasks share")
    args = parser.parse_args()
    if args.one or args.shared:
        print(json.dumps(measured(args.one) if args.one else shared_prompt()))
        return
    builds = dict(each.split("=", 1) for each in args.build or [f"this={sys.executable}"])
    runs: dict[str, list[dict[str, Any]]] = {name: [] for name in builds}
    with served() as address:
        for number in range(args.rounds):
            for name in list(builds)[:: -1 if number % 2 else 1]:
                runs[name].append(told_by(builds[name], "--one", address))
                print(name, runs[name][-1], flush=True)
    told = {name: summed(of_build) for name, of_build in runs.items()}
    for name, python in builds.items():
        told[name]["simulator_prompt"] = told_by(python, "--shared")
    first, *others = builds
    for name in others:
        names = ("prompt_tokens", "completion_tokens", "wall_s", "cpu_s")
        told[name]["of_the_first"] = {each: round(told[name][each] / told[first][each], 3) for each in names}
    settings = {"env": ENV, "tasks": TASKS, "at_once": AT_ONCE, "latency_ms": LATENCY_MS}
    result = {**settings, "load_of_the_machine": os.getloadavg()[1], "builds": told}
    args.out.write_text(json.dumps(result, indent=1) + "\n", encoding="utf-8")
    print(json.dumps(result, indent=1))


if __name__ == "__main__":
    main()
