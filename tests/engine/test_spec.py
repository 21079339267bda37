"""What Gymnasium keeps of how an environment was made holds no key."""

from __future__ import annotations

import pickle
from typing import Any

import gymnasium as gym
import pytest

from simia_gym.domain.registration import env_ids
from simia_gym.errors import InputError

KEY = "sk-nobody-should-read-this"
GIVEN: dict[str, Any] = {
    "simulator": "llm",
    "model": "m",
    "base_url": "http://127.0.0.1:9/v1",
    "api_key": KEY,
    "api_keys": {"simulator": KEY},
}


MADE: dict[str, Any] = {
    "plain": lambda env, given: gym.make(env, **given),
    "vector": lambda env, given: gym.make_vec(env, num_envs=2, **given),
    "sync": lambda env, given: gym.make_vec(env, num_envs=2, vectorization_mode="sync", **given),
}
IN_ADDRESS = ("http://me:{}@127.0.0.1:9/v1", "http://127.0.0.1:9/v1?key={}", "http://{}@127.0.0.1:9/v1")


@pytest.mark.parametrize("env_id", env_ids())
@pytest.mark.parametrize("kind", MADE)
def test_a_specification_holds_no_key_and_makes_the_environment_again(
    env_id: str, kind: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    env = MADE[kind](env_id, GIVEN)
    spec = env.spec
    assert spec.kwargs["simulator"] == "llm"
    assert KEY not in f"{spec!r} {env.unwrapped.spec!r} {spec.to_json()}"
    assert KEY.encode() not in pickle.dumps(spec)
    monkeypatch.setenv("SIMIA_API_KEY", KEY)
    again: Any = gym.make(spec) if kind == "plain" else gym.make_vec(spec)
    assert again.spec.kwargs == spec.kwargs


@pytest.mark.parametrize("address", IN_ADDRESS)
@pytest.mark.parametrize("kind", MADE)
def test_a_key_in_an_address_is_not_in_it_either(address: str, kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    secret = address.format(KEY)
    given = {**GIVEN, "user": "llm", "base_url": secret, "base_urls": {"simulator": secret, "user": GIVEN["base_url"]}}
    env = MADE[kind]("simia/retail-v0", given)
    assert KEY not in f"{env.spec!r} {env.unwrapped.spec!r} {env.spec.to_json()}"
    assert "base_url" not in env.spec.kwargs
    assert env.spec.kwargs["base_urls"] == {"user": GIVEN["base_url"]}
    monkeypatch.setenv("SIMIA_BASE_URL", secret)
    again: Any = gym.make(env.spec) if kind == "plain" else gym.make_vec(env.spec)
    assert again.spec.kwargs == env.spec.kwargs


@pytest.mark.parametrize(
    ("name", "value"),
    [(name, value) for name in ("user", "judge", "model", "split", "options", "roles") for value in ([KEY], (KEY,))]
    + [
        (name, {"api_key": KEY})
        for name in ("user", "judge", "model", "split", "domain", "shadow", "on_fault", "task_order")
    ]
    + [("roles", {"user": [KEY]}), ("model", {"api_key": {"deep": KEY}})],
)
def test_a_setting_of_the_wrong_kind_is_not_printed(name: str, value: Any) -> None:
    with pytest.raises(InputError) as caught:
        gym.make("simia/retail-v0", **{name: value})
    assert KEY not in str(caught.value)
    assert name in str(caught.value)
