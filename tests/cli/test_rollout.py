"""`simia rollout`: what is played, recorded and told."""

from __future__ import annotations

import json
import re
from pathlib import Path
from xml.etree import ElementTree

import pytest

from simia_gym import env_ids
from simia_gym.assembly.settings import EnvConfig
from simia_gym.assembly.suite import load_suite
from simia_gym.record.records import read_records
from simia_gym.record.transcript import transcript

from ..proof.stage import played
from .conftest import HALF, Simia, tables_of
from .servers import answering


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


@pytest.mark.parametrize("env", env_ids())
def test_first_run_of_every_environment(env: str, simia: Simia) -> None:
    value = simia("rollout", env, "--episodes", 3, "--json").json
    assert (value["env"], value["episodes"], value["valid"], value["faults"]) == (env, 3, 3, 0)
    assert value["mean_reward"] > 0.5
    assert value["record"] == f"runs/{env.removeprefix('simia/')}-expert-1.jsonl"
    records = list(read_records(value["record"]))
    assert [record.turns for record in records] == [len(record.actions) for record in records]
    words = ("--split", "test", "--generated", 4, "--episodes", 24, "--policy", "random", "--json")
    generated = simia("rollout", env, *words).json
    assert generated["episodes"] == generated["valid"] == 24
    assert simia("replay", value["record"], "--json").json["proven"] == 3
    assert simia("replay", generated["record"], "--json").json["proven"] == 24


def test_what_people_and_scripts_are_told(desk: str, simia: Simia) -> None:
    for _ in range(2):
        result = simia("rollout", "simia/custom-v0", "--domain", desk, "--out", "a.jsonl", "--svg", "pictures/a.svg")
        assert (result.code, result.err) == (0, "")
        assert "4/4" in result.out
        assert re.search(r"^swap\s+1\s+100.0%", result.out, re.MULTILINE)
        assert "record: a.jsonl" in result.out
        ElementTree.fromstring(Path("pictures/a.svg").read_text())
        Path("a.jsonl").unlink()
    scripts = [simia("rollout", desk, "--json") for _ in range(3)]
    assert [one.json["record"] for one in scripts] == [f"runs/desk-expert-{n}.jsonl" for n in (1, 2, 3)]
    assert [len(one.out.splitlines()) for one in scripts] == [1, 1, 1]
    torn = simia("rollout", desk, "--episodes", 4, "--group", 3)
    assert "the last group has 1 of 3 episodes" in torn.out + torn.err


def test_record_line_has_the_documented_keys(desk: str, simia: Simia) -> None:
    record = Path(simia("rollout", desk, "--group", 2, "--seed", 5, "--json").json["record"])
    lines = [json.loads(line) for line in record.read_text().splitlines()]
    assert list(lines[0]) == [
        *("v", "key", "run", "config", "domain_hash", "task", "kind", "split", "seed", "group", "member", "policy"),
        *("reward", "valid", "success", "score", "turns", "ended", "verdict", "fault", "events", "head"),
    ]
    assert lines[0]["config"] == {"env": "simia/custom-v0", "domain": "desk"}
    assert {name: lines[0]["run"][name] for name in ("seed", "group")} == {"seed": 5, "group": 2}
    assert re.fullmatch("[0-9a-f]{16}", lines[0]["run"]["policy_hash"])
    assert not re.search(r"time|seconds|/tmp|" + str(Path.cwd()), record.read_text())
    times = [json.loads(line) for line in record.with_suffix(".times.jsonl").read_text().splitlines()]
    assert [item["key"] for item in times] == [line["key"] for line in lines]


def test_invalid_episodes_give_exit_code_1_and_count_in_no_rate(desk: str, simia: Simia) -> None:
    Path("half.py").write_text(HALF)
    result = simia("rollout", desk, "--group", 8, "--policy", "half.py:Half", "--json")
    value = result.json
    assert (result.code, value["success_rate"], value["fault_kinds"]) == (1, 0, {"policy:bug": value["faults"]})
    assert 0 < value["valid"] == 32 - value["faults"]
    Path("bad.py").write_text("class Bad:\n    def act(self, messages): raise RuntimeError('one\\ntwo')\n")
    result = simia("rollout", desk, "--policy", "bad.py:Bad", "--json")
    assert (result.code, result.json["success_rate"], result.json["mean_reward"]) == (1, None, None)
    assert "policy:bug x 4: RuntimeError: one two\n" in result.err


@pytest.mark.parametrize(("words", "shown"), [([], 1), (["-v"], 5)])
def test_a_bug_of_the_policy_is_shown_and_ends_the_run(words: list[str], shown: int, desk: str, simia: Simia) -> None:
    Path("bad.py").write_text("class Bad:\n    def act(self, messages):\n        return {}['no such key']\n")
    result = simia("rollout", desk, "--policy", "bad.py:Bad", "--group", 8, "--concurrency", 1, *words, "--json")
    assert (result.code, result.json["stopped"], result.json["faults"]) == (1, "bug", 5)
    assert result.err.count("return {}['no such key']") == result.err.count("Traceback") == shown
    assert "stopped: all 5 episodes ended with the same bug of the policy: KeyError: 'no such key'" in result.err


