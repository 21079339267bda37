from __future__ import annotations

import json
import re
from pathlib import Path
from xml.etree import ElementTree

import pytest

from simia_gym import env_ids
from simia_gym.assembly.settings import EnvConfig
from simia_gym.record.records import read_records
from simia_gym.rollout.transcript import transcript

from .conftest import Simia, tables_of
from .servers import answering

FIELDS = ["env", "episodes", "valid", "success_rate", "mean_reward", "faults", "seconds", "record"]


@pytest.mark.parametrize("env", env_ids())
def test_first_run_of_every_environment(env: str, finish: Simia, tmp_path: Path) -> None:
    result = finish("rollout", env, "--episodes", 3, "--json")
    assert result.code == 0, result.err
    value = result.json
    assert set(FIELDS) <= set(value)
    assert (value["env"], value["episodes"], value["valid"], value["faults"]) == (env, 3, 3, 0)
    assert value["mean_reward"] > 0.5
    assert len(result.out.splitlines()) == 1
    assert value["record"] == f"runs/{env.removeprefix('simia/')}-expert-1.jsonl"
    records = list(read_records(tmp_path / value["record"]))
    assert [record.turns for record in records] == [len(record.actions) for record in records]
    assert finish("replay", value["record"], "--json").json["proven"] == 3


@pytest.mark.parametrize("env", env_ids())
def test_generated_tasks_run_and_replay(env: str, simia: Simia) -> None:
    result = simia(
        "rollout", env, "--split", "test", "--generated", 4, "--episodes", 24, "--policy", "random", "--json"
    )
    assert result.json["episodes"] == 24
    assert result.json["valid"] == 24
    assert simia("replay", result.json["record"], "--json").json["proven"] == 24


def test_human_output(desk: str, simia: Simia) -> None:
    result = simia("rollout", "simia/custom-v0", "--domain", desk)
    assert result.code == 0
    assert "4/4" in result.out
    assert re.search(r"^swap\s+1\s+100.0%", result.out, re.MULTILINE)
    assert result.out.rstrip().endswith("record: runs/desk-expert-1.jsonl")
    assert result.err == ""


def test_folder_stands_for_the_custom_environment_and_records_are_numbered(desk: str, simia: Simia) -> None:
    records = [simia("rollout", desk, "--json").json["record"] for _ in range(3)]
    assert records == [f"runs/desk-expert-{n}.jsonl" for n in (1, 2, 3)]


def test_record_line_has_the_documented_keys(desk: str, simia: Simia) -> None:
    record = simia("rollout", desk, "--group", 2, "--seed", 5, "--json").json["record"]
    lines = [json.loads(line) for line in Path(record).read_text().splitlines()]
    assert list(lines[0]) == [
        *("v", "key", "run", "config", "domain_hash", "task", "kind", "split", "seed", "group", "member", "policy"),
        *("reward", "valid", "success", "score", "turns", "ended", "verdict", "fault", "events", "head"),
    ]
    assert lines[0]["config"] == {"env": "simia/custom-v0", "domain": "desk"}
    assert {name: lines[0]["run"][name] for name in ("seed", "group")} == {"seed": 5, "group": 2}
    assert re.fullmatch("[0-9a-f]{16}", lines[0]["run"]["policy_hash"])
    assert lines[0]["group"] == lines[1]["group"]
    assert lines[0]["seed"] != lines[1]["seed"]
    assert not re.search(r"time|seconds|/tmp|" + str(Path.cwd()), Path(record).read_text())
    times = [json.loads(line) for line in Path("runs/desk-expert-1.times.jsonl").read_text().splitlines()]
    assert [item["key"] for item in times] == [line["key"] for line in lines]


def test_picture(desk: str, simia: Simia) -> None:
    assert simia("rollout", desk, "--svg", "pictures/table.svg").code == 0
    text = Path("pictures/table.svg").read_text()
    ElementTree.fromstring(text)
    assert "desk" in text


