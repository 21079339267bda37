"""Whole rollouts in which a model that knows nothing plays every part: each episode ends, and none is a silent 0."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from simia_gym.record.records import Record, read_records

from .server import KEY, MODEL, VllmServer

PROGRAM = [sys.executable, "-c", "from simia_gym.cli import main; main()"]
EPISODES = 12
KINDS = {"invalid_reply", "bad_reply", "empty_reply", "context_length"}
"""Of faults: what may come from a model that knows nothing. Anything else, such as a bug, is none of its doing."""


@dataclass
class Done:
    """What a rollout left behind."""

    summary: dict[str, Any]
    records: list[Record]
    path: Path


class Roll:
    """Runs rollouts as a person would, on the real server."""

    def __init__(self, server: VllmServer, folder: Path) -> None:
        self._server, self._folder = server, folder
        kept = {name: value for name, value in os.environ.items() if not name.startswith(("SIMIA_", "OPENAI_"))}
        self.environment = {**kept, "SIMIA_API_KEY": KEY, "SIMIA_POLICY_API_KEY": KEY}

    def run(self, *words: str) -> subprocess.CompletedProcess[str]:
        """Run a command to its end."""
        return subprocess.run(
            [*PROGRAM, *words],
            cwd=self._folder,
            env=self.environment,
            capture_output=True,
            text=True,
            timeout=300,
            check=False,
        )

    def __call__(
        self,
        env: str,
        policy: str,
        *more: str,
        model: str = MODEL,
        episodes: int = EPISODES,
    ) -> Done:
        url = self._server.base_url
        words = ["rollout", f"simia/{env}-v0", "--episodes", str(episodes), "--out", "record.jsonl", "--json"]
        words += ["--simulator", "llm", "--model", model, "--base-url", url, "--policy", policy, *more]
        if policy == "llm":
            words += ["--policy-model", model, "--policy-base-url", url]
        for role, tokens in (("simulator", 160), ("user", 96), ("judge", 160)):
            if role != "simulator" and f"--{role}" not in more:
                continue  # a setting of a role that no model plays is refused
            settings = {"max_tokens": tokens, "temperature": 1, "structured": "json_schema", "retries": 3}
            for name, value in settings.items():
                words += ["--role", f"{role}.{name}={value}"]
        done = self.run(*words)
        assert done.returncode in (0, 1), done.stderr
        assert "Traceback" not in done.stderr, done.stderr
        summary = json.loads(done.stdout.splitlines()[-1])
        assert done.returncode == (1 if summary["faults"] else 0)
        path = self._folder / "record.jsonl"
        return Done(summary, list(read_records(path)), path)


@pytest.fixture
def roll(server: VllmServer, tmp_path: Path) -> Roll:
    return Roll(server, tmp_path)


def check(done: Done, server: VllmServer, episodes: int = EPISODES) -> None:
    """Every episode is there, and either means what it says or says that it means nothing."""
    assert server.running(), server.log_tail()
    assert len(done.records) == done.summary["episodes"] == episodes
    for record in done.records:
        last = record.events[-1]
        assert last["type"] == "verdict"
        assert [record.reward, record.valid] == [record.verdict["reward"], record.verdict["valid"]]
        assert record.valid == (record.reward is not None)
        faults = [event for event in record.events if event["type"] == "fault"]
        if record.fault is not None:
            assert not record.valid
            assert record.fault["kind"] in KINDS, record.fault
            assert faults
        if record.valid:
            assert not faults
            assert all(item["passed"] is not None for item in record.verdict["criteria"])
        else:
            assert (record.success, record.verdict["reason"] != "") == (False, True)
    valid = [record for record in done.records if record.valid]
    assert done.summary["valid"] == len(valid)
    assert KEY.encode() not in done.path.read_bytes()
    assert server.root.encode() not in done.path.read_bytes()


def asked(done: Done) -> Counter[str]:
    """How many answers of models stand in the records, by role."""
    return Counter(event["role"] for record in done.records for event in record.events if event["type"] == "model")


@pytest.mark.parametrize("feedback", ["terse", "explain"])
def test_retail_with_every_part_played(server: VllmServer, roll: Roll, feedback: str) -> None:
    done = roll("retail", "random", "--user", "llm", "--judge", "llm-all", "--feedback", feedback)
    check(done, server)
    assert asked(done)["simulator"] >= EPISODES
    assert asked(done)["user"] >= EPISODES
    assert done.summary["fault_kinds"].get("simulator:invalid_reply"), "a model that knows nothing breaks rules"
    rejected = [event for record in done.records for event in record.events if event["type"] == "rejected"]
    assert len(rejected) == done.summary["rejected"] > 0
    for record in done.records:
        for event in record.events:
            if event["type"] == "model":
                # Where the server's grammar lets control characters through, the record says that they were read.
                assert isinstance(json.loads(event["reply"], strict=not event.get("read")), dict)


def test_retail_with_a_policy_that_knows_nothing(server: VllmServer, roll: Roll) -> None:
    done = roll("retail", "llm", "--user", "llm", "--judge", "llm")
    check(done, server)
    assert asked(done)["user"] > EPISODES, "the agent talks, and the user answers"
    assert done.summary["valid"], "talking until the user leaves is an episode like any other"


@pytest.mark.parametrize(("env", "more"), [("retail", ["--strategy", "reference"]), ("webshop", [])])
def test_a_stateless_simulator_and_another_domain(server: VllmServer, roll: Roll, env: str, more: list[str]) -> None:
    done = roll(env, "random", *more, "--judge", "llm")
    check(done, server)
    assert asked(done)["simulator"] >= EPISODES


def test_webshop_with_a_policy_that_knows_nothing(server: VllmServer, roll: Roll) -> None:
    """Fifteen invalid actions are the policy's own doing: an honest 0 and no fault."""
    done = roll("webshop", "llm", "--judge", "llm", episodes=6)
    check(done, server, 6)
    assert {(record.valid, record.reward) for record in done.records} <= {(True, 0.0), (False, None)}
    assert any(event["type"] == "invalid" for record in done.records for event in record.events)


