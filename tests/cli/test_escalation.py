"""The stronger model of the simulator, over HTTP: a first one that breaks rules whatever it is told, and a true one."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from simia_gym.assembly.resources import Resources
from simia_gym.assembly.roles import RoleModels
from simia_gym.assembly.settings import EnvConfig
from simia_gym.errors import InputError
from simia_gym.oracle import OracleOptions, OracleServer, serve_in_thread
from simia_gym.record.records import read_records

from .conftest import Simia

RETAIL = "simia/retail-v0"
BIG = {"escalation": {"model": "big"}}
KEY = "sk-the-right-key"
WORDS = (
    "rollout",
    RETAIL,
    "--simulator",
    "llm",
    "--render",
    "model",
    "--model",
    "small",
    "--role",
    "escalation.model=big",
)


@pytest.fixture
def servers() -> Iterator[tuple[OracleServer, OracleServer]]:
    """A first model that writes in every answer what its tool may not, and one that knows the truth."""
    weak = OracleOptions(model="small", spurious_write_rate=1.0, stubborn=True)
    with serve_in_thread(weak) as first, serve_in_thread(OracleOptions(model="big", api_key=KEY)) as second:
        yield first, second


@pytest.mark.parametrize("variables", [True, False])
@pytest.mark.slow
def test_the_stronger_model_answers_where_the_first_one_fails_twice(
    variables: bool, servers: tuple[OracleServer, OracleServer], simia: Simia, monkeypatch: pytest.MonkeyPatch
) -> None:
    weak, strong = servers
    place: tuple[str, ...] = ("--base-url", weak.base_url, "--escalation-base-url", strong.base_url)
    locked = simia(*WORDS, *place, "--episodes", 1)
    assert (locked.code, locked.out, locked.err.count("\n")) == (2, "", 1)
    assert locked.err.startswith("simia: error: the escalation's model: ")
    assert "SIMIA_ESCALATION_API_KEY" in locked.err
    monkeypatch.setenv("SIMIA_ESCALATION_API_KEY", KEY)
    if variables:
        place = ()
        monkeypatch.setenv("SIMIA_BASE_URL", weak.base_url)
        monkeypatch.setenv("SIMIA_ESCALATION_BASE_URL", strong.base_url)
    result = simia(*WORDS, *place, "--episodes", 3, "--out", "o.jsonl", "--json")
    assert result.code == 0, result.err
    assert (result.json["valid"], result.json["mean_reward"]) == (3, 1.0)
    routes = result.json["routes"]
    assert set(routes) == {"escalated"}
    assert result.json["rejected"] == 2 * routes["escalated"]
    assert strong.counts["requests"]["ledger"] == routes["escalated"]
    events = [event for record in read_records(Path("o.jsonl")) for event in record.events]
    purposes = [event["purpose"] for event in events if event["type"] == "model"]
    assert purposes == ["answer", "repair", "escalation"] * routes["escalated"]
    assert strong.base_url not in Path("o.jsonl").read_text()
    assert simia("replay", "o.jsonl").code == 0


@pytest.mark.parametrize(
    ("given", "variables", "where"),
    [
        ("http://given/v1", {}, ("http://given/v1", "none")),
        ("http://given/v1", {"ESCALATION_BASE_URL": "http://own/v1"}, ("http://given/v1", "none")),
        ("http://given/v1", {"SIMULATOR_API_KEY": "k1"}, ("http://given/v1", "k1")),
        ("http://given/v1", {"SIMULATOR_API_KEY": "k1", "ESCALATION_API_KEY": "k2"}, ("http://given/v1", "k2")),
        (None, {"BASE_URL": "http://all/v1"}, ("http://all/v1", "none")),
        (None, {"BASE_URL": "http://all/v1", "SIMULATOR_BASE_URL": "http://first/v1"}, ("http://first/v1", "none")),
        (None, {"SIMULATOR_BASE_URL": "http://1/v1", "ESCALATION_BASE_URL": "http://2/v1"}, ("http://2/v1", "none")),
    ],
)
def test_arguments_go_before_its_own_variables_and_these_before_the_simulators(
    given: str | None, variables: dict[str, str], where: tuple[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, value in variables.items():
        monkeypatch.setenv(f"SIMIA_{name}", value)
    place = RoleModels(EnvConfig(RETAIL, roles=BIG), Resources(base_url=given)).endpoint("escalation")
    assert (place.base_url, place.api_key) == where


def test_a_missing_address_is_named() -> None:
    models = RoleModels(EnvConfig(RETAIL, roles=BIG), Resources(base_urls={"simulator": "http://first/v1"}))
    with pytest.raises(InputError, match=r"--escalation-base-url or SIMIA_ESCALATION_BASE_URL"):
        models.endpoint("escalation")
