"""Episodes of the world, to compare with."""

from __future__ import annotations

from simia_gym.assembly.suite import Suite
from simia_gym.common.event_loop import run_sync
from simia_gym.contracts import User
from simia_gym.episode import Episode
from simia_gym.rollout.play import play
from simia_gym.types import Task


def played(suite: Suite, task: Task, policy: str = "expert", *, seed: int = 0, user: User | None = None) -> Episode:
    """Play one episode to its end."""
    episode = suite.episode()
    if user is not None:
        episode.user, episode.inline = user, False
    make = suite.load_policy(policy)
    trouble = run_sync(play(episode, task, seed=seed, policy=make(), env=suite.config.env), inline=episode.inline)
    assert trouble is None, trouble
    assert episode.verdict is not None
    return episode