FLOOD = """
import json


class Calls:
    def act(self, messages):
        return json.dumps({"name": "calculate", "arguments": {"expression": "\\u4e00" * 3000}})


class Talks:
    def act(self, messages):
        return "\\u4e00" * 9000
"""


@pytest.mark.parametrize(("policy", "role"), [("Calls", "simulator"), ("Talks", "user")])
def test_a_prompt_that_does_not_fit_is_a_fault(
    server: VllmServer, roll: Roll, tmp_path: Path, policy: str, role: str
) -> None:
    """The agent's text, three tokens a character, is longer than the model can read besides its instructions."""
    (tmp_path / "flood.py").write_text(FLOOD, encoding="utf-8")
    done = roll("retail", f"flood.py:{policy}", "--user", "llm", "--judge", "llm", episodes=3)
    check(done, server, 3)
    assert done.summary["fault_kinds"].get(f"{role}:context_length"), done.summary["fault_kinds"]


def test_doctor_tells_what_the_server_can_do(server: VllmServer, roll: Roll) -> None:
    done = roll.run("doctor", "--model", MODEL, "--base-url", server.base_url, "--json")
    assert done.stdout, done.stderr
    assert MODEL in done.stdout
    assert "JSON Schema" in done.stdout
    assert "the same seed gives the same text" in done.stdout
    assert KEY not in done.stdout + done.stderr


def test_the_records_are_proven_without_the_server(server: VllmServer, roll: Roll) -> None:
    done = roll("retail", "random", "--user", "llm", "--judge", "llm-all", episodes=6)
    proven = roll.run("replay", done.path.name)
    assert proven.returncode == 0, proven.stdout + proven.stderr
    assert "proven 6 of 6" in proven.stdout + proven.stderr
