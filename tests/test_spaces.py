"""The space of texts, and what Gymnasium does with it."""

from __future__ import annotations

import copy
import pickle
import re

import gymnasium as gym
import numpy as np
import pytest

import simia_gym  # noqa: F401 - registers the environments
from simia_gym.errors import InputError
from simia_gym.spaces import TextSpace


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


def test_bad_samples_and_masks_are_refused() -> None:
    with pytest.raises(InputError, match="max_length"):
        TextSpace(-1)
    with pytest.raises(InputError, match="at most 2"):
        TextSpace(2, samples=["abc"])
    with pytest.raises(InputError, match="masks"):
        TextSpace().sample(mask=np.ones(1))


def test_the_error_of_shared_memory_says_what_to_pass() -> None:
    with pytest.raises(InputError, match=re.escape('vector_kwargs={"shared_memory": False}')):
        gym.make_vec("simia/retail-v0", num_envs=2, vectorization_mode="async")
