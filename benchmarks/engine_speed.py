"""Steps per second of the engine on one core, with ledger and verdict; and the functions that one action calls.

Times whole episodes (reset, every step, verdict) with prepared actions, so that no policy's time is included. These are
the actions of the scripted expert; runs on tau2-bench's databases (``--tau2``) use the actions of recorded rollouts of
that benchmark.

    python benchmarks/engine_speed.py [--tau2 DIR --rollouts DIR] [--passes 7] [--out FILE]
"""

from __future__ import annotations

import argparse
import asyncio
import dataclasses
import gc
import json
import os
import platform
import statistics
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path
from types import FrameType
from typing import Any

import gymnasium as gym

import simia_gym
from simia_gym.assembly.settings import EnvConfig
from simia_gym.assembly.suite import Suite, load_suite
from simia_gym.common.event_loop import run_inline
from simia_gym.episode import Episode
from simia_gym.rollout.play import play as play_policy
from simia_gym.state import State
from simia_gym.types import Task

Script = tuple[Task, int, list[str]]


def expert_scripts(suite: Suite, tasks: Sequence[Task]) -> list[Script]:
    """Let the expert play, and return its actions."""
    make = suite.load_policy("expert")
    scripts: list[Script] = []
    for number, task in enumerate(tasks):
        episode = suite.episode()
        asyncio.run(play_policy(episode, task, seed=number, policy=make()))
        actions = [event["text"] for event in episode.ledger.events if event["type"] == "action"]
        scripts.append((task, number, actions))
    return scripts


def recorded_scripts(suite: Suite, rollouts: Path) -> list[Script]:
    """The actions of recorded rollouts, as OpenAI messages or plain text."""
    scripts: list[Script] = []
    tasks = list(suite.tasks)
    for number, line in enumerate(rollouts.read_text(encoding="utf-8").splitlines()):
        actions: list[str] = []
        for message in json.loads(line)["messages"]:
            if message["role"] == "assistant":
                calls = [
                    {"type": "function", "function": {"name": c["name"], "arguments": json.dumps(c["arguments"])}}
                    for c in message.get("tool_calls") or ()
                ]
                actions.append(json.dumps({"role": "assistant", "tool_calls": calls}) if calls else message["content"])
        scripts.append((tasks[number % len(tasks)], number, actions))
    return scripts


def play(episode: Episode, script: Script) -> int:
    """Play one episode; return the number of steps."""
    task, seed, actions = script
    run_inline(episode.reset(task, seed=seed))
    steps = 0
    for action in actions:
        run_inline(episode.step(action))
        steps += 1
        if episode.ended is not None:
            break
    assert episode.ledger.head  # computes the lazy hash chain, which is part of the cost
    return steps


def play_gym(env: gym.Env[str, str], script: Script) -> int:
    """Play one episode through Gymnasium's wrappers; return the number of steps."""
    task, seed, actions = script
    env.reset(seed=seed, options={"task": task})
    for steps, action in enumerate(actions, start=1):
        _, _, terminated, truncated, _ = env.step(action)
        if terminated or truncated:
            return steps
    return len(actions)


def rate(run: Callable[[Script], int], passes: Sequence[Sequence[Script]], *, fresh: bool) -> dict[str, Any]:
    """Steps per second: median, minimum and maximum over the passes.

    Args:
        run: Plays one script and returns the number of steps.
        passes: The scripts of each pass.
        fresh: Whether each pass has its own scripts, so that none is played twice.
    """
    gc.collect()
    gc.freeze()  # the garbage collector must not scan thousands of prepared scripts
    rates = []
    for scripts in passes:
        start = time.perf_counter()
        steps = sum(run(script) for script in scripts)
        rates.append(steps / (time.perf_counter() - start))
    gc.unfreeze()
    return {
        "steps_per_second": round(statistics.median(rates)),
        "least": round(min(rates)),
        "most": round(max(rates)),
        "passes": len(passes),
        "episodes_per_pass": len(passes[0]),
        "steps_per_episode": round(statistics.mean(len(s[2]) for scripts in passes for s in scripts), 1),
        "every_pass_on_fresh_tasks": fresh,
    }


def calls_of_one_action() -> dict[str, Any]:
    """Number of Python functions, and of their files, that one successful tool call in retail executes."""
    env: gym.Env[Any, Any] = gym.make("simia/retail-v0").unwrapped
    user = next(env.suite.domain.base.keys("users"))  # type: ignore[attr-defined]
    call = {"name": "get_user_details", "arguments": {"user_id": user}}
    text = f"<tool_call>\n{json.dumps(call)}\n</tool_call>"
    message = {"role": "assistant", "content": None, "tool_calls": [{"type": "function", "function": call}]}
    found: dict[str, Any] = {}
    for form, action in (("text", text), ("message", message)):
        entered: list[str] = []

        def note(frame: FrameType, event: str, _: object, entered: list[str] = entered) -> None:
            if event == "call":
                entered.append(frame.f_code.co_filename)

        env.reset(seed=0)
        env.step(action)  # fills the caches
        gc.disable()  # finalizers of other objects are no part of it
        sys.setprofile(note)
        env.step(action)
        sys.setprofile(None)
        gc.enable()
        found[form] = {"function_calls": len(entered), "files": len(set(entered))}
    return found


