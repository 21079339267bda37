"""Replay: run a record's actions again and verify that every event is the same, byte for byte."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from simia_gym.assembly.resources import Resources
from simia_gym.assembly.settings import EnvConfig
from simia_gym.assembly.suite import Suite, load_suite
from simia_gym.common.event_loop import run_sync
from simia_gym.common.json_encoding import decode, encode
from simia_gym.episode import Episode
from simia_gym.errors import Cut, Fault, InputError
from simia_gym.llm.cassette.recorded_model import RecordedModel
from simia_gym.record.finished_episode import TOKEN_LIMIT
from simia_gym.record.ledger import ABSENT, Ledger, first_divergence
from simia_gym.record.records import Record, read_lines
from simia_gym.record.verdict import to_json
from simia_gym.rollout.foreign import foreign_code
from simia_gym.rollout.jobs import Plan, make_job, world_group
from simia_gym.rollout.play import play
from simia_gym.simulators.pins import MemoryPins
from simia_gym.state import make_pointer
from simia_gym.types import JsonObject, Message, Task


@dataclass(frozen=True, slots=True)
class Proof:
    """The result of replaying one record.

    Attributes:
        line: Line number of the record in its file, from 1.
        task: Id of its task.
        proven: Whether every event, the hash and the verdict are the same.
        event: Index of the first event that differs; ``None`` if only another field of the record differs.
        path: JSON Pointer to the difference inside that event, or inside the record.
        expected: The recorded value.
        got: The value of the replay.
        reason: Description of the difference in one sentence.
    """

    line: int
    task: str
    proven: bool
    event: int | None = None
    path: str = ""
    expected: Any = None
    got: Any = None
    reason: str = ""


class Replayer:
    """Replays records; loads each environment once.

    Args:
        data: Path of the user's own data, if it has moved since the record was written.
    """

    def __init__(self, data: str | None = None) -> None:
        self._data = data
        self._suites: dict[bytes, Suite] = {}
        self._models, self._pins = RecordedModel(), MemoryPins()
        self._tasks: dict[bytes, _Tasks] = {}

    def check(self, record: Record, raw: bytes | None = None) -> Proof:
        """Replay one record.

        Args:
            record: The record.
            raw: The record's line in the file, to verify every byte of it; ``None`` to skip that check.

        Returns:
            The result.

        Raises:
            InputError: The record's environment cannot be loaded.
        """
        suite, tasks = self._load(record)
        if suite.domain.hash != record.domain_hash:
            return _differs(
                record, 0, "/domain_hash", record.domain_hash, suite.domain.hash, "the domain or its data has changed"
            )
        task = tasks.find(record.task)
        if isinstance(task, str):
            return _differs(record, None, "/task", record.task, None, task)
        events = record.events
        try:
            Ledger.verify(events, record.head)
            broken = ""
        except InputError as error:
            broken = error.what
        episode = self._run(suite, task, record)
        fresh = [dict(event) for event in episode.ledger.events]
        cut = _cut(record)
        if cut is not None:
            # The time limit ended the episode in the middle of a step: only the events before that are repeatable.
            events, fresh = events[:cut], fresh[:cut]
        divergence = first_divergence(events, fresh)
        if divergence is not None:
            return Proof(
                record.line,
                record.task,
                False,
                divergence.index,
                divergence.path,
                _plain(divergence.expected),
                _plain(divergence.got),
                divergence.describe(),
            )
        if broken:
            return _differs(record, None, "/head", record.head, episode.ledger.head, broken)
        proof = _compare_rest(record, _own_words(record) if cut is not None else _outcome(episode))
        proof = _compare_job(record, task) if proof.proven else proof
        return _compare_bytes(record, raw) if proof.proven and raw is not None else proof

    def _load(self, record: Record) -> tuple[Suite, _Tasks]:
        config = EnvConfig.from_json(record.config)
        if self._data is not None:
            config = replace(config, data=self._data)
        started = record.events[0] if record.events else {}
        if config.simulator == "auto" and isinstance(started.get("simulator"), str):
            config = replace(config, simulator=started["simulator"])
        models = started.get("models") or {}
        asked = sorted(models)
        # The run may have taken model names from environment variables, which need not be set now.
        named = {role: {**config.roles.get(role, {}), "model": models[role]} for role in asked if models[role]}
        config = replace(config, roles={**config.roles, **named})
        name = encode([config.to_json(), asked])
        if name not in self._suites:
            with foreign_code(config.domain or config.env):
                resources = Resources(models=dict.fromkeys(asked, self._models), pins=self._pins)
                self._suites[name] = load_suite(config, resources)
            self._tasks[name] = _Tasks(self._suites[name])
        return self._suites[name], self._tasks[name]

    def _run(self, suite: Suite, task: Task, record: Record) -> Episode:
        with foreign_code(suite.domain.folder):
            episode = suite.episode()
        policy = _Recorded(record)
        self._models.load(record.events, record.fault)
        self._pins.clear()  # each record is verified independently
        group = world_group(record.run.get("seed", 0), record.group)
        run_sync(play(episode, task, seed=record.seed, policy=policy, group=group), inline=episode.inline)
        return episode


class _Recorded:
    """A policy that repeats the recorded actions, and then the fault that ended the episode, if there was one."""

    def __init__(self, record: Record) -> None:
        self._actions = iter(record.actions)
        self._fault = record.fault
        # If the token limit ended the episode, truncate it after the last action: a recorded fault is then the judge's.
        ends = [event.get("reason") for event in record.events if event["type"] == "end"]
        self._limit = TOKEN_LIMIT if TOKEN_LIMIT in ends else None

    def act(self, messages: Sequence[Message]) -> str:
        for action in self._actions:
            return action
        if self._limit is not None:
            raise Cut(self._limit)
        if self._fault is not None:
            raise Fault(self._fault["kind"], self._fault["message"], role=self._fault["role"])
        raise Fault("no_action", "the record has no further action, and the episode has not ended", role="policy")


class _Tasks:
    """Finds tasks by id: directly if `Suite.task` knows the id, otherwise by searching the generated tasks."""

    def __init__(self, suite: Suite) -> None:
        self._suite = suite
        self._known: dict[str, Task] = {}
        self._further: Iterator[Task] | None = None

    def find(self, task_id: str) -> Task | str:
        """The task with an id, or the reason why it was not found."""
        suite = self._suite
        if task_id in self._known:
            return self._known[task_id]
        try:
            with foreign_code(suite.domain.folder):
                return self._known.setdefault(task_id, suite.task(task_id))
        except InputError as error:
            missing = "there is no such task" if error.where == "task" else error.what
        with foreign_code(suite.domain.folder):
            if self._further is None:
                self._further = iter(()) if self._numbered() else iter(suite.tasks)
            for task in self._further:
                self._known.setdefault(task.id, task)
                if task.id == task_id:
                    return task
        return missing

    def _numbered(self) -> bool:
        """Whether `Suite.task` finds all generated tasks by their number, so that no search is needed."""
        suite, count = self._suite, self._suite.config.generated
        if not count:
            return True
        try:
            last = suite.tasks[len(suite.tasks) - 1]
            return suite.task(last.id).id == last.id
        except InputError:
            return False


def _cut(record: Record) -> int | None:
    """Index of the event at which the time limit ended the episode; ``None`` if it did not."""
    if (record.fault or {}).get("kind") != "timeout":
        return None
    return next((i for i, event in enumerate(record.events) if event["type"] == "fault"), None)


def _outcome(episode: Episode) -> JsonObject:
    """The expected fields of a record, besides its events, from the replayed episode."""
    verdict = to_json(episode.verdict) if episode.verdict is not None else {}
    return {**_facts(verdict), "turns": episode.turn, "ended": episode.ended, "head": episode.ledger.head}


def _own_words(record: Record) -> JsonObject:
    """The expected fields of a record from its own last event, for episodes that cannot be replayed to the end."""
    last = record.events[-1] if record.events else {}
    return _facts({name: value for name, value in last.items() if name not in ("i", "type")})


def _facts(verdict: JsonObject) -> JsonObject:
    names = ("reward", "valid", "success", "score", "fault")
    return {**{name: verdict.get(name) for name in names}, "verdict": verdict}


def _compare_rest(record: Record, outcome: JsonObject) -> Proof:
    """Compare the other fields of a record whose events agree."""
    started = record.events[0] if record.events else {}
    names = ("task", "kind", "split", "seed") if started.get("type") == "start" else ()  # a bad task never starts
    fresh = {**{name: started.get(name) for name in names}, **outcome}
    for name, got in fresh.items():
        expected = getattr(record, name)
        if encode(expected) != encode(got):
            return _differs(record, None, f"/{name}", expected, got, "the line says something else than its events")
    return _proven(record)


def _compare_job(record: Record, task: Task) -> Proof:
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
        return _differs(record, None, "/run", run, None, f"these are no settings of a rollout: {error}")
    fresh = {"run": plan.run(), "config": plan.config.to_json(), "seed": job.seed, "group": job.group, "key": job.key}
    for name, got in fresh.items():
        expected = getattr(record, name)
        if encode(expected) != encode(got):
            reason = "it does not follow from the settings, policy, task and member that the line names"
            return _differs(record, None, f"/{name}", expected, got, reason)
    return _proven(record)


def _compare_bytes(record: Record, raw: bytes) -> Proof:
    """Verify that the line holds no further keys and is encoded canonically."""
    fresh = record.to_line().removesuffix(b"\n")
    if fresh == raw:
        return _proven(record)
    further = [name for name in decode(raw) if name not in record.to_json()]
    if further:
        reason = "there is no such key in a record"
        return _differs(record, None, make_pointer(further[0]), decode(raw)[further[0]], None, reason)
    at = next((i for i, (one, other) in enumerate(zip(raw, fresh, strict=False)) if one != other), len(fresh))
    have, want = (text[max(0, at - 20) : at + 20].decode(errors="replace") for text in (raw, fresh))
    return _differs(record, None, "", have, want, f"the line is written another way, from byte {at} on")


def _plain(value: Any) -> Any:
    """A value of a divergence as JSON; `ABSENT` becomes ``None``."""
    return None if value is ABSENT else value


def _proven(record: Record) -> Proof:
    return Proof(record.line, record.task, True)


def _differs(record: Record, event: int | None, path: str, expected: Any, got: Any, reason: str) -> Proof:
    return Proof(record.line, record.task, False, event, path, expected, got, reason)


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
    replayer = Replayer(data)
    seen: dict[str, int] = {}
    for record, raw in read_lines(path):
        first = seen.setdefault(record.key, record.line)
        if first != record.line:
            yield _differs(record, None, "/key", record.key, None, f"line {first} holds the same episode")
        else:
            yield replayer.check(record, raw)
