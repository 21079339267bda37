"""The customer of a brief stays for its wish in tau2-bench's own tasks, too."""

from __future__ import annotations

from pathlib import Path

import pytest

from simia_gym import EnvConfig
from simia_gym.assembly.suite import load_suite
from simia_gym.common.event_loop import run_sync
from simia_gym.common.files import read_yaml

COURTESIES: list[str] = read_yaml(Path(__file__).parents[1] / "domains" / "courtesies.yaml")


@pytest.mark.parametrize("name", ["retail", "airline"])
def test_nobody_leaves_at_a_courtesy_in_first_place(name: str, shared_data: Path) -> None:
    config = EnvConfig(f"simia/{name}-v0", split="all", data=str(shared_data / "tau2" / name), user="brief")
    suite = load_suite(config)
    episode = suite.episode()
    tasks = suite.tasks
    assert len(tasks) >= 30
    for number, task in enumerate(tasks):
        for courtesy in COURTESIES[number % 4 :: 4]:
            run_sync(episode.reset(task, seed=1), inline=episode.inline)
            run_sync(episode.step(courtesy), inline=episode.inline)
            assert episode.ended is None, (task.id, courtesy)
