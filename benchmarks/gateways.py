"""Plays test tasks through the real package of each framework, with the expert behind an address.

    python -m benchmarks.gateways --python art=PYTHON --python rllm=PYTHON --out benchmarks/results/gateways.json

Each framework has an environment of its own, in which this package is installed, too. Trainers that bring an address
play 20 tasks of retail; those that have a face of their own play five of each of the six worlds. The model behind the
address says what the expert said in the same episode, for every fourth task "Goodbye.", so that rewards differ; for
the last task of a world the server fails (of retail, for a face, the world), which must give no reward. What comes out
is compared with ``gym.make``: the reward, and for a face also why the episode ended and the hash of the final state.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from importlib import metadata
from pathlib import Path
from typing import Any, cast

import gymnasium as gym

from simia_gym import EnvConfig, load_suite, play_episode
from simia_gym.common.event_loop import run_sync
from simia_gym.domain.registration import env_ids
from simia_gym.env import SimiaEnv
from simia_gym.rl.recipes.gateways import gateway_rows

SEED = 0
RETAIL: dict[str, dict[str, Any]] = {"simia/retail-v0": {"split": "test", "generated": 20}}
WORLDS: dict[str, dict[str, Any]] = {
    name: {"split": "test", "simulator": "world", "history": "transcript"} for name in env_ids() if "custom" not in name
}
"""The environments, and their settings."""
FAILING: dict[str, Any] = {
    "split": "test",
    "simulator": "llm",
    "model": "m",
    "user": "scripted",
    "history": "transcript",
    "roles": {"simulator": {"retries": 0}},
}
"""Settings of a world that fails at its first answer, because nobody is at its model's address."""
NOBODY = {"SIMIA_BASE_URL": "http://127.0.0.1:9/v1", "SIMIA_API_KEY": "k"}
BYES = [{"role": "assistant", "content": "Goodbye."}] * 99
FRAMEWORKS = {
    "areal": "areal",
    "rllm": "rllm",
    "agent_lightning": "agentlightning",
    "uni_agent": "uni-agent",
    "art": "openpipe-art",
}
"""The name of each in `benchmarks.gateway_peers`, and of its package."""
FACES = {"inspect_ai": "inspect-ai", "skyrl_gym": "skyrl-gym", "verifiers": "verifiers"}
"""The same for those that play every world."""
PEERS = Path(__file__).with_name("gateway_peers.py")


def said_by_the_expert(env: str, settings: dict[str, Any], tasks: int) -> tuple[list[Any], dict[str, list[Any]]]:
    """Rows of tasks that begin differently, and the assistant's messages of each by the first message of its user."""
    suite, given, found = load_suite(EnvConfig(env, **settings)), list[Any](), dict[str, list[Any]]()
    made = gym.make(env, **settings)
    for row in gateway_rows(env, **settings):
        if len(given) == tasks:
            break
        row["seed"] = made.reset(seed=SEED, options={"task": row["task"]})[1]["seed"]  # as Gymnasium draws it
        played = run_sync(play_episode(suite, row["task"], "expert", seed=row["seed"]), inline=False)
        said = [message for message in played.messages if message["role"] == "assistant"]
        if played.messages[1]["content"] not in found:
            found[played.messages[1]["content"]] = BYES if len(given) % 4 == 2 else said
            given.append(row)
    return given, found


def outcomes_in_gymnasium(given: list[dict[str, Any]], said: dict[str, list[Any]]) -> dict[str, tuple[Any, ...]]:
    """Reward, end and final state of each task where the same actions are taken in ``gym.make``."""
    found: dict[str, tuple[Any, ...]] = {}
    made = {row["env"]: gym.make(row["env"], **row["settings"]) for row in given}
    for row in given:
        env = made[row["env"]]
        _, info = env.reset(seed=SEED, options={"task": row["task"]})
        for message in said[info["messages"][1]["content"]]:
            action = message if message.get("tool_calls") else message["content"]
            _, reward, terminated, truncated, info = env.step(action)
            if terminated or truncated:
                state = cast(SimiaEnv, env.unwrapped).episode.final_state
                found[row["task"]] = (float(reward), info["ended"], state)
                break
    return found


