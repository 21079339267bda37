"""Own tasks: what is drawn, their sentences, goals, answers, and the expert."""

from __future__ import annotations

import re
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator, Sequence, Set
from typing import Any

import gymnasium as gym
import pytest

from simia_gym.common.event_loop import run_sync
from simia_gym.envs.os.work.drawing import words
from simia_gym.envs.os.work.expert import OsExpert
from simia_gym.envs.os.work.generate import fixed_tasks, generate
from simia_gym.envs.os.work.sentences import kinds, requests, ways
from simia_gym.policies import Policy
from simia_gym.rollout.play import play
from simia_gym.sandbox import Sandbox, new_shell
from simia_gym.state.pointer import pointer_parts
from simia_gym.trees import entry_of, row_of, time_value
from simia_gym.types import Message, Split, Task, Verdict

from ..proof.stage import suite_of
from ..sandbox.conftest import needs_sandbox

ENV = "simia/os-v0"
SPLITS: Sequence[Split] = ("train", "dev", "test")
ONE_OF_EACH = [
    next(task for task in (generate("test", n) for n in range(100)) if task.options["way"] == way) for way in ways()
]


def rows(task: Task, table: str = "files") -> dict[str, Any]:
    """The rows that a task puts into a table."""
    parts = ((pointer_parts(op["path"]), op["value"]) for op in task.setup)
    return {key: value for (name, key), value in parts if name == table}


def wanted(task: Task) -> dict[str, Any]:
    """The rows of its files at the end."""
    end = rows(task) | {pointer_parts(op["path"])[1]: op["value"] for op in task.goal or ()}
    return {path: row for path, row in end.items() if row is not None}


def asked(task: Task) -> str | None:
    answer: str | None = task.gold[-1]["arguments"].get("answer")
    return answer


def test_there_are_ten_kinds_with_ways_and_sentences_of_their_own() -> None:
    assert len(kinds()) == 10
    assert all(len(found) >= 3 for found in kinds().values())
    assert all(len(way.say) >= 2 for way in ways().values())
    assert len(sentences := [text for way in ways().values() if way.like == way.name for text in way.say]) >= 60
    assert len(set(sentences)) == len(sentences)
    for tasks, count in ((fixed_tasks("train"), 40), (fixed_tasks("test"), 20)):
        assert {task.kind for task in tasks} == set(kinds())
        assert len(tasks) == count


def test_each_split_has_projects_of_its_own() -> None:
    owners = [name for split in SPLITS for name in words(split)]
    assert len(set(owners)) == len(owners)
    for split in SPLITS:
        for task in [*(generate(split, n) for n in range(100)), *(fixed_tasks(split) if split != "dev" else ())]:
            assert {path.split("/")[2] for path in rows(task)} <= set(words(split))


def test_every_sentence_is_read_as_what_it_was_written_from() -> None:
    for index in range(700):
        task = generate("train", index)
        way, values = requests().read(task.instruction or "")
        assert way == ways()[task.options["way"]].like
        assert task.instruction in {text.format(**values) for text in ways()[way].say}


@pytest.mark.slow
def test_nothing_is_done_at_the_beginning_and_every_part_of_a_goal_is_a_change() -> None:
    for index in range(700):
        task = generate("train", index)
        before = rows(task)
        assert (asked(task) is None) == bool(task.goal)
        for op in task.goal or ():
            assert op["value"] != before.get(pointer_parts(op["path"])[1])


@pytest.mark.slow
def test_answers_cannot_be_guessed() -> None:
    answers = Counter(asked(generate("train", index)) for index in range(3000))
    count = sum(answers.values()) - answers.pop(None)
    assert answers.most_common(1)[0][1] < 0.02 * count


def test_tasks_are_drawn_without_a_sandbox() -> None:
    code = """if True:
        import os
        from simia_gym.envs.os.work.generate import generate
        for index in range(40):
            generate("train", index)
        try:
            os.waitpid(-1, os.WNOHANG)
        except ChildProcessError:
            print("no process was started")
    """
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.stdout == "no process was started\n", done.stderr


@needs_sandbox
def test_the_gold_scripts_leave_exactly_what_python_has_computed() -> None:
    with Sandbox() as sandbox:
        for task in ONE_OF_EACH:
            times = {path: time_value(row["time"]) for path, row in rows(task, "times").items()}
            sandbox.put({path: entry_of(row, times[path]) for path, row in rows(task).items()})
            beside = {path: row_of(entry) for path, entry in sandbox.tree().items() if path not in rows(task)}
            shell, output = new_shell(), b""
            for call in task.gold[:-1]:
                done = sandbox.run(call["arguments"]["script"], shell)
                shell, output = done.shell, done.output
            tree = {path: row_of(entry) for path, entry in sandbox.tree().items() if not path.startswith("/tmp/")}
            assert tree == beside | wanted(task), task.id
            assert asked(task) in (None, output.decode().strip()), task.id


