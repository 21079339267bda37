"""The replay simulator: answers calls with the recorded answers of the same episode."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from simia_gym.common.json_encoding import encode
from simia_gym.contracts import StepContext
from simia_gym.domain.domain import Domain
from simia_gym.errors import Fault
from simia_gym.record.records import read_records
from simia_gym.state import State, strict_equal, thaw
from simia_gym.types import ToolCall, Transition

Event = Mapping[str, Any]

_SHOWN = 200


def read_episodes(path: Path | str) -> dict[tuple[str, int], Sequence[Event]]:
    """The events of the episodes in a record file, by task and seed; of equal ones, the first.

    Raises:
        InputError: The file is missing or invalid; the message names file and line.
    """
    episodes: dict[tuple[str, int], Sequence[Event]] = {}
    for record in read_records(Path(path)):
        episodes.setdefault((record.task, record.seed), record.events)
    return episodes


class ReplaySimulator:
    """Returns the recorded answers of an episode in order; every call must equal the recorded one."""

    name = "replay"
    io = False

    def __init__(self, domain: Domain, episodes: Mapping[tuple[str, int], Sequence[Event]]) -> None:
        self.domain, self.episodes = domain, episodes
        self._opening: Event | None = None
        self._answers: list[Event] = []
        self._next = 0

    def begin(self, context: StepContext) -> None:
        """Find the episode.

        Raises:
            Fault: ``replay_miss``: the episode was not recorded, or the task has changed since.
        """
        task, seed = context.task.id, context.seed
        events = self.episodes.get((task, seed))
        if events is None:
            raise _miss(f"the record has no episode of task {task!r} with seed {seed}")
        content = next((event["content"]["task"] for event in events if event["type"] == "start"), context.digest)
        if not content.startswith(context.digest):
            raise _miss(f"task {task!r} was recorded with content {content[:16]}, and is now {context.digest}")
        self._opening = next((event for event in events if event["type"] == "message"), None)
        self._answers = [event for event in events if event["type"] == "transition" and event.get("call") is not None]
        self._next = 0

    async def open(self, context: StepContext) -> Transition:
        """Return the recorded first observation."""
        event = self._opening
        if event is None:
            raise _miss(f"the recorded episode of task {context.task.id!r} has no opening")
        ops = tuple(event["ops"])
        after = context.state.apply(ops)
        info = self.domain.extras(after)
        return Transition(event["text"], ops, speaker="env", info=info, meta=event["meta"], state=after)

    async def call(self, call: ToolCall, context: StepContext) -> Transition:
        """Return the recorded answer of the next call.

        Raises:
            Fault: ``replay_miss``: a different call was recorded here, or none.
        """
        asked = {"name": call.name, "arguments": call.arguments}
        if self._next == len(self._answers):
            raise _miss(f"expected no further call after {self._next}, got {_shown(asked)}")
        event = self._answers[self._next]
        recorded = {"name": event["call"]["name"], "arguments": event["call"]["arguments"]}
        if not strict_equal(recorded, asked):
            raise _miss(f"call {self._next + 1}: expected {_shown(recorded)}, got {_shown(asked)}")
        self._next += 1
        ops = None if event["ops"] is None else tuple(event["ops"])
        reveals = tuple(event.get("reveals", ()))
        ok = event["outcome"] == "ok"
        after: State = context.state.apply(reveals).apply(ops or ())
        return Transition(
            event["observation"],
            ops,
            event["outcome"],
            event["error_code"],
            speaker=event["speaker"],
            reveals=reveals,
            end=event["end"],
            info=self.domain.extras(after) if ok and ops is not None else {},
            meta=thaw(event["meta"]),
            state=None if reveals else after,
        )


def _miss(message: str) -> Fault:
    return Fault("replay_miss", message, role="simulator")


def _shown(call: Mapping[str, Any]) -> str:
    text = encode(call).decode()
    return text if len(text) <= _SHOWN else f"{text[:_SHOWN]}..."
