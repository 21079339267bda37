"""One episode by one call: the reward of Gymnasium's interface, faults that are raised, tokens that are kept."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Any, cast

import gymnasium as gym
import pytest
from aiohttp import web

from simia_gym import EnvConfig, Fault, InputError, PolicyOptions, Resources, load_suite, play_episode
from simia_gym.domain.registration import env_ids
from simia_gym.env import SimiaEnv
from simia_gym.llm.types import Sampled
from simia_gym.types import Message

from ..model_server import serving

WORLDS = [name for name in env_ids() if "custom" not in name]


@pytest.mark.parametrize("env", WORLDS)
def test_the_reward_is_that_of_gymnasium(env: str) -> None:
    suite = load_suite(EnvConfig(env, split="train"))
    task = suite.tasks[1]
    expert = asyncio.run(play_episode(suite, task, "expert", seed=3))
    said = [message for message in expert.messages if message["role"] == "assistant"]
    assert (expert.reward, expert.turns, expert.ended) == (1.0, len(said), expert.ended)
    actions = [message if message.get("tool_calls") else message["content"] for message in said]
    made = gym.make(env, split="train")
    made.reset(seed=3, options={"task": task.id})
    steps = [made.step(action) for action in actions]
    assert (steps[-1][1], steps[-1][-1]["ended"]) == (expert.reward, expert.ended)
    assert cast(SimiaEnv, made.unwrapped).episode.final_state == expert.state is not None
    made.close()
    waiting = iter(actions)

    class Again:
        def act(self, messages: Sequence[Message]) -> Any:
            return next(waiting)

    assert asyncio.run(play_episode(suite, task.id, Again(), seed=3)) == expert


def test_episodes_at_the_same_time_stay_apart_and_agents_may_wait() -> None:
    suite = load_suite(EnvConfig("simia/webshop-v0"))

    async def agent(messages: Any, tools: Any) -> str:
        await asyncio.sleep(0)
        return "click[buy now]" if len(messages) > 4 else "search[green tea]"

    async def both() -> list[Any]:
        tasks = suite.tasks[:4]
        at_once = await asyncio.gather(*(play_episode(suite, task, agent) for task in tasks))
        return [list(at_once), [await play_episode(suite, task, agent) for task in tasks]]

    at_once, one_by_one = asyncio.run(both())
    assert at_once == one_by_one
    assert len({played.messages[1]["content"] for played in at_once}) == 4


async def test_an_episode_that_is_cancelled_frees_its_world() -> None:
    suite = load_suite(EnvConfig("simia/os-v0"))
    begun = asyncio.Event()

    async def never(messages: Any, tools: Any) -> str:
        begun.set()
        await asyncio.Event().wait()
        return ""

    playing = asyncio.ensure_future(play_episode(suite, suite.tasks[0], never))
    await begun.wait()
    playing.cancel()
    with pytest.raises(asyncio.CancelledError):
        await playing
    assert (await play_episode(suite, suite.tasks[0], "expert")).reward == 1.0


async def test_a_fault_is_raised_or_returned_and_never_a_reward() -> None:
    suite = load_suite(EnvConfig("simia/retail-v0"))

    def broken(messages: Any, tools: Any) -> str:
        raise Fault("connection", "the engine is gone", role="policy")

    with pytest.raises(Fault) as caught:
        await play_episode(suite, suite.tasks[0], broken)
    assert (caught.value.kind, caught.value.role) == ("connection", "policy")
    played = await play_episode(suite, suite.tasks[0], broken, on_fault="return")
    assert (played.reward, played.verdict.valid, played.ended) == (None, False, "fault")


async def test_a_simulator_that_fails_is_a_fault_too() -> None:
    async with serving(lambda asked: "no world today") as server:
        config = EnvConfig("simia/webshop-v0", simulator="llm", model="m")
        suite = load_suite(config, Resources(base_url=server.url, api_key="k"))
        with pytest.raises(Fault) as caught:
            await play_episode(suite, suite.tasks[0], lambda messages, tools: "search[green tea]")
    assert caught.value.role == "simulator"


async def test_a_model_behind_an_address_plays_and_its_tokens_are_kept() -> None:
    tokens = {"logprobs": {"content": [{"token": "a", "logprob": -0.5}, {"token": "b", "logprob": -1}]}}

    def answer(number: int) -> Any:
        text = "search[green tea]" if number == 0 else "click[buy now]"
        choice: dict[str, Any] = {"finish_reason": "stop", "message": {"role": "assistant", "content": text}}
        if number == 0:
            body = {"choices": [{**choice, "token_ids": [7, 8], **tokens}], "prompt_token_ids": [1, 2]}
            return lambda asked: web.json_response(body)
        return lambda asked: web.json_response({"choices": [choice]})

    suite = load_suite(EnvConfig("simia/webshop-v0"))
    extra = {"logprobs": True, "return_token_ids": True}
    async with serving(answer(0), answer(1)) as server:
        agent = PolicyOptions(model="m", base_url=server.url, api_key="k", extra=extra)
        played = await play_episode(suite, suite.tasks[0], agent)
        assert all(body["return_token_ids"] is True for body in server.bodies)
    assert played.sampled[0] == Sampled((1, 2), (7, 8), (-0.5, -1.0))
    assert set(played.sampled[1:]) == {Sampled()}
    assert len(played.sampled) == played.turns


@pytest.mark.parametrize(("agent", "said"), [(7, "int is not an agent"), (dict, "dict"), ("exprt", "exprt")])
async def test_what_cannot_play_is_named(agent: Any, said: str) -> None:
    suite = load_suite(EnvConfig("simia/webshop-v0"))
    with pytest.raises(InputError, match=said):
        await play_episode(suite, suite.tasks[0], agent)
