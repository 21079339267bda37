"""Executes recorded episodes of tau2-bench again and counts matching tool results and rewards.

Every recorded tool result is compared byte for byte with the observation of the domain's world on the same data. Every
recorded reward is compared with a reward computed here on the basis ``database*communicate``, which is 1 if the user or
the agent ended the episode, the final database equals the database after the gold actions (failing ones are skipped),
and the agent said every required string (ignoring letter case and commas in the agent's words), else 0.

A reward can be checked only if the gold actions are known. A non-empty list is known. An empty list means either that
nothing should change or that the recording lost the actions. It counts as known if it agrees with the recorded
``db_match``, or, without one, with the recorded reward.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Any, NamedTuple

from pydantic import AliasChoices, AliasPath, BaseModel, BeforeValidator, ConfigDict, Field, model_validator

from simia_gym.actions.calls import call_message
from simia_gym.common.files import read_json, read_jsonl
from simia_gym.common.formatting import one_line, shown
from simia_gym.common.json_encoding import decode
from simia_gym.common.validation import validated
from simia_gym.domain.domain import Domain
from simia_gym.domain.goal import goal_of
from simia_gym.domain.recorded import RecordedCall, RecordedRollout
from simia_gym.domain.world import World
from simia_gym.errors import Fault, InputError
from simia_gym.state import State
from simia_gym.types import JsonObject, Message, Op, Task, ToolCall

BASIS = "database*communicate"
SHOWN = 5
"""How many mismatches are shown in full."""

_LONGEST = 70
_OWN_END = ("user_stop", "agent_stop")
_LAYOUT = "A line is an object with id, messages, reward and gold_actions."


def _arguments(given: Any) -> Any:
    """The arguments of a call: an object, JSON text of one, or nothing."""
    if isinstance(given, str) and given.strip():
        try:
            return decode(given)
        except ValueError:
            raise ValueError("this is neither an object nor JSON text of one") from None
    return given or {}


class _Call(BaseModel):
    """A call in the format ``{id, name, arguments}`` or in OpenAI's format."""

    id: Any = None
    name: str
    arguments: Annotated[JsonObject, BeforeValidator(_arguments)] = {}

    @model_validator(mode="before")
    @classmethod
    def _without_function(cls, given: Any) -> Any:
        inner = given.get("function") if isinstance(given, dict) else None
        return {**inner, "id": given.get("id")} if isinstance(inner, dict) else given


class _Message(BaseModel):
    """A chat message; a tool's message names its call as ``tool_call_id`` or ``id``."""

    role: str | None = None
    content: Any = None
    tool_calls: list[_Call] | None = None
    call_id: Any = Field(None, validation_alias=AliasChoices("tool_call_id", "id"))


def _either(name: str, *inside: str) -> AliasChoices:
    """A key of a line, which the benchmark's own file has inside of others."""
    return AliasChoices(name, AliasPath(*inside, name))


class Recording(BaseModel):
    """One recorded episode, as a line of the file holds it. Gold actions may be unknown; see the module."""

    model_config = ConfigDict(coerce_numbers_to_str=True)

    id: str
    domain: str | None = None
    messages: list[_Message]
    gold_actions: list[_Call] | None = None
    communicate_info: list[str] | None = None
    outputs: list[str] | None = None
    reward: float | None = Field(None, strict=True, validation_alias=_either("reward", "reward_info"))
    db_match: bool | None = Field(None, validation_alias=_either("db_match", "reward_info", "db_check"))
    termination: str | None = Field(None, validation_alias=AliasChoices("termination", "termination_reason"))

    @property
    def gold(self) -> list[JsonObject]:
        """The gold actions; empty if there are none or if they are unknown."""
        return [{"name": call.name, "arguments": call.arguments} for call in self.gold_actions or ()]

    @property
    def told(self) -> bool:
        """Whether the agent said every string that it had to tell the user."""
        contents = [message.content for message in self.messages if message.role == "assistant"]
        said = [text.lower().replace(",", "") for text in contents if isinstance(text, str)]
        required = self.communicate_info or self.outputs or ()
        return all(any(wanted.lower() in text for text in said) for wanted in required)

    @property
    def ended(self) -> bool:
        """Whether the user or the agent ended the episode, as opposed to a limit or a failure."""
        return (self.termination or _OWN_END[0]) in _OWN_END

    def pairs(self) -> list[tuple[ToolCall, str]]:
        """The answered calls with their results: matched by id if possible, else with the first unanswered call.

        Raises:
            ValueError: A tool message answers no call.
        """
        return [(call, answer) for _, call, answer in self._answered()]

    def said(self) -> Iterator[Message]:
        """What user and agent said, from the user's first message on, with the calls that were answered."""
        answered: dict[int, list[ToolCall]] = {}
        for index, call, _ in self._answered():
            answered.setdefault(index, []).append(call)
        begun = False
        for index, message in enumerate(self.messages):
            begun = begun or message.role == "user"
            content = message.content if isinstance(message.content, str) else ""
            calls = answered.get(index, [])
            if not begun or message.role not in ("user", "assistant"):
                continue
            if calls:
                yield call_message(*calls, content=content, as_text=True)
            elif not message.tool_calls:
                yield {"role": message.role, "content": content}

    def _answered(self) -> list[tuple[int, ToolCall, str]]:
        """The answered calls in order: index of the message that makes it, the call, the answer."""
        calls: list[ToolCall] = []
        makers: list[int] = []
        answers: dict[int, str] = {}
        open_calls: list[int] = []
        for index, message in enumerate(self.messages):
            for call in message.tool_calls or ():
                open_calls.append(len(calls))
                makers.append(index)
                calls.append(ToolCall(call.name, call.arguments, call.id))
            if message.role != "tool":
                continue
            if not open_calls:
                raise ValueError(f"message {index}: a tool message answers no call")
            wanted = message.call_id
            fitting = [number for number in open_calls if wanted is not None and calls[number].id == wanted]
            number = (fitting or open_calls)[0]
            open_calls.remove(number)
            answers[number] = message.content if isinstance(message.content, str) else ""
        return [(makers[number], calls[number], answers[number]) for number in sorted(answers)]


