"""Who works is rewarded, and nobody else."""

from __future__ import annotations

import re
from calendar import month_name
from collections.abc import Callable, Sequence
from typing import cast

import pytest

from simia_gym.actions.calls import read_action
from simia_gym.common.event_loop import run_sync
from simia_gym.common.json_encoding import texts_in
from simia_gym.policies import Policy
from simia_gym.rollout.play import play
from simia_gym.types import Calls, Message, PolicyAction, Task, Verdict
from simia_gym.users.cues import Cues

from ..sweeps import sizes
from .table import World

Watch = Callable[[PolicyAction, Sequence[Message]], None]


class Watched:
    """A policy whose actions somebody sees, with the messages before them."""

    def __init__(self, policy: Policy, watch: Watch) -> None:
        self.policy, self.watch = policy, watch
        self.start = getattr(policy, "start", lambda start: None)
        self.whole_transcript = getattr(policy, "whole_transcript", False)

    def act(self, messages: Sequence[Message]) -> PolicyAction:
        action = cast(PolicyAction, self.policy.act(messages))
        self.watch(action, messages)
        return action


def verdicts(
    world: World, policy: str | Callable[[], Policy], tasks: Sequence[Task], watch: Watch | None = None
) -> list[tuple[Task, Verdict]]:
    """What one policy gets for tasks, one after another; all verdicts must be valid."""
    suite = world.suite(simulator="world")
    make = suite.load_policy(policy) if isinstance(policy, str) else policy
    player, episode, found = make() if watch is None else Watched(make(), watch), suite.episode(), []
    for seed, task in enumerate(tasks):
        run_sync(play(episode, task, seed=seed, policy=player, env=world.env), inline=episode.inline)
        assert episode.verdict is not None
        assert episode.verdict.valid, (task.id, episode.verdict.reason)
        found.append((task, episode.verdict))
    return found


_DATE = re.compile(r"\b(\d{4})-(\d\d)-(\d\d)\b")


def words(text: str) -> set[str]:
    """The words of a text; a date counts as it is said: 2026-05-08 as 8 May 2026."""
    said = _DATE.sub(lambda found: f"{int(found[3])} {month_name[int(found[2])]} {found[1]}", text)
    return set(re.findall(r"\w+", said.lower()))


@pytest.mark.parametrize("number", sizes(40, 300))
@pytest.mark.sampled
def test_the_expert_succeeds_by_what_it_was_told(world: World, number: int) -> None:
    grammar, tasks = world.domain.grammar, world.mixed(number)
    checked = 0

    def listen(action: PolicyAction, messages: Sequence[Message]) -> None:
        nonlocal checked
        parsed = read_action(grammar, action)[1]
        if isinstance(parsed, Calls):
            seen = words("\n".join(str(message["content"]) for message in messages))
            for name, argument in ((n, a) for call in parsed.calls for n, a in call.arguments.items()):
                for text in () if name in world.own.unheard else texts_in(argument):
                    assert words(text) <= seen, f"{text!r} stood in no earlier message"
                    checked += 1

    assert [task.id for task, verdict in verdicts(world, "expert", tasks, listen) if not verdict.success] == []
    assert checked >= len(tasks) // 3  # not every task wants an answer


@pytest.mark.parametrize("policy", ["null", "claimer", "refuser", "random"])
@pytest.mark.parametrize("number", sizes(40, 100))
@pytest.mark.slow
def test_who_does_not_work_does_not_succeed(world: World, policy: str, number: int) -> None:
    found = [verdict for _, verdict in verdicts(world, policy, world.mixed(number))]
    assert sum(verdict.success for verdict in found) <= 0.05 * len(found)
    assert sum(verdict.reward or 0.0 for verdict in found) < 0.1 * len(found)


WRAPS = ("{}", "Sure!\n\n{}", "> {}", "- {}", "## Next step\n\n{}", '{{"message": "{}"}}', "```\n{}\n```")


def test_customers_understand_agents_however_they_put_it(talking: World) -> None:
    cues, agents = Cues(talking.domain.cues), talking.agents
    for slots, texts in agents["asks"].items():
        assert len(texts) >= 3
        for text in (wrap.format(text) for text in texts for wrap in WRAPS):
            assert set(slots.split(", ")) <= set(cues.hear(text).asks), text
    for text in agents["silent"]:
        assert cues.hear(text).asks == (), text
