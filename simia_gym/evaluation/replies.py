"""How the replies of real models to real prompts are read: at once, put right, asked again, or not at all.

Train tasks are played by the expert. Requests go to the models, and their replies through all checks of a run. Where a
model is asked often enough, where its reply cannot be used, and to repair a reply that broke rules, the oracle answers,
so that the episode goes on whatever the model does.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from simia_gym.assembly.resources import Resources
from simia_gym.assembly.settings import EnvConfig
from simia_gym.assembly.suite import Suite, load_suite
from simia_gym.errors import Fault, InputError
from simia_gym.llm.ask import MODEL_EVENT, REJECTED_EVENT
from simia_gym.llm.types import ChatModel, ChatRequest, Reply
from simia_gym.oracle.answering import Oracle
from simia_gym.oracle.model import OracleModel
from simia_gym.oracle.options import OracleOptions
from simia_gym.policies import policy_names
from simia_gym.rollout.play import play
from simia_gym.types import JsonObject, Task

PLAYED = ("simulator", "user", "judge")
"""The roles whose replies have a form."""
WAYS = ("at_once", "normalised", "repaired", "asked_again", "rejected", "faulted")
"""What becomes of a reply, from best to worst; ``repaired``: its JSON was broken, ``rejected``: it broke rules."""
EXPERT = "expert"
_SYNTAX = "syntax"
_AT_ONCE = 8
"""Most episodes played at a time."""
_OF_AN_EPISODE = 8
"""Replies expected of an episode: with more episodes at a time than this allows, all would be first replies."""
_TASKS_A_REPLY = 4
"""Most tasks that are played for one reply of a role."""
_MOST_TEXT = 400


@dataclass
class Read:
    """How one request to a model ended.

    Attributes:
        kinds: What was put right, or the kind of the fault.
        problem: Why a reply could not be used; empty if none was.
        text: That reply.
    """

    way: str = "at_once"
    kinds: tuple[str, ...] = ()
    problem: str = ""
    text: str = ""

    def put_right(self, kinds: Iterable[str]) -> None:
        """Note what was put right in a reply that was read without asking again."""
        self.kinds = tuple(sorted({*self.kinds, *kinds}))
        if self.kinds and self.way in ("at_once", "normalised"):
            self.way = "repaired" if _SYNTAX in self.kinds else "normalised"


@dataclass
class Replies:
    """The replies of one role."""

    role: str
    read: list[Read] = field(default_factory=list)

    def count(self, way: str) -> int:
        """Number of replies with this end."""
        return sum(one.way == way for one in self.read)

    def to_json(self) -> JsonObject:
        """Counts by way and kind, shares, and the first reply of each way that could not be used as it came."""
        examples: dict[str, JsonObject] = {}
        for one in self.read:
            if one.problem:
                examples.setdefault(one.way, {"problem": one.problem, "reply": one.text})
        kinds = {way: Counter(kind for one in self.read if one.way == way for kind in one.kinds) for way in WAYS}
        return {
            "replies": len(self.read),
            **{way: self.count(way) for way in WAYS},
            "shares": {way: self.count(way) / len(self.read) for way in WAYS} if self.read else {},
            "kinds": {way: dict(sorted(found.items())) for way, found in kinds.items() if found},
            "examples": examples,
        }


class _Sampled:
    """Lets a model answer up to a number of requests, notes how, and has the oracle answer in all other cases."""

    def __init__(self, model: ChatModel, oracle: OracleModel, most: int) -> None:
        self._model, self._oracle, self._most = model, oracle, most
        self.read: dict[tuple[str, int], Read] = {}

    @property
    def done(self) -> bool:
        return len(self.read) >= self._most

    async def complete(self, request: ChatRequest) -> Reply:
        if self.done or request.purpose != "answer":
            return await self._oracle.complete(request)
        note = self.read[request.scope, request.ordinal] = Read()
        try:
            reply = await self._model.complete(request)
        except Fault as fault:
            text = fault.unread[-1].text if fault.unread else ""
            note.way, note.kinds, note.problem, note.text = "faulted", (fault.kind,), fault.message, text[:_MOST_TEXT]
            return await self._oracle.complete(request)
        if reply.unread:
            first = reply.unread[0]
            note.way, note.problem, note.text = "asked_again", first.problem, first.text[:_MOST_TEXT]
        note.put_right(reply.read or ())
        return reply

    def look(self, task: str, events: Iterable[Mapping[str, Any]], role: str) -> None:
        """Note what the checks of the task's one episode said about the replies."""
        notes = {ordinal: note for (scope, ordinal), note in self.read.items() if scope.rsplit(":", 2)[0] == task}
        last, text = None, ""
        for event in events:
            if event.get("role") != role:
                continue
            if event["type"] == MODEL_EVENT:
                last, text = notes.get(event["ordinal"]), event["reply"]
                if last is not None and last.way != "faulted":
                    last.put_right(event.get("read", ()))
                elif last is None and role == "judge" and event["purpose"] == "repair":
                    # Its votes stand side by side in the record, so a repair is known by its number alone.
                    self._reject(notes.get(event["ordinal"] - 1), "its evidence is not in the record")
            elif event["type"] == REJECTED_EVENT:
                self._reject(last, event["violations"][0], text)

    @staticmethod
    def _reject(note: Read | None, problem: str, text: str = "") -> None:
        if note is not None and note.way != "faulted":
            note.way, note.kinds, note.problem, note.text = "rejected", (), problem, text[:_MOST_TEXT]


