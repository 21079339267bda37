"""Play one episode from its first message to its verdict; errors become faults in the record, never a crash."""

from __future__ import annotations

import asyncio
import inspect
import time
import traceback
from collections.abc import Callable

from simia_gym.common.secrets import without_secrets
from simia_gym.domain.tasks import task_blob
from simia_gym.episode import Episode
from simia_gym.errors import Cut, Fault, InputError, PatchError, Role, StorageError
from simia_gym.policies import Policy
from simia_gym.rollout.limit import TimeUpError
from simia_gym.types import PolicyAction, Task

_SLOW = 0.02
"""Seconds after which an episode yields to the event loop."""


async def play(
    episode: Episode, task: Task, *, seed: int, policy: Policy, env: str = "", group: str = ""
) -> str | None:
    """Play one episode to its end with a policy; arguments and result are those of `play_new`."""
    episode.native_tools = getattr(policy, "native_tools", False)
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
    yields: bool = False,
) -> str | None:
    """Play one episode to its end with a policy of its own.

    Exceptions of policy, user simulator, tools and reward never leave this function, `SystemExit` and a
    `CancelledError` raised by such code included. Only the caller's own interrupt, cancellation
    or timeout does, and a `StorageError`.

    Args:
        episode: A new episode.
        task: The task.
        seed: The episode's seed.
        make_policy: Makes the policy; may raise anything.
        env: The environment's id, for the policy.
        group: Id of the episodes that share a world.
        over: Returns whether the time limit has passed; then no further step begins.
        on_wait: Called before an action of an asynchronous policy is awaited.
        yields: Whether the episode yields to the event loop between slow turns, so that an interrupt is delivered even
            if neither policy nor environment ever awaits.

    Returns:
        The traceback of an unexpected exception, for the sidecar file; ``None`` if there was none. ``episode.verdict``
        is set.
    """
    role: Role = "episode"
    begun = False
    try:
        await episode.reset(task, seed=seed, group=group)
        begun = True
        role = "policy"
        policy = make_policy()
        whole = getattr(policy, "whole_transcript", False)
        _introduce(policy, episode, env, seed)
        began = time.monotonic()
        while episode.verdict is None:
            if yields and time.monotonic() - began > _SLOW:
                await asyncio.sleep(0)
                began = time.monotonic()
            if over():
                raise timed_out()
            role = "policy"
            try:
                given = policy.act(episode.messages if whole else episode.shown)
                if inspect.isawaitable(given):
                    on_wait()
                    asked = time.perf_counter()
                    given = await given
                    episode.ledger.seconds[len(episode.ledger)] = time.perf_counter() - asked  # of the event to come
                action: PolicyAction = given
            except Cut as cut:
                role = "episode"
                await episode.cut(cut.reason)
                break
            role = "episode"
            try:
                await episode.step(action)
            except InputError as error:
                if isinstance(error, StorageError):
                    raise
                message = f"act() returned no action: {InputError(error.what, fix=error.fix)}"
                raise Fault("bad_action", message, role="policy") from error
    except Fault as fault:
        episode.fail(fault)
    except (KeyboardInterrupt, TimeUpError, StorageError):
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
    finally:
        await episode.close()
    return None


def timed_out() -> Fault:
    """The fault of an episode that exceeded its time limit."""
    return Fault("timeout", "the episode took longer than its time limit", role="episode")


def _cancelled() -> bool:
    """Whether this task is really being cancelled, rather than foreign code having raised `CancelledError`."""
    try:
        task = asyncio.current_task()
    except RuntimeError:
        return False
    return task is not None and task.cancelling() > 0


def _at_fault(task: Task, error: BaseException) -> bool:
    """Whether the task is the reason that the episode could not start."""
    if isinstance(error, InputError | PatchError):
        return True
    try:
        task_blob(task)
    except Exception:
        return True
    return False


def _introduce(policy: Policy, episode: Episode, env: str, seed: int) -> None:
    start = getattr(policy, "start", None)
    if start is not None:
        start(episode.domain.policy_start(seed, env=env, native_tools=episode.native))