def test_invalid_episodes_give_exit_code_1(desk: str, simia: Simia) -> None:
    Path("half.py").write_text(
        "class Half:\n"
        "    def start(self, start): self.fail = start.seed % 2\n"
        "    def act(self, messages):\n"
        "        if self.fail: raise KeyError('odd')\n"
        "        return ''\n"
    )
    result = simia("rollout", desk, "--group", 8, "--policy", "half.py:Half", "--json")
    value = result.json
    assert result.code == 1
    assert value["valid"] + value["faults"] == value["episodes"] == 32
    assert 0 < value["valid"] < 32
    assert value["fault_kinds"] == {"policy:bug": value["faults"]}
    assert value["success_rate"] == 0
    assert "KeyError: 'odd'" in result.err


def test_rates_are_null_without_a_valid_episode(desk: str, simia: Simia) -> None:
    Path("bad.py").write_text("class Bad:\n    def act(self, messages): raise RuntimeError('no')\n")
    result = simia("rollout", desk, "--policy", "bad.py:Bad", "--json")
    assert result.code == 1
    assert result.json["success_rate"] is None
    assert result.json["mean_reward"] is None


def test_many_kinds_stand_together(simia: Simia) -> None:
    result = simia("rollout", "retail", "--generated", 40, "--policy", "null")
    rows = tables_of(result.out)["task kind"]
    assert len(rows) <= 13
    assert sum(int(row["valid"]) for row in rows.values()) == 2 * int(rows["all"]["valid"]) == 160


