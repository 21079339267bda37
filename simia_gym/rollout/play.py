"""One episode from its first message to its verdict. Whatever goes wrong ends in the record, never in a crash."""

from __future__ import annotations

import asyncio
import inspect
import time
import traceback
from collections.abc import Callable

from simia_gym.common.secrets import without_secrets
from simia_gym.domain.tasks import task_hash
from simia_gym.episode import Episode
from simia_gym.errors import Cut, Fault, InputError, PatchError, Role
from simia_gym.policies import Policy, PolicyStart
from simia_gym.rollout.limit import TimeUpError
from simia_gym.types import Task

_SLOW = 0.02
"""Seconds without a wait after which the loop gets its turn."""


class Turns:
    """Which of the episodes on a loop went on last: one that finds another there knows that the loop had its turn."""

    latest: Episode | None = None


async def play(
    episode: Episode, task: Task, *, seed: int, policy: Policy, env: str = "", group: str = ""
) -> str | None:
    """Play one episode to its end with a policy.

    Args:
        episode: A fresh episode.
        task: What it is about.
        seed: Its seed.
        policy: Who acts.
        env: The environment's id, for the policy.
        group: Id of the episodes that share a world.

    Returns:
        The traceback where something raised unexpectedly, for the sidecar; else ``None``. ``episode.verdict`` is set.
    """
    return await play_new(episode, task, seed=seed, make_policy=lambda: policy, env=env, group=group)


async def play_new(
    episode: Episode,
    task: Task,
    *,
    seed: int,
    make_policy: Callable[[], Policy],
    env: str = "",
    group: str = "",
    over: Callable[[], bool] = lambda: False,
    on_wait: Callable[[], None] = lambda: None,
    turns: Turns | None = None,
) -> str | None:
    """Play one episode to its end with a policy of its own.

    Nothing that a policy, a user, a tool or a reward raises gets out, `SystemExit` and a made-up `CancelledError`
    included; only what the caller does to this task does: an interrupt, a cancellation, the end of its time.

    Args:
        episode: A fresh episode.
        task: What it is about.
        seed: Its seed.
        make_policy: Makes who acts. That may fail, too.
        env: The environment's id, for the policy.
        group: Id of the episodes that share a world.
        over: Whether the time is over, so that no further step is begun.
        on_wait: Called when an action has to be waited for.
        turns: This runs as a task of a loop, which gets its turn between two turns that are slow: an interrupt is
            delivered there, also while neither policy nor environment ever waits. All episodes of the loop share it.

    Returns:
        The traceback where something raised unexpectedly, for the sidecar; else ``None``. ``episode.verdict`` is set.
    """
    role: Role = "episode"
    begun = False
    try:
        await episode.reset(task, seed=seed, group=group)
        begun = True
        role = "policy"
        policy = make_policy()
        _introduce(policy, episode, env, seed)
        began = time.monotonic()
        while episode.verdict is None:
            if turns is not None:
                if turns.latest is not episode:
                    turns.latest, began = episode, time.monotonic()
                elif time.monotonic() - began > _SLOW:
                    await asyncio.sleep(0)
                    began = time.monotonic()
            if over():
                raise timed_out()
            role = "policy"
            try:
                action: object = policy.act(episode.messages)
                if inspect.isawaitable(action):
                    on_wait()
                    action = await action
            except Cut as cut:
                role = "episode"
                await episode.cut(cut.reason)
                break
            if not isinstance(action, str | dict):
                what = f"act() returned a {type(action).__name__}, neither a text nor a message"
                raise Fault("bad_action", what, role="policy")
            role = "episode"
            await episode.step(action)
    except Fault as fault:
        episode.fail(fault)
    except (KeyboardInterrupt, TimeUpError):
        raise
    except BaseException as error:
        if isinstance(error, asyncio.CancelledError) and _cancelled():
            raise
        if isinstance(error, GeneratorExit) and over():
            raise
        kind = "bug" if begun or not _at_fault(task, error) else "bad_task"
        message = str(error) if isinstance(error, InputError) else f"{type(error).__name__}: {error}"
        episode.fail(Fault(kind, message, role=role))
        return without_secrets(traceback.format_exc())
    return None


def timed_out() -> Fault:
    """The fault of an episode that took too long."""
    return Fault("timeout", "the episode took longer than its time limit", role="episode")


def _cancelled() -> bool:
    """Whether somebody cancelled this task; else a `CancelledError` is only an exception that somebody raised."""
    try:
        task = asyncio.current_task()
    except RuntimeError:
        return False
    return task is not None and task.cancelling() > 0


def _at_fault(task: Task, error: BaseException) -> bool:
    """Whether it is the task itself with which no episode can begin."""
    if isinstance(error, InputError | PatchError):
        return True
    try:
        task_hash(task)
    except Exception:
        return True
    return False


def _introduce(policy: Policy, episode: Episode, env: str, seed: int) -> None:
    start = getattr(policy, "start", None)
    if start is not None:
        domain = episode.domain
        start(PolicyStart(env or domain.name, seed, domain.own_tools(), domain.grammar, domain.config.samples))
