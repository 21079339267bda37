"""What Gymnasium keeps of how an environment was made holds no key."""

from __future__ import annotations

import pickle
from typing import Any

import gymnasium as gym
import pytest

from simia_gym.domain.registration import env_ids

KEY = "sk-nobody-should-read-this"
GIVEN: dict[str, Any] = {
    "simulator": "llm",
    "model": "m",
    "base_url": "http://127.0.0.1:9/v1",
    "api_key": KEY,
    "api_keys": {"simulator": KEY},
}


@pytest.mark.parametrize("env_id", env_ids())
@pytest.mark.parametrize("vector", [False, True])
def test_a_specification_holds_no_key_and_makes_the_environment_again(
    env_id: str, vector: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    env: Any = gym.make_vec(env_id, num_envs=2, **GIVEN) if vector else gym.make(env_id, **GIVEN)
    spec = env.spec
    assert spec.kwargs["simulator"] == "llm"
    assert KEY not in f"{spec!r} {env.unwrapped.spec!r} {spec.to_json()}"
    assert KEY.encode() not in pickle.dumps(spec)
    monkeypatch.setenv("SIMIA_API_KEY", KEY)
    again: Any = gym.make_vec(spec) if vector else gym.make(spec)
    assert again.spec.kwargs == spec.kwargs
