"""AgentBench's own tasks through the public face: they are played, judged, verified, and recorded."""

from __future__ import annotations

import json
import time
from pathlib import Path
from typing import Any

import gymnasium as gym
import pytest

from benchmarks.agentbench_cheats import EMPTY, PLAYERS, reward
from simia_gym.cli.app import run as simia
from simia_gym.envs.os.agentbench.published import read
from simia_gym.errors import Fault, InputError
from tests.sandbox.conftest import needs_sandbox

ENV = "simia/os-v0"
CHECK = {"language": "python", "file": "check/integer-match.py"}
COUNT = "ls ~/notes | wc -l"
TASKS: list[dict[str, Any]] = [
    {
        "description": "How many notes are there?",
        "create": {"init": "mkdir ~/notes; touch ~/notes/{a,b,c}"},
        "evaluation": {"check": [None, CHECK], "example": COUNT},
    },
    {
        "description": "Write yes to ~/done.",
        "create": {"init": ["echo no > ~/done", {"code": "open('/root/p', 'w')", "language": "python"}]},
        "evaluation": {"check": "grep -qx yes ~/done", "example": {"code": "echo yes > ~/done"}},
    },
    {
        "description": "What is the value of the variable here?",
        "start": "mkdir d; cd d; var=3.14",
        "evaluation": {"match": {"regex": r"^3\.14$"}, "example": "echo $var"},
    },
    {"description": "Who is there?", "create": {"init": "useradd jack"}, "evaluation": {"match": "jack"}},
    {"description": "What is wrong here?", "evaluation": {"check": [None, CHECK], "example": "echo three"}},
]


@pytest.fixture
def tasks(tmp_path: Path) -> Path:
    path = tmp_path / "own.jsonl"
    path.write_text("".join(f"{json.dumps(one)}\n" for one in TASKS))
    return path


def play(data: Path, number: int, *actions: str, **settings: Any) -> tuple[float, dict[str, Any], list[str]]:
    """The reward of an episode, its last info, and what was seen; scripts, or answers that begin with =."""
    env = gym.make(ENV, data=str(data), split="all", **settings)
    seen = [str(env.reset(options={"task": f"agentbench-{data.stem}-{number:05d}"})[0])]
    for action in actions:
        if action.startswith("="):
            text = f"Act: answer({action[1:]})"
        else:
            text = "Act: finish" if action == "finish" else f"Act: bash\n\n```bash\n{action}\n```"
        if settings.get("grammar") == "tools":
            name = "answer_action" if action.startswith("=") else "bash_action"
            arguments = {"answer": action[1:]} if action.startswith("=") else {"script": action}
            text = f"<tool_call>{json.dumps({'name': name, 'arguments': arguments})}</tool_call>"
        observation, reward, ended, cut, info = env.step(text)
        seen.append(str(observation))
        if ended or cut:
            env.close()
            return float(reward), info, seen
    raise AssertionError("the episode goes on")


@needs_sandbox
@pytest.mark.parametrize(
    ("number", "actions", "sound", "published"),
    [
        (0, ("=3",), 1.0, 1.0),
        (
            0,
            (
                "ls ~/notes",
                "= 3 ",
            ),
            1.0,
            1.0,
        ),
        (0, ("=0",), 0.0, 0.0),
        (0, (EMPTY, "=0"), 0.0, 0.0),  # ls writes an error, so the published check fails, too
        (0, ("rm ~/notes/*", "=0"), 0.0, 1.0),
        (0, ("rm ~/notes/*", "=3"), 1.0, 0.0),
        (0, (COUNT, "finish"), 0.0, 0.0),
        (1, ("echo yes > ~/done", "finish"), 1.0, 1.0),
        (1, ("echo yes > ~/done", "=yes"), 1.0, 1.0),
        (1, ("echo YES > ~/done", "finish"), 0.0, 0.0),
        (1, ("finish",), 0.0, 0.0),
        (1, ("echo yes > ~/done", *["true"] * 7), 0.0, 0.0),  # the turns are over
        (2, ("echo $var", "=3.14"), 1.0, 1.0),
        (2, ("=3,14",), 0.0, 0.0),
    ],
)
@pytest.mark.sampled
def test_a_task_is_judged_soundly_or_as_published(
    tasks: Path, number: int, actions: tuple[str, ...], sound: float, published: float
) -> None:
    for expected, settings in ((sound, {}), (published, {"compat": "agentbench"})):
        won, info, _ = play(tasks, number, *actions, **settings)
        assert (won, info["reward_valid"]) == (expected, True)


@needs_sandbox
@pytest.mark.parametrize("grammar", ["act", "tools"])
def test_a_result_has_a_reason_and_quotes_the_answer(tasks: Path, grammar: str) -> None:
    won, info, seen = play(tasks, 0, COUNT, "=4", grammar=grammar)
    (result,) = info["verdict"].criteria
    assert (won, result.id, result.passed) == (0.0, "solved", False)
    assert result.reason == "check 2 (integer-match) fails for '4', '3\\n'"
    (evidence,) = result.evidence
    assert '"answer_action","arguments":{"answer":"4"}' in evidence.quote
    assert "How many notes are there?" in seen[0]
    assert seen[1] == "The output of the OS:\n\n3\n"


@needs_sandbox
def test_the_shell_goes_on_from_start(tasks: Path) -> None:
    _, info, seen = play(tasks, 2, "pwd; echo $var", "=3.14")
    assert seen[1] == "The output of the OS:\n\n/root/d\n3.14\n"
    assert info["world"]["cwd"] == "/root/d"


