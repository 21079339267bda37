"""Plays the teacher: writes a whole trajectory of a fresh task as one text, played by the domain's expert in its world.

Mistakes are put in on request, one in a trajectory, as poor teachers make them.
"""

from __future__ import annotations

import hashlib
import inspect
from collections.abc import Callable, Iterable, Mapping
from random import Random
from typing import Any, NamedTuple

from simia_gym.common.event_loop import run_sync
from simia_gym.domain.domain import Domain
from simia_gym.domain.world import WorldSimulator
from simia_gym.episode import Episode
from simia_gym.errors import Cut, Fault
from simia_gym.oracle.domains import Domains
from simia_gym.oracle.options import TEACHER_MISTAKES, OracleOptions
from simia_gym.oracle.reading import ParsedRequest, Refused
from simia_gym.oracle.teacher_mistakes import cut, spoil
from simia_gym.policies import load_policy, policy_names
from simia_gym.trajectories.effects import readers
from simia_gym.trajectories.examine import examine
from simia_gym.trajectories.written import UnreadableText, from_text, to_text
from simia_gym.types import JsonObject, Message, Task
from simia_gym.users import make_user

_FRESH = 1_000_000
"""Number of generated tasks to draw from."""
_TRIES = 60
"""So many tasks are drawn to find one of the kind that the prompt names."""
_EXPERT = "expert"


class Taught(NamedTuple):
    """A trajectory as a teacher wrote it, the mistakes in it, and the task that it plays."""

    text: str
    mistakes: tuple[str, ...]
    task: str


def teach(request: ParsedRequest, domains: Domains, options: OracleOptions, chance: Random) -> Taught:
    """Write the trajectory that a request asks for.

    Raises:
        Refused: The domain is unknown or has no expert, or an episode of it has no reward.
    """
    domain = domains.named(request.static).domain
    task, seed = task_of(request, domain, options)
    messages = run_sync(_played(domain, task, seed), inline=False)
    kinds = options.teacher_mistakes or TEACHER_MISTAKES
    if chance.random() >= options.teacher_mistake_rate:
        return Taught(to_text(messages), (), task.id)
    made = spoil(messages, chance, kinds, readers(domain.tools))
    if made is not None:
        return Taught(to_text(made.messages), (made.kind,), task.id)
    return Taught(cut(to_text(messages), chance), ("cut_end",), task.id)


def task_of(request: ParsedRequest, domain: Domain, options: OracleOptions) -> tuple[Task, int]:
    """The task and the seed of the episode that the teacher plays for a request; equal requests give equal ones."""
    found = request.last("vary")
    vary: Mapping[str, Any] = found[1] if found is not None and isinstance(found[1], Mapping) else {}
    drawn = hashlib.sha256("\0".join(item.text for item in request.turns).encode()).digest()
    draw = Random(f"teacher:{options.seed}:{drawn.hex()}")
    return _task(domain, draw, str(vary.get("kind") or "")), draw.randrange(1 << 30)


def give_opinion(request: ParsedRequest, domains: Domains) -> JsonObject:
    """Say whether a conversation may be learned from, as far as programs see it.

    Raises:
        Refused: The request holds no conversation.
    """
    found = request.last("conversation")
    if found is None or not isinstance(found[1], str):
        raise Refused("there is no block 'conversation'")
    try:
        findings = examine(from_text(found[1]).messages, domains.named(request.static).domain.tools)
    except UnreadableText as error:
        return {"complete": False, "sound": False, "reason": str(error)}
    ends = all(finding.code not in ("no_answer", "no_message") for finding in findings)
    return {"complete": ends, "sound": not findings, "reason": findings[0].what if findings else "Nothing is wrong."}


def _task(domain: Domain, draw: Random, kind: str) -> Task:
    """A train task of a kind; of any kind if none of it is found soon. A service's generator makes it at once."""
    generator = domain.generator
    if generator is not None and kind in getattr(generator, "kinds", ()):
        index_of: Callable[[str, int], int] = generator.index_of  # type: ignore[attr-defined]
        return generator("train", index_of(kind, draw.randrange(_FRESH)))
    tasks = domain.tasks_of("train", 0 if domain.generator is None else _FRESH)
    task = tasks[draw.randrange(len(tasks))]
    for _ in range(_TRIES if kind else 0):
        if task.kind == kind:
            break
        task = tasks[draw.randrange(len(tasks))]
    return task


async def _played(domain: Domain, task: Task, seed: int) -> list[Message]:
    """The conversation of the domain's expert with its scripted user, in its own world.

    Raises:
        Refused: The domain has no expert or no world, or the expert does not solve the task.
    """
    if domain.world is None or _EXPERT not in policy_names(domain.config.policies):
        raise Refused(f"the oracle cannot teach {domain.name!r}, which has no world or no expert")
    domain.world.ready()
    user = None if domain.user is None else make_user("scripted" if domain.user == "llm" else domain.user, domain.cues)
    episode = Episode(
        domain, simulator=WorldSimulator(domain.world, "terse", {}), user=user, reward=domain.make_reward()
    )
    policy = load_policy(_EXPERT, domain.config.policies, folder=domain.folder)()
    try:
        await episode.reset(task, seed=seed)
        start = getattr(policy, "start", None)
        if start is not None:
            start(domain.policy_start(seed))
        whole = getattr(policy, "whole_transcript", False)
        while episode.verdict is None:
            given = policy.act(episode.messages if whole else episode.shown)
            await episode.step(await given if inspect.isawaitable(given) else given)
    except (Fault, Cut) as error:
        raise Refused(f"the oracle cannot teach task {task.id!r}: {error}") from None
    finally:
        await episode.close()
    if not episode.verdict.success:
        raise Refused(f"the oracle's expert does not solve task {task.id!r}")
    return messages_of(episode.ledger.events)


def messages_of(events: Iterable[Mapping[str, Any]]) -> list[Message]:
    """The conversation of an episode in OpenAI's layout, calls with decoded arguments."""
    messages: list[Message] = []
    for event in events:
        if event["type"] == "message":
            messages.append({"role": "user", "content": event["text"]})
        elif event["type"] == "transition":
            call = event["call"]
            if call is None:
                messages.append({"role": "assistant", "content": event["say"] or ""})
                messages.append({"role": "user", "content": event["observation"]})
                continue
            function = {"name": call["name"], "arguments": call["arguments"]}
            made = {"id": call["id"], "type": "function", "function": function}
            messages.append({"role": "assistant", "content": "", "tool_calls": [made]})
            messages.append({"role": "tool", "tool_call_id": call["id"], "content": event["observation"]})
    return messages
