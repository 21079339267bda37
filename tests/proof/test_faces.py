"""The faces of an environment whose world is a model: Gymnasium's, the vectors', the command line's records."""

from __future__ import annotations

import pickle
from functools import partial
from typing import Any

import gymnasium as gym
import openai
import pytest

import simia_gym  # noqa: F401 - registers the environments
from simia_gym.errors import EpisodeOver, Fault, InputError
from simia_gym.llm.budget import Budget
from simia_gym.oracle.options import OracleOptions
from simia_gym.oracle.server import OracleServer, serve_in_thread
from simia_gym.simulators.pins import MemoryPins
from simia_gym.types import Transition

from ..engine.test_episode import Part
from .stage import MODEL

CALLS = {
    "simia/retail-v0": '<tool_call>{"name": "list_all_product_types", "arguments": {}}</tool_call>',
    "simia/webshop-v0": "search[running shoes]",
}


@pytest.mark.parametrize("simulator", ["llm", "hybrid"])
def test_environments_whose_world_is_a_model_can_be_pickled(simulator: str, blind: OracleServer) -> None:
    env_id = "simia/retail-v0"
    settings: dict[str, Any] = {"simulator": simulator, "model": MODEL, "base_url": blind.base_url}
    if simulator == "hybrid":
        settings["routes"] = {"list_all_product_types": "llm"}
    env: Any = gym.make(env_id, **settings)
    observation, _ = env.reset(seed=2)
    env.step(CALLS[env_id])
    twin = pickle.loads(pickle.dumps(env))
    with pytest.raises(EpisodeOver, match="reset"):
        twin.step(CALLS[env_id])
    assert twin.reset(seed=2)[0] == observation
    assert twin.step(CALLS[env_id])[:4] == (env.reset(seed=2), env.step(CALLS[env_id]))[1][:4]


@pytest.mark.parametrize(
    ("name", "live"),
    [
        ("budget", Budget(max_calls=10)),
        ("pins", MemoryPins()),
        ("client", openai.AsyncOpenAI(base_url="x", api_key="k")),
    ],
)
def test_what_cannot_travel_with_an_environment_is_named(name: str, live: Any) -> None:
    settings: dict[str, Any] = {"simulator": "llm", "model": MODEL, "base_url": "http://127.0.0.1:9/v1", name: live}
    with pytest.raises(InputError, match=f"{name} cannot be pickled"):
        pickle.dumps(gym.make("simia/retail-v0", **settings))


def test_a_client_object_is_asked_with_its_own_key() -> None:
    with serve_in_thread(OracleOptions(api_key="sk-the-right-key")) as server:
        client = openai.AsyncOpenAI(base_url=server.base_url, api_key="sk-the-right-key")
        env = gym.make("simia/retail-v0", simulator="llm", render="model", model=MODEL, client=client)
        env.reset(seed=1)
        assert env.step(CALLS["simia/retail-v0"])[0].startswith("{")
        wrong = openai.AsyncOpenAI(base_url=server.base_url, api_key="sk-another-key")
        env = gym.make("simia/retail-v0", simulator="llm", render="model", model=MODEL, client=wrong)
        env.reset(seed=1)
        _, reward, terminated, truncated, info = env.step(CALLS["simia/retail-v0"])
        assert (reward, terminated, truncated, info["reward_valid"]) == (0.0, False, True, False)
        assert "(auth)" in info["fault"]
        assert "sk-another-key" not in str(info)
        env = gym.make("simia/retail-v0", simulator="llm", render="model", model=MODEL, client=wrong, on_fault="raise")
        env.reset(seed=1)
        with pytest.raises(Fault, match="auth"):
            env.step(CALLS["simia/retail-v0"])


@pytest.mark.filterwarnings("ignore::UserWarning")  # Gymnasium's own, on the way
def test_a_fault_in_a_worker_keeps_its_words() -> None:
    """An asynchronous vector raises a worker's error anew, from its class and the error alone."""
    fault = Fault("connection", "nobody answers", role="user")
    again = Fault(fault)
    assert (again.kind, again.message, again.role) == ("connection", "nobody answers", "user")
    settings: dict[str, Any] = {"user": "llm", "model": MODEL, "base_url": "http://127.0.0.1:9/v1"}
    roles = {"user": {"retries": 0}}
    kwargs: dict[str, Any] = {"vectorization_mode": "async", "vector_kwargs": {"shared_memory": False}}
    vector = gym.make_vec("simia/retail-v0", num_envs=1, roles=roles, **settings, **kwargs)
    with pytest.raises(Fault, match="connection"):
        vector.reset(seed=1)
    vector.close()


def test_a_configured_endpoint_makes_the_model_the_default(
    blind: OracleServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert gym.make("simia/retail-v0").reset(seed=1)[1]["simulator"] == "world"
    monkeypatch.setenv("SIMIA_MODEL", MODEL)
    assert gym.make("simia/retail-v0").reset(seed=1)[1]["simulator"] == "world"
    monkeypatch.setenv("SIMIA_BASE_URL", blind.base_url)
    info = gym.make("simia/retail-v0").reset(seed=1)[1]
    assert (info["simulator"], info["models"]) == ("llm", {"simulator": MODEL})
    assert gym.make("simia/retail-v0", simulator="world").reset(seed=1)[1]["simulator"] == "world"


@pytest.mark.parametrize("given", [partial(Part, Transition("hm")), Part(Transition("hm"))], ids=["made", "kept"])
def test_a_simulator_of_ones_own(given: Any) -> None:
    env = gym.make("simia/retail-v0", simulator=given)
    assert env.reset(seed=1)[1]["simulator"] == "part"
    assert env.step(CALLS["simia/retail-v0"])[0] == "hm"
