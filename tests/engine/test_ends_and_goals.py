"""Rules that end an episode, tables and keys that goals do not count, and final answers that criteria read."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from simia_gym.assembly.settings import EnvConfig
from simia_gym.assembly.suite import load_suite
from simia_gym.common.event_loop import run_inline
from simia_gym.domain.registration import CUSTOM
from simia_gym.errors import DomainError
from simia_gym.evaluation.checker import check_folder
from simia_gym.types import JsonObject, Step

from ..proof import stage
from .conftest import call, edit, take

RULES = "ends:\n  - path: /counters/a/value\n    value: 5\n    reason: full\n"
ADD = call("add", name="a", amount=0)
UNKNOWN, INVALID, MALFORMED = call("fly"), call("add", amount="many"), "<tool_call>{</tool_call>"


def played(folder: Path, *actions: str) -> Step:
    """Play the actions in an episode of the first task; the last step."""
    suite = load_suite(EnvConfig(CUSTOM, domain=folder))
    episode = suite.episode()
    run_inline(episode.reset(suite.tasks[0], seed=1))
    step = None
    for action in actions:
        assert step is None or not (step.terminated or step.truncated), "the episode ended before the last action"
        step = take(episode, action)
    assert step is not None
    return step


def found(folder: Path) -> list[str]:
    """What `simia check` finds wrong."""
    return [problem.what for problem in check_folder(folder).problems]


@pytest.mark.parametrize(
    ("rule", "actions", "reason"),
    [
        ("{repeat: 3}", (ADD, ADD, ADD), "repeated_action"),
        ("{repeat: 3}", (ADD, ADD, UNKNOWN, ADD, ADD), None),
        ("{repeat: 2, reason: stuck}", (ADD, ADD), "stuck"),
        ("{invalid: 1}", (ADD, UNKNOWN), "invalid_action"),
        ("{invalid: 1}", (ADD, INVALID), "invalid_action"),
        ("{invalid: 1}", (ADD, MALFORMED), "invalid_action"),
        ("{invalid: 1}", (ADD, call("add", name="nobody")), None),  # a tool that fails was a valid call
        ("{invalid: 2}", (UNKNOWN, ADD, UNKNOWN), None),
        ("{invalid: 2}", (UNKNOWN, MALFORMED), "invalid_action"),
    ],
)
def test_equal_or_invalid_actions_in_a_row_end_an_episode(
    folder: Path, rule: str, actions: tuple[str, ...], reason: str | None
) -> None:
    edit("domain.yaml", RULES, f"ends:\n  - {rule}\n")(folder)
    last = played(folder, *actions)
    assert (last.terminated, last.truncated, last.info.get("ended")) == (reason is not None, False, reason)
    assert reason is None or (last.verdict is not None and last.verdict.valid)


@pytest.mark.parametrize("rule", ["{repeat: 1}", "{invalid: 0}", "{path: /a/b}", "{repeat: 2, invalid: 1}", "{}"])
def test_a_rule_that_says_too_little_or_too_much_is_an_error(folder: Path, rule: str) -> None:
    edit("domain.yaml", RULES, f"ends:\n  - {rule}\n")(folder)
    with pytest.raises(DomainError, match=r"ends\[0\]"):
        load_suite(EnvConfig(CUSTOM, domain=folder))


def two_tables(folder: Path, *, counted: bool) -> None:
    """Let `add` also change a working directory, whose table goals count or not; the key of one row is a path."""
    edit("domain.yaml", "state_schema: null", "state_schema: state.schema.json")(folder)
    schema = {"tables": {"counters": {}, "place": {"goal": counted}, "files": {}}}
    (folder / "state.schema.json").write_text(json.dumps(schema))
    rows = {"counters": {"a": {"value": 0}}, "place": {"main": {"open": ""}}, "files": {"/tmp/x": {"n": 0}}}
    (folder / "state.json").write_text(json.dumps(rows))
    edit("world.py", 'reads=("counters",), writes=("counters/*/value",)', 'reads=("counters",), writes=("*",)')(folder)
    edit("world.py", "return row[", "db.edit('place', 'main')['open'] = name\n        return row[")(folder)
    gold = [{"name": "add", "arguments": {"name": "a", "amount": 3}}]
    task = json.loads((folder / "train.jsonl").read_text())
    (folder / "train.jsonl").write_text(json.dumps({**task, "gold": gold}) + "\n")


@pytest.mark.parametrize("counted", [True, False])
def test_a_table_can_be_outside_goals(folder: Path, counted: bool) -> None:
    two_tables(folder, counted=counted)
    last = played(folder, call("add", name="a", amount=3), call("stop"))
    assert last.reward == (0.0 if counted else 1.0)
    problems = found(folder)
    assert any("/place/main" in what for what in problems) is counted
    edit("train.jsonl", "/counters/a/value", "/place/main/open")(folder)
    assert any("do not count" in what for what in found(folder)) is not counted


def test_a_rubric_ignores_keys_by_pattern_and_the_check_of_gold_actions_agrees(folder: Path) -> None:
    two_tables(folder, counted=False)
    edit("world.py", "db.edit('place', 'main')['open'] = name", "db.edit('files', '/tmp/x')['n'] = 1")(folder)
    act = call("add", name="a", amount=3), call("stop")
    assert played(folder, *act).reward == 0.0
    assert any("/files/~1tmp~1x" in what for what in found(folder))
    edit("rubric.yaml", "program: goal_state", 'program: goal_state, ignore: ["/files/~1tmp~1*"]')(folder)
    assert played(folder, *act).reward == 1.0
    as_list = found(folder)
    assert not any("/files/~1tmp~1x" in what for what in as_list)
    edit("rubric.yaml", '["/files/~1tmp~1*"]', '"/files/~1tmp~1*"')(folder)  # one text is like a list of one
    assert found(folder) == as_list
    edit("world.py", 'writes=("*",)', 'writes=("counters", "files/~1tmp~1y*")')(folder)
    assert "fault" in played(folder, act[0]).info  # the write lies outside the pattern
    edit("world.py", "files/~1tmp~1y*", "files/~1tmp~1*")(folder)
    assert played(folder, *act).reward == 1.0


@pytest.mark.parametrize(("answer", "reward"), [("It is 98.", 1.0), ("It is 97.", 0.0)])
def test_criteria_read_a_final_answer(folder: Path, answer: str, reward: float) -> None:
    edit("domain.yaml", RULES, "ends_on_reply: true\n")(folder)
    edit("rubric.yaml", "{program: goal_state}", '{program: says, all: ["98"]}')(folder)
    last = played(folder, answer)
    assert (last.info["ended"], last.reward) == ("agent_end", reward)


@pytest.mark.parametrize("name", ["null", "claimer", "refuser"])
@pytest.mark.parametrize("ending", ["reply", "tool"])
def test_policies_without_work_end_as_the_domain_ends(folder: Path, name: str, ending: str) -> None:
    edit("domain.yaml", RULES, f"ends_on_reply: {'true' if ending == 'reply' else 'false'}\n")(folder)
    suite = load_suite(EnvConfig(CUSTOM, domain=folder))
    episode = stage.played(suite, suite.tasks[0], name)
    assert (episode.ended, episode.turn) == ("agent_end" if ending == "reply" else "terminal_tool", 1)


ADD_98 = {"name": "add", "arguments": {"name": "a", "amount": 98}}


@pytest.mark.parametrize(
    ("gold", "replies", "problem"),
    [
        ([ADD_98, {"end": "It is 98."}], True, None),
        ([ADD_98, {"end": "It is 97."}], True, "gold does not succeed (reward 0.0, ended by agent_end): counted"),
        ([ADD_98], True, "gold does not succeed (reward 0.0, ended by token_limit): counted"),
        ([{"say": "It is 98."}], False, "its first error: Error: nobody reads messages here"),
        ([ADD_98, {"end": "98"}], False, "the episode is invalid: "),
    ],
)
def test_gold_actions_of_a_task_without_a_goal_are_played(
    folder: Path, gold: list[JsonObject], replies: bool, problem: str | None
) -> None:
    edit("domain.yaml", RULES, f"ends_on_reply: {str(replies).lower()}\n")(folder)
    edit("rubric.yaml", "{program: goal_state}", '{program: says, all: ["98"]}')(folder)
    task = json.loads((folder / "train.jsonl").read_text())
    (folder / "train.jsonl").write_text(json.dumps({**task, "goal": None, "gold": gold}) + "\n")
    problems = [each for each in found(folder) if "tools file" not in each]
    assert problems == [] if problem is None else problem in problems[0]
