"""Replay: run a record's actions again and verify that every event is the same, byte for byte."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from simia_gym.actions.assistant import RecordedAction
from simia_gym.assembly.resources import Resources
from simia_gym.assembly.settings import EnvConfig
from simia_gym.assembly.suite import Suite, load_suite
from simia_gym.common.dotted_names import foreign_code
from simia_gym.common.event_loop import run_sync
from simia_gym.common.json_encoding import decode, encode
from simia_gym.episode import Episode
from simia_gym.errors import Cut, Fault, InputError
from simia_gym.llm.ask import RecordedModel
from simia_gym.record.events import check_form
from simia_gym.record.finished_episode import LIMITS, TURN_LIMIT
from simia_gym.record.ledger import ABSENT, Ledger, first_divergence
from simia_gym.record.records import Record, read_lines
from simia_gym.record.transcript import is_native
from simia_gym.rollout.jobs import Plan, make_job, world_group
from simia_gym.rollout.play import play
from simia_gym.simulators.pins import MemoryPins
from simia_gym.simulators.repeating import RepeatingSimulator
from simia_gym.state import make_pointer
from simia_gym.types import JsonObject, Message, Task


@dataclass(frozen=True, slots=True)
class Proof:
    """The result of replaying one record.

    Attributes:
        line: Line number of the record in its file, from 1.
        task: Id of its task.
        proven: Whether every event, the hash and the verdict are the same.
        masked: Number of answers that were the same only up to the masks of their tools.
        event: Index of the first event that differs; ``None`` if only another field of the record differs.
        path: JSON Pointer to the difference inside that event, or inside the record.
        expected: The recorded value.
        got: The value of the replay.
        reason: Description of the difference in one sentence.
    """

    line: int
    task: str
    proven: bool
    masked: int = 0
    event: int | None = None
    path: str = ""
    expected: Any = None
    got: Any = None
    reason: str = ""


class _DivergenceError(Exception):
    """Carries the fields of a `Proof` from ``event`` on."""

    def __init__(self, event: int | None, path: str, expected: Any, got: Any, reason: str) -> None:
        self.found = event, path, expected, got, reason


def replay_file(path: Path | str, *, data: str | None = None) -> Iterator[Proof]:
    """Replay every record of a file.

    Args:
        path: The record file.
        data: Path of the user's own data, if it has moved since the record was written.

    Yields:
        One result per record, in file order.

    Raises:
        InputError: The file or an environment cannot be read.
    """
    replayer = _Replayer(data)
    seen: dict[str, int] = {}
    for record, raw in read_lines(path):
        check_form(record, f"{path}:{record.line}")
        try:
            first = seen.setdefault(record.key, record.line)
            if first != record.line:
                raise _DivergenceError(None, "/key", record.key, None, f"line {first} holds the same episode")
            masked = replayer.check(record, raw)
        except _DivergenceError as error:
            yield Proof(record.line, record.task, False, 0, *error.found)
        else:
            yield Proof(record.line, record.task, True, masked)


class _Replayer:
    """Replays records; loads each environment once."""

    def __init__(self, data: str | None = None) -> None:
        self._data = data
        self._suites: dict[bytes, Suite] = {}
        self._models, self._pins = RecordedModel(), MemoryPins()
        self._whole: set[str] = set()
        """The blobs that are known to be in the file, undamaged."""

    def check(self, record: Record, raw: bytes) -> int:
        """Replay one record and compare every byte of its line; what differs is raised.

        Returns:
            The number of answers that were the same only up to masks.
        """
        if "forced" in record.run:
            reason = "its actions were forced by simia compare; only an episode that was played can be replayed"
            raise _DivergenceError(None, "/run/forced", record.run["forced"], None, reason)
        suite = self._load(record)
        now = suite.domain.hash
        if now != record.domain_hash:
            reason = "the domain or its data has changed since; replay needs them as they were"
            raise _DivergenceError(0, "/domain_hash", record.domain_hash, now, reason)
        for blob in {*record.start.get("content", {}).values()} - self._whole:
            record.blobs[blob]
            self._whole.add(blob)
        try:
            with foreign_code(suite.domain.folder):
                task = suite.task(record.task)
        except InputError as error:
            reason = "there is no such task" if error.where == "task" else error.what
            raise _DivergenceError(None, "/task", record.task, None, reason) from error
        episode, repeated = self._run(suite, task, record)
        _compare_events(record, episode)
        _compare_job(record, task)
        _compare_bytes(record, raw)
        return repeated.masked

    def _load(self, record: Record) -> Suite:
        config = EnvConfig.from_json(_as_now(record.config))
        if self._data is not None:
            config = replace(config, data=self._data)
        started = record.start
        if config.simulator == "auto" and isinstance(started.get("simulator"), str):
            config = replace(config, simulator=started["simulator"])
        models = started.get("models") or {}
        asked = sorted(models)
        # The run may have taken model names from environment variables, which need not be set now.
        named = {role: {**config.roles.get(role, {}), "model": models[role]} for role in asked if models[role]}
        config = replace(config, roles={**config.roles, **named})
        name = encode([config.to_json(), asked])
        if name not in self._suites:
            resources = Resources(models=dict.fromkeys(asked, self._models), pins=self._pins)
            self._suites[name] = load_suite(config, resources)
        return self._suites[name]

    def _run(self, suite: Suite, task: Task, record: Record) -> tuple[Episode, RepeatingSimulator]:
        with foreign_code(suite.domain.folder):
            episode = suite.episode()
        repeated = episode.simulator = RepeatingSimulator(episode.simulator, suite.domain, record.events)
        policy = RecordedPolicy(record.events, record.fault)
        policy.native_tools = is_native(record)
        self._models.load(record.events, record.fault)
        self._pins.clear()  # each record is verified independently
        group = world_group(record.run.get("seed", 0), record.group)
        run_sync(play(episode, task, seed=record.seed, policy=policy, group=group), inline=episode.inline)
        return episode, repeated


def _as_now(config: Mapping[str, Any]) -> Mapping[str, Any]:
    """The settings of an older record by their present names."""
    roles = {
        role: {"repairs" if name == "rereads" else name: value for name, value in given.items()}
        for role, given in config.get("roles", {}).items()
    }
    return {**config, "roles": roles} if roles else config


class RecordedPolicy:
    """A policy that repeats the recorded actions, and then the fault that ended the episode, if there was one."""

    def __init__(self, events: Sequence[JsonObject], fault: JsonObject | None) -> None:
        self._actions = iter([event for event in events if event["type"] == "action"])
        self._fault = fault
        self.native_tools = False
        # If the policy's limit ended the episode, truncate it after the last action: a recorded fault is the judge's.
        ends = [event.get("reason") for event in events if event["type"] == "end"]
        self._limit = next((end for end in ends if end in LIMITS and end != TURN_LIMIT), None)

    def act(self, messages: Sequence[Message]) -> str:
        """Repeat the next action."""
        for event in self._actions:
            fields: JsonObject = {name: event[name] for name in ("provider", "finish_reason") if name in event}
            return RecordedAction(event["text"], fields)
        if self._limit is not None:
            raise Cut(self._limit)
        if self._fault is not None:
            raise Fault(self._fault["kind"], self._fault["message"], role=self._fault["role"])
        raise Fault("no_action", "the record has no further action, and the episode has not ended", role="policy")


def _compare_events(record: Record, episode: Episode) -> None:
    """Compare the events, and the fields of the line that repeat them."""
    events, fresh = record.events, [dict(event) for event in episode.ledger.events]
    late = (record.fault or {}).get("kind") == "timeout"
    cut = next((i for i, event in enumerate(events) if late and event["type"] == "fault"), None)
    # The time limit ended the episode in the middle of a step: only the events before that are repeatable.
    events, fresh = events[:cut], fresh[:cut]
    found = first_divergence(events, fresh)
    if found is not None:
        expected, got = (None if value is ABSENT else value for value in (found.expected, found.got))
        raise _DivergenceError(found.index, found.path, expected, got, found.describe())
    try:
        Ledger.verify(record.events, record.head)
    except InputError as error:
        raise _DivergenceError(None, "/head", record.head, episode.ledger.head, error.what) from error
    _expect(record, record.said_by_events(), "the line says something else than its events")


def _expect(record: Record, fields: JsonObject, reason: str) -> None:
    """Compare fields of a record with what they should be."""
    for name, got in fields.items():
        expected = getattr(record, name)
        if encode(expected) != encode(got):
            raise _DivergenceError(None, f"/{name}", expected, got, reason)


def _compare_job(record: Record, task: Task) -> None:
    """Verify that seed, group and key of a record follow from its rollout settings."""
    run = record.run
    try:
        plan = Plan(
            config=EnvConfig.from_json(record.config),
            domain_hash=record.domain_hash,
            policy=record.policy,
            seed=run["seed"],
            group=run["group"],
            policy_hash=run.get("policy_hash"),
        )
        job = make_job(plan, task, record.member)
    except (InputError, KeyError, TypeError) as error:
        reason = f"these are no settings of a rollout: {error}"
        raise _DivergenceError(None, "/run", run, None, reason) from error
    fresh = {"run": plan.run(), "config": plan.config.to_json(), "seed": job.seed, "group": job.group, "key": job.key}
    _expect(record, fresh, "it does not follow from the settings, policy, task and member that the line names")


def _compare_bytes(record: Record, raw: bytes) -> None:
    """Verify that the line holds no further keys and is encoded canonically."""
    fresh = record.to_line().removesuffix(b"\n")
    if fresh == raw:
        return
    line = decode(raw)
    for name in line:
        if name not in record.to_json():
            raise _DivergenceError(None, make_pointer(name), line[name], None, "there is no such key in a record")
    at = next((i for i, (one, other) in enumerate(zip(raw, fresh, strict=False)) if one != other), len(fresh))
    have, want = (text[max(0, at - 20) : at + 20].decode(errors="replace") for text in (raw, fresh))
    raise _DivergenceError(None, "", have, want, f"the line is written another way, from byte {at} on")
