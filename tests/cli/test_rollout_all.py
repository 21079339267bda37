"""`simia rollout all`: every registered environment in one run."""

from __future__ import annotations

import json
import os
import re
import shutil
import signal
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import gymnasium as gym
import pytest

import simia_gym.envs
from simia_gym import env_ids
from simia_gym.domain.registration import domain_folders
from simia_gym.oracle import OracleServer
from simia_gym.record.records import read_records

from .conftest import HALF, Simia, tables_of


@pytest.fixture
def worlds(tmp_path: Path) -> Iterator[Path]:
    """A folder whose folders are registered, too."""
    folder = tmp_path / "worlds"
    spec = simia_gym.envs.__spec__
    assert spec is not None
    assert spec.submodule_search_locations is not None
    spec.submodule_search_locations.append(str(folder))
    folder.mkdir()
    yield folder
    spec.submodule_search_locations.remove(str(folder))
    domain_folders.cache_clear()


def registered(name: str, worlds: Path, simia: Simia) -> Path:
    """Make a small world and register it."""
    assert simia("new-domain", worlds / name).code == 0
    domain_folders.cache_clear()
    return worlds / name


def without_times(value: dict[str, Any]) -> dict[str, Any]:
    return {name: item for name, item in value.items() if name not in ("seconds", "record")}


def test_each_is_played_as_it_is_played_alone(simia: Simia, monkeypatch: pytest.MonkeyPatch) -> None:
    words = ["--policy", "claimer", "--episodes", 6, "--group", 2, "--seed", 5, "--split", "test"]
    result = simia("rollout", "all", "--out", "together", *words, "--json")
    assert (result.code, result.json["folder"]) == (0, "together")
    assert [one["env"] for one in result.json["environments"]] == env_ids()
    for value in result.json["environments"]:
        alone = simia("rollout", value["env"], "--out", f"{value['env']}.jsonl", *words, "--json").json
        assert without_times(value) == without_times(alone)
        assert sorted(Path(value["record"]).read_bytes().splitlines()) == sorted(
            Path(alone["record"]).read_bytes().splitlines()
        )
    monkeypatch.setenv("COLUMNS", "80")
    shown = simia("rollout", "all", "--out", "again", *words, "--concurrency", 1, "--svg", "all.svg")
    rows = tables_of(shown.out)["environment"]
    assert [*rows] == env_ids()
    assert {row["valid"] for row in rows.values()} == {"6"}
    assert {row["ended"] for row in rows.values()} == {"complete"}
    assert shown.out.count("95% CI") == 1
    assert max(map(len, shown.out.partition("\nenvironment ")[2].splitlines())) <= 80
    drawn = "".join(ElementTree.parse("all.svg").getroot().itertext()).replace("\xa0", " ")
    assert "simia rollout all --policy claimer" in drawn
    assert all(env in drawn for env in env_ids())


def test_a_world_is_played_because_it_is_registered(worlds: Path, simia: Simia) -> None:
    known = env_ids()
    registered("library", worlds, simia)
    value = simia("rollout", "all", "--out", "r", "--episodes", 2, "--json").json
    assert sorted(one["env"] for one in value["environments"]) == sorted([*known, "simia/library-v0"])
    assert len(list(read_records("r/library-v0.jsonl"))) == 2


def test_one_that_fails_loses_nothing_of_the_others(worlds: Path, simia: Simia) -> None:
    registered("a", worlds, simia)
    broken = registered("b", worlds, simia)
    (broken / "world.py").write_text("raise RuntimeError('no world today')\n")
    result = simia("rollout", "all", "--out", "r", "--episodes", 2, "--json")
    values = {one["env"]: one for one in result.json["environments"]}
    assert result.code == 2
    assert [*values] == env_ids()
    assert "no world today" in values["simia/b-v0"]["error"]
    assert [env for env, value in values.items() if value.get("valid") != 2] == ["simia/b-v0"]
    assert "simia: error: simia/b-v0: " in result.err
    rows = tables_of(result.err)["environment"]
    assert [env for env, row in rows.items() if row["ended"] != "complete"] == ["simia/b-v0"]
    shutil.copy(worlds / "a" / "world.py", broken)
    again = simia("rollout", "all", "--out", "r", "--episodes", 2, "--resume", "--json")
    assert again.code == 0
    assert {one["env"] for one in again.json["environments"] if one["reused"] == 0} == {"simia/b-v0"}