def sampled_env(ids: Iterable[str]) -> str:
    """The first environment with a customer and a world, whose prompts use all roles.

    Raises:
        InputError: There is none.
    """
    for env in ids:
        suite = load_suite(EnvConfig(env=env, split="train"))
        if suite.domain.world is not None and suite.tasks[0].user and _has_expert(suite):
            return env
    raise InputError("no environment has a customer", fix="Name a domain: --domain DIR.")


async def read_replies(env: str, models: Mapping[str, ChatModel], most: int) -> list[Replies]:
    """Have models answer real prompts of an environment's train tasks.

    Args:
        env: The environment; its domain has a world and an expert.
        models: The models by role, of `PLAYED`.
        most: Number of requests for each role; fewer if the tasks have no more.

    Raises:
        InputError: The domain has no world or no expert.
    """
    config = EnvConfig(
        env=env,
        split="train",
        simulator="llm" if "simulator" in models else "world",
        judge="llm-all" if "judge" in models else None,
        pins=False,
    )
    plain = load_suite(replace(config, simulator="world", judge=None))
    if plain.domain.world is None or not _has_expert(plain):
        what = f"{env} has no world or no expert, which the replies of models are sampled with"
        raise InputError(what, where="--replies", fix="Name another domain: --domain DIR.")
    tasks = plain.tasks
    if "user" in models and tasks[0].user:
        config = replace(config, user="llm")
    oracle = OracleModel(Oracle(OracleOptions(domains=(plain.domain.folder,))))
    sampled = {role: _Sampled(model, oracle, most) for role, model in models.items()}
    stage = load_suite(config, Resources(models=sampled))
    asked = {role: sampled[role] for role in stage.model_names if role in sampled}
    last = min(len(tasks), most * _TASKS_A_REPLY)
    together = max(1, min(_AT_ONCE, most // _OF_AN_EPISODE))
    for first in range(0, last, together):
        if all(one.done for one in asked.values()):
            break
        some = range(first, min(last, first + together))
        await asyncio.gather(*(_play(stage, tasks[number], asked) for number in some))
    return [Replies(role, list(sampled[role].read.values())) for role in models]


def _has_expert(suite: Suite) -> bool:
    return EXPERT in policy_names(suite.domain.config.policies)


async def _play(stage: Suite, task: Task, sampled: Mapping[str, _Sampled]) -> None:
    episode = stage.episode()
    await play(episode, task, seed=0, policy=stage.load_policy(EXPERT)(), env=stage.config.env)
    for role, one in sampled.items():
        one.look(task.id, episode.ledger.events, role)