def test_model_of_the_variable_is_part_of_the_policy_name(
    desk: str, simia: Simia, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SIMIA_POLICY_MODEL", "org/model-a")
    with answering(503, b"{}") as address:
        words = ["rollout", desk, "--policy", "llm", "--policy-base-url", f"http://me:hunter22@{address}/v1"]
        result = simia(*words, "--episodes", 2, "--timeout", 0.3, "--json")
        assert result.code == 1
        assert result.json["policy"] == "llm:org/model-a"
        assert result.json["record"] == "runs/desk-llm-org-model-a-1.jsonl"
        assert "hunter22" not in Path(result.json["record"]).read_text() + result.out + result.err
        monkeypatch.setenv("SIMIA_POLICY_MODEL", "org/model-b")
        assert "policy='llm:org/model-a'" in simia(*words, "--resume", "--out", result.json["record"]).err


def test_no_secret_is_written(desk: str, simia: Simia, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-very-secret-value")
    Path("leak.py").write_text(
        "import os\n"
        "class Leak:\n"
        "    def act(self, messages): raise RuntimeError('refused: ' + os.environ['OPENAI_API_KEY'])\n"
    )
    value = simia("rollout", desk, "--policy", "leak.py:Leak", "--json").json
    for path in Path("runs").iterdir():
        assert "sk-very-secret-value" not in path.read_text(), path
    assert "refused: [secret]" in Path(value["record"]).read_text()


@pytest.mark.parametrize("env", [*env_ids(), "desk"])
@pytest.mark.parametrize("policy", ["expert", "random", "claimer"])
def test_transcript_is_what_the_policy_saw(env: str, policy: str, desk: str, simia: Simia) -> None:
    from simia_gym.assembly.suite import load_suite
    from simia_gym.common.event_loop import run_sync
    from simia_gym.policies import load_policy
    from simia_gym.rollout.play import play

    value = simia("rollout", env, "--policy", policy, "--episodes", 4, "--json").json
    suite = load_suite(EnvConfig.from_json(next(read_records(value["record"])).config))
    make = load_policy(policy, suite.domain.config.policies, folder=suite.domain.folder)
    for record in read_records(value["record"]):
        episode = suite.episode()
        run_sync(
            play(episode, suite.task(record.task), seed=record.seed, policy=make(), env=suite.config.env),
            inline=episode.inline,
        )
        assert transcript(record) == episode.messages


def test_picture_may_be_made_again(desk: str, simia: Simia) -> None:
    for _ in range(2):
        assert simia("rollout", desk, "--svg", "a.svg").code == 0


def test_typing_what_holds_anyway_changes_nothing(simia: Simia) -> None:
    words = ["rollout", "retail", "--episodes", 2, "--out", "a.jsonl", "--json"]
    assert simia(*words).code == 0
    before = Path("a.jsonl").read_bytes()
    typed = ["--user", "scripted", "--simulator", "world", "--option", "compat=null", "--split", "train"]
    assert simia(*words, *typed, "--resume").json["reused"] == 2
    assert Path("a.jsonl").read_bytes() == before
    result = simia(*words, "--split", "test", "--resume")
    assert "was written with split='train', and this run has split='test'" in result.err


def test_a_torn_group_is_said(desk: str, simia: Simia) -> None:
    result = simia("rollout", desk, "--episodes", 4, "--group", 3)
    assert result.code == 0
    assert "the last group has 1 of 3 episodes" in result.out + result.err


def test_faults_are_told_in_one_line(desk: str, simia: Simia) -> None:
    Path("bad.py").write_text("class Bad:\n    def act(self, messages): raise RuntimeError('one\\ntwo')\n")
    result = simia("rollout", desk, "--policy", "bad.py:Bad")
    assert "policy:bug x 4: RuntimeError: one two\n" in result.out


@pytest.mark.parametrize(("words", "shown"), [([], 1), (["-v"], 5)])
def test_a_bug_of_the_policy_is_shown_and_ends_the_run(words: list[str], shown: int, desk: str, simia: Simia) -> None:
    Path("bad.py").write_text("class Bad:\n    def act(self, messages):\n        return {}['no such key']\n")
    command = ["rollout", desk, "--policy", "bad.py:Bad", "--group", 8, "--concurrency", 1, *words]
    result = simia(*command)
    assert result.code == 1
    assert result.out.count("return {}['no such key']") == result.out.count("Traceback") == shown
    assert "stopped: all 5 episodes ended with the same bug of the policy: KeyError: 'no such key'" in result.out
    assert "policy:bug x 5" in result.out
    assert "doctor" not in result.out
    again = simia(*command, "--json")
    assert (again.json["stopped"], again.json["faults"]) == ("bug", 5)
    assert "no such key" in again.err


def test_tools_of_a_policy_are_its_own(desk: str, simia: Simia) -> None:
    Path("edits.py").write_text(
        "class Edits:\n"
        "    def start(self, start):\n"
        "        assert 'mine' not in start.tools[0]\n"
        "        start.tools[0]['mine'] = True\n"
        "    def act(self, messages): return ''\n"
    )
    assert simia("rollout", desk, "--policy", "edits.py:Edits", "--json").json["valid"] == 4


def test_task_generator_that_breaks_is_told_after_everything_else(desk: str, simia: Simia) -> None:
    Path(desk, "more.py").write_text(
        "from simia_gym.domain.tasks import task_from_json\n\n\ndef generate(split, index):\n"
        "    if index == 2:\n        raise SystemExit(0)\n"
        "    return task_from_json({'id': f'{split}-g{index}', 'split': split, 'kind': 'more', 'instruction': '?',\n"
        "        'goal': []}, 'here')\n"
    )
    with Path(desk, "domain.yaml").open("a") as file:
        file.write("generator: more.py:generate\n")
    result = simia("rollout", desk, "--generated", 4, "--policy", "null", "--json")
    assert result.code == 2
    assert result.json["episodes"] == 7
    assert "cannot be made" in result.json["error"]
    assert result.err.splitlines()[-1].startswith(
        "simia: error: tasks: 1 of the tasks cannot be made, the first is number 7"
    )


def test_endless_tasks_cost_nothing(simia: Simia) -> None:
    words = ["rollout", "retail", "--generated", 1000000000, "--policy", "null", "--out", "a.jsonl", "--json"]
    assert simia(*words, "--episodes", 2).json["episodes"] == 2
    assert simia(*words, "--episodes", 3, "--resume").json["reused"] == 2
