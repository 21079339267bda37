"""list, check, new-domain, doctor, help."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from simia_gym import env_ids
from simia_gym.domain.registration import domain_path

from .conftest import Simia, tables_of

COMMANDS = ["list", "rollout", "replay", "verify-recorded", "check", "new-domain", "doctor"]


def test_help_names_every_command(finish: Simia) -> None:
    result = finish("--help")
    assert result.code == 0
    for command in COMMANDS:
        assert command in result.out


@pytest.mark.parametrize("command", COMMANDS)
def test_help_of_every_command(command: str, simia: Simia) -> None:
    result = simia(command, "--help")
    assert result.code == 0
    assert "Usage: simia" in result.out


def test_version(simia: Simia) -> None:
    from simia_gym import __version__

    assert simia("--version").out == f"simia-gym {__version__}\n"


def test_list(finish: Simia) -> None:
    result = finish("list", "--json")
    assert result.code == 0, result.err
    assert [item["id"] for item in result.json] == env_ids()
    for item in result.json:
        assert item["tools"] > 0
        assert set(item["tasks"]) == {"train", "test"}
        assert min(item["tasks"].values()) > 0
        assert item["grammar"]
    table = finish("list")
    assert table.code == 0
    for env in env_ids():
        assert env in table.out


def test_doctor(simia: Simia, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-very-secret-value")
    result = simia("doctor", "--json")
    assert result.code == 0, result.out
    assert result.json["ok"] is True
    found = {(item["part"], item["name"]): item for item in result.json["findings"]}
    assert found["variable", "OPENAI_API_KEY"]["says"] == "set"
    assert found["variable", "OPENAI_BASE_URL"]["says"] == "not set"
    assert {name for part, name in found if part == "environment"} == set(env_ids())
    assert sum(part == "episode" for part, _ in found) == 1
    told = simia("doctor")
    assert told.code == 0
    assert told.out.splitlines()[0] == "no problem found"
    assert "sk-very-secret-value" not in result.out + result.err + told.out + told.err


def test_doctor_begins_with_the_problems(simia: Simia, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    words = ("doctor", "--model", "m", "--base-url", "http://127.0.0.1:9/v1")
    wrong = [item for item in simia(*words, "--json").json["findings"] if item["ok"] is False]
    result = simia(*words)
    assert result.code == 1
    begun, rest = result.out.split("\n\n", 1)
    assert len(begun.splitlines()) == 1 + len(wrong)
    for item in wrong:
        assert item["says"] in begun
    assert all(len(line.rstrip()) <= 80 for line in rest.splitlines())


@pytest.mark.parametrize("width", [60, 80, 200])
def test_the_list_fits_the_terminal(width: int, simia: Simia, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", str(width))
    result = simia("list")
    assert tables_of(result.out)["id"].keys() == set(env_ids())
    assert all(len(line) <= width and "…" not in line for line in result.out.splitlines())


@pytest.mark.parametrize(
    ("words", "meant"),
    [
        (("rollout", "retial"), "retail"),
        (("rollout", "simia/webshp-v0"), "simia/webshop-v0"),
        (("verify-recorded", "simia/retal-v0", "--data", ".", "--rollouts", "x"), "simia/retail-v0"),
        (("rollout", "retail", "--policy", "exprt"), "expert"),
        (("rollout", "retail", "--option", "comapt=x"), "compat"),
        (("rolout", "retail"), "rollout"),
    ],
)
def test_a_mistyped_name_is_answered_with_the_one_that_was_meant(
    words: tuple[str, ...], meant: str, simia: Simia
) -> None:
    result = simia(*words)
    assert result.code == 2
    assert f"Did you mean {meant!r}?" in result.err


def test_new_domain_is_sound_at_once(finish: Simia, tmp_path: Path) -> None:
    made = finish("new-domain", "my-desk")
    assert made.code == 0
    assert "simia check my-desk" in made.out
    assert "name: my_desk " in (tmp_path / "my-desk" / "domain.yaml").read_text()
    result = finish("check", "my-desk", "--json")
    assert result.code == 0, result.out
    value = result.json
    assert value["ok"] is True
    assert value["problems"] == value["notes"] == []
    assert value["selftests"] == {"total": 7, "passed": 7}
    assert {split: sum(t["split"] == split for t in value["tasks"]) for split in ("train", "test")} == {
        "train": 4,
        "test": 2,
    }
    assert all(t["expert"] and t["gold"] and not t["null"] and not t["claimer"] for t in value["tasks"])


def test_new_domain_runs_in_gymnasium(desk: str) -> None:
    import gymnasium as gym

    env = gym.make("simia/custom-v0", domain=desk)
    observation, info = env.reset(seed=1)
    assert "Member M-" in observation
    assert info["tools"]
    env.close()


def test_new_domain_fills_an_empty_folder(simia: Simia) -> None:
    Path("empty").mkdir()
    assert simia("new-domain", "empty", "--json").json["path"] == "empty"


@pytest.mark.parametrize("env", env_ids())
def test_every_environment_is_sound(env: str, simia: Simia) -> None:
    result = simia("check", domain_path(env), "--json")
    assert result.json["problems"] == []
    assert result.code == 0


Change = Callable[[Path], None]


def _edit(name: str, old: str, new: str) -> Change:
    def change(folder: Path) -> None:
        path = folder / name
        text = path.read_text()
        assert old in text
        path.write_text(text.replace(old, new, 1))

    return change


def _append(name: str, text: str) -> Change:
    def change(folder: Path) -> None:
        with (folder / name).open("a") as file:
            file.write(text)

    return change


def _remove(name: str) -> Change:
    return lambda folder: (folder / name).unlink()


def _write(name: str, text: str) -> Change:
    def change(folder: Path) -> None:
        (folder / name).write_text(text)

    return change


def _folder(name: str) -> Change:
    def change(folder: Path) -> None:
        (folder / name).unlink()
        (folder / name).mkdir()

    return change


EASY = {"id": "train-easy", "split": "train", "kind": "x", "instruction": "?", "goal": [], "criteria": []}

BROKEN: list[tuple[str, Change, int, str, str]] = [
    ("no manifest", _remove("domain.yaml"), 2, "", "no domain.yaml"),
    ("yaml", _edit("domain.yaml", "version: 1", "version: [1"), 2, "domain.yaml:", "not valid YAML"),
    ("key", _edit("domain.yaml", "max_turns", "max_turn"), 2, "domain.yaml:", "there is no key 'max_turn'"),
    ("world", _edit("domain.yaml", "LibraryWorld", "Nothing"), 2, "domain.yaml", "has no 'Nothing'"),
    ("world code", _edit("world.py", "LOAN_DAYS = 21", "LOAN_DAYS = ("), 2, "domain.yaml", "line"),
    ("state", _edit("state.json", "}", "}}"), 2, "state.json:", "not valid JSON"),
    ("endless yaml", _append("rubric.yaml", "- &a [*a]\n"), 2, "rubric.yaml", "nested too deeply"),
    ("rubric", _edit("rubric.yaml", "goal_state", "goal_stat"), 2, "rubric.yaml", "goal_stat"),
    ("task line", _append("tasks/train.jsonl", "{oops\n"), 2, "train.jsonl:5", "not valid JSON"),
    ("task split", _append("tasks/test.jsonl", json.dumps(EASY) + "\n"), 2, "test.jsonl:3", "says split 'train'"),
    ("tools", _edit("tools.json", "Lend a copy", "Give a copy"), 1, "tools.json", "'lend_book' is not as the world"),
    ("tools gone", _remove("tools.json"), 1, "tools.json", "--write-tools"),
    ("row", _edit("state.json", '"copies": 2', '"copies": "two"'), 1, "state.json", "/books/B-01/copies"),
    (
        "foreign key",
        _edit("state.json", '"book_id": "B-05", "due"', '"book_id": "B-99", "due"'),
        1,
        "state.json",
        "B-99",
    ),
    ("invariant", _edit("state.json", '"available": 1', '"available": 9'), 1, "state.json", "invariant 'shelf'"),
    ("row key", _edit("state.json", '{"member_id": "M-101"', '{"member_id": "M-100"'), 1, "state.json", "row's key"),
    ("schema", _edit("state.schema.json", '"<="', '"=<"'), 1, "state.schema.json", "is not one of"),
    ("self-test", _edit("selftests.jsonl", "B-02", "B-03"), 1, "selftests.jsonl:1", "observation lacks 'B-03'"),
    ("self-test key", _edit("selftests.jsonl", "contains", "content"), 1, "selftests.jsonl:1", "expect.content"),
    ("gold", _edit("tasks/train.jsonl", '"book_id": "B-02"}}]', '"book_id": "B-01"}}]'), 1, "train-lend", "reach"),
    (
        "gold fails",
        _edit("tasks/train.jsonl", '"book_id": "B-02"}}]', '"book_id": "B-03"}}]'),
        1,
        "train-lend",
        "fails",
    ),
    ("goal", _edit("tasks/train.jsonl", '"path": "/loans/L-2/', '"path": "/loans/L-1/'), 1, "train-return", "expert"),
    ("setup", _edit("tasks/test.jsonl", "/members/M-104", "/staff/x/M-104"), 1, "test-lend", "invalid"),
    ("write set", _edit("world.py", '"books/*/available", "desk/', '"desk/'), 1, "", "outside its write set"),
    ("unknown tool", _edit("rubric.yaml", "tool: close_case", "tool: close"), 1, "closed", "no tool 'close'"),
    ("empty policy", _write("policy.md", "\n"), 1, "policy.md", "is empty"),
    (
        "empty tasks",
        _write("tasks/test.jsonl", ""),
        1,
        "test.jsonl",
        "holds no task",
    ),
    ("self-tests folder", _folder("selftests.jsonl"), 1, "selftests.jsonl", "is a folder"),
    (
        "schema rules",
        _edit("state.schema.json", '"row": {', '"row": 7, "x": {'),
        1,
        "state.schema.json",
        "tables.books.x",
    ),
    ("expert", _edit("expert.py", "MOST_LOANS = 3", "MOST_LOANS = 9"), 1, "test-full", "expert does not succeed"),
]


@pytest.mark.parametrize(("change", "code", "where", "what"), [b[1:] for b in BROKEN], ids=[b[0] for b in BROKEN])
def test_check_names_the_mistake(change: Change, code: int, where: str, what: str, desk: str, simia: Simia) -> None:
    change(Path(desk))
    result = simia("check", desk, "--json")
    assert result.code == code, result.err
    problems = result.json["problems"]
    assert any(where in item["where"] and what in item["what"] + item["fix"] for item in problems), problems
    assert all(item["fix"] for item in problems), problems
    told = simia("check", desk)
    assert told.code == code
    assert what in (told.err if code == 2 else told.out)
    assert "Traceback" not in told.err
    assert len(told.err.splitlines()) == (len(problems) if code == 2 else 0)


def test_tasks_that_nothing_solves_are_found(desk: str, simia: Simia) -> None:
    rubric = Path(desk, "rubric.yaml")
    rubric.write_text("- id: calm\n  kind: interaction\n  check: {program: no_writes}\n")
    result = simia("check", desk, "--json")
    assert result.code == 1
    idle = [item["what"] for item in result.json["problems"] if "succeeds without doing anything" in item["what"]]
    assert any(text.startswith("null") for text in idle)
    assert any(text.startswith("claimer") for text in idle)


def test_domain_without_a_world_is_not_called_sound(desk: str, simia: Simia) -> None:
    _edit("domain.yaml", "world: world.py:LibraryWorld", "world: null")(Path(desk))
    result = simia("check", desk)
    assert result.code == 0, result.err
    assert "only a model could answer the tools' calls (`simia rollout PATH --simulator llm`)" in result.out
    assert result.out.splitlines()[-1] == "desk: its files are sound; nothing could be played"
    assert simia("check", desk, "--json").json["played"] is False
    assert "has no world" in simia("rollout", desk).err


def test_letters_that_the_terminal_lacks_break_nothing(tmp_path: Path) -> None:
    environment = {**os.environ, "PYTHONIOENCODING": "ascii"}
    code = "from simia_gym.cli import main; main()"
    last = ""
    for words in (["list"], ["doctor"], ["rollout", "webshop", "--episodes", "2"], ["list", "--json"]):
        done = subprocess.run(
            [sys.executable, "-c", code, *words], cwd=tmp_path, env=environment, capture_output=True, text=True
        )
        assert done.returncode == 0, done.stderr
        assert "Traceback" not in done.stderr
        last = done.stdout
    assert "?" not in "".join(item["title"] for item in json.loads(last.splitlines()[-1]))


def test_printed_commands_quote_paths(simia: Simia) -> None:
    assert "simia check 'my desk'" in simia("new-domain", "my desk").out


def test_check_lists_several_mistakes(desk: str, simia: Simia) -> None:
    _edit("domain.yaml", "max_turns: 12", "max_turns: none")(Path(desk))
    _edit("domain.yaml", "version: 1", "version: zero")(Path(desk))
    found: list[dict[str, Any]] = simia("check", desk, "--json").json["problems"]
    assert len(found) == 2
    assert all(":" in item["where"] for item in found)


def test_check_writes_tools(desk: str, simia: Simia) -> None:
    path = Path(desk, "tools.json")
    before = path.read_bytes()
    path.unlink()
    assert simia("check", desk, "--write-tools").code == 0
    assert path.read_bytes() == before


@pytest.mark.parametrize("marks", [(", ", ": "), (",", ":")])
def test_check_writes_goals_from_gold_actions(marks: tuple[str, str], desk: str, simia: Simia) -> None:
    path = Path(desk, "tasks", "train.jsonl")
    before = [json.loads(line) for line in path.read_text().splitlines()]
    bare = [{key: value for key, value in task.items() if key != "goal"} for task in before]
    bare[0]["kind"] = "lén"
    bare[1]["goal"] = [{"op": "test", "path": "/loans/L-1/returned", "value": True}]  # the gold actions do not reach it
    bare[2]["goal"], bare[3]["goal"] = before[2]["goal"], before[3]["goal"]
    path.write_text("\n".join(json.dumps(task, ensure_ascii=False, separators=marks) for task in bare) + "\n")
    kept = path.read_text().splitlines()[2]
    result = simia("check", desk, "--write-goals")
    assert result.code == 0, result.out
    assert "2 of 4 goals are new" in " ".join(result.out.split())
    lines = path.read_text().splitlines()
    goals = [[sorted(map(str, task["goal"])) for task in tasks] for tasks in (map(json.loads, lines), before)]
    assert goals[0] == goals[1]
    assert lines[2] == kept
    assert lines[0] == json.dumps(json.loads(lines[0]), ensure_ascii=False, separators=marks)
    assert [*json.loads(lines[0])] == [*bare[0], "goal"]
    assert "goals are new" not in simia("check", desk, "--write-goals").out
    assert path.read_text().splitlines() == lines


def test_goals_are_not_written_from_gold_actions_that_fail(desk: str, simia: Simia) -> None:
    path = Path(desk, "tasks", "train.jsonl")
    path.write_text(path.read_text().replace('"book_id": "B-02"}}]', '"book_id": "B-03"}}]'))
    before = path.read_bytes()
    result = simia("check", desk, "--write-goals")
    assert (result.code, path.read_bytes()) == (2, before)
    assert "train-lend: gold action 0 (lend_book) fails" in result.err


def test_check_of_a_missing_folder(simia: Simia) -> None:
    result = simia("check", "nowhere")
    assert result.code == 2
    assert "nowhere" in result.out + result.err


def test_check_of_a_file_and_of_an_empty_folder(simia: Simia) -> None:
    Path("a.txt").write_text("x")
    Path("empty").mkdir()
    for path, says in (("a.txt", "a.txt: is a file. Name the folder"), ("empty", "has no domain.yaml")):
        result = simia("check", path)
        assert result.code == 2
        assert says in result.err
        assert len(result.err.splitlines()) == 1


def test_check_warns_of_tasks_that_a_refusal_in_general_solves(desk: str, simia: Simia) -> None:
    Path(desk, "own.py").write_text(
        "from simia_gym.rewards.rubric import RubricReward\nfrom simia_gym.types import Verdict\n\n\n"
        "class Own(RubricReward):\n    async def score(self, trace):\n"
        "        said = any('cannot' in event['text'] for event in trace.events if event['type'] == 'action')\n"
        "        return Verdict(float(said), True, said, float(said), 'own', ())\n"
    )
    _edit("domain.yaml", "simia_gym.rewards.rubric:RubricReward", "own.py:Own")(Path(desk))
    result = simia("check", desk, "--json")
    assert any(
        "warning: refuser" in note and "in 6 of 6 tasks: train-lend," in note and "and 1 more" in note
        for note in result.json["notes"]
    )
    assert not any("refuser" in item["what"] for item in result.json["problems"])
    assert [task["refuser"] for task in result.json["tasks"]] == [True] * 6


def test_reward_whose_problems_break_is_named(desk: str, simia: Simia) -> None:
    code = "from simia_gym.rewards.rubric import RubricReward\n\n\nclass Own(RubricReward):\n"
    code += "    def problems(self, task, tools=None):\n        return 1 / 0\n"
    Path(desk, "own.py").write_text(code)
    _edit("domain.yaml", "simia_gym.rewards.rubric:RubricReward", "own.py:Own")(Path(desk))
    result = simia("check", desk, "--json")
    assert result.code == 1
    assert any("problems() raised ZeroDivisionError" in item["what"] for item in result.json["problems"])


@pytest.mark.parametrize(
    ("old", "new", "code"),
    [
        ("simia_gym.rewards.rubric:RubricReward", "own.py:Own", "class Own:\n    pass\n"),
        (
            "simia_gym.rewards.rubric:RubricReward",
            "own.py:Own",
            "class Own:\n    @classmethod\n    def for_domain(cls, *a, **k):\n        raise ValueError(3)\n",
        ),
        (
            "simia_gym.rewards.rubric:RubricReward",
            "own.py:Own",
            "class Own:\n    @classmethod\n    def for_domain(cls, *a, **k):\n        return None\n",
        ),
        ("state: state.json", 'state: "own.py:make"', "def make():\n    raise SystemExit(0)\n"),
        ("state: state.json", 'state: "own.py:make"', "def make():\n    return 7\n"),
    ],
)
def test_code_of_a_domain_that_breaks_is_one_line(old: str, new: str, code: str, desk: str, simia: Simia) -> None:
    Path(desk, "own.py").write_text(code)
    _edit("domain.yaml", old, new)(Path(desk))
    result = simia("rollout", desk)
    assert (result.code, len(result.err.splitlines())) == (2, 1)
    assert "own.py:Own" in result.err or "own.py:make" in result.err or "the domain's code raised" in result.err
    told = simia("check", desk)
    assert told.code in (1, 2)
    assert "Traceback" not in told.out + told.err


def test_name_that_is_a_folder_too_is_asked_about(desk: str, simia: Simia) -> None:
    Path(desk).rename("webshop")
    result = simia("rollout", "webshop")
    assert result.code == 2
    assert "Write simia/webshop-v0 for the one and ./webshop for the other" in result.err
    assert simia("rollout", "./webshop", "--json").json["env"] == "simia/custom-v0"
    assert simia("rollout", "simia/webshop-v0", "--episodes", 1, "--json").json["env"] == "simia/webshop-v0"


def test_template_has_no_leftovers(desk: str) -> None:
    assert sorted(item.name for item in Path(desk).iterdir()) == [
        *("README.md", "domain.yaml", "expert.py", "policy.md", "rubric.yaml", "selftests.jsonl"),
        *("state.json", "state.schema.json", "tasks", "tools.json", "world.py"),
    ]
    shutil.rmtree(desk)