def verify_rollouts(domain: Domain, *, rollouts: Path | None, data: Path | None = None) -> JsonObject:
    """Execute recorded rollouts again, on the benchmark's data: ``verify`` of a domain's ``domain.yaml``.

    Args:
        domain: The domain.
        rollouts: The benchmark's own file of results, or a JSONL file; per line ``id, messages, reward, gold_actions``,
            ``communicate_info`` or ``outputs``, and optionally ``db_match`` and ``termination``.
        data: Where the domain's data, which are loaded already, came from.

    Returns:
        What `verify` does; ``agree``, and ``differences`` as texts.

    Raises:
        InputError: The domain has no such data, no file is named, or it cannot be read; names the line.
    """
    world, rollouts = _checked(domain, rollouts)
    found = verify(world, domain.base, rollouts, domain=domain.name)
    agree = not found["mismatches"] and found["outcome_agree"] == found["outcome_checked"]
    differing = [*found["first_mismatches"], *found["first_disagreements"]]
    return {**found, "agree": agree, "differences": [*map(_describe, differing)]}


def play_rollouts(domain: Domain, *, rollouts: Path | None, data: Path | None = None) -> Iterator[RecordedRollout]:
    """Execute recorded rollouts again, as `verify_rollouts` does: ``recorded`` of a domain's ``domain.yaml``.

    Raises:
        InputError: As `verify_rollouts`.
    """
    world, rollouts = _checked(domain, rollouts)
    return (each.rollout for each in _executed(world, domain.base, rollouts, domain.name))


def _checked(domain: Domain, rollouts: Path | None) -> tuple[World, Path]:
    """The domain's world, and the file.

    Raises:
        InputError: There is none, or the world is not that of the benchmark.
    """
    if rollouts is None:
        raise InputError("no recorded rollouts are named", where="rollouts", fix="Add --rollouts FILE.")
    if domain.world is None or domain.data is None:
        what = f"{domain.name} has not loaded the benchmark's data"
        raise InputError(what, where="data", fix="Add --data DIR, the benchmark's directory for the domain.")
    return domain.world, rollouts


