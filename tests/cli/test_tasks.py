"""The tasks of an environment, listed and shown before they are played."""

from __future__ import annotations

from pathlib import Path

import pytest

from simia_gym import env_ids, load_suite
from simia_gym.assembly.settings import EnvConfig

from .conftest import Simia

SITE_FREE = [env for env in env_ids() if env != "simia/os-v0"]


@pytest.mark.parametrize("env", env_ids())
def test_a_list_fits_the_terminal_and_names_every_task(env: str, simia: Simia, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    listed = simia("tasks", env, "--split", "test", "--json").json
    table = simia("tasks", env, "--split", "test").out
    lines = table.splitlines()
    assert max(map(len, lines)) <= 80
    for one in listed:
        assert one["asks"]
        (line,) = [line for line in lines if line.split()[:1] == [one["id"]]]
        assert one["kind"] in line
        assert one["asks"][:15] in line
    assert [one["id"] for one in simia("tasks", env, "--limit", 2, "--json").json] == [
        one["id"] for one in simia("tasks", env, "--json").json[:2]
    ]


@pytest.mark.parametrize("env", SITE_FREE)
def test_a_task_is_shown_as_an_agent_meets_it(env: str, simia: Simia, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    suite = load_suite(EnvConfig(env=env, split="test"))
    task, episode = suite.tasks[0], suite.episode()
    start = episode.reset(task, seed=0)
    with pytest.raises(StopIteration) as stop:
        start.send(None)
    shown = simia("tasks", env, task.id)
    found = simia("tasks", env, task.id, "--json").json
    assert max(map(len, shown.out.splitlines())) <= 80
    assert found["first"] == stop.value.value.observation
    assert found["system"] == stop.value.value.messages[0]["content"]
    assert found["tools"] == [tool["function"]["name"] for tool in suite.domain.tools]
    assert found["gold_calls"] == sum("name" in action for action in task.gold) > 0
    assert found["user"] == task.user
    flat = "".join(shown.out.split())
    for text in (*found["tools"], *(one["says"] for one in found["criteria"])):
        assert "".join(text.split()) in flat


def test_what_a_customer_withholds_is_told_apart(simia: Simia, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "200")
    lines = simia("tasks", "retail", "retail-test-001").out.splitlines()
    told = [tuple(part.strip() for part in line.split("  ", 1)) for line in lines if "  " in line.strip()]
    assert ("wants", "I want to cancel order #W8330600.") in told
    assert ("only if asked", "name: Nadia Duarte; zip: 50383") in told
    assert any(label == "only if asked" and "reason: I no longer need it" in text for label, text in told)


def test_own_folders_have_tasks_too(desk: str, simia: Simia) -> None:
    listed = simia("tasks", desk, "--split", "all", "--json").json
    assert len(listed) == 6
    assert simia("tasks", desk, listed[-1]["id"]).code == 0


def test_tau2s_tasks_are_listed(simia: Simia, shared_data: Path) -> None:
    data = str(shared_data / "tau2" / "retail")
    first = simia("tasks", "retail", "--data", data, "--json").json[0]
    shown = simia("tasks", "retail", first["id"], "--data", data)
    assert (shown.code, first["asks"][:30] in " ".join(shown.out.split())) == (0, True)


@pytest.mark.parametrize(
    ("words", "what"),
    [
        (("retail", "retail-test-001x"), "Did you mean 'retail-test-001'?"),
        (("retail", "retail-test-001", "--split", "dev"), "of this split"),
        (("retail", "retail-test-001", "--limit", 1), "--limit"),
        (("mind2web", "--generated", 3, "--data", "nothing"), "nothing"),
    ],
)
def test_what_does_not_fit_is_one_line(words: tuple[object, ...], what: str, simia: Simia) -> None:
    result = simia("tasks", *words)
    assert (result.code, what in result.err, result.err.count("\n")) == (2, True, 1)