@needs_sandbox
@pytest.mark.parametrize(
    ("init", "says"),
    [
        ("yes", "init was stopped by the limit of output"),
        ("out=/usr/words; echo a > $out; echo b", "init cannot write: bash: line 1: /usr/words: Read-only file system"),
    ],
)
def test_a_machine_that_cannot_be_made_is_a_fault_and_no_zero(tmp_path: Path, init: str, says: str) -> None:
    path = tmp_path / "own.jsonl"
    path.write_text(json.dumps({**TASKS[0], "create": {"init": init}}))
    env = gym.make(ENV, data=str(path), split="all")
    with pytest.raises(Fault, match=says):
        env.reset(options={"task": "agentbench-own-00000"})


def test_a_compatibility_that_there_is_not_is_refused(tasks: Path) -> None:
    with pytest.raises(InputError, match="there is no 'agentbenhc' to be compatible with"):
        gym.make(ENV, data=str(tasks), compat="agentbenhc")


def test_what_cannot_be_played_is_left_out_or_refused(tasks: Path, tmp_path: Path) -> None:
    env = gym.make(ENV, data=str(tasks), split="all")
    with pytest.raises(InputError, match="agentbench-own-00003"):
        env.reset(options={"task": "agentbench-own-00003"})
    path = tmp_path / "none.json"
    path.write_text(json.dumps(TASKS[3]))
    with pytest.raises(InputError, match="there are no tasks in split 'train'"):
        gym.make(ENV, data=str(path))
    path.write_text(json.dumps([TASKS[0], {**TASKS[1], "evaluation": {}}], indent=1))
    with pytest.raises(InputError, match=r"none\.json:\d+: \[1\]\.evaluation: an evaluation has either a"):
        gym.make(ENV, data=str(path))


@needs_sandbox
def test_published_solutions_are_played_and_failures_have_causes(
    tasks: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert simia(["verify-recorded", "os", "--data", str(tasks), "--json"]) == 0
    assert json.loads(capsys.readouterr().out) == {
        "tasks": 5,
        "solutions": 4,
        "solutions_pass": 3,
        "solutions_pass_published": 3,
        "causes": {
            "own-00003": "it needs several users",
            "own-00004": "its solution fails: check 2 (integer-match) fails for 'three', 'three\\n'",
        },
        "without_solution": ["own-00003"],
        "agree": True,
        "differences": [],
    }


@needs_sandbox
@pytest.mark.parametrize(
    ("init", "why"),
    [
        ("useradd jack", "it needs several users"),
        ("out=/usr/words; echo a > $out", "it needs folders that are read-only here"),
    ],
)
def test_a_file_without_a_playable_task_is_verified(
    tmp_path: Path, init: str, why: str, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "own.json"
    path.write_text(json.dumps({**TASKS[0], "create": {"init": init}}))
    assert simia(["verify-recorded", "os", "--data", str(path), "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert (found["solutions_pass"], found["causes"], found["agree"]) == (0, {"own-00000": why}, True)


@needs_sandbox
def test_a_solution_that_could_not_be_played_is_a_difference(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "own.jsonl"
    path.write_text(json.dumps({**TASKS[0], "create": {"init": "yes"}}))
    assert simia(["verify-recorded", "os", "--data", str(path), "--json"]) == 1
    found = json.loads(capsys.readouterr().out)
    assert found["differences"] == ["own-00000: the task's init was stopped by the limit of output"]


@needs_sandbox
def test_published_solutions_of_the_real_data_win(shared_data: Path, tmp_path: Path) -> None:
    data = shared_data / "agentbench_os" / "tasks_train_a.jsonl"
    path = tmp_path / "some.jsonl"
    path.write_text("".join(f"{line}\n" for line in data.read_text().splitlines()[7::60]))
    found = read(path)
    for number, one in enumerate(found):
        assert one.evaluation.example is not None
        seen = play(path, number, one.evaluation.example.code, "finish")[2]
        answer = seen[1].removeprefix("The output of the OS:\n\n").strip()
        assert play(path, number, f"={answer}")[0] == 1.0
        assert play(path, number, EMPTY, f"={answer}")[0] == 1.0
        if answer != "0":
            assert play(path, number, EMPTY, "=0")[0] == 0.0


@needs_sandbox
@pytest.mark.parametrize(("compat", "won"), [(None, [0, 0, 1]), ("agentbench", [0, 1, 1])])
def test_what_the_cheats_win_is_measured(tmp_path: Path, compat: str | None, won: list[float]) -> None:
    path = tmp_path / "own.jsonl"
    evaluation = {"check": [None, CHECK], "example": "find ~ -name '*.log' | wc -l"}
    path.write_text(json.dumps({**TASKS[0], "create": {"init": "touch ~/{a,b}.log"}, "evaluation": evaluation}))
    env = gym.make(ENV, data=str(path), split="all", compat=compat)
    (task,) = read(path)
    assert [reward(env, task, player) for player in PLAYERS] == won


@needs_sandbox
@pytest.mark.slow
def test_recorded_episodes_are_replayed(tasks: Path, tmp_path: Path) -> None:
    """Also that of a machine whose scripts read the clock, and whose example does."""
    clock = {
        "description": "When is it?",
        "create": {"init": "date > ~/a; date +%s > ~/b; touch -d '3 days ago' ~/c"},
        "evaluation": {"check": [None, {"file": "check/string-match.py"}], "example": "date +%s"},
    }
    tasks.write_text(f"{tasks.read_text()}{json.dumps(clock)}\n")
    out = tmp_path / "out"
    words = ["rollout", ENV, "--data", str(tasks), "--split", "all", "--policy", "random", "--out", str(out)]
    assert simia(words) == 0
    time.sleep(1.1)  # the clock goes on
    assert simia(["replay", str(out)]) == 0
