"""Plays 20 test tasks of retail through the real package of each framework, with the expert behind an address.

    python -m benchmarks.gateways --python art=PYTHON --python rllm=PYTHON --out benchmarks/results/gateways.json

Each framework has an environment of its own, in which this package is installed, too. The model behind the address says
what the expert said in the same episode, for the tasks of one kind "Goodbye.", so that rewards differ; for one task the
server fails, which must give no reward. Rewards are compared with those of ``gym.make``.
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
from typing import Any

import gymnasium as gym

from simia_gym import EnvConfig, load_suite, play_episode
from simia_gym.common.event_loop import run_sync
from simia_gym.rl.recipes.gateways import gateway_rows

ENV, TASKS, SEED = "simia/retail-v0", 20, 0
SETTINGS: dict[str, Any] = {"split": "test", "generated": 20}
BYES = [{"role": "assistant", "content": "Goodbye."}] * 99
FRAMEWORKS = {
    "areal": "areal",
    "rllm": "rllm",
    "agent_lightning": "agentlightning",
    "uni_agent": "uni-agent",
    "art": "openpipe-art",
}
"""The name of each in `benchmarks.gateway_peers`, and of its package."""
PEERS = Path(__file__).with_name("gateway_peers.py")


def said_by_the_expert(tasks: int) -> tuple[list[dict[str, Any]], dict[str, list[Any]]]:
    """Rows of tasks that begin differently, and the assistant's messages of each by the first message of its user."""
    suite, given, found = load_suite(EnvConfig(ENV, **SETTINGS)), list[dict[str, Any]](), dict[str, list[Any]]()
    env = gym.make(ENV, **SETTINGS)
    for row in gateway_rows(ENV, **SETTINGS):
        if len(given) == tasks:
            break
        row["seed"] = env.reset(seed=SEED, options={"task": row["task"]})[1]["seed"]  # as Gymnasium draws it
        played = run_sync(play_episode(suite, row["task"], "expert", seed=row["seed"]), inline=True)
        said = [message for message in played.messages if message["role"] == "assistant"]
        if played.messages[1]["content"] not in found:
            found[played.messages[1]["content"]] = BYES if len(given) % 4 == 2 else said
            given.append(row)
    return given, found


def rewards_of_gymnasium(given: list[dict[str, Any]], said: dict[str, list[Any]]) -> dict[str, float]:
    """The reward of each task where the same actions are taken in ``gym.make``."""
    env, found = gym.make(ENV, **SETTINGS), dict[str, float]()
    for row in given:
        _, info = env.reset(seed=SEED, options={"task": row["task"]})
        for message in said[info["messages"][1]["content"]]:
            _, reward, terminated, truncated, _ = env.step(json.dumps(message))
            if terminated or truncated:
                found[row["task"]] = float(reward)
                break
    return found


@contextmanager
def expert_server(said: dict[str, list[Any]], failing: str) -> Iterator[str]:
    """Serve what was said; the conversation that begins with ``failing`` gets an error at its second turn."""

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_POST(self) -> None:
            body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            messages = body["messages"]
            opening = next(one["content"] for one in messages if one["role"] == "user")
            turn = sum(one["role"] == "assistant" for one in messages)
            if opening == failing and turn:
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
    parser.add_argument("--tasks", type=int, default=TASKS)
    parser.add_argument("--out", type=Path)
    asked = parser.parse_args()
    given, said = said_by_the_expert(asked.tasks)
    wanted = rewards_of_gymnasium(given, said)
    failing, openings = given[-1]["task"], list(said)
    before = json.loads(asked.out.read_text()) if asked.out and asked.out.is_file() else {}
    found = before.get("frameworks", {})
    for word in asked.python:
        name, _, python = word.partition("=")
        with expert_server(said, openings[-1]) as address:
            began = time.monotonic()
            command = [python, str(PEERS), name, address, json.dumps(given)]
            done = subprocess.run(command, capture_output=True, text=True, timeout=500, env={**os.environ})
        if done.returncode:
            sys.exit(f"{name}: {done.stderr[-4000:]}")
        result = json.loads(done.stdout.strip().splitlines()[-1])
        equal = [task for task, reward in wanted.items() if task != failing and result["rewards"][task] == reward]
        found[name] = {
            "version": version_of(python, FRAMEWORKS[name]),
            "tasks": len(given) - 1,
            "equal_to_gymnasium": len(equal),
            "rewards": sorted({result["rewards"][task] for task in equal}),
            "reward_of_the_fault": result["rewards"][failing],
            "told_of_the_fault": result["faults"].get(failing),
            "other_faults": len(set(result["faults"]) - {failing}),
            "turns_of_the_fault": result.get("turns", {}).get(failing),
            "seconds": round(time.monotonic() - began, 1),
        }
        print(name, json.dumps(found[name]))
    if asked.out:
        facts = {"simia_gym": metadata.version("simia-gym"), "env": ENV, "frameworks": dict(sorted(found.items()))}
        asked.out.write_text(json.dumps(facts, indent=1) + "\n")


if __name__ == "__main__":
    main()
