"""The space of texts, and what Gymnasium does with it."""

from __future__ import annotations

import copy
import pickle
import re
from typing import Any

import gymnasium as gym
import numpy as np
import pytest
from gymnasium.utils.env_checker import check_env
from gymnasium.vector import AsyncVectorEnv, SyncVectorEnv
from gymnasium.vector.utils import (
    batch_space,
    concatenate,
    create_empty_array,
    iterate,
)

import simia_gym  # noqa: F401 - registers the environments
from simia_gym.errors import InputError
from simia_gym.spaces import TextSpace


class Echo(gym.Env[str, str]):
    """Says back what it hears, beyond ASCII, and ends on the third word."""

    metadata = {"render_modes": ["ansi"], "render_fps": 1}  # noqa: RUF012

    def __init__(self, length: int = 500, render_mode: str | None = None) -> None:
        self.observation_space = TextSpace(length)
        self.action_space = TextSpace(500, samples=("hello", "<tool_call>", "Grüße 你好"))
        self.render_mode = render_mode
        self.turn = 0

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[str, dict[str, Any]]:
        super().reset(seed=seed)
        self.turn = 0
        return f"start é {self.np_random.integers(1000)}", {}

    def step(self, action: str) -> tuple[str, float, bool, bool, dict[str, Any]]:
        self.turn += 1
        return f"{self.turn} 你好 {action}", 0.0, self.turn == 3, False, {}

    def render(self) -> str:
        return str(self.turn)


def test_contains_any_string_up_to_the_length() -> None:
    space = TextSpace(5)
    for text in ("", "abcde", "你好", "\x00", "\ud800"):
        assert text in space
    for other in ("abcdef", b"abc", None, 3, ["a"]):
        assert other not in space
    assert TextSpace(0).sample() == ""


def test_samples_come_from_the_pool_and_the_seed() -> None:
    pool = tuple(f"text {index}" for index in range(20))
    space = TextSpace(samples=pool)
    space.seed(7)
    first = [space.sample() for _ in range(10)]
    space.seed(7)
    assert [space.sample() for _ in range(10)] == first
    assert len(set(first)) > 3
    assert set(first) <= set(pool)
    assert TextSpace(samples=pool, seed=7).sample() == first[0]
    assert TextSpace(samples=pool, seed=np.random.default_rng(1)).sample() in pool
    assert TextSpace().sample() in TextSpace()


def test_equality_pickle_and_json() -> None:
    space = TextSpace(10, samples=["a", "b"], seed=1)
    assert space == TextSpace(10, samples=("a", "b"), seed=2)
    assert space not in (TextSpace(11, samples=("a", "b")), TextSpace(10), None)
    twins = (pickle.loads(pickle.dumps(space)), copy.deepcopy(space))
    expected = [space.sample() for _ in range(9)]
    for twin in twins:
        assert twin == space
        assert [twin.sample() for _ in range(9)] == expected
    assert space.from_jsonable(space.to_jsonable(["a", "你"])) == ["a", "你"]
    assert not space.is_np_flattenable
    assert "max_length=10" in repr(space)
    assert len(pickle.dumps(TextSpace())) < 1000


@pytest.mark.parametrize("length", [-1, 1.5, True, "3"])
def test_bad_lengths_are_refused(length: Any) -> None:
    with pytest.raises(InputError, match="max_length"):
        TextSpace(length)


def test_bad_samples_and_masks_are_refused() -> None:
    with pytest.raises(InputError, match="at most 2"):
        TextSpace(2, samples=["abc"])
    with pytest.raises(InputError, match="masks"):
        TextSpace().sample(mask=np.ones(1))


def test_batching() -> None:
    space = TextSpace(9, samples=("a", "b", "c", "d"), seed=3)
    batched = batch_space(space, 3)
    batched.seed(5)
    texts = batched.sample()
    assert isinstance(texts, tuple)
    assert texts in batched
    assert list(iterate(batched, texts)) == list(texts)
    empty = create_empty_array(space, 3)
    assert empty == ("", "", "")
    assert concatenate(space, texts, empty) == texts


def test_check_env() -> None:
    gym.register("TextSpaceEcho-v0", lambda **kwargs: Echo(**kwargs))
    try:
        check_env(gym.make("TextSpaceEcho-v0", disable_env_checker=True).unwrapped)
    finally:
        gym.registry.pop("TextSpaceEcho-v0")


def test_sync_vector() -> None:
    _roll(SyncVectorEnv([Echo, Echo]))


def test_async_vector_without_shared_memory() -> None:
    _roll(AsyncVectorEnv([Echo, Echo], shared_memory=False))


def test_the_error_of_shared_memory_says_what_to_pass() -> None:
    with pytest.raises(InputError, match=re.escape('vector_kwargs={"shared_memory": False}')):
        gym.make_vec("simia/retail-v0", num_envs=2, vectorization_mode="async")


def _roll(envs: SyncVectorEnv | AsyncVectorEnv) -> None:
    try:
        first, _ = envs.reset(seed=1)
        assert first == tuple(f"start é {Echo().reset(seed=seed)[0].split()[-1]}" for seed in (1, 2))
        for turn in (1, 2, 3):
            actions = envs.action_space.sample()
            texts, _, ends, _, _ = envs.step(actions)
            assert ends.all() == (turn == 3)
            assert texts == tuple(f"{turn} 你好 {action}" for action in actions)
            assert texts in envs.observation_space
        texts, _, ends, _, _ = envs.step(envs.action_space.sample())
        assert all(text.startswith("start é ") for text in texts)
        assert not ends.any()
    finally:
        envs.close()
