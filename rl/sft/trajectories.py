"""Trajectories: whole conversations with what the policy said word for word, and where they come from."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, fields, replace
from typing import Any

from simia_gym.assembly.settings import EnvConfig
from simia_gym.assembly.suite import Suite, load_suite
from simia_gym.common.event_loop import run_inline
from simia_gym.domain.domain import load_domain
from simia_gym.domain.naming import resolve_env
from simia_gym.domain.registration import CUSTOM, domain_path
from simia_gym.episode import Episode
from simia_gym.errors import Fault, InputError
from simia_gym.policies import Policy, PolicyStart
from simia_gym.types import JsonObject, Message, Task

_KEPT = ("role", "content", "name")


@dataclass(frozen=True)
class Trajectory:
    """One conversation.

    Attributes:
        messages: System, user, assistant and tool messages. An assistant's content is its raw text, tool calls
            included, as its grammar writes them.
        env: The environment's id.
        task: The task's id.
        kind: The task's kind.
        split: The task's split.
        seed: The episode's seed.
        prompt: ``full`` or ``compact`` system message; empty where that is not known.
        source: Who acted, such as ``expert`` or the name of a file.
        reward: The reward, 0 to 1; 1 where a data set names none, since it was made to be learned from.
        success: Strict pass.
    """

    messages: list[Message]
    env: str
    task: str
    kind: str = ""
    split: str = "train"
    seed: int = 0
    prompt: str = ""
    source: str = ""
    reward: float = 1.0
    success: bool = False

    def begun(self, turns: int | None) -> Trajectory:
        """The same up to and with so many turns of the policy; ``None`` for all of it."""
        if turns is None:
            return self
        said = [place for place, message in enumerate(self.messages) if message["role"] == "assistant"]
        return replace(self, messages=self.messages[: said[:turns][-1] + 1])

    def to_json(self) -> JsonObject:
        """Plain JSON values, as a line of a data set."""
        return asdict(self)

    @classmethod
    def from_json(cls, data: Mapping[str, Any], where: str) -> Trajectory:
        """Read back a line; fields that other tools added are left out.

        Args:
            data: The decoded object.
            where: File and line, for error messages.

        Raises:
            InputError: It has no messages, a message has no role or text, or the reward is no number.
        """
        messages = data.get("messages")
        if not _is_conversation(messages):
            fix = 'Give lines like {"messages": [{"role": ..., "content": ...}, ...], "env": ...}.'
            raise InputError("is no conversation", where=where, fix=fix)
        known = {item.name: data[item.name] for item in fields(cls) if data.get(item.name) is not None}
        given: dict[str, Any] = {"env": "", "task": "", "reward": float(known.get("success", True)), **known}
        if not isinstance(given["reward"], int | float):
            raise InputError(f"its reward is {given['reward']!r}", where=where, fix="Give a number, or none.")
        given["messages"] = [
            {key: message[key] for key in _KEPT if message.get(key) is not None} for message in data["messages"]
        ]
        return cls(**given)


def rewritten(messages: Sequence[Message], change: Callable[[str], str]) -> list[Message]:
    """A conversation with other texts; its system messages stay, since they are rules and not facts of a task."""
    return [
        message if message["role"] == "system" else {**message, "content": change(str(message["content"]))}
        for message in messages
    ]


def _is_conversation(messages: Any) -> bool:
    """Whether these are messages with role and text, of which the policy said at least one."""
    if not isinstance(messages, Sequence) or isinstance(messages, str) or not messages:
        return False
    for message in messages:
        if not isinstance(message, Mapping) or not isinstance(message.get("role"), str):
            return False
        if not isinstance(message.get("content"), str):
            return False
    return messages[0]["role"] != "assistant" and any(message["role"] == "assistant" for message in messages)


def plain(message: Message) -> Message:
    """A message as a data set holds it: role, text, and the tool's name where it is a tool's answer."""
    return {key: message[key] for key in _KEPT if key in message}


def play(episode: Episode, task: Task, *, seed: int, policy: Policy, env: str, source: str) -> Trajectory | None:
    """Play an episode in which nothing waits, and write down every message.

    Args:
        episode: An episode of a suite whose world is code.
        task: What it is about.
        seed: Its seed.
        policy: Who acts.
        env: The environment's id.
        source: The policy's name.

    Returns:
        The conversation; ``None`` where a fault left no verdict.
    """
    try:
        start = run_inline(episode.reset(task, seed=seed))
    except Fault:
        return None
    introduce = getattr(policy, "start", None)
    domain = episode.domain
    if introduce is not None:
        samples = tuple(domain.config.samples)
        introduce(PolicyStart(env, seed, tools=domain.own_tools(), grammar=domain.grammar, samples=samples))
    messages = [plain(message) for message in start.messages]
    while episode.verdict is None:
        action = policy.act(episode.messages)
        if inspect.isawaitable(action):
            raise InputError("the policy waits for something", where=f"policy {source!r}", fix="Use `simia rollout`.")
        event = len(episode.ledger)  # its text stands in the record
        answers = run_inline(episode.step(action)).messages
        messages.append({"role": "assistant", "content": episode.ledger.events[event]["text"]})
        messages += [plain(message) for message in answers]
    verdict = episode.verdict
    if not verdict.valid or verdict.reward is None:
        return None
    return Trajectory(
        messages=messages,
        env=env,
        task=task.id,
        kind=task.kind,
        split=task.split,
        seed=seed,
        prompt=episode.prompt,
        source=source,
        reward=float(verdict.reward),
        success=verdict.success,
    )


def training_suite(env: str, *, generated: int, prompt: str) -> Suite:
    """An environment for training data: tasks for training only, answered by the domain's own code.

    Args:
        env: The environment's id, or the folder of a domain.
        generated: How many generated tasks besides the fixed ones; none where the domain generates none.
        prompt: ``full`` or ``compact``.

    Raises:
        InputError: There is no such environment or prompt.
    """
    if prompt not in ("full", "compact"):
        raise InputError(f"prompt is {prompt!r}", where="prompt", fix="Use full or compact.")
    if env == CUSTOM:
        fix = "Name its folder instead, such as ./my_domain."
        raise InputError(f"{CUSTOM} does not say which domain", where="ENV", fix=fix)
    name, domain = resolve_env(env)
    if load_domain(domain or domain_path(name)).generator is None:
        generated = 0
    config = EnvConfig(env=name, domain=domain, generated=generated, simulator="world", prompt=prompt)  # type: ignore[arg-type]
    return load_suite(config)


def expert_play(
    suite: Suite, tasks: Sequence[int], *, seed: int = 0, least: float = 1.0, policy: str = "expert"
) -> Iterator[Trajectory | str]:
    """Let a domain's expert play tasks, one episode each.

    Args:
        suite: The environment.
        tasks: Numbers of tasks in the suite.
        seed: Added to a task's number, it is its episode's seed; it decides the expert's wording.
        least: The least reward that is worth learning from.
        policy: Name of the policy.

    Yields:
        The conversation, or why it is none: ``below`` or ``fault``.

    Raises:
        InputError: The domain has no such policy, or something in it waits.
    """
    from simia_gym.policies import load_policy

    domain = suite.domain
    if policy not in domain.config.policies:
        known = ", ".join(domain.config.policies) or "none"
        raise InputError(f"{suite.config.env} has no policy {policy!r}", where="expert", fix=f"It has {known}.")
    make = load_policy(policy, domain.config.policies, folder=domain.folder)
    for number in tasks:
        episode, player = suite.episode(), make()
        if not episode.inline:
            raise InputError("its episodes wait for a model", where=suite.config.env, fix="Use the world and no judge.")
        done = play(
            episode, suite.tasks[number], seed=seed + number, policy=player, env=suite.config.env, source=policy
        )
        yield "fault" if done is None else done if done.reward >= least else "below"
