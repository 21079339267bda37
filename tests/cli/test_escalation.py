"""The stronger model of the simulator, over HTTP: a first one that breaks rules whatever it is told, and a true one."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from simia_gym.assembly.resources import Resources
from simia_gym.assembly.roles import RoleModels
from simia_gym.assembly.settings import EnvConfig
from simia_gym.assembly.suite import load_suite
from simia_gym.common.event_loop import run_sync
from simia_gym.errors import InputError
from simia_gym.oracle import OracleOptions, OracleServer, serve_in_thread
from simia_gym.policies.load import load_policy
from simia_gym.record.records import read_records
from simia_gym.rollout.play import play

from .conftest import Simia

RETAIL = "simia/retail-v0"
BIG = {"escalation": {"model": "big"}}
WORDS = ("--simulator", "llm", "--model", "small", "--role", "escalation.model=big")


@pytest.fixture
def weak() -> Iterator[OracleServer]:
    """It writes in every answer what its tool may not."""
    with serve_in_thread(OracleOptions(model="small", spurious_write_rate=1.0, stubborn=True)) as server:
        yield server


@pytest.fixture
def strong() -> Iterator[OracleServer]:
    """It knows the truth."""
    with serve_in_thread(OracleOptions(model="big")) as server:
        yield server


@pytest.mark.parametrize("escalates", [True, False])
def test_the_stronger_model_answers_where_the_first_one_fails_twice(
    escalates: bool, weak: OracleServer, strong: OracleServer
) -> None:
    roles = BIG if escalates else {}
    urls = {"simulator": weak.base_url, "escalation": strong.base_url}
    resources = Resources(base_urls=urls if escalates else {"simulator": weak.base_url})
    suite = load_suite(EnvConfig(RETAIL, simulator="llm", model="small", roles=roles), resources)
    policy = load_policy("expert", suite.domain.config.policies, folder=suite.domain.folder)
    episode = suite.episode()
    run_sync(play(episode, suite.tasks[0], seed=0, policy=policy(), env=RETAIL), inline=episode.inline)
    verdict = episode.verdict
    assert verdict is not None
    if not escalates:
        assert episode.fault is not None
        assert (episode.fault.kind, verdict.valid, verdict.reward) == ("invalid_reply", False, None)
        return
    assert (verdict.valid, verdict.reward, verdict.success) == (True, 1.0, True), verdict.reason
    events = episode.ledger.events
    calls = [event for event in events if event["type"] == "transition" and event["call"]]
    assert {event["meta"]["route"] for event in calls} == {"escalated"}
    purposes = [event["purpose"] for event in events if event["type"] == "model"]
    assert purposes == ["answer", "repair", "escalation"] * len(calls)
    assert suite.model_names == {"simulator": "small", "escalation": "big"}
    assert strong.counts["requests"] == {"ledger": len(calls)}


@pytest.mark.parametrize("variables", [True, False])
def test_it_has_an_address_of_its_own_on_the_command_line(
    variables: bool, weak: OracleServer, strong: OracleServer, simia: Simia, monkeypatch: pytest.MonkeyPatch
) -> None:
    place: tuple[str, ...] = ("--base-url", weak.base_url, "--escalation-base-url", strong.base_url)
    if variables:
        place = ()
        monkeypatch.setenv("SIMIA_BASE_URL", weak.base_url)
        monkeypatch.setenv("SIMIA_ESCALATION_BASE_URL", strong.base_url)
    result = simia("rollout", RETAIL, *WORDS, *place, "--episodes", 3, "--out", "o.jsonl", "--json")
    assert result.code == 0, result.err
    assert (result.json["valid"], result.json["mean_reward"]) == (3, 1.0)
    routes = result.json["routes"]
    assert set(routes) == {"escalated"}
    assert result.json["rejected"] == 2 * routes["escalated"]
    assert "by the stronger model" in result.err
    found = [
        event["meta"]["route"]
        for record in read_records(Path("o.jsonl"))
        for event in record.events
        if event["type"] == "transition" and event["call"]
    ]
    assert found == ["escalated"] * routes["escalated"]
    assert strong.base_url not in Path("o.jsonl").read_text()
    assert simia("replay", "o.jsonl").code == 0


def test_where_it_is_not_named_it_is_where_the_simulator_is(
    strong: OracleServer, simia: Simia, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SIMIA_SIMULATOR_BASE_URL", strong.base_url)
    words = ("--simulator", "llm", "--model", "big", "--role", "escalation.model=big")
    assert simia("rollout", RETAIL, *words, "--episodes", 1).code == 0
    assert strong.counts["requests"]["plain"] == 1  # one model, whatever it is asked for


@pytest.mark.parametrize(
    ("variables", "where"),
    [
        ({}, ("http://given/v1", "none")),
        ({"SIMIA_ESCALATION_BASE_URL": "http://own/v1"}, ("http://given/v1", "none")),
        ({"SIMIA_SIMULATOR_API_KEY": "k1"}, ("http://given/v1", "k1")),
        ({"SIMIA_SIMULATOR_API_KEY": "k1", "SIMIA_ESCALATION_API_KEY": "k2"}, ("http://given/v1", "k2")),
    ],
)
def test_arguments_go_before_variables(
    variables: dict[str, str], where: tuple[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    place = RoleModels(EnvConfig(RETAIL, roles=BIG), Resources(base_url="http://given/v1")).endpoint("escalation")
    assert (place.base_url, place.api_key) == where


@pytest.mark.parametrize(
    ("variables", "where"),
    [
        ({"SIMIA_BASE_URL": "http://all/v1"}, "http://all/v1"),
        ({"SIMIA_BASE_URL": "http://all/v1", "SIMIA_SIMULATOR_BASE_URL": "http://first/v1"}, "http://first/v1"),
        (
            {"SIMIA_SIMULATOR_BASE_URL": "http://first/v1", "SIMIA_ESCALATION_BASE_URL": "http://own/v1"},
            "http://own/v1",
        ),
    ],
)
def test_its_own_variable_goes_before_the_simulators(
    variables: dict[str, str], where: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    assert RoleModels(EnvConfig(RETAIL, roles=BIG), Resources()).endpoint("escalation").base_url == where


def test_what_cannot_work_names_it(weak: OracleServer, simia: Simia, monkeypatch: pytest.MonkeyPatch) -> None:
    with serve_in_thread(OracleOptions(model="big", api_key="sk-the-right-key")) as locked:
        place = ("--base-url", weak.base_url, "--escalation-base-url", locked.base_url)
        result = simia("rollout", RETAIL, *WORDS, *place, "--episodes", 1)
        assert (result.code, result.out, result.err.count("\n")) == (2, "", 1)
        assert result.err.startswith("simia: error: the escalation's model: ")
        assert "SIMIA_ESCALATION_API_KEY" in result.err
        monkeypatch.setenv("SIMIA_ESCALATION_API_KEY", "sk-the-right-key")
        assert simia("rollout", RETAIL, *WORDS, *place, "--episodes", 1).code == 0
    monkeypatch.delenv("SIMIA_ESCALATION_API_KEY")
    says = r"the escalation's model: .*--escalation-base-url or SIMIA_ESCALATION_BASE_URL"
    with pytest.raises(InputError, match=says):
        load_suite(
            EnvConfig(RETAIL, simulator="llm", model="small", roles=BIG),
            Resources(base_urls={"simulator": weak.base_url}),
        )
