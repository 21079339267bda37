"""A model that first repeats the replies that another episode of the group got for the same requests."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from simia_gym.llm.ask import MODEL_EVENT
from simia_gym.llm.cassette.recorded_model import RecordedModel
from simia_gym.llm.types import ChatModel, ChatRequest, Reply


class SharedReplies:
    """Answers requests that the other episode made with the replies it got, and all others by the model.

    Args:
        events: The events of the other episode.
        model: The model for all other requests.
    """

    def __init__(self, events: Iterable[Mapping[str, Any]], model: ChatModel) -> None:
        recorded = [event for event in events if event["type"] == MODEL_EVENT]
        self._prompts = {event["ordinal"]: event["prompt"] for event in recorded}
        self._recorded = RecordedModel()
        self._recorded.load(recorded, None)
        self._model = model

    async def complete(self, request: ChatRequest) -> Reply:
        """Answer one request."""
        if self._prompts.get(request.ordinal) == request.prompt.digest:
            return await self._recorded.complete(request)
        return await self._model.complete(request)
