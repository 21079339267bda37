"""A world that waits: its tools run commands while other episodes go on."""

from __future__ import annotations

import asyncio
import pickle
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import gymnasium as gym
import pytest

from simia_gym.assembly.suite import Suite
from simia_gym.common.event_loop import run_sync
from simia_gym.domain.domain import Domain
from simia_gym.domain.registration import CUSTOM
from simia_gym.episode import Episode
from simia_gym.errors import Fault
from simia_gym.rollout.replay import replay_file
from simia_gym.types import ToolCall, Transition

from ..engine.conftest import edit
from ..proof.stage import suite_of
from ..rollout.conftest import Roll
from ..simulators.desk import Double, tool_call
from .shell import Says, written


@pytest.fixture
def suite(files: Path) -> Suite:
    return suite_of(CUSTOM, domain=str(files), split="all")


def test_commands_of_four_episodes_run_at_the_same_time(suite: Suite, tmp_path: Path) -> None:
    met = tmp_path / "met"
    met.mkdir()
    # The command ends well only once four of its kind run at the same time.
    looks = f"[ $(ls {met} | wc -l) -ge 4 ] && exit; sleep 0.1"
    meets = written(f"touch {met}/$$; for _ in $(seq 100); do {looks}; done; exit 9")
    roll = Roll(suite, tmp_path / "r.jsonl")
    roll(lambda: Says(meets, "Done."), concurrency=8)
    events = [event for record in roll.records for event in record.events]
    assert [event["outcome"] for event in events if event["type"] == "transition"] == ["ok"] * 4


@pytest.mark.parametrize("then", ["sleep 60", Fault("down", "nobody is there", role="policy")])
def test_a_fault_leaves_nothing_in_the_world(suite: Suite, tmp_path: Path, then: str | Fault) -> None:
    actions = written("ls"), written(f"exec {then}") if isinstance(then, str) else then
    assert sum(Roll(suite, tmp_path / "r.jsonl")(lambda: Says(*actions), timeout=1).faults.values()) == 4
    assert kept(suite.domain) == 0


def kept(domain: Domain) -> int:
    """How many folders the world holds."""
    return sum(map(len, getattr(domain.world, "kept").values()))  # noqa: B009


async def say(episode: Episode) -> None:
    await episode.step("Done.")


@pytest.mark.parametrize("ending", [say, Episode.cut, Episode.close])
async def test_no_episode_leaves_anything_in_the_world(
    suite: Suite, ending: Callable[[Episode], Awaitable[object]]
) -> None:
    episodes = [suite.episode() for _ in range(6)]
    await asyncio.gather(*(episode.reset(suite.tasks[0]) for episode in episodes))
    await asyncio.gather(*(episode.step(written("ls")) for episode in episodes))
    assert kept(suite.domain) == 6
    await asyncio.gather(*map(ending, episodes))
    assert kept(suite.domain) == 0
    assert all(episode.ended for episode in episodes)


@pytest.mark.slow
def test_an_environment_gives_up_its_episodes(files: Path) -> None:
    vector: Any = gym.make_vec(CUSTOM, num_envs=3, domain=str(files))
    env: Any = gym.make(CUSTOM, domain=str(files)).unwrapped
    for each, action, number in ((vector, [written("ls")] * 3, 3), (env, written("ls"), 1)):
        for _ in range(2):
            each.reset(seed=1)
            each.step(action)
            assert kept(each.suite.domain) == number
        each.close()
        assert kept(each.suite.domain) == 0


ASKS = """\
    @tool(effect="read", reads=("files",))
    async def describe(self, db: Draft, name: str) -> str:
        \"\"\"Describe a file.

        Args:
            name: The file.
        \"\"\"
        both = [self.ask("reader", f"{part} of {name}?", system="Be brief.") for part in ("Beginning", "End")]
        return " ".join(await asyncio.gather(*both))

    async def end("""


def test_a_tool_asks_a_model_in_a_role_of_the_domain(files: Path, tmp_path: Path) -> None:
    edit("domain.yaml", "max_turns", "roles: {reader: Reads files.}\nmax_turns")(files)
    edit("world.py", "    async def end(", ASKS)(files)
    call = tool_call("describe", name="notes.txt")

    double = Double("Food.", "Salt.")
    asking = suite_of(CUSTOM, domain=str(files), roles={"reader": {"model": "m"}}, models={"reader": double})
    roll = Roll(asking, tmp_path / "r.jsonl")
    roll(lambda: Says(call, call, "Done."))
    assert [message[-1]["content"] for message in double.asked][:2] == ["Beginning of notes.txt?", "End of notes.txt?"]
    assert len(double.asked) == 3 * 2 * 2
    assert all(proof.proven for proof in replay_file(roll.path))
    alone = suite_of(CUSTOM, domain=str(files))
    assert any("reader" in warning for warning in alone.warnings)
    assert Roll(alone, tmp_path / "alone.jsonl")(lambda: Says(call)).faults == {"world:no_model": 3}


def test_a_copy_of_a_running_environment_goes_on_where_it_was(files: Path) -> None:
    env: Any = gym.make(CUSTOM, domain=str(files)).unwrapped
    env.reset(seed=1, options={"task": "append"})
    env.step(written("echo second >> log/a.txt"))
    assert [pickle.loads(pickle.dumps(env)).step("Done.")[1], env.step("Done.")[1]] == [1.0, 1.0]


def test_synchronous_code_waits_for_a_command_even_inside_the_event_loop(suite: Suite) -> None:
    world, state = suite.domain.world, suite.domain.base
    assert world is not None
    call = ToolCall("run", {"command": "echo more >> notes.txt; echo said"})

    async def inside() -> Transition:
        return world.call(state, call)

    answers = [world.call(state, call), run_sync(inside(), inline=False)]
    assert [answer.observation for answer in answers] == ["said\n"] * 2
    assert answers[0].ops == answers[1].ops
