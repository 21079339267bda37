"""Every way of serving an environment gives what `gym.make` gives, and keeps episodes and faults apart."""

from __future__ import annotations

import asyncio
from types import ModuleType
from typing import Any

import pytest

from simia_gym import EnvConfig, Resources, load_suite
from simia_gym.domain.world import World
from simia_gym.rl.serving.hosted import HostedEpisodes, kept
from simia_gym.rl.serving.tool_episode import START, ToolEpisode

from ..model_server import serving
from .native import WORLDS, Outcome, made, native
from .services import served

RETAIL = "simia/retail-v0"


@pytest.mark.parametrize("env", WORLDS)
@pytest.mark.sampled
def test_the_experts_actions_give_the_same(env: str, service: ModuleType) -> None:
    expected = native(env, 2)
    assert expected.outcome.reward == 1.0

    async def play() -> None:
        async with served(service, made(env).suite) as server, server.session(expected.task, expected.seed) as player:
            tools = await player.tools()
            said = await player.start()
            assert said.endswith(expected.first)
            for name, arguments in expected.calls:
                assert name in tools
                said = await player.call(name, arguments)
            assert said.endswith("The episode is over.")
            assert await player.outcome() == expected.outcome
            assert await player.call(name, arguments) == "The episode is over."
            assert await player.outcome() == expected.outcome

    asyncio.run(play())


@pytest.mark.slow
def test_interleaved_episodes_stay_apart(service: ModuleType) -> None:
    expected = [native(RETAIL, place) for place in (3, 4)]

    async def play() -> None:
        async with (
            served(service, made(RETAIL).suite) as server,
            server.session(expected[0].task, expected[0].seed) as one,
            server.session(expected[1].task, expected[1].seed) as two,
        ):
            players = (one, two)
            for player in players:
                await player.start()
            for turn in range(max(len(each.calls) for each in expected)):
                for player, each in zip(players, expected, strict=True):
                    if turn < len(each.calls):
                        await player.call(*each.calls[turn])
            assert [await player.outcome() for player in players] == [each.outcome for each in expected]
            assert len(server.episodes) == 2

    asyncio.run(play())


def test_the_same_seed_says_the_same(service: ModuleType) -> None:
    expected = native(RETAIL, 3)

    async def said(server: Any, seed: int) -> list[str]:
        async with server.session(expected.task, seed) as player:
            return [await player.start(), *[await player.call(*made) for made in expected.calls]]

    async def play() -> None:
        async with served(service, made(RETAIL).suite) as server:
            first, again, other = [await said(server, seed) for seed in (7, 7, 8)]
            assert first == again != other

    asyncio.run(play())


def test_a_fault_is_told_and_has_no_reward(service: ModuleType) -> None:
    async def play() -> None:
        async with serving(lambda asked: "no world today") as model:
            config = EnvConfig(RETAIL, simulator="llm", model="m", user="scripted", history="transcript")
            suite = load_suite(config, Resources(base_url=model.url, api_key="k"))
            async with served(service, suite) as server, server.session() as player:
                await player.start()
                said = await player.call("get_user_details", {"user_id": "mei_li_1234"})
                assert "simulator" in said
                await player.call("get_user_details", {"user_id": "mei_li_1234"})
                assert await player.outcome() == Outcome(None, "fault", None)

    asyncio.run(play())


def test_a_session_that_is_left_frees_its_world(service: ModuleType, monkeypatch: pytest.MonkeyPatch) -> None:
    ended: list[str] = []
    world_type = type(made(RETAIL).suite.domain.world)
    end = World.end

    def noticed(self: World, context: Any) -> Any:
        ended.append(context.task.id)
        return end(self, context)

    monkeypatch.setattr(world_type, "end", noticed)
    task = made(RETAIL).suite.tasks[0].id

    async def play() -> None:
        async with served(service, made(RETAIL).suite, most=1) as server:
            async with server.session(task) as player:
                await player.start()
                assert (len(server.episodes), ended) == (1, [])
            while len(server.episodes):
                await asyncio.sleep(0.01)
            assert ended == [task]
            async with server.session(task) as player:  # the place is free again
                await player.start()

    asyncio.run(play())
    assert ended == [task, task]


def test_an_episode_that_nobody_plays_is_given_up() -> None:
    async def leave() -> ToolEpisode:
        episodes = HostedEpisodes(made(RETAIL).suite, most=2, idle=0.1)
        async with kept(episodes):
            left = episodes.get("left")
            await left.call(START, {})
            while len(episodes):
                await asyncio.sleep(0.05)
        return left

    left = asyncio.run(leave())
    assert left.verdict is not None
    assert left.verdict.fault is not None
    assert (left.verdict.valid, left.verdict.reward, left.verdict.fault.kind) == (False, None, "idle")
