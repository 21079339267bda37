"""The environments are Gymnasium environments for real: checked, vectorised, forked, repeated."""

from __future__ import annotations

import multiprocessing
import random
import warnings
from typing import Any

import gymnasium as gym
import numpy as np
import pytest

from simia_gym.errors import InputError


def _in_child(queue: Any) -> None:
    env = gym.make("simia/retail-v0")
    env.reset(seed=1)
    queue.put(env.step("hello")[0])


def test_a_forked_worker_works() -> None:
    from simia_gym.common.event_loop import background_loop, run_sync

    async def value() -> int:
        return 7

    background_loop()  # the parent has a running loop that the child must not use
    parent = gym.make("simia/retail-v0")
    parent.reset(seed=1)
    context = multiprocessing.get_context("fork")
    queue: Any = context.Queue()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # fork with threads is the point of this test
        child = context.Process(target=_in_child, args=(queue,))
        child.start()
    assert queue.get(timeout=60) == parent.step("hello")[0]
    child.join(60)
    assert child.exitcode == 0
    assert run_sync(value(), inline=False) == 7


MODEL = {"simulator": "llm", "model": "m", "base_url": "http://127.0.0.1:9/v1"}


@pytest.mark.parametrize(
    ("kwargs", "word"),
    [
        ({"split": "tests"}, "split"),
        ({"simulator": "magic"}, "simulator"),
        ({"simulater": "llm"}, "'simulater'.*Did you mean 'simulator'"),
        ({"prompt": "long"}, "prompt"),
        ({"max_turns": 0}, "max_turns"),
        ({"generated": -1}, "generated"),
        ({"user": "nobody"}, "user"),
        ({"user": "brief"}, "reason"),
        ({"on_fault": "ignore"}, "on_fault"),
        ({"data": "/no/such/folder"}, "/no/such/folder"),
        ({"domain": "/tmp"}, "domain"),
        ({"task_order": "sorted"}, "random, shuffled, listed"),
        ({**MODEL, "cassette": "file.jsonl"}, r"cassette: .*Cassette\(PATH"),
        ({**MODEL, "base_url": 5}, "base_url is a int"),
        ({**MODEL, "api_keys": {"user": 5}}, "api_key is a int"),
        ({**MODEL, "clients": 5}, "clients is a int"),
        ({"model": "m"}, "model: .* Add base_url"),
        ({"simulator": "llm"}, "no model is named.*SIMIA_SIMULATOR_MODEL; in Python model="),
        ({"simulator": "llm", "model": "m"}, "neither an endpoint nor a key"),
        ({"simulator": 3}, "no simulator"),
        ({"judge": "jury"}, "judge is 'jury'"),
        ({**MODEL, "simulator": "hybrid", "routes": {"fly": "llm"}}, "fly"),
        ({"simulator": "replay"}, "no record is named"),
        ({"roles": {"jester": {}}}, "no role 'jester'"),
        ({**MODEL, "base_url": "ftp://x"}, "not the URL"),
        ({**MODEL, "roles": {"simulator": {"tem": 1}}}, "'tem'"),
    ],
)
def test_wrong_settings_are_named(kwargs: dict[str, Any], word: str) -> None:
    with pytest.raises(InputError, match=word) as error:
        gym.make("simia/retail-v0", **kwargs)
    assert "\n" not in str(error.value)
    assert "Fix its world" not in str(error.value)


