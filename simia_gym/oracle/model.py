"""The oracle as a model within this process, without a server."""

from __future__ import annotations

from random import Random

from simia_gym.errors import Fault
from simia_gym.llm.structured import read_reply
from simia_gym.llm.types import ChatRequest, Reply
from simia_gym.oracle.answering import Oracle
from simia_gym.oracle.reading import Refused


class OracleModel:
    """Answers requests as the oracle does."""

    def __init__(self, oracle: Oracle) -> None:
        self._oracle = oracle

    async def complete(self, request: ChatRequest) -> Reply:
        """Answer a request, as `ChatModel` demands."""
        try:
            raw = self._oracle.answer(b'{"messages":%b}' % request.prompt.messages_json(), Random(0)).reply.text
        except Refused as refused:
            raise Fault("bad_request", refused.message, role=request.role) from None
        return read_reply(raw, request)
