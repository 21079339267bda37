"""Judges recorded episodes again: with a rubric that has changed since, with a judge, with a reward of one's own."""

from __future__ import annotations

from functools import lru_cache

from simia_gym.assembly.settings import EnvConfig
from simia_gym.assembly.suite import domain_of, folder_of
from simia_gym.common.dotted_names import foreign_code
from simia_gym.common.event_loop import run_sync
from simia_gym.common.json_encoding import decode
from simia_gym.contracts import EPISODE
from simia_gym.domain.tasks import task_from_json
from simia_gym.record.finished_episode import FinishedEpisode, Reward
from simia_gym.record.records import Record
from simia_gym.record.verdict import from_json
from simia_gym.rollout.jobs import world_group
from simia_gym.state import State, freeze, make_pointer
from simia_gym.types import Verdict


@lru_cache(maxsize=4)
def _state(data: bytes) -> State:
    """The tables that many episodes share."""
    return State.from_tables(decode(data))


def judge_again(record: Record, reward: Reward | None = None) -> Verdict:
    """Judge a recorded episode again, from what the record holds: events, task, tools and initial tables.

    Args:
        record: The record.
        reward: Judges the episode, such as the ``reward`` of another `Suite`. By default the domain's reward as it is
            now, without a language model.

    Returns:
        The verdict; the recorded one if a fault ended the episode before it could be judged.

    Raises:
        Fault: The reward failed.
        InputError: The record's blob file lacks something, or the domain cannot be loaded.
    """
    finished = finished_episode(record)
    if finished is None:
        return from_json(record.verdict)
    if reward is None:
        config = EnvConfig.from_json(record.config)
        with foreign_code(folder_of(config)):
            reward = domain_of(config).make_reward()
    return run_sync(reward.score(finished), inline=not reward.io)


def finished_episode(record: Record) -> FinishedEpisode | None:
    """What a reward judges; ``None`` if a fault ended the episode before it could be judged."""
    ended = next((number for number, event in enumerate(record.events) if event["type"] == "end"), None)
    if ended is None or record.events[ended]["reason"] == "fault":
        return None
    start, events = record.start, [freeze(event) for event in record.events[: ended + 1]]
    task = task_from_json(record.content("task"), f"record of {record.task}")
    seeded = [{"op": "add", "path": make_pointer(EPISODE, "main"), "value": {"seed": record.seed}}]
    state = _state(record.blobs[start["content"]["state"]])
    initial = final = state.apply(task.setup).apply(seeded)
    for event in events:
        reveals, ops = event.get("reveals", ()), event.get("ops") or ()
        initial, final = initial.apply(reveals), final.apply(reveals).apply(ops)
        if event["type"] == "message":
            initial = final  # what the opening did belongs to the initial state
    return FinishedEpisode(
        task=task,
        events=events,
        initial=initial,
        final=final,
        ended=events[-1]["reason"],
        turns=record.turns,
        tools={entry["function"]["name"]: entry for entry in record.content("tools")},
        seed=record.seed,
        digest=start["content"]["task"][:16],
        group=world_group(record.run["seed"], record.group),
        uncounted=tuple(start.get("uncounted", ())),
    )
