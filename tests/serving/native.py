"""What `gym.make` gives for the expert's actions, against which every served environment is held."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from typing import Any, cast

import gymnasium

from simia_gym import Calls, End, EnvConfig, Say, Suite, load_suite, play_episode
from simia_gym.domain.registration import env_ids
from simia_gym.env import SimiaEnv
from simia_gym.rl.serving.tool_episode import FINISH, SAY
from simia_gym.types import Action, PolicyAction

WORLDS = [name for name in env_ids() if "custom" not in name]
Call = tuple[str, dict[str, Any]]


@dataclass(frozen=True)
class Outcome:
    """How an episode ended; without a reward if the environment failed."""

    reward: float | None
    ended: str | None
    state: str | None


@dataclass(frozen=True)
class Native:
    """The expert's episode in Gymnasium.

    Attributes:
        task: Id of its task.
        seed: Its own seed.
        first: The environment's first message.
        calls: The tool calls that do what its actions do.
        outcome: How it ended.
    """

    task: str
    seed: int
    first: str
    calls: tuple[Call, ...]
    outcome: Outcome


def loaded(env: str, **settings: Any) -> Suite:
    return load_suite(EnvConfig(env, split="train", history="transcript", **settings))


@cache
def made(env: str) -> SimiaEnv:
    return cast(SimiaEnv, gymnasium.make(env, split="train", history="transcript").unwrapped)


@cache
def native(env: str, place: int, seed: int = 5) -> Native:
    """The expert's episode of the task at a place of the split."""
    world = made(env)
    task = world.suite.tasks[place].id
    first, info = world.reset(seed=seed, options={"task": task})
    actions = asyncio.run(_actions(world.suite, task, info["seed"]))
    reward = 0.0
    for action in actions:
        _, more, *_ = world.step(action)
        reward += more
    calls = tuple(made for action in actions for made in _calls(world.suite, action))
    return Native(task, info["seed"], first, calls, Outcome(reward, world.episode.ended, world.episode.final_state))


async def _actions(suite: Suite, task: str, seed: int) -> list[PolicyAction]:
    played = await play_episode(suite, task, "expert", seed=seed)
    said = [message for message in played.messages if message["role"] == "assistant"]
    return [message if message.get("tool_calls") else message["content"] for message in said]


def _calls(suite: Suite, action: PolicyAction) -> Iterator[Call]:
    """The tool calls that do what an action does."""
    if not isinstance(action, str):
        for item in action["tool_calls"]:
            arguments = item["function"]["arguments"]
            yield item["function"]["name"], json.loads(arguments) if isinstance(arguments, str) else arguments
        return
    parsed: Action | Any = suite.domain.grammar.parse(action)
    if isinstance(parsed, Calls):
        yield from ((made.name, dict(made.arguments)) for made in parsed.calls)
    elif isinstance(parsed, Say) and suite.domain.replies != "end":
        yield SAY, {"message": parsed.text}
    else:
        assert isinstance(parsed, Say | End)
        yield FINISH, {"answer": parsed.text if isinstance(parsed, Say) else parsed.answer}
