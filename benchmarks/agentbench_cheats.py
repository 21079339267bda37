"""What two cheats win of AgentBench's own tasks, judged soundly and as published.

    python benchmarks/agentbench_cheats.py FILE [--tasks 100] [--seed 0] [--out FILE]

The one answers 0 at once. The other empties the tree before, so that a solution which runs there counts nothing. A
third player runs the published solution and answers what it writes. The first FILE holds tasks of AgentBench.
"""

from __future__ import annotations

import argparse
import json
import random
from pathlib import Path
from typing import Any

import gymnasium as gym

import simia_gym  # noqa: F401 (registers the environments)
from simia_gym.envs.os.agentbench.published import Published, read

EMPTY = "find /home /root /srv /tmp /var -mindepth 1 -delete"
PLAYERS = ("answers 0", "empties the tree, then answers 0", "runs the published solution")


def bash(script: str) -> str:
    """An action that runs a script."""
    return f"Act: bash\n\n```bash\n{script}\n```"


def reward(env: gym.Env[Any, Any], one: Published, player: str) -> float:
    """What a player wins of a task."""
    env.reset(options={"task": f"agentbench-{one.name}"})
    answer = "0"
    if player != PLAYERS[0]:
        example = one.evaluation.example
        script = EMPTY if player == PLAYERS[1] or example is None else example.code
        written = str(env.step(bash(script))[0]).removeprefix("The output of the OS:\n\n").strip()
        answer = "0" if player == PLAYERS[1] else written
    _, won, _, _, info = env.step(f"Act: answer({answer})")
    if not info["reward_valid"]:
        raise RuntimeError(f"{one.name}: {info['verdict']}")
    return float(won)


def main() -> None:
    """Measure, print, and write the result."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("file", type=Path)
    parser.add_argument("--tasks", type=int, default=100)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--out", type=Path, default=Path("benchmarks/results/agentbench_cheats.json"))
    args = parser.parse_args()
    playable = [one for one in read(args.file) if not one.cause]
    drawn = random.Random(args.seed).sample(playable, min(args.tasks, len(playable)))
    found: dict[str, Any] = {"tasks": len(drawn), "seed": args.seed}
    for check, compat in (("sound", None), ("agentbench", "agentbench")):
        env = gym.make("simia/os-v0", data=str(args.file), split="all", compat=compat)
        found[check] = {player: int(sum(reward(env, one, player) for one in drawn)) for player in PLAYERS}
        env.close()
        print(check, found[check], flush=True)
    args.out.write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
