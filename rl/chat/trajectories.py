"""Trajectories: whole conversations with the policy's raw text, and where they come from."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from typing import Any

from simia_gym.actions import Grammar, strip_thinking
from simia_gym.assembly.settings import EnvConfig
from simia_gym.assembly.suite import Suite, load_suite
from simia_gym.common.event_loop import run_sync
from simia_gym.domain.loading import load_domain
from simia_gym.domain.registration import CUSTOM, domain_path, resolve_env
from simia_gym.errors import InputError
from simia_gym.policies import load_policy
from simia_gym.rl.chat.tokens import template_message
from simia_gym.rollout.play import play
from simia_gym.types import Message, Split
from simia_gym.views.history import HistoryView

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
        """The conversation up to the given number of turns of the policy; ``None`` for all of it."""
        if turns is None:
            return self
        said = [place for place, message in enumerate(self.messages) if message["role"] == "assistant"]
        return replace(self, messages=self.messages[: said[:turns][-1] + 1])

    @classmethod
    def from_json(cls, data: Mapping[str, Any], where: str) -> Trajectory:
        """Decode a line; unknown fields are ignored.

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
    """Change the texts of a conversation, except its system messages, which hold rules and no facts of a task."""
    return [
        message if message["role"] == "system" else {**message, "content": change(str(message["content"]))}
        for message in messages
    ]


def without_thinking(trajectory: Trajectory) -> Trajectory:
    """The trajectory without the policy's thinking; the same object if there is none."""
    messages = [
        {**message, "content": strip_thinking(said).lstrip()}
        if message["role"] == "assistant" and "think>" in (said := str(message["content"]))
        else message
        for message in trajectory.messages
    ]
    return trajectory if messages == trajectory.messages else replace(trajectory, messages=messages)


def _is_conversation(messages: Any) -> bool:
    """Whether these are messages with role and text, at least one of them of the policy."""
    if not isinstance(messages, Sequence) or isinstance(messages, str) or not messages:
        return False
    for message in messages:
        if not isinstance(message, Mapping) or not isinstance(message.get("role"), str):
            return False
        if not isinstance(message.get("content"), str):
            return False
    return messages[0]["role"] != "assistant" and any(message["role"] == "assistant" for message in messages)


def as_written(transcript: Iterable[Message], events: Iterable[Mapping[str, Any]]) -> list[Message]:
    """The transcript of an episode with the policy's turns as raw text, which the events of its record hold."""
    said = iter([event["text"] for event in events if event["type"] == "action"])
    return [
        {"role": "assistant", "content": next(said)} if message["role"] == "assistant" else template_message(message)
        for message in transcript
    ]


def trajectories_of(
    events: Sequence[Mapping[str, Any]],
    transcript: Sequence[Message],
    history: tuple[HistoryView, Grammar] | None,
    instruction: str | None,
    **origin: Any,
) -> Iterator[Trajectory]:
    """The conversation of a valid episode; with a ``history`` one for each turn, which ends with that turn.

    Args:
        events: The events of its record.
        transcript: Its messages.
        history: The view that wrote its prompts, with the domain's grammar; ``None`` for the whole transcript.
        instruction: The task's instruction.
        origin: ``env``, ``split`` and ``source`` of the `Trajectory`.
    """
    start, verdict = events[0], events[-1]
    facts = {name: start[name] for name in ("task", "kind", "seed", "prompt")}
    reward, success = float(verdict["reward"]), verdict["success"]
    done = Trajectory(as_written(transcript, events), reward=reward, success=success, **facts, **origin)
    if history is None:
        yield done
        return
    view, grammar = history
    system = str(transcript[0]["content"])
    for place, event in enumerate(events):
        if event["type"] == "action":
            shown = view.messages(events[:place], system=system, instruction=instruction, grammar=grammar)
            yield replace(done, messages=[*shown, {"role": "assistant", "content": event["text"]}])


def training_suite(
    env: str, *, generated: int, prompt: str, split: Split = "train", without_dev: bool = False
) -> Suite:
    """An environment for training data, simulated by the domain's world.

    Args:
        env: The environment's id, or the folder of a domain.
        generated: Number of generated tasks besides the fixed ones; ignored if the domain has no generator.
        prompt: ``full`` or ``compact``.
        split: The split of the tasks.
        without_dev: Whether to leave the tasks of dev out of train.

    Raises:
        InputError: There is no such environment or prompt.
    """
    if env == CUSTOM:
        fix = "Name its folder instead, such as ./my_domain."
        raise InputError(f"{CUSTOM} does not say which domain", where="ENV", fix=fix)
    name, domain = resolve_env(env)
    if load_domain(domain or domain_path(name)).generator is None:
        generated = 0
    tasks: dict[str, Any] = {"split": split, "generated": generated, "without_dev": without_dev}
    return load_suite(EnvConfig(env=name, domain=domain, simulator="world", prompt=prompt, **tasks))  # type: ignore[arg-type]


def expert_play(
    suite: Suite, tasks: Sequence[int], *, seed: int = 0, least: float = 1.0, policy: str = "expert"
) -> Iterator[Trajectory | str]:
    """Play tasks with a policy of the domain, one episode each.

    Args:
        suite: The environment.
        tasks: Indices of tasks in the suite.
        seed: An episode's seed is this plus the index of its task; it decides the expert's wording.
        least: The least reward of a trajectory to learn from.
        policy: Name of the policy.

    Yields:
        The trajectory (with a ``history`` one for each turn), or why there is none: ``below`` (reward below ``least``)
        or ``fault``.

    Raises:
        InputError: The domain has no such policy, or its episodes wait for a model.
    """
    domain = suite.domain
    if policy not in domain.config.policies:
        known = ", ".join(domain.config.policies) or "none"
        raise InputError(f"{suite.config.env} has no policy {policy!r}", where="expert", fix=f"It has {known}.")
    make = load_policy(policy, domain.config.policies, folder=domain.folder)
    for number in tasks:
        episode, task = suite.episode(), suite.tasks[number]
        if suite.model_names:
            raise InputError("its episodes wait for a model", where=suite.config.env, fix="Use the world and no judge.")
        running = play(episode, task, seed=seed + number, policy=make(), env=suite.config.env)
        trace = run_sync(running, inline=episode.inline)
        if trace is not None:
            raise RuntimeError(f"the policy {policy!r} failed:\n{trace}")
        verdict = episode.verdict
        if verdict is None or not verdict.valid or verdict.reward is None:
            yield "fault"
        elif verdict.reward < least:
            yield "below"
        else:
            origin = {"env": suite.config.env, "split": task.split, "source": policy}
            history = None if suite.history is None else (suite.history, domain.grammar)
            yield from trajectories_of(episode.ledger.events, episode.messages, history, task.instruction, **origin)
