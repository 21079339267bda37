"""Plays many episodes at once and keeps what matters of each."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from simia_gym.assembly.resources import Resources
from simia_gym.assembly.settings import EnvConfig
from simia_gym.assembly.suite import Suite, load_suite
from simia_gym.common.event_loop import run_sync
from simia_gym.episode import Episode
from simia_gym.llm.transport.http import close_connections
from simia_gym.rollout.play import play
from simia_gym.types import Task, Verdict

MODEL = "oracle"


@dataclass(frozen=True)
class Outcome:
    """One episode, played to its end: the public rows that changed; answers with outcome and error code; the ledger."""

    verdict: Verdict
    ended: str | None
    turns: int
    changed: Mapping[tuple[str, str], Any]
    answers: tuple[tuple[str, str, str | None], ...]
    events: tuple[Mapping[str, Any], ...]

    @property
    def routes(self) -> Counter[str]:
        """How many calls each route took."""
        made = [event["meta"].get("route") for event in self.events if event["type"] == "transition"]
        return Counter(route for route in made if route is not None)


def suite_of(env: str, base_url: str | None = None, **settings: Any) -> Suite:
    """An environment whose models, if it has some, are asked at this address."""
    live = {name: settings.pop(name) for name in ("cassette", "budget", "clients", "models") if name in settings}
    if base_url is not None:
        settings.setdefault("model", MODEL)
    return load_suite(EnvConfig(env=env, **settings), Resources(base_url=base_url, **live))


async def take(suite: Suite, task: Task, actions: Iterable[str], *, seed: int = 0, group: str = "") -> Episode:
    """Take given actions until the episode ends or there are no more."""
    episode = suite.episode()
    await episode.reset(task, seed=seed, group=group)
    for action in actions:
        if episode.verdict is None:
            await episode.step(action)
    return episode


def played(suite: Suite, task: Task, policy: str = "expert", *, seed: int = 0) -> Episode:
    """Play one episode to its end."""
    episode = suite.episode()
    player = suite.load_policy(policy)()
    trouble = run_sync(play(episode, task, seed=seed, policy=player, env=suite.config.env), inline=episode.inline)
    assert trouble is None, trouble
    assert episode.verdict is not None
    return episode


def play_all(suite: Suite, tasks: Iterable[Task], policy: str = "expert") -> dict[str, Outcome]:
    """Play every task once, 64 at a time."""
    return asyncio.run(outcomes(suite, list(tasks), policy))


async def outcomes(suite: Suite, tasks: Sequence[Task], name: str = "expert") -> dict[str, Outcome]:
    """Play every task once on this loop, 64 at a time."""
    make = suite.load_policy(name)
    slots = asyncio.Semaphore(64)

    async def one(task: Task) -> Outcome:
        async with slots:
            episode = suite.episode()
            trace = await play(episode, task, seed=0, policy=make(), env=suite.config.env)
            assert trace is None, trace
            return outcome_of(episode)

    try:
        return dict(zip([task.id for task in tasks], await asyncio.gather(*map(one, tasks)), strict=True))
    finally:
        await close_connections()


def outcome_of(episode: Episode) -> Outcome:
    """What matters of an episode that has ended."""
    assert episode.verdict is not None
    state, base = episode.state, episode.domain.base
    events = tuple(episode.ledger.events)
    answers = tuple(
        (event["observation"], event["outcome"], event["error_code"])
        for event in events
        if event["type"] == "transition" and event["call"] is not None
    )
    touched = [place for place in state.touched_since(base) if not place[0].startswith("_")]
    changed = {place: state.get(*place) for place in touched if state.get(*place) != base.get(*place)}
    return Outcome(episode.verdict, episode.ended, episode.turn, changed, answers, events)
