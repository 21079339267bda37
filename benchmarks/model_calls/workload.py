"""Prepares the answers of the mock server: plays every episode once, with the code world in place of the model.

During the benchmark the server finds a prepared answer by the exact bytes that the product sends.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from benchmarks.model_calls.scripts import TURNS, Script, long_script, make_scripts, world_replies
from simia_gym.assembly.resources import Resources
from simia_gym.assembly.settings import EnvConfig
from simia_gym.assembly.suite import Suite, load_suite
from simia_gym.common.event_loop import run_sync
from simia_gym.episode import Episode
from simia_gym.llm.types import ChatRequest, Reply
from simia_gym.policies import PolicyOptions
from simia_gym.types import JsonObject, Task

ENV = "simia/retail-v0"
MODEL, POLICY = "simulator", "policy"


def config(turns: int = TURNS) -> EnvConfig:
    """The environment of the benchmark: a model simulates the world with the strategy ``ledger``, reads included."""
    return EnvConfig(env=ENV, simulator="llm", model=MODEL, max_turns=turns, render="model")


def endpoint(port: int) -> Resources:
    """The endpoint of the simulator."""
    return Resources(base_url=f"http://127.0.0.1:{port}/simulator/v1", api_key="none")


def policy_options(port: int) -> PolicyOptions:
    """The endpoint of the policy."""
    return PolicyOptions(model=POLICY, base_url=f"http://127.0.0.1:{port}/policy/v1", api_key="none")


class Rehearsal:
    """A model that returns prepared replies and records its requests."""

    def __init__(self) -> None:
        self.replies: list[JsonObject] = []
        self.asked: list[list[dict[str, Any]]] = []

    async def complete(self, request: ChatRequest) -> Reply:
        """Return the next reply."""
        reply = self.replies[len(self.asked)]
        self.asked.append(json.loads(request.prompt.messages_json()))
        text = json.dumps(reply, ensure_ascii=False)
        return Reply(text=text, raw=text, data=json.loads(text), model=MODEL)


def prepare(path: Path, *, turns: int = TURNS, tasks: Sequence[Task] | None = None) -> JsonObject:
    """Write the file of prepared answers.

    Args:
        path: The file.
        turns: Number of turns of an episode; with more than ten, only one long episode is prepared.
        tasks: The tasks to play; by default the fixed ones of the environment.

    Returns:
        The content of the file.
    """
    world = load_suite(EnvConfig(env=ENV, simulator="world", max_turns=turns))
    if tasks is None:
        tasks = world.tasks if turns == TURNS else world.tasks[:1]
    scripts, openings = make_scripts(world, tasks)
    if turns != TURNS:
        scripts = {tasks[0].id: long_script(world, turns)}
        openings = dict.fromkeys(openings, "long")
    rehearsal = Rehearsal()
    suite = load_suite(config(turns), Resources(models={"simulator": rehearsal}))
    prepared: JsonObject = {"openings": openings, "scripts": {}, "replies": {}, "episodes": []}
    for task in tasks:
        script = scripts[task.id]
        prepared["scripts"][script.name] = list(script.messages)
        prepared["episodes"].append(_rehearse(suite, world, task, script, rehearsal, prepared["replies"]))
    path.write_text(json.dumps(prepared, ensure_ascii=False), encoding="utf-8")
    return prepared


def _rehearse(
    suite: Suite, world: Suite, task: Task, script: Script, rehearsal: Rehearsal, replies: JsonObject
) -> JsonObject:
    """Play an episode; record requests and replies, and return what other programs need to play it."""
    rehearsal.replies, rehearsal.asked = world_replies(world, task, script, 0), []
    episode = suite.episode()
    run_sync(_play(episode, task, script), inline=False)
    routes = [event["meta"]["route"] for event in episode.ledger.events if event["type"] == "transition"]
    if episode.fault is not None or routes != ["llm"] * len(script.messages):
        raise RuntimeError(f"the rehearsal of {task.id} failed: {episode.fault or routes}")
    for messages, reply in zip(rehearsal.asked, rehearsal.replies, strict=True):
        replies[messages[-1]["content"]] = json.dumps(reply, ensure_ascii=False)
    first = episode.messages[:2]
    return {
        "task": task.id,
        "system": first[0]["content"],
        "opening": first[1]["content"],
        "simulator": rehearsal.asked[0][0]["content"],
        "asks": [messages[-1]["content"] for messages in rehearsal.asked],
    }


async def _play(episode: Episode, task: Task, script: Script) -> None:
    await episode.reset(task, seed=0)
    for action in script.actions():
        await episode.step(action)
