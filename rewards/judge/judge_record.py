r"""The record of an episode as shown to a judge: a list of messages, calls and results.

One entry for each message, call or answer, with the number of its event in the ledger and its author:

    {"event": 3, "by": "user", "text": "Hi, I want to return a lamp."}
    {"event": 6, "by": "agent", "call": {"name": "get_order", "arguments": {"order_id": "#W1"}}}
    {"event": 6, "by": "tool", "outcome": "ok", "text": "{\"status\": \"delivered\"}"}
    {"event": 8, "by": "agent", "text": "It will be sent back today."}
    {"event": 9, "by": "env", "outcome": "error", "error_code": "malformed_call", "text": "Error: ..."}
    {"event": 12, "by": "agent", "answer": "42"}
    {"event": 13, "by": "env", "ended": "user_stop"}

The agent's reasoning, its text beside calls and its undelivered text are left out, as are raw model replies and
whatever only the user knows. Texts that are too long keep their beginning as ``text`` and their end as ``end``;
``left_out`` is the number of characters between. These marks are keys, so no text can imitate one. In a record that is
still too long, ``{"by": "env", "idle": 700}`` replaces 700 actions that changed nothing.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Literal, TypeAlias

from simia_gym.common.json_encoding import encode, texts_in
from simia_gym.errors import Fault
from simia_gym.language import visible
from simia_gym.llm.blocks import safe_json
from simia_gym.record.finished_episode import Event, FinishedEpisode
from simia_gym.types import JsonObject

MAX_RECORD = 120_000
"""Default maximum number of characters of a record."""

Side: TypeAlias = Literal["said", "called", "heard", "seen"]
"""Source of a text in the record, in order: the agent's words, its calls, the user's words, observations."""

_LIMITS = (20_000, 8_000, 4_000, 2_000, 1_000, 400, 150)


def judge_record(finished: FinishedEpisode, most: int = MAX_RECORD) -> list[JsonObject]:
    """Write the record of an episode for a judge, with at most ``most`` characters as JSON.

    If the record is too long, the middle of tool answers is cut, as little as is needed; then the middle of what the
    agent wrote; then calls that changed nothing are left out, the middle ones first. So an agent cannot avoid being
    judged by a flood of words or calls.

    Raises:
        Fault: The shortened record is still too long.
    """
    entries = [entry for event in finished.events for entry in _entries(event)]
    size = len(safe_json(entries))
    if size <= most:
        return entries
    for everyone in (False, True):
        for limit in _LIMITS:
            cut = [_cut(entry, limit) if everyone or entry["by"] in ("tool", "env") else entry for entry in entries]
            size = len(safe_json(cut))
            if size <= most:
                return cut
    for kept in (64, 16, 4, 0):
        cut = list(_without_idle(finished, entries, kept))
        size = len(safe_json(cut))
        if size <= most:
            return cut
    message = f"the record has {size} characters even when it is cut, more than the {most} that a judge may get"
    raise Fault("record_too_large", message, role="judge")


_SIDES: Mapping[str, Side] = {"agent": "said", "user": "heard"}


def texts_of(event: Event) -> dict[Side, list[str]]:
    """The texts of an event that the record shows, by source."""
    texts: dict[Side, list[str]] = {"said": [], "called": [], "heard": [], "seen": []}
    for entry in _entries(event):
        if "call" in entry:
            texts["called"] += [encode(entry["call"]).decode(), *texts_in(entry["call"])]
        else:
            side = _SIDES.get(entry["by"], "seen")
            texts[side] += [entry[key] for key in ("text", "answer", "ended") if key in entry]
    return texts


def _entries(event: Event) -> Iterator[JsonObject]:
    """The record's entries for one event."""
    index, kind = event["i"], event["type"]
    if kind == "message":
        yield {"event": index, "by": event["speaker"], "text": event["text"]}
    elif kind == "transition":
        call, said = event.get("call"), event.get("say")
        if call is not None:
            shown = {"name": call["name"], "arguments": call.get("arguments") or {}}
            yield {"event": index, "by": "agent", "call": shown}
        elif said is not None:
            yield {"event": index, "by": "agent", "text": _seen(said)}
        answer: JsonObject = {"event": index, "by": event["speaker"]}
        if call is not None:
            answer["outcome"] = event.get("outcome", "ok")
            if event.get("error_code") is not None:
                answer["error_code"] = event["error_code"]
        yield {**answer, "text": event["observation"]}
    elif kind == "invalid":
        yield {"event": index, "by": "env", "outcome": "error", "error_code": event["code"], "text": event["text"]}
    elif kind == "answer":
        yield {"event": index, "by": "agent", "answer": _seen(event["text"])}
    elif kind == "end":
        yield {"event": index, "by": "env", "ended": event["reason"]}


def _seen(text: str) -> str:
    """A text as a person sees it; to the letter if nothing in it is disguised."""
    shown = visible(text)
    return shown.text if shown.disguised else text


def _cut(entry: JsonObject, limit: int) -> JsonObject:
    """Leave out the middle of texts in an entry that are longer than the limit."""
    if "call" in entry:
        arguments = encode(entry["call"]["arguments"]).decode()
        if len(arguments) <= limit:
            return entry
        call = {"name": entry["call"]["name"][:limit], **_halves("arguments", arguments, limit)}
        return {**entry, "call": call}
    for key in ("text", "answer"):
        if len(entry.get(key, "")) > limit:
            return {**entry, **_halves(key, entry[key], limit)}
    return entry


def _without_idle(finished: FinishedEpisode, entries: list[JsonObject], kept: int) -> Iterator[JsonObject]:
    """Leave out failed calls, read-only calls and invalid actions, except some at both ends."""
    idle = {call.event for call in finished.calls if not (call.ok and call.writes)}
    idle |= {event["i"] for event in finished.events if event["type"] == "invalid"}
    gone = set(sorted(idle)[kept : max(kept, len(idle) - kept)])
    run: set[int] = set()
    for entry in entries:
        if entry["event"] in gone:
            run.add(entry["event"])
            continue
        if run:
            yield {"by": "env", "idle": len(run)}
            run = set()
        yield _cut(entry, _LIMITS[-1])
    if run:
        yield {"by": "env", "idle": len(run)}


def _halves(key: str, text: str, limit: int) -> JsonObject:
    head, tail = limit * 2 // 3, limit // 3
    return {key: text[:head], "left_out": len(text) - head - tail, "end": text[len(text) - tail :]}
