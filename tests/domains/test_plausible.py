"""What the prompts leave open changes no verdict: a simulator that answers in any way they allow loses no episode."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from simia_gym.oracle import OracleOptions, OracleServer, serve_in_thread

from ..proof.stage import play_all
from .table import WORLDS, World


@pytest.fixture(scope="module")
def plausible() -> Iterator[OracleServer]:
    with serve_in_thread(OracleOptions(plausible=True, data_free=True)) as server:
        yield server


@pytest.mark.slow
def test_a_flawless_agent_succeeds_whatever_is_left_open(registered: World, plausible: OracleServer) -> None:
    truth = play_all(registered.suite(simulator="world"), registered.some)
    solved = [task for task in registered.some if truth[task.id].verdict.success]
    played = play_all(registered.suite(plausible.base_url, simulator="llm"), solved)
    lost = {task: outcome.verdict.reason for task, outcome in played.items() if not outcome.verdict.success}
    assert solved
    assert not lost


def test_a_number_that_was_typed_is_written(plausible: OracleServer) -> None:
    """A form is sent by a letter; only the page and its rules say which row changes, and to what."""
    world = next(world for world in WORLDS if world.name == "simia/mind2web-v0")
    suite = world.suite(plausible.base_url, simulator="llm", pins=False)
    tasks = [suite.domain.find_task(f"mind2web-{split}-g000045") for split in ("train", "dev", "test")]
    assert {task: outcome.verdict.reward for task, outcome in play_all(suite, tasks).items()} == {
        task.id: 1 for task in tasks
    }
