"""Answers from the record of an episode: what models said then, so that it can be replayed without them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from simia_gym.errors import Fault
from simia_gym.llm.ask import MODEL_EVENT
from simia_gym.llm.structured import read_reply
from simia_gym.llm.types import ChatRequest, Reply, Usage


class RecordedModel:
    """Gives back the raw replies of one episode at a time, each to the request of the same role and number.

    What is done with a reply happens anew, so a replay proves the reading, checking and rendering of it too.
    """

    def __init__(self) -> None:
        self._replies: dict[tuple[str, int], Mapping[str, Any]] = {}
        self._fault: Mapping[str, Any] | None = None

    def load(self, events: Iterable[Mapping[str, Any]], fault: Mapping[str, Any] | None) -> None:
        """Take the next episode.

        Args:
            events: Its events.
            fault: The fault that ended it, if one did.
        """
        self._fault = fault
        self._replies = {(e["role"], e["ordinal"]): e for e in events if e["type"] == MODEL_EVENT}

    async def complete(self, request: ChatRequest) -> Reply:
        """Give what was said then.

        Args:
            request: The question.

        Returns:
            The recorded reply, read anew.

        Raises:
            Fault: The fault of the record, where it has no reply to this question.
        """
        event = self._replies.get((request.role, request.ordinal))
        if event is None:
            if self._fault is not None and self._fault["role"] == request.role:
                raise Fault(self._fault["kind"], self._fault["message"], role=request.role)
            message = f"the record holds no reply {request.ordinal} of the {request.role}"
            raise Fault("replay_miss", message, role=request.role)
        text, data = read_reply(event["reply"], request.reply, role=request.role)
        message_ = {"role": "assistant", "content": event["reply"]}
        return Reply(text, event["reply"], data, message_, model=event["model"], usage=Usage(**event["usage"]))
