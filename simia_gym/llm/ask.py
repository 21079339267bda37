"""Ask a model on behalf of an episode, and put what it said into the record."""

from __future__ import annotations

from simia_gym.llm.types import ChatModel, ChatRequest, Reply
from simia_gym.record.ledger import Ledger
from simia_gym.state.frozen import frozen_dict

MODEL_EVENT = "model"


async def ask(model: ChatModel, request: ChatRequest, ledger: Ledger, turn: int) -> Reply:
    """Ask, and record the raw reply, so that the episode can be replayed without the model.

    Args:
        model: Who answers.
        request: The question.
        ledger: The record of the episode.
        turn: The present turn.

    Returns:
        The answer.

    Raises:
        Fault: There was no trustworthy answer.
    """
    reply = await model.complete(request)
    record(request, reply, ledger, turn)
    return reply


def record(request: ChatRequest, reply: Reply, ledger: Ledger, turn: int) -> None:
    """Put an answer into the record; for whoever asks several questions at once and keeps their order.

    Args:
        request: The question.
        reply: The answer.
        ledger: The record of the episode.
        turn: The present turn.
    """
    usage = reply.usage
    prompt = request.prompt
    fields = {
        "turn": turn,
        "role": request.role,
        "purpose": request.purpose,
        "ordinal": request.ordinal,
        "model": reply.model,
        "prompt": prompt.digest,
        "prompt_bytes": prompt.size,
        "static_bytes": prompt.static,
        "reply": reply.raw,
        # What came from the server's cache depends on who asked before; the same episode must give the same bytes.
        "usage": frozen_dict(({"prompt": usage.prompt, "completion": usage.completion},)),
    }
    ledger.add(MODEL_EVENT, fields)