@contextmanager
def expert_server(said: dict[str, list[Any]], failing: set[str]) -> Iterator[str]:
    """Serve what was said; a conversation that begins with one of ``failing`` gets an error at its second turn."""

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_POST(self) -> None:
            body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            messages = body["messages"]
            opening = next(one["content"] for one in messages if one["role"] == "user")
            turn = sum(one["role"] == "assistant" for one in messages)
            if opening in failing and turn:
                self.answer(400, {"error": {"message": "the engine is gone", "type": "bad", "code": "bad"}})
                return
            message = said[opening][turn]
            ids = list(json.dumps(message).encode())
            logprobs: dict[str, Any] = {
                "content": [{"token": "t", "logprob": -1.0, "bytes": None, "top_logprobs": []} for _ in ids]
            }
            choice: dict[str, Any] = {
                "index": 0,
                "message": message,
                "finish_reason": "stop",
                "logprobs": logprobs,
                "token_ids": ids,
            }
            if message.get("tool_calls"):
                choice["finish_reason"] = "tool_calls"
            prompt = list(json.dumps(messages).encode())
            usage = {"prompt_tokens": len(prompt), "completion_tokens": len(ids)}
            usage["total_tokens"] = sum(usage.values())
            whole = {"id": f"c{time.monotonic_ns()}", "object": "chat.completion", "created": 1, "model": "m"}
            self.answer(200, {**whole, "choices": [choice], "usage": usage, "prompt_token_ids": prompt})

        def do_GET(self) -> None:
            self.answer(200, {"object": "list", "data": [{"id": "m", "object": "model"}]})

        def answer(self, status: int, value: Any) -> None:
            data = json.dumps(value).encode()
            self.send_response(status)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(data)))
            self.end_headers()
            self.wfile.write(data)

        def log_message(self, *given: Any) -> None:
            """Say nothing."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield f"http://127.0.0.1:{server.server_address[1]}/v1"
    finally:
        server.shutdown()


def version_of(python: str, package: str) -> str:
    """The version that is installed in an environment."""
    code = f"from importlib.metadata import version; print(version({package!r}))"
    done = subprocess.run([python, "-c", code], capture_output=True, text=True, check=False)
    return done.stdout.strip() or "from source"


def main() -> None:
    """Play, compare, write."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--python", action="append", default=[], metavar="FRAMEWORK=PYTHON")
    parser.add_argument("--tasks", type=int, help="Number of tasks of each world.")
    parser.add_argument("--out", type=Path)
    asked = parser.parse_args()
    before = json.loads(asked.out.read_text()) if asked.out and asked.out.is_file() else {}
    found = before.get("frameworks", {})
    for word in asked.python:
        name, _, python = word.partition("=")
        found[name] = measured(name, python, asked.tasks)
        print(name, json.dumps(found[name]))
    if asked.out:
        facts = {
            "simia_gym": metadata.version("simia-gym"),
            "env": next(iter(RETAIL)),
            "frameworks": dict(sorted(found.items())),
        }
        asked.out.write_text(json.dumps(facts, indent=1) + "\n")


def measured(name: str, python: str, tasks: int | None) -> dict[str, Any]:
    """Play with one framework, and compare."""
    worlds, usual = (WORLDS, 5) if name in FACES else (RETAIL, 20)
    given, said, failing = list[Any](), dict[str, list[Any]](), dict[str, str]()
    for env, settings in worlds.items():
        rows, spoken = said_by_the_expert(env, settings, tasks or usual)
        given, said = given + rows, said | spoken
        failing[rows[-1]["task"]] = [*spoken][-1]
    played = [row for row in given if row["task"] not in failing]
    wanted = outcomes_in_gymnasium(played, said)
    broken = [row for row in given if name in FACES and row["task"] in failing and row["env"] in RETAIL]
    for row in broken:  # here the world fails, elsewhere the model
        row["settings"] = FAILING
    with expert_server(said, {*failing.values()} - {failing[row["task"]] for row in broken}) as address:
        began = time.monotonic()
        command = [python, str(PEERS), name, address, json.dumps(given)]
        done = subprocess.run(command, capture_output=True, text=True, timeout=600, env=os.environ | NOBODY)
    if done.returncode:
        sys.exit(f"{name}: {done.stderr[-4000:]}")
    result = json.loads(done.stdout.strip().splitlines()[-1])
    rewards, ends, faults = result["rewards"], result.get("ends"), result["faults"]

    def equal(task: str) -> bool:
        reward, *end = wanted[task]
        return bool(rewards[task] == reward and (ends is None or ends[task] == end))

    same = {env: sum(equal(row["task"]) for row in played if row["env"] == env) for env in worlds}
    told = [faults.get(task) for task in failing]
    return {
        "version": version_of(python, (FRAMEWORKS | FACES)[name]),
        "tasks": len(played),
        "equal_to_gymnasium": sum(same.values()),
        **({"equal_by_world": same} if len(same) > 1 else {}),
        "rewards": sorted({rewards[row["task"]] for row in played if equal(row["task"])}),
        "reward_of_the_fault": next((rewards[task] for task in failing if rewards[task] is not None), None),
        "told_of_the_fault": told[0] if len(told) == 1 else told,
        "other_faults": len(set(faults) - set(failing)),
        "turns_of_the_fault": result.get("turns", {}).get([*failing][-1]),
        **{key: result[key] for key in ("again", "freed") if key in result},
        "seconds": round(time.monotonic() - began, 1),
    }


if __name__ == "__main__":
    main()