def step_cost(episode: Episode, task: Task, actions: Iterator[str], turns: int) -> list[float]:
    """Seconds of each step of one long episode."""
    run_inline(episode.reset(task, seed=0))
    costs = []
    for _ in range(turns):
        action = next(actions)
        start = time.perf_counter()
        run_inline(episode.step(action))
        costs.append(time.perf_counter() - start)
    return costs


def reads_and_writes(suite: Suite) -> Iterator[str]:
    """Endless alternation of a read and a write that always succeed, over many rows."""
    users = [key for key, _ in suite.domain.base.rows("users")]
    number = 0
    while True:
        user = users[number % len(users)]
        number += 1
        address = {"address1": f"{number} Long Road", "address2": "", "city": "Dover", "state": "DE", "country": "USA"}
        write = {"name": "modify_user_address", "arguments": {"user_id": user, **address, "zip": f"{number:05d}"}}
        read = {"name": "get_user_details", "arguments": {"user_id": user}}
        yield from (f"<tool_call>{json.dumps(call)}</tool_call>" for call in (write, read))


def flatness(suite: Suite, turns: int = 2000) -> dict[str, Any]:
    """Median cost of a step early and late in a long episode, and with a database fifty times as large."""
    task = suite.tasks[0]

    def medians(chosen: Suite) -> tuple[float, float]:
        runs = []
        for _ in range(3):
            episode = chosen.episode()
            episode.max_turns = turns + 1
            costs = step_cost(episode, task, reads_and_writes(chosen), turns)
            runs.append((statistics.median(costs[10:210]), statistics.median(costs[-200:])))
        return min(r[0] for r in runs), min(r[1] for r in runs)

    early, late = medians(suite)
    large = load_suite(suite.config)
    tables = suite.domain.base.to_tables()
    grown = {
        name: {f"{key}-{copy}" if copy else key: row for copy in range(50) for key, row in rows.items()}
        for name, rows in tables.items()
    }
    large.domain = dataclasses.replace(suite.domain, base=State.from_tables(grown))
    large_early, large_late = medians(large)
    return {
        "turns": turns,
        "microseconds_per_step_turns_10_to_210": round(early * 1e6, 1),
        "microseconds_per_step_last_200_turns": round(late * 1e6, 1),
        "late_to_early": round(late / early, 2),
        "database_rows": {name: len(rows) for name, rows in tables.items()},
        "times_as_large": 50,
        "large_to_small_early": round(large_early / early, 2),
        "large_to_small_late": round(large_late / late, 2),
    }


def main() -> None:
    """Measure, print, and with ``--out`` write the results."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tau2", type=Path, help="tau2-bench's data directories, retail and airline")
    parser.add_argument("--rollouts", type=Path, help="its recorded rollouts, retail_tau2.jsonl and airline_tau2.jsonl")
    parser.add_argument("--passes", type=int, default=7, help="timed passes of each measurement")
    parser.add_argument("--episodes", type=int, default=200, help="episodes of each pass")
    parser.add_argument("--out", type=Path)
    options = parser.parse_args()
    if hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})
    results: dict[str, Any] = {}
    count, each = options.passes, options.episodes
    for name in ("airline", "retail", "webshop", "mind2web"):
        suite = load_suite(EnvConfig(f"simia/{name}-v0", split="train", generated=(count + 1) * each))
        made = list(suite.tasks[-(count + 1) * each :])
        scripts = expert_scripts(suite, made)
        passes = [scripts[i * each : (i + 1) * each] for i in range(count + 1)]
        episode = suite.episode()
        rate(partial(play, episode), passes[:1], fresh=True)  # warm-up
        results[f"episode_{name}"] = rate(partial(play, episode), passes[1:], fresh=True)
        fixed_suite = load_suite(EnvConfig(f"simia/{name}-v0", split="all"))
        fixed = expert_scripts(fixed_suite, list(fixed_suite.tasks))
        results[f"episode_{name}_fixed_tasks"] = rate(partial(play, episode), [fixed] * count, fresh=False)
        env = gym.make(f"simia/{name}-v0")
        results[f"gym_make_{name}"] = rate(partial(play_gym, env), passes[1:], fresh=False)
    for name in ("airline", "retail") if options.tau2 and options.rollouts else ():
        suite = load_suite(EnvConfig(f"simia/{name}-v0", split="train", data=str(options.tau2 / name)))
        recorded = recorded_scripts(suite, options.rollouts / f"{name}_tau2.jsonl")
        episode = suite.episode()
        rate(partial(play, episode), [recorded], fresh=False)
        results[f"episode_{name}_tau2_database"] = rate(partial(play, episode), [recorded] * count, fresh=False)
    results["one_action"] = calls_of_one_action()
    results["flatness_retail"] = flatness(load_suite(EnvConfig("simia/retail-v0")))
    machine = {"python": platform.python_version(), "machine": platform.machine(), "cores_used": 1}
    report = {"simia_gym": simia_gym.__version__, **machine, "results": results}
    text = json.dumps(report, indent=2)
    print(text)
    if options.out:
        options.out.parent.mkdir(parents=True, exist_ok=True)
        options.out.write_text(text + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
