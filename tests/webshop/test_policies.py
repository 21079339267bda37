"""The domain as a whole: who gets what reward, and how the expert gets it."""

from __future__ import annotations

from simia_gym.assembly.suite import Suite
from simia_gym.episode import Episode
from simia_gym.types import Task

from ..oracle.playing import played


def reward(episode: Episode) -> float:
    assert episode.verdict is not None
    assert episode.verdict.reward is not None
    return episode.verdict.reward


def test_expert_falls_back_to_the_best_that_it_saw(suite: Suite) -> None:
    """A request that nothing meets: it still buys, within the turns."""
    for task in list(suite.tasks)[:40]:
        assert task.instruction is not None
        text = task.instruction.replace(" should be ", " should be made on the moon, ").replace(
            " should have ", " should have lunar dust, "
        )
        setup = ({**task.setup[0], "value": text},)
        strange = Task(task.id, task.split, task.kind, text, setup, options=task.options)
        episode = played(suite, strange)
        assert episode.ended == "purchase"
        assert reward(episode) > 0