def played(tasks: Sequence[Task], grammar: str, player: Policy | None = None) -> Iterator[tuple[Task, Verdict | None]]:
    """Play tasks by the expert, or by somebody else."""
    suite = suite_of(ENV, split="all", simulator="world", grammar=grammar)
    policy, episode = player or suite.load_policy("expert")(), suite.episode()
    for task in tasks:
        run_sync(play(episode, task, seed=0, policy=policy, env=ENV), inline=episode.inline)
        yield task, episode.verdict


class Seer(OsExpert):
    """The expert, of whose actions nothing may come from where it has not looked: names of files, and answers."""

    names: Set[str] = frozenset()

    def act(self, messages: Sequence[Message]) -> str:
        action = super().act(messages)
        text = "\n".join(str(message["content"]) for message in messages if message["role"] != "system")
        for name in self.names:
            if re.search(rf"(?<![\w.-]){re.escape(name)}(?![\w-])", action):
                assert name in text, (name, action)
        if answer := re.findall(r"Act: answer\((.*)\)$", action):
            assert answer[0] in text
        return action


@needs_sandbox
@pytest.mark.slow
def test_the_expert_solves_each_way_by_what_it_has_seen() -> None:
    seer = Seer()
    for task in ONE_OF_EACH:
        paths = {*rows(task), *wanted(task)}
        seer.names = {name for path in paths for name in path.split("/")[2:] if len(name) > 3}
        for _, verdict in played([task], "act", seer):
            assert verdict is not None
            assert verdict.reward == 1, (task.id, verdict)


@pytest.mark.slow
@needs_sandbox
@pytest.mark.parametrize(("grammar", "number"), [("act", 200), ("tools", 40)])
def test_the_expert_solves_generated_tasks(grammar: str, number: int) -> None:
    """Scripts are tried in one grammar; in the other one, that it writes them."""
    tasks = [generate(split, index) for index in range(number) for split in ("train", "test")]
    for task, verdict in played(tasks, grammar):
        assert verdict is not None
        assert verdict.reward == 1, (task.id, verdict)


@needs_sandbox
@pytest.mark.parametrize(
    ("answer", "right"),
    [
        ("{}", True),
        (' "{}" ', True),
        ("`{}`.", True),
        ("{}.0", True),
        ("about {}", False),
        ("{} or 7", False),
        ("not {}", False),
        ("{}1", False),
        ("", False),
    ],
)
def test_an_answer_is_compared_as_a_value(answer: str, right: bool) -> None:
    env = gym.make(ENV, task_order="listed")
    suite = env.unwrapped.suite  # type: ignore[attr-defined]
    task = next(task for task in suite.tasks if task.kind == "counting")
    env.reset(options={"task": task.id})
    env.step("Act: bash\n\n```bash\nls\n```")
    _, reward, terminated, _, info = env.step(f"Act: answer({answer.format(asked(task))})")
    assert (terminated, reward) == (True, float(right))
    assert info["verdict"].valid


@needs_sandbox
@pytest.mark.parametrize(
    ("scripts", "right"),
    [
        (["true"], True),
        ([], False),
        (["echo note > /tmp/mine", "rm /tmp/mine"], True),
        (["echo note > /root/mine"], False),
        (["echo note > /root/mine", "rm /root/mine"], False),
        (["touch -d 2001-01-01 {}"], True),
        (["chmod g+w {}"], False),
        (["chmod g+w {}", "chmod g-w {}"], False),
    ],
)
def test_a_question_wants_a_look_and_no_change_not_even_for_a_moment(scripts: list[str], right: bool) -> None:
    env = gym.make(ENV, task_order="listed")
    suite = env.unwrapped.suite  # type: ignore[attr-defined]
    task = next(task for task in suite.tasks if task.options["way"] == "sum_column")
    env.reset(options={"task": task.id})
    path = re.findall(r"/\S+\.csv", task.instruction or "")[0]
    for script in scripts:
        env.step(f"Act: bash\n\n```bash\n{script.format(path)}\n```")
    assert env.step(f"Act: answer({asked(task)})")[1] == float(right)