def test_code_of_the_caller_that_raises_is_not_blamed_on_the_domain() -> None:
    with pytest.raises(ZeroDivisionError):
        gym.make("simia/retail-v0", simulator=lambda: 1 // 0)


def test_reset_options_choose_the_task() -> None:
    env = gym.make("simia/retail-v0")
    suite = env.unwrapped.suite  # type: ignore[attr-defined]
    task = random.Random(0).choice(list(suite.tasks))
    assert env.reset(seed=1, options={"task": task.id})[1]["task"] == task.id
    assert env.reset(seed=1, options={"task": task})[1]["task"] == task.id
    with pytest.raises(InputError, match="no-such-task"):
        env.reset(options={"task": "no-such-task"})
    with pytest.raises(InputError, match="colour"):
        env.reset(options={"colour": 1})


def test_what_an_environment_hands_out_belongs_to_the_caller() -> None:
    first = gym.make("simia/retail-v0")
    _, info = first.reset(seed=1)
    for tool in info["tools"]:
        tool["function"]["description"] = "HACKED"
        tool["function"]["parameters"]["properties"].clear()
    for message in info["messages"]:
        message["content"] = "HACKED"
    _, again = gym.make("simia/retail-v0").reset(seed=1)
    assert "HACKED" not in repr(again)
    episode = first.unwrapped.episode  # type: ignore[attr-defined]
    call = '{"name": "get_order_details", "arguments": {"zzz": 1}}'
    assert first.step(call)[4]["error_code"] == "invalid_arguments"
    episode.messages.clear()
    made = next(message for message in episode.messages if "tool_calls" in message)
    calls = made["tool_calls"]
    for inner in (*episode.messages, calls, calls[0], calls[0]["function"]):
        with pytest.raises(TypeError, match="read-only"):
            inner.clear()
    assert all(one is other for one, other in zip(episode.messages, episode.messages, strict=True))


def test_a_vector_wants_one_action_a_lane() -> None:
    vector: Any = gym.make_vec("simia/retail-v0", num_envs=3)
    vector.reset(seed=np.int64(3))
    wrong = [
        (["a"], "1 for 3 lanes"),
        (["a"] * 4, "4 for 3 lanes"),
        ("abc", "one action"),
        ({"role": "x"}, "one action"),
    ]
    for actions, word in wrong:
        with pytest.raises(InputError, match=word):
            vector.step(actions)
    with pytest.raises(InputError, match="2 seeds for 3 lanes"):
        vector.reset(seed=[1, 2])
    with warnings.catch_warnings(record=True) as caught, pytest.raises(InputError):
        vector.step([5, "hello", "hello"])
    assert not [str(one.message) for one in caught]


def test_a_bad_task_breaks_its_lane_only() -> None:
    vector = gym.make_vec("simia/retail-v0", num_envs=2)
    setup = [{"op": "replace", "path": "/users/nobody/x", "value": 1}]
    bad = {"id": "bad", "split": "train", "kind": "x", "setup": setup}
    vector.reset(seed=1)
    _, info = vector.reset(options={"task": bad})
    assert all("bad" in text for text in info["fault"])
    _, _, terminated, truncated, info = vector.step(["x", "x"])
    assert truncated.all()
    assert not terminated.any()
    assert not info["reward_valid"].any()
    observations, *_ = vector.step(["x", "x"])
    assert all(observations)
    with pytest.raises(InputError, match="setup"):
        gym.make("simia/retail-v0").reset(options={"task": bad})


@pytest.mark.parametrize("order", ["shuffled", "listed"])
def test_every_task_comes_once_before_any_comes_again(order: str) -> None:
    env: Any = gym.make("simia/retail-v0", split="test", task_order=order)
    ids = [task.id for task in env.unwrapped.tasks]
    infos = [env.reset(seed=3 if number == 0 else None)[1] for number in range(2 * len(ids))]
    first, second = ([info["task"] for info in infos if info["epoch"] == epoch] for epoch in (0, 1))
    assert sorted(first) == sorted(second) == sorted(ids)
    assert (first == ids) is (second == ids) is (order == "listed")
    assert env.reset(seed=3)[1]["task"] == first[0]
    assert "epoch" not in gym.make("simia/retail-v0").reset()[1]


def test_the_lanes_of_a_vector_go_through_the_tasks_together() -> None:
    settings: dict[str, Any] = {"split": "test", "task_order": "shuffled", "max_episode_steps": 1}
    vector: Any = gym.make_vec("simia/retail-v0", num_envs=16, **settings)
    info = vector.reset(seed=1)[1]
    assert len({*info["task"]}) == 16
    seen = list(zip(info["epoch"].tolist(), info["task"], strict=True))
    while len(seen) < 32:
        vector.step(["x"] * 16)
        info = vector.step(["x"] * 16)[4]
        seen += zip(info["epoch"].tolist(), info["task"], strict=True)
    assert len({task for epoch, task in seen if epoch == 0}) == len(vector.tasks) == 20
    assert len(set(seen)) == len(seen)
