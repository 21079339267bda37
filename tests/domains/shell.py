"""Plays the domain of a file tree, whose one tool runs commands."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from simia_gym.domain.registration import CUSTOM
from simia_gym.oracle import OracleOptions, serve_in_thread
from simia_gym.policies import Policy
from simia_gym.record.records import Record
from simia_gym.rollout.replay import replay_file
from simia_gym.types import Message

from ..proof.stage import suite_of
from ..rollout.conftest import Roll
from ..simulators.desk import tool_call


class Says:
    """Takes these actions, one after another; an exception is raised."""

    def __init__(self, *actions: str | Exception) -> None:
        self.actions = iter(actions)

    def act(self, messages: Sequence[Message]) -> str:
        action = next(self.actions)
        if isinstance(action, Exception):
            raise action
        return action


def written(command: str) -> str:
    return tool_call("run", command=command)


def rolled(files: Path, path: Path, make: Callable[[], Policy], *, simulator: str = "world", **settings: Any) -> Roll:
    """Play the task of the test split into a record, against the world or a model that makes no mistakes."""
    with serve_in_thread(OracleOptions(domains=(str(files),))) as server:
        address = server.base_url if simulator == "llm" else None
        roll = Roll(suite_of(CUSTOM, address, domain=str(files), split="test", simulator=simulator, **settings), path)
        roll(make)
    return roll


def played(files: Path, path: Path, *actions: str, **settings: Any) -> Record:
    """Play actions in the task of the test split; what is recorded is proven."""
    roll = rolled(files, path, lambda: Says(*actions, "Done."), **settings)
    assert all(proof.proven for proof in replay_file(path))
    (record,) = roll.records
    return record


def transitions(record: Record) -> list[Any]:
    return [event for event in record.events if event["type"] == "transition"]
