"""The brief user: a user simulator for tasks that have a description of the customer but no script.

It states the task's reason and known facts, answers every question with these facts, and agrees to every proposal. At
thanks, an offer of help or a claim it leaves if every tool in the task's option ``done`` has succeeded as often as it
is listed there; without that option, if any tool has. Else it says its reason again, and leaves only after many such
messages between which the agent calls no tool. It cannot object, choose, or withhold anything, so scores with it are
less informative than scores with a scripted user. Every report names the kind of user.

The ``user`` of such a task holds ``reason`` and ``known``, and may hold ``unknown`` and ``instructions`` (which are
never spoken), all in the second person: "You are Ada and want ...".
"""

from __future__ import annotations

import re
import zlib
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

from simia_gym.contracts import StepContext
from simia_gym.errors import InputError
from simia_gym.state import freeze
from simia_gym.types import JsonObject, Task, Transition
from simia_gym.users.cues import load_cues
from simia_gym.users.memory import TABLE

KEY = "brief"
_UNSPOKEN: JsonObject = {"asked": 0, "stuck": 0, "refused": 0, "seen": 0}
"""The memory before the agent's first message."""
_YES = ("Yes, please go ahead.", "Yes, I confirm. Please proceed.", "Yes, that's right, go ahead.")
_THANKS = ("Thank you, that is all. Goodbye.", "Great, thanks. That was everything.", "Perfect, thank you. Bye.")
_FORGOT = ("I don't remember anything beyond that.", "More than that I don't remember.", "That is all I know.")
_MORE = ("I have nothing more to add, can you go on?", "I've told you everything. Could you please carry on?")
_WAIT = ("Okay, please do.", "Sure, I'll wait.", "Alright.")
_PITY = ("Is there really no way?", "Please check again, I would like to have this done.")
_NOTHING_ELSE = ("No, nothing else, just that.", "No, there is nothing else. Please go on with that.")
_LONG = 8
"""The number of messages in a row that do not help it on before it leaves."""
_GIVE_UP = ("Alright, then I leave it at that. Goodbye.", "Never mind then. Goodbye.")
_PERSONS: tuple[tuple[re.Pattern[str], str], ...] = tuple(
    (re.compile(pattern, re.IGNORECASE), spoken)
    for pattern, spoken in (
        (r"\byou are\b|\byou're\b", "I am"),
        (r"\byou were\b", "I was"),
        (r"\byou've\b", "I have"),
        (r"\byou'd\b", "I would"),
        (r"\byou'll\b", "I will"),
        (r"\byourself\b", "myself"),
        (r"\byours\b", "mine"),
        (r"\byour\b", "my"),
        (r"\b(to|for|with|give|tell|help|of|from|by|at|let) you\b", r"\1 me"),
        (r"\byou\b", "I"),
    )
)


class BriefUser:
    """Plays the customer from a description."""

    name = "brief"
    io = False

    def __init__(self, cues: Mapping[str, Any]) -> None:
        self.cues = load_cues(cues)

    def begin(self, context: StepContext) -> None:
        """Do nothing: the user's memory is in the state."""

    async def open(self, context: StepContext) -> Transition:
        """Say the first message: the reason for the contact and the known facts."""
        reason, known = context.prepared.once("brief", _brief)
        text = " ".join(part for part in (reason, known) if part)
        return _transition(f"Hi. {text}", ["open"], _UNSPOKEN)

    async def reply(self, text: str, context: StepContext) -> Transition:
        """Answer a message of the agent."""
        memory = dict(context.state.get(TABLE, KEY) or _UNSPOKEN)
        heard, seed = self.cues.hear(text), context.seed
        reason, known = context.prepared.once("brief", _brief)
        acts, events = heard.acts, context.ledger.events
        if any(event["type"] == "transition" and event["call"] is not None for event in events[memory["seen"] :]):
            memory["stuck"] = 0
        memory["seen"] = len(events)
        if "confirm" in acts:
            parts, said = [_pick(_YES, seed, "yes")], ["confirm"]
            if heard.asks:
                parts.append(known or _pick(_FORGOT, seed, "forgot"))
                said.append("inform")
            return _transition(" ".join(parts), said, {**memory, "stuck": 0})
        if heard.asks or ("question" in acts and "offer" not in acts):
            memory["asked"] += 1
            if memory["asked"] > 12:
                return _transition(_pick(_GIVE_UP, seed, "give_up"), ["give_up"], memory, end="user_stop")
            words = [known] if known else []
            if memory["asked"] > 1 or not known:
                words = [reason, *words, _pick(_FORGOT, seed, "forgot")]
            return _transition(" ".join(words), ["inform"], {**memory, "stuck": 0}, slots=list(heard.asks))
        if "refuse" in acts:
            memory["refused"] += 1
            if memory["refused"] > 1:
                return _transition(_pick(_GIVE_UP, seed, "give_up"), ["accept_refusal"], memory, end="user_stop")
            return _transition(_pick(_PITY, seed, "pity"), ["insist"], memory)
        if "wait" in acts and memory["stuck"] < 3:
            return _transition(_pick(_WAIT, seed, "wait"), ["wait"], {**memory, "stuck": memory["stuck"] + 1})
        if acts & {"claim", "offer"} and _done(context):
            return _transition(_pick(_THANKS, seed, "thanks"), ["thank", "leave"], memory, end="user_stop")
        memory["stuck"] += 1
        if memory["stuck"] > _LONG:
            return _transition(_pick(_GIVE_UP, seed, "give_up"), ["give_up"], memory, end="user_stop")
        if memory["stuck"] % 2:
            return _transition(" ".join(part for part in (reason, known) if part), ["restate"], memory)
        if "offer" in acts:
            return _transition(_pick(_NOTHING_ELSE, seed, "nothing_else"), ["nothing_to_add"], memory)
        return _transition(_pick(_MORE, seed, "more"), ["nothing_to_add"], memory)


def _done(context: StepContext) -> bool:
    """Whether every tool that the task names has succeeded as often as there, and any tool if it names none."""
    calls = (event["call"] for event in context.ledger.events if event["type"] == "transition" and _ok(event))
    made = Counter(call["name"] for call in calls)
    return bool(made) and Counter(context.task.options.get("done", ())) <= made


def _ok(event: Mapping[str, Any]) -> bool:
    return event["call"] is not None and bool(event["outcome"] == "ok")


def first_person(text: str) -> str:
    """Turn "You want to return your lamp." into "I want to return my lamp."."""
    for pattern, spoken in _PERSONS:
        text = pattern.sub(spoken, text)
    return text


def _brief(task: Task) -> tuple[str, str]:
    """The reason and the known facts, in the first person."""
    user = task.user
    if not isinstance(user, Mapping) or not isinstance(user.get("reason"), str):
        fix = "Use a scripted user for tasks that have a script."
        raise InputError("the task's user has no 'reason'", where=f"task {task.id}: user", fix=fix)
    return first_person(user["reason"].strip()), first_person(str(user.get("known") or "").strip())


def _transition(
    text: str, acts: list[str], memory: JsonObject, *, end: str | None = None, slots: Sequence[str] = ()
) -> Transition:
    return Transition(
        observation=text,
        ops=(freeze({"op": "add", "path": f"/{TABLE}/{KEY}", "value": memory}),),
        speaker="user",
        end=end,
        meta={"acts": acts, "slots": list(slots)},
    )


def _pick(line: Sequence[str], seed: int, key: str) -> str:
    return line[zlib.crc32(f"{seed}:{key}".encode()) % len(line)]
