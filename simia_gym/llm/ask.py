"""Send a request of an episode to a model and record the reply."""

from __future__ import annotations

from simia_gym.llm.types import ChatModel, ChatRequest, Reply
from simia_gym.record.ledger import Ledger
from simia_gym.state.frozen import frozen_dict

MODEL_EVENT = "model"


async def ask(model: ChatModel, request: ChatRequest, ledger: Ledger, turn: int) -> Reply:
    """Send a request and record the raw reply, so that the episode can be replayed without the model.

    Raises:
        Fault: The model gave no valid reply.
    """
    reply = await model.complete(request)
    record(request, reply, ledger, turn)
    return reply


def record(request: ChatRequest, reply: Reply, ledger: Ledger, turn: int) -> None:
    """Record a reply. Callers with several requests in flight use this to record the replies in a fixed order."""
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
        # Cached tokens are left out: they depend on earlier requests, and the same episode must give the same bytes.
        "usage": frozen_dict(({"prompt": usage.prompt, "completion": usage.completion},)),
    }
    ledger.append(MODEL_EVENT, **fields)
