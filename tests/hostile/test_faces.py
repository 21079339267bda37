"""Environments whose models fail at reset, and environments that two threads use at once."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from typing import Any, Never

import gymnasium as gym
import pytest

from simia_gym.errors import Fault, InUse
from simia_gym.llm.types import ChatRequest

from ..simulators.desk import Double, tool_call

RETAIL = "simia/retail-v0"


def options(on_fault: str) -> dict[str, Any]:
    """A customer whose model is gone."""
    gone = Double(Fault("connection", "no connection: refused", role="user"))
    return {"user": "llm", "models": {"user": gone}, "on_fault": on_fault}


@pytest.mark.parametrize(
    ("mode", "more"),
    [("sync", {}), ("async", {"vector_kwargs": {"shared_memory": False}}), ("vector_entry_point", {})],
)
def test_a_fault_at_reset_is_marked_in_every_vector(mode: str, more: dict[str, Any]) -> None:
    env = gym.make_vec(RETAIL, num_envs=2, vectorization_mode=mode, **more, **options("mark"))
    try:
        for _ in range(2):  # the second time by autoreset
            observations, infos = env.reset(seed=1)
            assert list(observations) == ["", ""]
            assert all("refused" in text for text in infos["fault"])
            for _ in range(2):
                _, rewards, terminated, truncated, infos = env.step(("Hello", "Hello"))
                assert (list(rewards), list(terminated), list(truncated)) == ([0.0] * 2, [False] * 2, [True] * 2)
                assert list(infos["reward_valid"]) == [False, False]
                observations, rewards, terminated, truncated, infos = env.step(("Hello", "Hello"))
                assert (list(observations), list(truncated)) == (["", ""], [False, False])
                assert all("refused" in text for text in infos["fault"])
    finally:
        env.close()


@pytest.mark.parametrize("on_fault", ["truncate", "raise"])
def test_without_a_mark_a_fault_at_reset_is_raised(on_fault: str) -> None:
    env = gym.make(RETAIL, disable_env_checker=True, **options(on_fault))
    with pytest.raises(Fault, match="refused"):
        env.reset(seed=1)


def test_a_marked_environment_is_checked_by_gymnasium_and_goes_on() -> None:
    env = gym.make(RETAIL, **options("mark"))
    for _ in range(2):
        observation, info = env.reset(seed=1)
        assert (observation, "refused" in info["fault"]) == ("", True)
        _, reward, terminated, truncated, info = env.step("Hello")
        assert (reward, terminated, truncated, info["reward_valid"]) == (0.0, False, True, False)


@pytest.mark.parametrize("vector", [False, True])
def test_one_environment_in_two_threads_is_told(vector: bool) -> None:
    asked, go = threading.Event(), threading.Event()

    async def answer(request: ChatRequest) -> Never:
        asked.set()
        await asyncio.to_thread(go.wait)
        raise Fault("bad_reply", "no answer", role=request.role)

    given: dict[str, Any] = {"simulator": "llm", "models": {"simulator": Double(answer)}, "pins": False}
    env: Any = gym.make_vec(RETAIL, num_envs=1, **given) if vector else gym.make(RETAIL, **given).unwrapped
    env.reset(seed=1)
    call = tool_call("get_order_details", order_id="#W1000001")
    action: Any = (call,) if vector else call
    steps: list[Any] = []
    first = threading.Thread(target=lambda: steps.append(env.step(action)))
    first.start()
    assert asked.wait(30)
    seconds: list[Callable[[], object]] = [lambda: env.step(action), lambda: env.reset(seed=2)]
    for second in seconds:
        with pytest.raises(InUse, match="an environment of its own"):
            second()
    go.set()
    first.join(30)
    assert bool(steps[0][3])
    env.reset(seed=2)
    env.close()
