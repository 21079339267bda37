"""Tasks as folders for Harbor, whose agents play them over MCP and whose verifier reads the verdict.

Written for `harbor` 0.26. The environment is served beside the agent's container, in the same network and out of the
agent's reach: it has an address for its one episode, and not the token with which the verifier ends the episode and
asks for the verdict.
"""

from __future__ import annotations

import json
import re
import secrets
from collections.abc import Sequence
from pathlib import Path
from urllib.parse import quote

from simia_gym.errors import InputError
from simia_gym.types import Task
from simia_gym.version import __version__

PORT = 8000
EPISODE = "trial"

_TASK = """\
schema_version = "1.4"

[task]
name = {name}
description = {about}

[metadata]
environment = {env}
task = {id}
split = {split}
seed = {seed}

[agent]
timeout_sec = 3600.0

[verifier]
timeout_sec = 600.0

[verifier.env]
SIMIA_VERDICT_TOKEN = {token}

[environment]
build_timeout_sec = 1200.0

[environment.healthcheck]
command = {health}
start_period_sec = 60.0

[[environment.mcp_servers]]
name = "simia"
transport = "streamable-http"
url = {url}
"""

_INSTRUCTION = """\
Your task is played with the tools of the MCP server `simia`.

Call `start_conversation` first: it gives the rules and the task. Everything you do is a call of one of these tools;
nothing else that you write or change counts. Where a user takes part, `send_message_to_user` alone reaches them.
Go on until a tool says that the episode is over.
"""

_COMPOSE = """\
services:
  simia:
    image: {image}
    network_mode: "service:main"
    command: {command}
    environment:
      SIMIA_VERDICT_TOKEN: {token}
"""

_VERIFY = '''\
"""Ends the episode and writes its reward; if the environment failed nothing, because a fault is no reward of 0."""

import json
import os
import sys
import urllib.request
from pathlib import Path

given = sys.argv[1:] or ["/logs/verifier", "http://127.0.0.1:{port}/episodes/{episode}"]
folder, address = Path(given[0]), given[1]
headers = {{"X-Verdict-Token": os.environ["SIMIA_VERDICT_TOKEN"]}}
found = json.load(urllib.request.urlopen(urllib.request.Request(address + "/end", method="POST", headers=headers)))
folder.mkdir(parents=True, exist_ok=True)
(folder / "verdict.json").write_text(json.dumps(found, indent=1), encoding="utf-8")
if found["begun"] and not found["valid"]:
    sys.exit("the environment failed: there is no reward")
reward = found["reward"] if found["begun"] else 0.0  # an agent that never began has done nothing
(folder / "reward.json").write_text(json.dumps({{"reward": float(reward)}}), encoding="utf-8")
'''


def write_harbor(folder: Path, env: str, tasks: Sequence[Task], words: Sequence[str], seed: int, image: str) -> None:
    """Write one folder a task.

    Args:
        folder: Where; it must be empty or not be there.
        env: The environment's id.
        tasks: The tasks.
        words: Further words for `simia serve-mcp`.
        seed: Seed of the episodes.
        image: The image that serves the environment.

    Raises:
        InputError: The folder holds something, or two tasks have the same name as folders.
    """
    names = [re.sub(r"[^A-Za-z0-9._-]", "-", task.id) for task in tasks]
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise InputError("it holds something already", where=str(folder), fix="Give a new folder.")
    if len(set(names)) < len(names):
        raise InputError("two tasks would have the same folder", where=str(folder), fix="Export fewer, with --limit.")
    for name, task in zip(names, tasks, strict=True):
        token = secrets.token_hex(16)
        serve = ["simia", "serve-mcp", env, *words, "--port", str(PORT), "--max-sessions", "1", "--idle", "86400"]
        query = f"task={quote(task.id, safe='')}&seed={seed}"
        values = {
            "name": f"simia/{name}",
            "about": f"{env}, task {task.id}",
            "env": env,
            "id": task.id,
            "split": task.split,
            "token": token,
            "health": f"python3 -c \"import urllib.request as u; u.urlopen('http://127.0.0.1:{PORT}/health')\"",
            "url": f"http://127.0.0.1:{PORT}/mcp/{EPISODE}?{query}",
        }
        written = {key: json.dumps(value, ensure_ascii=False) for key, value in values.items()}
        files = {
            "task.toml": _TASK.format(**written, seed=seed),
            "instruction.md": _INSTRUCTION,
            "environment/Dockerfile": "FROM python:3.12-slim\nWORKDIR /work\n",
            "environment/docker-compose.yaml": _COMPOSE.format(
                image=json.dumps(image), command=json.dumps(serve), token=json.dumps(token)
            ),
            "tests/test.sh": "#!/bin/sh\nexec python3 /tests/verify.py\n",
            "tests/verify.py": _VERIFY.format(port=PORT, episode=EPISODE),
        }
        for path, text in files.items():
            place = folder / name / path
            place.parent.mkdir(parents=True, exist_ok=True)
            place.write_text(text, encoding="utf-8")
            if path.endswith(".sh"):
                place.chmod(0o755)


def default_image() -> str:
    """The name of the image that a package of this version is built into."""
    return f"simia-gym:{__version__}"
