"""A world that waits: its tools run commands while other episodes go on."""

from __future__ import annotations

import asyncio
import json
import shutil
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import gymnasium as gym
import pytest

from simia_gym.assembly.resources import Resources
from simia_gym.assembly.settings import EnvConfig
from simia_gym.assembly.suite import Suite, load_suite
from simia_gym.common.event_loop import run_sync
from simia_gym.domain.domain import Domain
from simia_gym.domain.registration import CUSTOM
from simia_gym.episode import Episode
from simia_gym.errors import Fault
from simia_gym.rollout.play import play
from simia_gym.rollout.replay import replay_file
from simia_gym.types import Message, ToolCall, Transition

from ..rollout.conftest import Roll
from ..simulators.desk import Double

FOLDER = Path(__file__).parent / "fixtures" / "files"


@pytest.fixture
def suite() -> Suite:
    return load_suite(EnvConfig(env=CUSTOM, domain=str(FOLDER), split="all"))


@pytest.fixture
def meeting(tmp_path: Path) -> str:
    """A command that ends well only once four of its kind run at the same time."""
    looks = f"[ $(ls {tmp_path} | wc -l) -ge 4 ] && exit; sleep 0.1"
    return f"touch {tmp_path}/$$; for _ in $(seq 100); do {looks}; done; exit 9"


def written(command: str) -> str:
    return f"<tool_call>{json.dumps({'name': 'run', 'arguments': {'command': command}})}</tool_call>"


def of_four_lanes(suite: Suite, meeting: str, path: Path) -> list[str]:
    vector = gym.make_vec(CUSTOM, num_envs=4, domain=str(FOLDER))
    vector.reset(seed=1)
    return list(vector.step([written(meeting)] * 4)[0])


def of_a_rollout(suite: Suite, meeting: str, path: Path) -> list[str]:
    class Meets:
        def act(self, messages: Sequence[Message]) -> str:
            return "Done." if len(messages) > 2 else written(meeting)

    roll = Roll(suite, path)
    roll(Meets, concurrency=8)
    return [event["observation"] for record in roll.records for event in record.events if event["type"] == "transition"]


@pytest.mark.parametrize("answers", [of_four_lanes, of_a_rollout])
def test_commands_of_four_episodes_run_at_the_same_time(
    suite: Suite, meeting: str, tmp_path_factory: pytest.TempPathFactory, answers: Callable[..., list[str]]
) -> None:
    assert answers(suite, meeting, tmp_path_factory.mktemp("record") / "r.jsonl") == [""] * 4


def kept(domain: Domain) -> int:
    """How many folders the world holds."""
    return sum(map(len, getattr(domain.world, "kept").values()))  # noqa: B009


class Breaks:
    """Works, and then fails."""

    def act(self, messages: Sequence[Message]) -> str:
        if len(messages) > 2:
            raise Fault("down", "nobody is there", role="policy")
        return written("ls")


async def say(episode: Episode) -> None:
    await episode.step("Done.")


async def fail(episode: Episode) -> None:
    assert episode.task is not None
    await play(episode, episode.task, seed=5, policy=Breaks())


@pytest.mark.parametrize("ending", [say, fail, Episode.cut, Episode.close])
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


def test_an_environment_gives_up_its_episodes() -> None:
    vector: Any = gym.make_vec(CUSTOM, num_envs=3, domain=str(FOLDER))
    env: Any = gym.make(CUSTOM, domain=str(FOLDER)).unwrapped
    for each, action, number in ((vector, [written("ls")] * 3, 3), (env, written("ls"), 1)):
        for give_up in ("reset", "close"):
            each.reset(seed=1)
            each.step(action)
            assert kept(each.suite.domain) == number
            getattr(each, give_up)()
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


def test_a_tool_asks_a_model_in_a_role_of_the_domain(tmp_path: Path) -> None:
    folder = tmp_path / "asking"
    shutil.copytree(FOLDER, folder)
    declared = ("domain.yaml", "max_turns", "roles: {reader: Reads files.}\nmax_turns")
    for name, old, new in (declared, ("world.py", "    async def end(", ASKS)):
        (folder / name).write_text((folder / name).read_text().replace(old, new))
    config = EnvConfig(env=CUSTOM, domain=str(folder), simulator="world", roles={"reader": {"model": "m"}})
    call = '<tool_call>{"name": "describe", "arguments": {"name": "notes.txt"}}</tool_call>'

    class Asks:
        def act(self, messages: Sequence[Message]) -> str:
            return call if len(messages) < 5 else "Done."

    double = Double("Food.", "Salt.")
    roll = Roll(load_suite(config, Resources(models={"reader": double})), tmp_path / "r.jsonl")
    roll(Asks)
    assert [message[-1]["content"] for message in double.asked][:2] == ["Beginning of notes.txt?", "End of notes.txt?"]
    assert len(double.asked) == 3 * 2 * 2
    assert all(proof.proven for proof in replay_file(roll.path))
    alone = load_suite(replace(config, roles={}))
    assert any("reader" in warning for warning in alone.warnings)
    assert Roll(alone, tmp_path / "alone.jsonl")(Asks).faults == {"world:no_model": 3}


def test_synchronous_code_waits_for_a_command_even_inside_the_event_loop(suite: Suite) -> None:
    world, state = suite.domain.world, suite.domain.base
    assert world is not None
    call = ToolCall("run", {"command": "echo more >> notes.txt; echo said"})

    async def inside() -> Transition:
        return world.call(state, call)

    answers = [world.call(state, call), run_sync(inside(), inline=False)]
    assert [answer.observation for answer in answers] == ["said\n"] * 2
    assert answers[0].ops == answers[1].ops