def _describe(item: JsonObject) -> str:
    """One short line about an observation or an outcome that differs."""
    what = "outcome"
    expected, got = item["expected"], item["got"]
    if "call" in item:
        what = f"{item['call']['name']} {shown(item['call']['arguments'], _LONGEST)}"
        # The common beginning of two long observations would fill the line: cut it.
        same = next((i for i, (one, other) in enumerate(zip(expected, got, strict=False)) if one != other), 0)
        begin = max(0, same - _LONGEST // 3)
        expected, got = (f"{'…' if begin else ''}{text[begin:]}" for text in (expected, got))
    expected, got = (one_line(str(value), _LONGEST) for value in (expected, got))
    return f"episode {item['episode']}, {what}: expected {expected}, got {got}"


def verify(world: World, base: State, rollouts: Path, *, domain: str | None = None) -> JsonObject:
    """Execute recorded rollouts again in a world; see `verify_rollouts`.

    Args:
        world: The world.
        base: The initial state of every episode.
        rollouts: The file.
        domain: The domain's name; an episode whose ``domain`` differs is an error.

    Returns:
        Counts ``pairs, identical, mismatches, episodes, outcome_checked, outcome_agree, outcome_unknown``, the
        ``basis``, and up to five of the ``first_mismatches`` and ``first_disagreements``.
    """
    pairs = identical = episodes = checked = agree = unknown = 0
    mismatches: list[JsonObject] = []
    disagreements: list[JsonObject] = []
    for each in _executed(world, base, rollouts, domain):
        episodes, one = episodes + 1, each.rollout
        for call in one.calls:
            pairs += 1
            identical += call.got == call.expected
            if call.got != call.expected and len(mismatches) < SHOWN:
                shown = {"name": call.call.name, "arguments": call.call.arguments}
                mismatches.append({"episode": one.id, "call": shown, "expected": call.expected, "got": call.got})
        if one.expected is None or one.reward is None:
            unknown += 1
            continue
        checked += 1
        agree += one.expected == one.reward
        if one.expected != one.reward and len(disagreements) < SHOWN:
            disagreements.append({"episode": one.id, "expected": one.expected, "got": one.reward, **each.parts})
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


class _Executed(NamedTuple):
    """A recorded episode that was executed again, and what its reward is made of."""

    rollout: RecordedRollout
    parts: dict[str, bool]


def _executed(world: World, base: State, rollouts: Path, domain: str | None) -> Iterator[_Executed]:
    for number, (recording, answered) in enumerate(read_recordings(rollouts, domain), start=1):
        state, calls = base, list[RecordedCall]()
        for call, expected in answered:
            got, state = _execute(world, state, call)
            errors = (text.startswith("Error") for text in (expected, got))
            calls.append(RecordedCall(call, expected, got, *errors))
        gold = world.replay(base, recording.gold)
        parts = {
            "database": same_database(state, gold),
            "told": recording.told,
            "ended": recording.ended,
        }
        reward, recorded, db_match = float(all(parts.values())), recording.reward, recording.db_match
        gold_known = recording.gold or (recorded == reward if db_match is None else db_match == parts["database"])
        played = RecordedRollout(
            id=recording.id,
            line=number,
            calls=tuple(calls),
            turns=sum(message.role == "assistant" for message in recording.messages),
            expected=recorded,
            reward=reward if gold_known else None,
            task=_task(recording, goal_of(base, gold)),
            messages=tuple(recording.said()),
            ended=recording.ended,
        )
        yield _Executed(played, parts)


def _task(recording: Recording, goal: tuple[Op, ...]) -> Task:
    """The task of a recorded episode, as the domain plays it with the benchmark's data."""
    told = {"communicate_info": recording.communicate_info or recording.outputs or []}
    brief = {"type": "brief", "reason": "", "known": "", "unknown": "", "instructions": ""}
    return Task(
        id=recording.id, split="test", kind="tau2", user=brief, gold=tuple(recording.gold), goal=goal, options=told
    )


def _execute(world: World, state: State, call: ToolCall) -> tuple[str, State]:
    try:
        transition = world.call(state, call)
    except Fault as fault:
        return str(fault), state
    return transition.observation, state if transition.state is None else transition.state


def same_database(one: State, other: State) -> bool:
    """Whether two states hold the same, where ``1`` and ``1.0`` differ; tables with a leading ``_`` are ignored."""
    names = {name for name in (*one.tables, *other.tables) if not name.startswith("_")}
    return one.hash(names) == other.hash(names)


def read_recordings(path: Path, domain: str | None = None) -> Iterator[tuple[Recording, list[tuple[ToolCall, str]]]]:
    """Read recorded episodes, each with its answered calls.

    Args:
        path: The benchmark's file of results, whose name ends with ``.json``, or the JSONL file.
        domain: The domain's name. A line with another ``domain`` is an error; a line without one is accepted.

    Raises:
        InputError: The file cannot be read, or a line is not a recorded episode; names the line.
    """
    for where, value in _values(path):
        if not isinstance(value, dict):
            raise InputError("is no recorded episode", where=where, fix=_LAYOUT)
        try:
            recording = validated(Recording, {"id": where, **value}, where=f"{where}: ", fix=_LAYOUT)
            answered = recording.pairs()
        except ValueError as error:
            raise InputError(str(error), where=where, fix="Each needs a call before it.") from error
        if domain is not None and (recording.domain or domain) != domain:
            what = f"is an episode of the domain {recording.domain!r}, not {domain!r}"
            raise InputError(what, where=where, fix="Name the rollouts of this domain.")
        yield recording, answered


class _Task(BaseModel):
    id: str
    evaluation_criteria: dict[str, Any] | None = None


class _Simulation(BaseModel):
    model_config = ConfigDict(extra="allow")

    task_id: str
    messages: list[Any] | None = None


class _Results(BaseModel):
    tasks: list[_Task]
    simulations: list[_Simulation]


def _values(path: Path) -> Iterator[tuple[str, Any]]:
    """The recordings of a file with their places, not checked yet."""
    if path.suffix != ".json":
        yield from ((f"{path}:{number}", value) for number, value in read_jsonl(path, what="file of rollouts"))
        return
    found = validated(_Results, read_json(path, what="file of results"), where=f"{path}: ")
    criteria = {task.id: task.evaluation_criteria or {} for task in found.tasks}
    for number, run in enumerate(found.simulations):
        wanted = criteria.get(run.task_id, {})
        gold, told = wanted.get("actions"), wanted.get("communicate_info")
        recording = {**run.model_dump(), "gold_actions": gold, "communicate_info": told}
        yield f"{path}: simulations[{number}]", {**recording, "messages": run.messages or []}
