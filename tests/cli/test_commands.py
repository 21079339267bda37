"""help, list, doctor, new-domain."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import gymnasium as gym
import pytest

from simia_gym import __version__, env_ids
from simia_gym.cli import new_domain
from simia_gym.cli.commands import OWN

from ..sandbox.conftest import needs_sandbox
from .conftest import PROGRAM, Simia, tables_of


@pytest.mark.slow
def test_help_names_every_command(simia: Simia) -> None:
    shown = simia("--help")
    assert shown.code == 0
    for command in OWN:
        assert f" {command} " in shown.out
        told = simia(command, "--help")
        assert (told.code, f"Usage: simia {command}" in told.out) == (0, True)
        assert "000000" not in told.out  # bounds that nobody reaches
    assert simia("--version").out == f"simia-gym {__version__}\n"


def test_list(simia: Simia, monkeypatch: pytest.MonkeyPatch) -> None:
    result = simia("list", "--json")
    assert (result.code, [item["id"] for item in result.json]) == (0, env_ids())
    for item in result.json:
        assert min(item["tools"], item["tasks"]["train"], item["tasks"]["test"]) > 0
        assert item["grammar"]
    for width in (60, 80, 200):
        monkeypatch.setenv("COLUMNS", str(width))
        table = simia("list")
        assert tables_of(table.out)["id"].keys() == set(env_ids())
        assert all(len(line) <= width and "…" not in line for line in table.out.splitlines())


def test_doctor(simia: Simia, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-very-secret-value")
    result, told = simia("doctor", "--json"), simia("doctor")
    assert (result.code, result.json["ok"], told.code) == (0, True, 0)
    found = {(item["part"], item["name"]): item for item in result.json["findings"]}
    assert found["variable", "OPENAI_API_KEY"]["says"] == "set"
    assert found["variable", "OPENAI_BASE_URL"]["says"] == "not set"
    assert {name for part, name in found if part == "environment"} == set(env_ids())
    assert sum(part == "episode" for part, _ in found) == 1
    (model,) = [item for (part, _), item in found.items() if part == "model"]
    assert (model["ok"], "none is configured" in model["says"], result.json["models"]) == (None, True, [])
    assert "sk-very-secret-value" not in result.out + result.err + told.out + told.err


@needs_sandbox
def test_doctor_runs_a_command_in_a_sandbox(simia: Simia) -> None:
    findings = simia("doctor", "--json").json["findings"]
    found = {item["name"]: item for item in findings if item["part"] == "sandbox"}
    assert (found["sandbox"]["ok"], "a command ran in one" in found["sandbox"]["says"]) == (True, True)
    _, colon, missing = found["tools"]["says"].partition("missing inside: ")
    assert found["tools"]["ok"] is (None if colon else True)
    assert not {"bash", "cat", "ls", "sed"} & set(missing.split())


def test_doctor_asks_a_domain_what_it_needs(simia: Simia) -> None:
    assert simia("new-domain", "desk").code == 0
    with Path("desk", "domain.yaml").open("a") as file:
        file.write("doctor: needs.py:needs\n")
    Path("desk", "needs.py").write_text('def needs():\n    yield "stamp", False, "there is none"\n')
    result = simia("doctor", "--domain", "desk", "--json")
    (need,) = [item for item in result.json["findings"] if item["part"] == "desk"]
    assert (result.code, need) == (1, {"part": "desk", "name": "stamp", "ok": False, "says": "there is none"})
    assert "desk stamp: there is none" in simia("doctor", "--domain", "desk").out


def test_new_domain_is_sound_and_runs_at_once(simia: Simia, monkeypatch: pytest.MonkeyPatch) -> None:
    shutil.copytree(new_domain.TEMPLATES, "installed", ignore=shutil.ignore_patterns("__pycache__"))
    for path in Path("installed").rglob("*"):
        path.chmod(0o555)
    monkeypatch.setattr(new_domain, "TEMPLATES", Path("installed"))
    Path("my desk").mkdir()
    made = simia("new-domain", "my desk")
    assert made.code == 0
    assert "simia check 'my desk'" in made.out
    assert all(path.stat().st_mode & 0o200 for path in Path("my desk").rglob("*"))
    assert "name: my_desk " in Path("my desk", "domain.yaml").read_text()
    value = simia("check", "my desk", "--json").json
    assert value["ok"] is True
    assert value["problems"] == value["notes"] == []
    assert value["selftests"] == {"total": 7, "passed": 7}
    assert [task["split"] for task in value["tasks"]] == ["train"] * 4 + ["test"] * 2
    assert all(t["expert"] and t["gold"] and not t["null"] and not t["claimer"] for t in value["tasks"])
    env = gym.make("simia/custom-v0", domain="my desk")
    observation, info = env.reset(seed=1)
    assert "Member M-" in observation
    assert info["tools"]


@pytest.mark.slow
def test_letters_that_the_terminal_lacks_break_nothing(tmp_path: Path) -> None:
    environment = {**os.environ, "PYTHONIOENCODING": "ascii"}
    for words in (["rollout", "webshop", "--episodes", "2"], ["list", "--json"]):
        command = [*PROGRAM, *words]
        done = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True)
        assert (done.returncode, "Traceback" in done.stderr) == (0, False), done.stderr
        assert "--json" not in words or "?" not in done.stdout


def test_name_that_is_a_folder_too_is_asked_about(desk: str, simia: Simia) -> None:
    Path(desk).rename("webshop")
    result = simia("rollout", "webshop")
    assert result.code == 2
    assert "Write simia/webshop-v0 for the one and ./webshop for the other" in result.err
    assert simia("rollout", "./webshop", "--json").json["env"] == "simia/custom-v0"
    assert simia("rollout", "simia/webshop-v0", "--episodes", 1, "--json").json["env"] == "simia/webshop-v0"
