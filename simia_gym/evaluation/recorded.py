"""Executes recorded episodes of a public benchmark again and counts matching tool results and rewards.

Every recorded tool result is compared byte for byte with the observation of the domain's world on the same data. Every
recorded reward is compared with a reward computed here on the basis ``database*communicate``, which is 1 if the user or
the agent ended the episode, the final database equals the database after the gold actions (failing ones are skipped),
and the agent said every required string (ignoring letter case and commas in the agent's words), else 0.

A reward can be checked only if the gold actions are known. A non-empty list is known. An empty list means either that
nothing should change or that the recording lost the actions. It counts as known if it agrees with the recorded
``db_match``, or, without one, with the recorded reward.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from simia_gym.common.files import read_jsonl
from simia_gym.domain.loading import load_domain
from simia_gym.domain.registration import domain_path
from simia_gym.domain.world import World
from simia_gym.errors import Fault, InputError
from simia_gym.state import State
from simia_gym.types import JsonObject, ToolCall

BASIS = "database*communicate"
SHOWN = 5
"""How many mismatches are shown in full."""

_OWN_END = ("user_stop", "agent_stop")


@dataclass(frozen=True, slots=True)
class Recording:
    """One recorded episode.

    Attributes:
        id: The episode's id.
        pairs: The answered tool calls with the recorded results, in the order of the calls.
        said: The agent's messages to the user.
        gold: The gold actions; empty if there are none or if they are unknown.
        required: Strings that the agent had to tell the user.
        reward: The recorded reward; ``None`` if not recorded.
        db_match: The recorded result of the database comparison; ``None`` if not recorded.
        ended: Whether the user or the agent ended the episode, as opposed to a limit or a failure.
    """

    id: str
    pairs: tuple[tuple[ToolCall, str], ...]
    said: tuple[str, ...]
    gold: tuple[JsonObject, ...]
    required: tuple[str, ...]
    reward: float | None
    db_match: bool | None
    ended: bool


@dataclass(frozen=True, slots=True)
class Outcome:
    """The components of the reward on the basis ``database*communicate``.

    Attributes:
        database: Whether the final database equals the database after the gold actions.
        told: Whether the agent said every required string.
        ended: Whether the user or the agent ended the episode.
    """

    database: bool
    told: bool
    ended: bool

    @property
    def reward(self) -> float:
        """1 if all components hold, else 0."""
        return float(self.database and self.told and self.ended)


def verify_recorded(domain: str, *, data: Path | str, rollouts: Path | str) -> JsonObject:
    """Execute recorded rollouts again and compare tool results and rewards.

    Args:
        domain: The domain's name or environment id, such as ``desk`` or ``simia/desk-v0``.
        data: The benchmark's data directory for the domain.
        rollouts: JSONL file; per line ``id, messages, reward, gold_actions``, ``communicate_info`` or ``outputs``, and
            optionally ``db_match`` and ``termination``.

    Returns:
        Counts ``pairs, identical, mismatches, episodes, outcome_checked, outcome_agree, outcome_unknown``, the
        ``basis``, and up to five of the ``first_mismatches`` and ``first_disagreements``.

    Raises:
        InputError: The domain, the data or the file cannot be read; names the line.
    """
    folder = domain_path(domain if domain.startswith("simia/") else f"simia/{domain}-v0")
    loaded = load_domain(folder, data=data)
    if loaded.world is None:
        raise InputError(f"{loaded.name} has no world to execute calls in", where=str(folder))
    return verify(loaded.world, loaded.base, Path(rollouts), domain=loaded.name)


def verify(world: World, base: State, rollouts: Path, *, domain: str | None = None) -> JsonObject:
    """Execute recorded rollouts again in a world; see `verify_recorded`.

    Args:
        world: The world.
        base: The initial state of every episode.
        rollouts: The JSONL file.
        domain: The domain's name; an episode whose ``domain`` differs is an error.
    """
    pairs = identical = episodes = checked = agree = unknown = 0
    mismatches: list[JsonObject] = []
    disagreements: list[JsonObject] = []
    for recording in read_recordings(rollouts, domain):
        episodes += 1
        state = base
        for call, expected in recording.pairs:
            got, state = _execute(world, state, call)
            pairs += 1
            identical += got == expected
            if got != expected and len(mismatches) < SHOWN:
                shown = {"name": call.name, "arguments": call.arguments}
                mismatches.append({"episode": recording.id, "call": shown, "expected": expected, "got": got})
        outcome = judge(recording, base, state, world.replay(base, recording.gold))
        if recording.reward is None or not _gold_known(recording, outcome):
            unknown += 1
            continue
        checked += 1
        if outcome.reward == recording.reward:
            agree += 1
        elif len(disagreements) < SHOWN:
            parts = {"database": outcome.database, "told": outcome.told, "ended": outcome.ended}
            disagreements.append(
                {"episode": recording.id, "expected": recording.reward, "got": outcome.reward, **parts}
            )
    if not episodes:
        raise InputError("holds no recorded episode", where=str(rollouts), fix=_LAYOUT)
    return {
        "pairs": pairs,
        "identical": identical,
        "mismatches": pairs - identical,
        "episodes": episodes,
        "outcome_checked": checked,
        "outcome_agree": agree,
        "outcome_unknown": unknown,
        "basis": BASIS,
        "first_mismatches": mismatches,
        "first_disagreements": disagreements,
    }


def _execute(world: World, state: State, call: ToolCall) -> tuple[str, State]:
    try:
        transition = world.call(state, call)
    except Fault as fault:
        return str(fault), state
    return transition.observation, state if transition.state is None else transition.state


def judge(recording: Recording, base: State, final: State, gold: State) -> Outcome:
    """Score an episode on the basis ``database*communicate``.

    Args:
        recording: The episode.
        base: The episode's initial state.
        final: The episode's final state.
        gold: The state after the gold actions.
    """
    said = [text.lower().replace(",", "") for text in recording.said]
    told = all(any(wanted.lower() in text for text in said) for wanted in recording.required)
    return Outcome(same_database(base, final, gold), told, recording.ended)


def same_database(base: State, one: State, other: State) -> bool:
    """Whether two states derived from the same base have the same JSON text, in which ``1`` and ``1.0`` differ.

    Tables with a leading ``_`` are ignored. The cost is proportional to the number of touched rows.
    """
    touched = {*one.touched_since(base), *other.touched_since(base)}
    return all(
        json.dumps(one.get(table, key), sort_keys=True) == json.dumps(other.get(table, key), sort_keys=True)
        for table, key in touched
        if not table.startswith("_")
    )


def _gold_known(recording: Recording, outcome: Outcome) -> bool:
    if recording.gold:
        return True
    if recording.db_match is not None:
        return recording.db_match == outcome.database
    return recording.reward == outcome.reward


def read_recordings(path: Path, domain: str | None = None) -> Iterator[Recording]:
    """Read recorded episodes.

    Args:
        path: The JSONL file.
        domain: The domain's name. A line with another ``domain`` is an error; a line without one is accepted.

    Raises:
        InputError: The file cannot be read, or a line is not a recorded episode; names the line.
    """
    for number, value in read_jsonl(path, what="file of rollouts"):
        where = f"{path}:{number}"
        if domain is not None and isinstance(value, dict) and value.get("domain", domain) != domain:
            what = f"is an episode of the domain {value['domain']!r}, not {domain!r}"
            raise InputError(what, where=where, fix="Name the rollouts of this domain.")
        yield _read_recording(value, where)


_LAYOUT = "A line is an object with id, messages, reward and gold_actions."


def _read_recording(value: Any, where: str) -> Recording:
    if not isinstance(value, dict) or not isinstance(value.get("messages"), list):
        raise InputError("is no recorded episode: it has no list of messages", where=where, fix=_LAYOUT)
    gold = value.get("gold_actions") or []
    if not isinstance(gold, list) or not all(isinstance(action, dict) and "name" in action for action in gold):
        raise InputError("gold_actions is not a list of calls", where=where, fix=_LAYOUT)
    messages = value["messages"]
    for index, message in enumerate(messages):
        calls = message.get("tool_calls") or [] if isinstance(message, dict) else None
        if not isinstance(calls, list):
            fix = "Write {role, content, tool_calls: [...]}."
            raise InputError("is no chat message", where=f"{where}, message {index}", fix=fix)
    contents = [message.get("content") for message in messages if message.get("role") == "assistant"]
    required = value.get("communicate_info") or value.get("outputs") or []
    reward = value.get("reward")
    if isinstance(reward, bool) or not isinstance(reward, int | float | None):
        raise InputError(f"reward is {reward!r}, not a number", where=where, fix=_LAYOUT)
    db_match = value.get("db_match")
    return Recording(
        id=str(value.get("id", where)),
        pairs=tuple(_pair(messages, where)),
        said=tuple(text for text in contents if isinstance(text, str) and text.strip()),
        gold=tuple({"name": action["name"], "arguments": action.get("arguments") or {}} for action in gold),
        required=tuple(str(text) for text in required),
        reward=None if reward is None else float(reward),
        db_match=db_match if isinstance(db_match, bool) else None,
        ended=(value.get("termination") or _OWN_END[0]) in _OWN_END,
    )


def _pair(messages: Sequence[Mapping[str, Any]], where: str) -> list[tuple[ToolCall, str]]:
    """Match every tool message with its call: by id if possible, else with the first unanswered call."""
    calls: list[ToolCall] = []
    answers: dict[int, str] = {}
    open_calls: list[int] = []
    for index, message in enumerate(messages):
        for raw in message.get("tool_calls") or ():
            open_calls.append(len(calls))
            calls.append(_read_call(raw, f"{where}, message {index}"))
        if message.get("role") != "tool":
            continue
        wanted = message.get("tool_call_id", message.get("id"))
        fitting = [number for number in open_calls if wanted is not None and calls[number].id == wanted]
        if not open_calls:
            what = "a tool message answers no call"
            raise InputError(what, where=f"{where}, message {index}", fix="Each needs a call before it.")
        number = (fitting or open_calls)[0]
        open_calls.remove(number)
        content = message.get("content")
        answers[number] = content if isinstance(content, str) else ""
    return [(calls[number], answers[number]) for number in sorted(answers)]


def _read_call(raw: Any, where: str) -> ToolCall:
    """Read a call in the format ``{id, name, arguments}`` or in OpenAI's format."""
    inner = raw.get("function", raw) if isinstance(raw, dict) else raw
    if not isinstance(inner, dict) or not isinstance(inner.get("name"), str):
        raise InputError("a tool call has no name", where=where, fix="Write {id, name, arguments}.")
    arguments = inner.get("arguments") or {}
    if isinstance(arguments, str):
        try:
            arguments = json.loads(arguments)
        except ValueError as error:
            raise InputError("a call's arguments are not JSON", where=where, fix="Write them as an object.") from error
    if not isinstance(arguments, dict):
        raise InputError("a call's arguments are not an object", where=where, fix="Write them as an object.")
    return ToolCall(inner["name"], arguments, raw.get("id"))
