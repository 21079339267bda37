"""A model whose first replies are known: another episode of the group was given them for the same requests."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from simia_gym.llm.ask import MODEL_EVENT
from simia_gym.llm.cassette.recorded_model import RecordedModel
from simia_gym.llm.types import ChatModel, ChatRequest, Reply


class SharedReplies:
    """Gives the known replies as long as the requests are the same, and asks the model from there on.

    Args:
        events: The events of the other episode.
        model: Who is asked afterwards.
    """

    def __init__(self, events: Iterable[Mapping[str, Any]], model: ChatModel) -> None:
        told = [event for event in events if event["type"] == MODEL_EVENT]
        self._prompts = {event["ordinal"]: event["prompt"] for event in told}
        self._recorded = RecordedModel()
        self._recorded.load(told, None)
        self._model = model

    async def complete(self, request: ChatRequest) -> Reply:
        """Answer one request."""
        if self._prompts.get(request.ordinal) == request.prompt.digest:
            return await self._recorded.complete(request)
        return await self._model.complete(request)
