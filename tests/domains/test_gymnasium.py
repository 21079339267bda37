"""The environments are Gymnasium environments for real: checked, vectorised, copied, repeated."""

from __future__ import annotations

import copy
import pickle
from typing import Any

import gymnasium as gym
import numpy as np
import pytest
from gymnasium.utils.env_checker import check_env

from simia_gym.oracle import OracleServer
from simia_gym.types import Calls

from ..proof.stage import MODEL
from .table import World

MODES: dict[str, dict[str, Any]] = {
    "native": {},
    "sync": {"vectorization_mode": "sync"},
    "async": {"vectorization_mode": "async", "vector_kwargs": {"shared_memory": False}},
}


def actions(world: World, n: int, seed: int) -> list[str]:
    space = world.make().action_space
    space.seed(seed)
    return [space.sample() for _ in range(n)]


def rollout(world: World, moves: list[str], seed: int) -> list[Any]:
    env = world.make()
    seen: list[Any] = [env.reset(seed=seed)]
    for move in moves:
        seen.append(env.step(move))
        if seen[-1][2] or seen[-1][3]:
            seen.append(env.reset())
    env.close()
    return seen


def test_check_env_without_a_warning(world: World, blind: OracleServer) -> None:
    check_env(world.make(render_mode="ansi").unwrapped, skip_render_check=False)
    check_env(world.make(simulator="llm", model=MODEL, base_url=blind.base_url).unwrapped)


@pytest.mark.sampled
def test_same_seed_same_bytes(world: World) -> None:
    moves = actions(world, world.few(60), seed=3)
    first, second = (rollout(world, moves, seed=11) for _ in range(2))
    assert first == second
    assert pickle.dumps(first) == pickle.dumps(second)
    assert any(rollout(world, [], seed)[0][0] != first[0][0] for seed in range(12, 15)), "another seed, another task"


def test_nothing_private_is_in_info_before_the_end(world: World) -> None:
    env = world.make()
    _, info = env.reset(seed=5)
    for _ in range(4):
        assert not {"verdict", "goal", "kind", "rubric", "reward_valid"} & set(info)
        _, _, terminated, truncated, info = env.step("hello")
        if terminated or truncated:
            break
        text = repr(info)
        for op in env.unwrapped.episode.task.goal or ():
            assert op["path"] not in text
    env.close()


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.slow
def test_vectors_agree_with_single_environments(world: World, mode: str) -> None:
    call = {"function": {"name": "get_user_details", "arguments": {"user_id": "nobody"}}}
    n, moves = 3, [*actions(world, world.few(45), seed=9), {"role": "assistant", "content": None, "tool_calls": [call]}]
    vector = gym.make_vec(world.env, num_envs=n, **world.settings, **MODES[mode])
    assert vector.metadata["autoreset_mode"] == gym.vector.AutoresetMode.NEXT_STEP
    singles = [world.make() for _ in range(n)]
    observations, _ = vector.reset(seed=100)
    assert list(observations) == [env.reset(seed=100 + i)[0] for i, env in enumerate(singles)]
    again = [False] * n
    for move in moves:
        observations, rewards, terminated, truncated, info = vector.step((move,) * n)
        assert rewards.shape == terminated.shape == truncated.shape == (n,)
        for i, env in enumerate(singles):
            expected = (env.reset()[0], 0.0, False, False) if again[i] else env.step(move)[:4]
            assert (observations[i], rewards[i], terminated[i], truncated[i]) == expected
            again[i] = bool(expected[2] or expected[3])
            if again[i]:
                assert info["verdict"][i].valid
                assert info["success"].dtype == np.float64
    vector.close()


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.sampled
def test_vectors_ask_the_model_in_every_lane(world: World, mode: str, blind: OracleServer) -> None:
    grammar = world.domain.grammar
    call = next(text for text in world.config.samples if isinstance(grammar.parse(text), Calls))
    settings: dict[str, Any] = {"simulator": "llm", "model": MODEL, "base_url": blind.base_url, **world.settings}
    if any(world.domain.renderers.values()):  # else code would answer
        settings["render"] = "model"
    vector = gym.make_vec(world.env, num_envs=3, **settings, **MODES[mode])
    single = world.make(simulator="world")
    before = blind.counts["requests"].get("ledger", 0)
    vector.reset(seed=5)
    observations, _, _, truncated, _ = vector.step([call] * 3)
    assert blind.counts["requests"]["ledger"] >= before + 3
    assert not any(truncated)
    for lane, observation in enumerate(observations):
        single.reset(seed=5 + lane)
        assert observation == single.step(call)[0]
    vector.close()


@pytest.mark.parametrize("lanes", [0, 2])
@pytest.mark.sampled
def test_a_pickled_environment_goes_on_where_it_was(world: World, lanes: int) -> None:
    env: Any = gym.make_vec(world.env, num_envs=lanes, **world.settings) if lanes else world.make()
    first, *later = [[move] * lanes if lanes else move for move in actions(world, 4, seed=1)]
    env.reset(seed=2)
    env.step(first)
    twins = [pickle.loads(pickle.dumps(env)), copy.deepcopy(env)]
    for move in later:
        if not lanes and env.unwrapped.episode.verdict is not None:
            break
        wanted = env.step(move)[0]
        assert [list(twin.step(move)[0]) for twin in twins] == [list(wanted)] * 2
