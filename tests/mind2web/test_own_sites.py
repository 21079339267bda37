"""A site from a folder of one's own, without Python, is played like the others."""

from __future__ import annotations

from pathlib import Path

import pytest

from simia_gym.assembly.settings import EnvConfig
from simia_gym.assembly.suite import load_suite
from simia_gym.common.event_loop import run_inline
from simia_gym.domain.registration import domain_path
from simia_gym.errors import DomainError
from simia_gym.rollout.play import play

ENV = "simia/mind2web-v0"


@pytest.fixture
def bakery(tmp_path: Path) -> Path:
    """A ninth site: that of the library under other names."""
    text = (domain_path(ENV) / "sites" / "library.yaml").read_text()
    assert "name: library\n" in text
    assert "title: Aldermere Library\n" in text
    path = tmp_path / "bakery.yaml"
    path.write_text(text.replace("name: library\n", "name: bakery\n").replace("Aldermere Library", "Bakery of Books"))
    return path


@pytest.mark.parametrize("folder", [False, True])
def test_an_own_site_is_played(bakery: Path, folder: bool) -> None:
    data = str(bakery.parent if folder else bakery)
    made = load_suite(EnvConfig(ENV, data=data, split="test", generated=3))
    kinds = made.domain.tasks["test"]
    assert len(made.tasks) == len(kinds) + 3
    assert len({task.options["way"] for task in kinds}) == len(kinds)
    assert made.domain.state_schema is not None
    assert [*made.domain.state_schema.problems(made.domain.base)] == []
    expert = made.load_policy("expert")
    for task in [*made.tasks][:: 1 if folder else 4]:
        episode = made.episode()
        run_inline(play(episode, task, seed=1, policy=expert()))
        assert episode.verdict is not None
        assert (task.id, episode.verdict.reward) == (task.id, 1.0)
        assert "Bakery of Books" in episode.messages[1]["content"]
    assert made.task(made.tasks[-1].id) == made.tasks[-1]


def test_a_mistake_in_an_own_site_is_named_with_its_line(bakery: Path) -> None:
    bakery.write_text(bakery.read_text().replace("title: Bakery", "titel: Bakery"))
    with pytest.raises(DomainError, match=r"bakery\.yaml:\d+.*no key 'titel'"):
        load_suite(EnvConfig(ENV, data=str(bakery)))
