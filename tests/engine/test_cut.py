"""An episode that is cut off because its policy can say no more."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import cast

import pytest

from simia_gym.assembly.settings import EnvConfig
from simia_gym.assembly.suite import Suite, load_suite
from simia_gym.errors import Cut, EpisodeOver, Fault, InputError
from simia_gym.record.finished_episode import Reward
from simia_gym.rollout.play import play
from simia_gym.types import Message

from .test_episode import Part


@pytest.fixture(scope="module")
def retail() -> Suite:
    """Retail."""
    return load_suite(EnvConfig(env="simia/retail-v0", prompt="compact"))


class Silent:
    """Says one thing and then no more."""

    def __init__(self) -> None:
        self._said = False

    async def act(self, messages: Sequence[Message]) -> str:
        """One word."""
        await asyncio.sleep(0)
        if self._said:
            raise Cut
        self._said = True
        return "Hello, what can I do for you?"


async def test_it_is_judged_as_it_stands(retail: Suite) -> None:
    episode = retail.episode()
    await episode.reset(retail.tasks[0])
    step = await episode.step("Hello, what can I do for you?")
    assert step.verdict is None
    last = await episode.cut()
    assert last.verdict is not None
    assert (last.verdict.valid, last.verdict.reward, last.terminated, last.truncated) == (True, 0.0, False, True)
    assert (last.info["ended"], last.info["turn"], episode.ended, episode.turn) == ("token_limit", 1, "token_limit", 1)
    assert last.messages == ()
    assert episode.verdict is last.verdict
    ends = [event for event in episode.ledger.events if event["type"] == "end"]
    assert [(event["reason"], event["truncated"]) for event in ends] == [("token_limit", True)]
    with pytest.raises(EpisodeOver):
        await episode.cut()
    with pytest.raises(EpisodeOver):
        await episode.step("and now?")


async def test_an_episode_can_be_cut_before_its_first_step_but_not_before_it_began(retail: Suite) -> None:
    episode = retail.episode()
    with pytest.raises(EpisodeOver):
        await episode.cut()
    await episode.reset(retail.tasks[0])
    with pytest.raises(InputError, match="because"):
        await episode.cut("because")
    assert (await episode.cut("turn_limit")).info["ended"] == "turn_limit"


async def test_a_judge_that_fails_then_is_a_fault(retail: Suite) -> None:
    episode = retail.episode()
    episode.reward = cast(Reward, Part(Fault("timeout", "the judge is gone", role="judge")))
    await episode.reset(retail.tasks[0])
    step = await episode.cut()
    assert step.verdict is not None
    assert (step.verdict.valid, step.verdict.reward, episode.ended) == (False, None, "fault")


async def test_a_policy_cuts_by_raising(retail: Suite) -> None:
    episode = retail.episode()
    finished = await play(episode, retail.tasks[0], seed=0, policy=Silent())
    assert finished is None
    assert episode.verdict is not None
    assert (episode.verdict.valid, episode.ended, episode.turn) == (True, "token_limit", 1)