def test_faults_stand_in_the_table_and_in_the_exit_code(simia: Simia) -> None:
    Path("half.py").write_text(HALF)
    result = simia("rollout", "all", "--out", "r", "--policy", "half.py:Half", "--group", 4, "--json")
    rows = tables_of(result.err)["environment"]
    assert result.code == 1
    for value in result.json["environments"]:
        assert 0 < value["faults"] < value["episodes"]
        assert rows[value["env"]]["ended"] == f"{value['faults']} faults"


def test_an_interrupt_ends_the_run_and_resume_goes_on(simia: Simia) -> None:
    Path("stops.py").write_text(
        "import os, signal\n"
        "class Stops:\n"
        "    def start(self, start): self.last = not os.path.exists('on') and start.seed % 3 == 0\n"
        "    def act(self, messages):\n"
        f"        if self.last: os.kill({os.getpid()}, {int(signal.SIGINT)})\n"
        "        return ''\n"
    )
    words = ["rollout", "all", "--out", "r", "--policy", "stops.py:Stops", "--concurrency", 1, "--json"]
    result = simia(*words)
    (value,) = result.json["environments"]
    assert (result.code, value["env"], value["interrupted"]) == (130, env_ids()[0], True)
    assert tables_of(result.err)["environment"][value["env"]]["ended"] == "interrupted"
    Path("on").touch()
    again = simia(*words, "--resume")
    assert (again.code, again.json["environments"][0]["reused"]) == (0, value["episodes"])
    assert [one["env"] for one in again.json["environments"]] == env_ids()


@pytest.mark.slow
def test_a_budget_is_that_of_the_whole_run(simia: Simia, oracle: OracleServer) -> None:
    words = ["rollout", "all", "--simulator", "llm", "--model", "oracle", "--base-url", oracle.base_url, "--json"]
    words += ["--episodes", "3", "--concurrency", "1"]
    whole = simia(*words, "--out", "whole").json["environments"]
    assert all(one["valid"] == 3 for one in whole)
    calls = [one["models"]["simulator"]["calls"] for one in whole]
    assert calls == [_model_events(Path(one["record"])) for one in whole]
    limited = simia(*words, "--out", "limited", "--max-calls", sum(calls) - 1)
    assert limited.code == 1
    assert [one.get("stopped") for one in limited.json["environments"]] == [*[None] * (len(calls) - 1), "budget"]


def _model_events(record: Path) -> int:
    events = [event for line in record.read_text().splitlines() for event in json.loads(line)["events"]]
    return sum(event["type"] == "model" for event in events)


def test_the_readme_has_a_row_for_each(checkout: Path) -> None:
    ids = re.findall(r"^\| \[?`(simia/\S+-v0)`", (checkout / "README.md").read_text(), re.MULTILINE)
    assert set(ids) == {*env_ids(), "simia/custom-v0"}


def test_what_needs_a_sandbox_is_unavailable_without_one(simia: Simia, monkeypatch: pytest.MonkeyPatch) -> None:
    """It is said before an episode, and the others are played."""
    monkeypatch.setattr("simia_gym.sandbox.trial._tried", lambda _: (None, ["unshare: refused here"]))
    alone = simia("rollout", "simia/os-v0", "--episodes", 1)
    assert alone.code == 2
    assert "unshare: refused here" in alone.err
    value = simia("rollout", "all", "--out", "r", "--episodes", 1, "--json")
    assert value.code == 0
    lacking = {one["env"] for one in value.json["environments"] if "unavailable" in one}
    assert lacking == {"simia/os-v0"}
    assert tables_of(value.err)["environment"]["simia/os-v0"]["ended"] == "unavailable: no sandbox"
    assert [one["id"] for one in simia("list", "--json").json] == env_ids()
    modelled = gym.make("simia/os-v0", simulator="llm", model="m", base_url="http://127.0.0.1:9/v1", api_key="k")
    assert modelled.unwrapped.suite.simulator_name == "llm"  # type: ignore[attr-defined]
