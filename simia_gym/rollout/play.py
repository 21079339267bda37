"""One episode from its first message to its verdict. Whatever goes wrong ends in the record, never in a crash."""

from __future__ import annotations

import asyncio
import inspect
import os
import re
import signal
import sys
import threading
import time
import traceback
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

from simia_gym.episode import Episode
from simia_gym.errors import Fault, Role
from simia_gym.policies import Policy, PolicyStart
from simia_gym.types import Task

_SECRET_NAME = re.compile(r"KEY|TOKEN|SECRET|PASSW", re.IGNORECASE)
_LEAST_SECRET = 8


class TimeUpError(BaseException):
    """The alarm of an episode that does not yield; no ``except Exception`` of a tool or policy can swallow it."""


async def play(
    episode: Episode, task: Task, *, seed: int, policy: Policy, env: str = "", deadline: float | None = None
) -> str | None:
    """Play one episode to its end.

    Args:
        episode: A fresh episode.
        task: What it is about.
        seed: Its seed.
        policy: Who acts.
        env: The environment's id, for the policy.
        deadline: `time.monotonic` value after which no further step is begun.

    Returns:
        The traceback where something raised unexpectedly, for the sidecar; else ``None``. ``episode.verdict`` is set.
    """
    role: Role = "episode"
    try:
        await episode.reset(task, seed=seed)
        role = "policy"
        _introduce(policy, episode, env, seed)
        while episode.verdict is None:
            if deadline is not None and time.monotonic() > deadline:
                raise timed_out()
            role = "policy"
            text = policy.act(episode.messages)
            if inspect.isawaitable(text):
                text = await text
            if not isinstance(text, str):
                raise Fault("bad_action", f"act() gave a {type(text).__name__}, not a text", role="policy")
            role = "episode"
            await episode.step(text)
    except Fault as fault:
        episode.fail(Fault(fault.kind, without_secrets(fault.message), role=fault.role))
    except Exception as error:
        episode.fail(Fault("bug", without_secrets(f"{type(error).__name__}: {error}"), role=role))
        return without_secrets(traceback.format_exc())
    return None


def timed_out() -> Fault:
    """The fault of an episode that took too long."""
    return Fault("timeout", "the episode took longer than its time limit", role="episode")


def waits(policy: Policy) -> bool:
    """Whether the policy's ``act`` is a coroutine function, so that several episodes can be in flight."""
    return inspect.iscoroutinefunction(policy.act)


@contextmanager
def alarm(seconds: float | None) -> Iterator[None]:
    """Interrupt code that neither returns nor yields, where the platform can: the main thread of a POSIX process.

    To be used inside a task, whose own code is all that it interrupts.

    Args:
        seconds: When; ``None`` never.

    Raises:
        TimeUpError: Inside the block, when the time is up.
    """
    if seconds is None or sys.platform == "win32" or threading.current_thread() is not threading.main_thread():
        yield
        return

    mine = asyncio.current_task()

    def ring(number: int, frame: FrameType | None) -> None:
        if asyncio.current_task() is mine:  # never inside the loop's own code
            raise TimeUpError

    previous = signal.signal(signal.SIGALRM, ring)
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield
        signal.setitimer(signal.ITIMER_REAL, 0)
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, previous)


def _introduce(policy: Policy, episode: Episode, env: str, seed: int) -> None:
    start = getattr(policy, "start", None)
    if start is not None:
        domain = episode.domain
        start(
            PolicyStart(
                env=env or domain.name,
                seed=seed,
                tools=domain.tools,
                grammar=domain.grammar,
                samples=tuple(domain.config.samples),
            )
        )


def without_secrets(text: str) -> str:
    """Take the values of key-like environment variables out of a text before it is written anywhere."""
    for name, value in os.environ.items():
        if len(value) >= _LEAST_SECRET and _SECRET_NAME.search(name):
            text = text.replace(value, "[secret]")
    return text
