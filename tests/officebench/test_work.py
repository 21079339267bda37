"""Own tasks: their split by apps, their sentences, their answers, and the expert."""

from __future__ import annotations

import subprocess
import sys

import gymnasium as gym
import pytest

from simia_gym.common.event_loop import run_sync
from simia_gym.envs.officebench.grammar import AnswerGrammar
from simia_gym.envs.officebench.work.generate import generate
from simia_gym.envs.officebench.work.sentences import kinds, read_request
from simia_gym.rollout.play import play
from simia_gym.types import Calls, ToolCall

from ..proof.stage import suite_of

ENV = "simia/officebench-v0"


def written(name: str, **arguments: object) -> str:
    return AnswerGrammar().render(Calls((ToolCall(name, arguments),)))


@pytest.mark.parametrize("grammar", ["answer", "tools"])
@pytest.mark.slow
def test_the_expert_solves_generated_tasks(grammar: str) -> None:
    """In both grammars; many more are played among those of all domains."""
    suite = suite_of(ENV, split="all", simulator="world", grammar=grammar)
    player, episode = suite.load_policy("expert")(), suite.episode()
    for index in range(40):
        for split in ("train", "test"):
            task = generate(split, index)
            run_sync(play(episode, task, seed=0, policy=player, env=ENV), inline=episode.inline)
            assert episode.verdict is not None
            assert episode.verdict.reward == 1, (task.id, episode.verdict)


def test_training_needs_one_app_and_tests_need_several() -> None:
    for index in range(100):
        assert generate("train", index).options["apps"] == generate("dev", index).options["apps"] == 1
        assert generate("test", index).options["apps"] in (2, 3)
    assert {generate("test", index).options["apps"] for index in range(24)} == {2, 3}


def test_every_sentence_is_read_as_what_it_was_written_from() -> None:
    for kind in kinds().values():
        for number, text in enumerate(kind.say):
            slots = {name: f"{name}-{number}" for name in ("person", "other", "file", "column", "source")}
            slots |= dict.fromkeys(("summary", "subject", "content", "target", "name", "value"), "something else")
            slots |= {"day": "3 May 2024", "start": "09:00", "end": "10:00", "length": "30", "limit": "5"}
            way, read = read_request(text.format(**slots))
            assert way == kind.way
            assert read == {name: slots[name] for name in read}


@pytest.mark.parametrize(
    ("answer", "right"),
    [
        ("{}", True),
        (' "{}" ', True),
        ("{}.", True),
        ("{}.0", True),
        ("about {}", False),
        ("{} or 7", False),
        ("not {}", False),
        ("", False),
    ],
)
def test_an_answer_is_compared_as_a_value(answer: str, right: bool) -> None:
    env = gym.make(ENV, task_order="listed")
    suite = env.unwrapped.suite  # type: ignore[attr-defined]
    task = next(task for task in suite.tasks if task.kind == "total")
    env.reset(options={"task": task.id})
    wanted = task.criteria[0]["check"]["value"]
    _, reward, terminated, _, info = env.step(written("system_finish_task", answer=answer.format(wanted)))
    assert (terminated, reward) == (True, float(right))
    assert info["verdict"].valid


def test_work_that_is_done_counts_without_an_end_and_an_end_without_work_does_not() -> None:
    env = gym.make(ENV, task_order="listed", max_turns=2)
    suite = env.unwrapped.suite  # type: ignore[attr-defined]
    task = next(task for task in suite.tasks if task.kind == "print_note")
    for calls, reward in ((task.gold[:2], 1.0), (task.gold[-1:], 0.0)):
        env.reset(options={"task": task.id})
        rewards = [env.step(written(call["name"], **call["arguments"]))[1] for call in calls]
        assert rewards[-1] == reward


@pytest.mark.slow
def test_it_plays_where_the_libraries_of_the_extra_are_missing() -> None:
    code = f"""if True:
        import sys
        sys.modules.update(dict.fromkeys(("openpyxl", "docx", "icalendar", "pypdf")))
        import gymnasium, simia_gym
        from simia_gym.evaluation.evaluate import evaluate
        print(evaluate(gymnasium.make({ENV!r}), "expert")["series"][0]["pass_at_1"]["value"])
    """
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout.split()[-1:]) == (0, ["1.0"]), done.stderr
