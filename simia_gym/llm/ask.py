"""Model replies in the record of an episode: asked for, recorded, and replayed without a model."""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from simia_gym.common.json_encoding import encode, hash_of
from simia_gym.errors import Fault
from simia_gym.llm.structured import read_reply
from simia_gym.llm.types import ChatModel, ChatRequest, Reply, Unread, Usage
from simia_gym.record.ledger import Ledger

MODEL_EVENT = "model"
UNREAD_EVENT = "unread"
"""Type of the ledger event for a reply that could not be read."""
REJECTED_EVENT = "rejected"


async def ask(model: ChatModel, request: ChatRequest, ledger: Ledger, turn: int) -> Reply:
    """Send a request and record the raw reply, so that the episode can be replayed without the model.

    Raises:
        Fault: The model gave no valid reply.
    """
    began = time.perf_counter()
    try:
        reply = await model.complete(request)
    except Fault as fault:
        record_unread(request, fault.unread, ledger, turn)
        raise
    record(request, reply, ledger, turn, time.perf_counter() - began)
    return reply


def record_unread(request: ChatRequest, unread: Iterable[Unread], ledger: Ledger, turn: int) -> None:
    """Record the replies to a request that could not be read."""
    for item in unread:
        ledger.append(
            UNREAD_EVENT,
            turn=turn,
            role=request.role,
            purpose=request.purpose,
            ordinal=request.ordinal,
            model=item.model,
            reply=item.text,
            problem=item.problem,
            usage={"prompt": item.usage.prompt, "completion": item.usage.completion},
        )


def record(request: ChatRequest, reply: Reply, ledger: Ledger, turn: int, waited: float | None = None) -> None:
    """Record a reply, and those before it that could not be read.

    Callers with several requests in flight use this to record the replies in a fixed order. ``waited`` is how long the
    reply took, in seconds.
    """
    if reply.unread:
        record_unread(request, reply.unread, ledger, turn)
    usage = reply.usage
    prompt = request.prompt
    fields: dict[str, Any] = {
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
    if reply.read:
        fields["read"] = list(reply.read)
    position = ledger.append(MODEL_EVENT, **fields)
    if waited is not None:
        ledger.seconds[position] = waited


def rejected(request: ChatRequest, violations: Sequence[str], ledger: Ledger, turn: int, *, tool: str = "") -> None:
    """Record that the reply to a request broke rules, and which; ``tool`` is the tool that a simulator played."""
    fields = {"role": request.role, "tool": tool, "purpose": request.purpose, "violations": list(violations)}
    ledger.append(REJECTED_EVENT, turn=turn, **fields)


def derive_seed(parts: Sequence[Any]) -> int:
    """Derive a request's seed from the given JSON values: a number below 2**31, equal on all machines."""
    return int(hash_of(encode(["request-seed", *parts]))[:8], 16) >> 1


class RecordedModel:
    """Replays the raw replies of one episode at a time; role and ordinal of a request select the reply.

    Replies are parsed, checked and rendered again, so a replay tests these steps, too.
    """

    def __init__(self) -> None:
        self._replies: dict[tuple[str, int], Mapping[str, Any]] = {}
        self._unread: dict[tuple[str, int], list[Mapping[str, Any]]] = {}
        self._fault: Mapping[str, Any] | None = None

    def load(self, events: Iterable[Mapping[str, Any]], fault: Mapping[str, Any] | None) -> None:
        """Load the events of the next episode, and the fault that ended it, if one did."""
        self._fault = fault
        self._replies, self._unread = {}, {}
        for event in events:
            if event["type"] == MODEL_EVENT:
                self._replies[event["role"], event["ordinal"]] = event
            elif event["type"] == UNREAD_EVENT:
                self._unread.setdefault((event["role"], event["ordinal"]), []).append(event)

    async def complete(self, request: ChatRequest) -> Reply:
        """Return the recorded reply, parsed again.

        Raises:
            Fault: There is no recorded reply: the fault that ended the episode if this role caused it, otherwise
                ``replay_miss``.
        """
        key = request.role, request.ordinal
        event = self._replies.get(key)
        unread = tuple(
            Unread(e["reply"], e["problem"], e["model"], Usage(**e["usage"])) for e in self._unread.get(key, ())
        )
        if event is None:
            raise self._fault_of(request, unread)
        message = {"role": "assistant", "content": event["reply"]}
        usage, read = Usage(**event["usage"]), event.get("read")
        reply = read_reply(event["reply"], request, read, message=message, model=event["model"], usage=usage)
        return reply._replace(unread=unread) if unread else reply

    def _fault_of(self, request: ChatRequest, unread: tuple[Unread, ...]) -> Fault:
        """The fault of a request without a recorded reply; the one that ended the episode, if this one did."""
        after = request.role, request.ordinal + 1
        later = self._replies.get(after) or next(iter(self._unread.get(after, ())), None)
        if unread and later is not None and later["purpose"] == "escalation":
            fault = Fault("bad_reply", "a stronger model was asked", role=request.role)
        elif self._fault is not None and self._fault["role"] == request.role:
            fault = Fault(self._fault["kind"], self._fault["message"], role=request.role)
        else:
            what = f"the record holds no reply {request.ordinal} of the {request.role}"
            fault = Fault("replay_miss", what, role=request.role)
        fault.unread = unread
        return fault
