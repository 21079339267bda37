"""Model replies in the record of an episode: asked for, recorded, and replayed without a model."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from simia_gym.common.json_encoding import encode, hash_of
from simia_gym.errors import Fault
from simia_gym.llm.structured import read_reply
from simia_gym.llm.types import ChatModel, ChatRequest, Reply, Usage
from simia_gym.record.ledger import Ledger

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
        "usage": {"prompt": usage.prompt, "completion": usage.completion},
    }
    ledger.append(MODEL_EVENT, **fields)


def derive_seed(parts: Sequence[Any]) -> int:
    """Derive a request's seed from the given JSON values: a number below 2**31, equal on all machines."""
    return int(hash_of(encode(["request-seed", *parts]))[:8], 16) >> 1


class RecordedModel:
    """Replays the raw replies of one episode at a time; role and ordinal of a request select the reply.

    Replies are parsed, checked and rendered again, so a replay tests these steps, too.
    """

    def __init__(self) -> None:
        self._replies: dict[tuple[str, int], Mapping[str, Any]] = {}
        self._fault: Mapping[str, Any] | None = None

    def load(self, events: Iterable[Mapping[str, Any]], fault: Mapping[str, Any] | None) -> None:
        """Load the events of the next episode, and the fault that ended it, if one did."""
        self._fault = fault
        self._replies = {(e["role"], e["ordinal"]): e for e in events if e["type"] == MODEL_EVENT}

    async def complete(self, request: ChatRequest) -> Reply:
        """Return the recorded reply, parsed again.

        Raises:
            Fault: There is no recorded reply: the fault that ended the episode if this role caused it, otherwise
                ``replay_miss``.
        """
        event = self._replies.get((request.role, request.ordinal))
        if event is None:
            if self._fault is not None and self._fault["role"] == request.role:
                raise Fault(self._fault["kind"], self._fault["message"], role=request.role)
            what = f"the record holds no reply {request.ordinal} of the {request.role}"
            raise Fault("replay_miss", what, role=request.role)
        message = {"role": "assistant", "content": event["reply"]}
        usage = Usage(**event["usage"])
        return read_reply(event["reply"], request, message=message, model=event["model"], usage=usage)
