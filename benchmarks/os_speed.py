"""What a script costs through ``Episode`` in the domain of the shell, ledger and verdict included.

The expert's actions are played again on fresh tasks, one episode after another and several at once. CPU time is that of
this process, and of the sandboxes' processes.

    python benchmarks/os_speed.py [--tasks 60] [--passes 5] [--at-once 16] [--out FILE]
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import platform
import statistics
import sys
import time
from pathlib import Path
from typing import Any

from benchmarks.engine_speed import Script, expert_scripts
from benchmarks.sandbox_speed import cpu
from simia_gym.assembly.settings import EnvConfig
from simia_gym.assembly.suite import Suite, load_suite
from simia_gym.sandbox import Sandbox
from simia_gym.sandbox.keeping import Keeper


async def play_all(suite: Suite, scripts: list[Script], at_once: int) -> int:
    """Play episodes, so many at once; gives how many scripts of bash ran."""
    room = asyncio.Semaphore(at_once)

    async def one(script: Script) -> int:
        async with room:
            episode = suite.episode()
            task, seed, actions = script
            await episode.reset(task, seed=seed)
            for action in actions:
                await episode.step(action)
            assert episode.verdict is not None
            assert episode.verdict.success
            return sum("```bash" in action for action in actions)

    return sum(await asyncio.gather(*map(one, scripts)))


def measured(suite: Suite, scripts: list[Script], at_once: int) -> dict[str, float]:
    """Milliseconds a script: of this process, of the sandboxes' processes, and of the clock."""
    inside, own, began = cpu(Keeper.current().pid), time.process_time(), time.perf_counter()
    ran = asyncio.run(play_all(suite, scripts, at_once))
    spent = time.process_time() - own, cpu(Keeper.current().pid) - inside, time.perf_counter() - began
    return {name: 1000 * seconds / ran for name, seconds in zip(("episode", "sandbox", "clock"), spent, strict=True)}


def main() -> None:
    """Measure, print, and write what was measured."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tasks", type=int, default=60)
    parser.add_argument("--passes", type=int, default=5)
    parser.add_argument("--at-once", type=int, default=16)
    parser.add_argument("--out", type=Path)
    args = parser.parse_args()
    Sandbox().close()
    suite = load_suite(EnvConfig("simia/os-v0", split="train", generated=args.tasks))
    scripts = expert_scripts(suite, list(suite.tasks)[-args.tasks :])
    found: dict[int, list[dict[str, float]]] = {1: [], args.at_once: []}
    for _ in range(args.passes):
        for at_once, passes in found.items():
            passes.append(measured(suite, scripts, at_once))
    result: dict[str, Any] = {
        "python": platform.python_version(),
        "kernel": platform.release(),
        "processors": os.cpu_count(),
        "waiting_processes": round(os.getloadavg()[0], 1),
        "tasks": args.tasks,
        "passes": args.passes,
        "milliseconds_a_script": {
            f"{at_once} at once": {
                name: {
                    "median": round(statistics.median(one[name] for one in passes), 2),
                    "least": round(min(one[name] for one in passes), 2),
                    "most": round(max(one[name] for one in passes), 2),
                }
                for name in passes[0]
            }
            for at_once, passes in found.items()
        },
    }
    text = json.dumps(result, indent=1)
    sys.stdout.write(text + "\n")
    if args.out is not None:
        args.out.write_text(text + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