def test_an_agent_that_forgets_to_return_ends_the_run_and_is_told_what_to_return(desk: str, simia: Simia) -> None:
    Path("bad.py").write_text("class Bad:\n    def act(self, messages):\n        'Hello.'\n")
    result = simia("rollout", desk, "--policy", "bad.py:Bad", "--group", 8, "--concurrency", 1, "--json")
    assert (result.code, result.json["stopped"], result.json["faults"]) == (1, "bug", 5)
    assert "not a NoneType. Give a str, or a dictionary in OpenAI's layout" in result.err


def test_replies_that_were_cut_are_counted_in_table_and_json(desk: str, simia: Simia) -> None:
    Path("cut.py").write_text(
        "class Cut:\n"
        "    def act(self, messages):\n"
        "        if len(messages) > 3:\n"
        "            return {'role': 'assistant', 'content': 'And so I', 'finish_reason': 'length'}\n"
        '        return \'<tool_call>{"name": "get_member", "arguments": {}}</tool_call>\\n<tool_response>\\nAda\'\n'
    )
    words = ("rollout", desk, "--policy", "cut.py:Cut", "--episodes", 3, "--max-turns", 2)
    value = simia(*words, "--json", "--out", "j.jsonl").json
    assert (value["length"], value["invented_observations"], value["context_overflows"]) == (3, 3, 0)
    shown = simia(*words, "--out", "t.jsonl")
    assert "cut off by max_tokens (finish_reason length): 3 actions" in shown.out + shown.err
    assert "cut at an invented observation: 3 actions" in shown.out + shown.err
    assert simia("replay", "t.jsonl").code == 0


def test_many_kinds_stand_together_and_long_names_have_room(simia: Simia, monkeypatch: pytest.MonkeyPatch) -> None:
    rows = tables_of(simia("rollout", "retail", "--generated", 40, "--policy", "null").out)["task kind"]
    assert len(rows) <= 13
    assert sum(int(row["valid"]) for row in rows.values()) == 2 * int(rows["all"]["valid"]) == 160
    monkeypatch.setenv("COLUMNS", "60")
    assert "refuse_cancel_processed" in tables_of(simia("rollout", "retail", "--episodes", 12).out)["task kind"]


@pytest.mark.parametrize("env", [*env_ids(), "desk"])
@pytest.mark.parametrize("policy", ["expert", "random", "claimer"])
def test_transcript_is_what_the_policy_saw(env: str, policy: str, desk: str, simia: Simia) -> None:
    value = simia("rollout", env, "--policy", policy, "--episodes", 4, "--json").json
    suite = load_suite(EnvConfig.from_json(next(read_records(value["record"])).config))
    for record in read_records(value["record"]):
        assert transcript(record) == played(suite, suite.task(record.task), policy, seed=record.seed).messages


def test_typing_what_holds_anyway_changes_nothing(simia: Simia) -> None:
    words = ["rollout", "retail", "--episodes", 2, "--out", "a.jsonl", "--json"]
    assert simia(*words).code == 0
    before = Path("a.jsonl").read_bytes()
    typed = ["--user", "scripted", "--simulator", "world", "--option", "compat=null", "--split", "train"]
    assert simia(*words, *typed, "--resume").json["reused"] == 2
    assert Path("a.jsonl").read_bytes() == before
    assert "was written with split='train'" in simia(*words, "--split", "test", "--resume").err


GENERATOR = """
from simia_gym.domain.tasks import task_from_json

def generate(split, index):
    if index == 2:
        raise SystemExit(0)
    name = f'{split}-{index}' if index != 1 else f'{split}-1-b'
    task = {'id': name, 'split': split, 'kind': 'more', 'instruction': '?', 'goal': []}
    return task_from_json(task, 'here')
"""


def test_task_generator_that_breaks_is_told_after_everything_else(desk: str, simia: Simia) -> None:
    Path(desk, "more.py").write_text(GENERATOR)
    with Path(desk, "domain.yaml").open("a") as file:
        file.write("generator: more.py:generate\n")
    result = simia("rollout", desk, "--generated", 4, "--policy", "null", "--json")
    assert (result.code, result.json["episodes"]) == (2, 6)
    assert "cannot be made" in result.json["error"]
    assert result.err.splitlines()[-1].startswith("simia: error: tasks: 2 of the tasks cannot be made")
    assert "the id of generated task 1 is 'train-1-b'" in result.err


def test_a_policy_changes_its_copy_of_the_tools_only(desk: str, simia: Simia) -> None:
    Path("edits.py").write_text(
        "import copy\nimport pytest\n\n\nclass Edits:\n"
        "    def start(self, start):\n"
        "        with pytest.raises(TypeError):\n"
        "            start.tools[0]['mine'] = True\n"
        "        copy.deepcopy(start.tools)[0]['mine'] = True\n"
        "    def act(self, messages): return ''\n"
    )
    assert simia("rollout", desk, "--policy", "edits.py:Edits", "--json").json["valid"] == 4
