"""The scripted user: a user simulator in code that reveals only what the agent asks for.

It understands the agent by the domain's cue patterns, finds in the ledger the tool calls that fulfil its requests, and
says the lines of its script. Its memory is one row of the state table ``_user``, so that a reply is a function of
(message, state, ledger, seed) and a record can be replayed.

It handles a message by the first rule that applies:

1. If it has been handed over to a human, it leaves.
2. If its request is fulfilled, it goes on to the next request.
3. It objects to a refusal as often as its script says, then accepts it.
4. It answers a request for confirmation with an explicit yes (act ``confirm``), a change of mind, a correction if the
   proposal names a wrong detail, or a question (act ``clarify``) if the proposal leaves out a detail.
5. It answers questions for details.
6. It believes the agent's claim that the request is fulfilled.
7. Otherwise it repeats its request, then says that it has nothing to add, then gives up and leaves.

``Transition.meta`` holds the dialogue acts of each reply.
"""

from __future__ import annotations

import re
import zlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from simia_gym.contracts import StepContext
from simia_gym.language import wanted
from simia_gym.state import freeze
from simia_gym.types import JsonObject, Task, Transition
from simia_gym.users.cues import Cues, Heard, load_cues
from simia_gym.users.scripted_script import Answer, Expect, Request, Script, script_from_json

TABLE, KEY = "_user", "script"
_PATH = f"/{TABLE}/{KEY}"

_YES = ("Yes, please go ahead.", "Yes, that's right. Please proceed.", "Yes, I confirm.", "Yes, go ahead please.")
_AGREE = ("Yes, please.", "Yes, that's right.", "Sure, please do.")
_NO = ("No, that's not right.", "No, wait, that is not what I want.", "No, please don't do that.")
_CLARIFY = (
    "What exactly will you do? Please tell me the {what} again before I say yes.",
    "Before I agree: can you tell me exactly what will be done, with the {what}?",
    "I would like to know exactly what I agree to. Please name the {what} in full.",
)
_DECLINE = ("No, thank you, that is not what I asked for.", "No, thanks. I want something else.")
_THANKS = ("Great, thank you.", "Perfect, thanks.", "Thanks for that.", "Good, thank you.")
_WAIT = ("Sure, take your time.", "Okay, I'll wait.", "Alright, I am here.")
_ACCEPT = ("I see. Alright then.", "That's a pity, but I understand.", "Okay, if that is how it is.")
_INSIST = ("Are you sure? I really need this.", "Can't you make an exception?", "Please, there must be a way.")
_MORE = ("I have nothing more to add, can you go on?", "That is all I can tell you. Could you please carry on?")
_GIVE_UP = ("This is not getting anywhere. I'll leave it, goodbye.", "Never mind, I'll try another time. Goodbye.")
_CLOSE = ("That was all. Thank you, goodbye.", "Nothing else, thanks. Bye!", "That's everything, thank you. Bye.")
_UNKNOWN = ("I'm sorry, I don't know that.", "I can't tell you that, sorry.", "I don't have that information.")
_RESTATE = ("As I said: ", "To say it again: ", "Let me repeat it. ")
_PATIENCE = 4
_EITHER = re.compile(
    r"\b(?:or|otherwise|else|alternatively|alternative|one of|instead|if you (?:don't|do not|can't|cannot))\b"
)


class Memory(NamedTuple):
    """The user's memory between its turns. "The request" is the current one.

    Attributes:
        at: Index of the request in the script.
        seen: Number of ledger events that have been processed.
        known: Slots that the user has told the agent during the request.
        insisted: Number of objections to refusals of the request.
        changed: Whether the user has changed its mind about the request.
        proposed: Whether the agent's last message mentioned the request's action.
        stuck: Number of fallback replies so far; see rule 7 of the module.
        waits: Number of consecutive messages that asked the user to wait.
        objections: Number of wrong proposals that the user has rejected.
        unclear: Number of times that the user has asked what exactly will be done.
        named: Indexes in ``expect`` of the details that the agent's last message named.
        repeats: Number of consecutive answers that told the agent nothing new.
        told: Indexes of the groups in ``told`` of which the agent has said a word.
        done: Indexes of the calls in ``done`` that have succeeded.
    """

    at: int = 0
    seen: int = 0
    known: tuple[str, ...] = ()
    insisted: int = 0
    changed: bool = False
    proposed: bool = False
    stuck: int = 0
    waits: int = 0
    objections: int = 0
    unclear: int = 0
    named: tuple[int, ...] = ()
    repeats: int = 0
    told: tuple[int, ...] = ()
    done: tuple[int, ...] = ()

    def to_row(self) -> JsonObject:
        """The memory as a row of the state."""
        return {
            "at": self.at, "seen": self.seen, "known": list(self.known), "insisted": self.insisted,
            "changed": self.changed, "proposed": self.proposed, "stuck": self.stuck, "waits": self.waits,
            "objections": self.objections, "unclear": self.unclear, "named": list(self.named),
            "repeats": self.repeats, "told": list(self.told), "done": list(self.done),
        }  # fmt: skip

    @staticmethod
    def from_row(row: Mapping[str, Any]) -> Memory:
        """Read the memory from a row of the state."""
        values: dict[str, Any] = {name: tuple(v) if isinstance(v, list | tuple) else v for name, v in row.items()}
        return Memory(**values)


@dataclass
class Reply:
    """A reply under construction: sentences, dialogue acts, slots told, and why it ends the episode, if it does."""

    parts: list[str] = field(default_factory=list)
    acts: list[str] = field(default_factory=list)
    slots: list[str] = field(default_factory=list)
    end: str | None = None


class ScriptedUser:
    """Plays the customer from the task's script.

    Args:
        cues: The domain's cue patterns, as in its cue file.
    """

    name = "scripted"
    io = False

    def __init__(self, cues: Mapping[str, Any]) -> None:
        self.cues = load_cues(cues)

    def begin(self, context: StepContext) -> None:
        """Do nothing: the user's memory is in the state."""

    async def open(self, context: StepContext) -> Transition:
        """Say the opening line; if the script has none, the first request."""
        script = context.prepared.once("script", _script_of)
        line = script.opening or script.requests[0].say
        reply = Reply([_pick(line, context.seed, "opening")], ["open"])
        stated = () if script.vague else ("request",)
        return self._transition(reply, Memory(seen=len(context.ledger.events), known=stated), script)

    async def reply(self, text: str, context: StepContext) -> Transition:
        """Answer a message of the agent."""
        script = context.prepared.once("script", _script_of)
        row = context.state.get(TABLE, KEY)
        memory = Memory() if row is None else Memory.from_row(row)
        events = context.ledger.events
        calls = _calls(events[memory.seen :])
        memory = memory._replace(seen=len(events))
        turn = _Turn(self.cues, script, self.cues.hear(text), calls, context.seed)
        reply, memory = turn.answer(memory)
        return self._transition(reply, memory, script)

    def _transition(self, reply: Reply, memory: Memory, script: Script) -> Transition:
        meta: JsonObject = {"acts": reply.acts, "slots": reply.slots}
        if memory.at < len(script.requests):
            meta["request"] = script.requests[memory.at].id
        return Transition(
            observation=" ".join(reply.parts),
            ops=(freeze({"op": "add", "path": _PATH, "value": memory.to_row()}),),
            speaker="user",
            end=reply.end,
            meta=meta,
        )


class _Turn:
    """Builds the reply to one message of the agent."""

    def __init__(self, cues: Cues, script: Script, heard: Heard, calls: Sequence[Mapping[str, Any]], seed: int) -> None:
        self.cues, self.script, self.heard, self.calls, self.seed = cues, script, heard, calls, seed
        self.said = Reply()

    def answer(self, memory: Memory) -> tuple[Reply, Memory]:
        if any(call["name"] in self.cues.leave_after for call in self.calls):
            return self._leave("Okay, thank you.", "handed_over"), memory
        request = self._present(memory)
        memory = self._notice(request, memory)
        if self._settled(request, memory):
            return self._next(memory, "thank", _THANKS)
        heard = self.heard
        confirms = "confirm" in heard.acts
        new = [slot for slot in heard.asks if slot not in memory.known and self._knows(request, slot)]
        # If the request can be granted, a proposal may contain warnings that look like refusals: the proposal counts.
        # If policy forbids the request, the refusal counts more than an alternative offered with it.
        if "refuse" in heard.acts and not new and (request.accept or not (confirms and self._about(request, memory))):
            return self._refused(request, memory)
        if confirms and (request.action is None or self._about(request, memory)):
            return self._proposed(request, memory)
        if heard.asks:
            return self._answer(request, memory, confirms)
        if confirms:
            return self._answer_unrelated_proposal(request, memory)
        return self._other(request, memory)

    def _answer(self, request: Request, memory: Memory, confirms: bool) -> tuple[Reply, Memory]:
        """Answer questions for details."""
        if confirms:
            self._say(_AGREE, "agree")
        unsaid = "request" not in memory.known
        memory = self._inform(request, memory)
        if memory.repeats > _PATIENCE:
            self.said = Reply()
            return self._leave(self._pick(_GIVE_UP, "give_up"), "give_up"), memory
        if (unsaid and "invite" in self.heard.acts) or memory.repeats > 1:
            self.said.parts.insert(0, self._pick(request.say, "request"))
            self.said.slots.insert(0, "request")
            memory = memory._replace(known=(*memory.known, "request"))
        return self.said, self._after_answer(request, memory)

    def _answer_unrelated_proposal(self, request: Request, memory: Memory) -> tuple[Reply, Memory]:
        """Answer a request for confirmation of something else, such as a summary or another action."""
        if memory.stuck > 1:
            return self._fall_back(request, memory)
        memory = memory._replace(stuck=memory.stuck + 1, waits=0)
        if request.action is not None and self.heard.offered:
            self._say(_DECLINE, "deny")
            self.said.parts.append(self._pick(request.say, "request"))
        else:
            self._say(_AGREE, "agree")
        return self.said, memory

    def _other(self, request: Request, memory: Memory) -> tuple[Reply, Memory]:
        """Answer a message that is neither a refusal, nor a proposal, nor a question for a detail."""
        acts = self.heard.acts
        if "wait" in acts and memory.waits < _PATIENCE:
            self._say(_WAIT, "wait")
            return self.said, memory._replace(waits=memory.waits + 1)
        if request.answer is not None and self.cues.tokens_in(request.answer, self.heard.reading.words):
            return self._next(memory, "thank", _THANKS)
        if "invite" in acts and "offer" not in acts and "claim" not in acts and memory.repeats <= _PATIENCE:
            self._say(request.say, "request")
            self.said.slots.append("request")
            again = "request" in memory.known
            known = memory.known if again else (*memory.known, "request")
            memory = memory._replace(known=known, repeats=memory.repeats + 1 if again else 0)
            return self.said, self._after_answer(request, memory)
        if "claim" in acts or "offer" in acts:
            return self._next(memory, "thank", _THANKS)
        return self._fall_back(request, memory)

    def _notice(self, request: Request, memory: Memory) -> Memory:
        """Update the memory with the tool calls and the message since the user's last turn."""
        done = list(memory.done)
        for call in self.calls:
            for index, deed in enumerate(request.done):
                if index not in done and _fits(call, deed.tool, deed.arguments):
                    done.append(index)
                    break
        told = [
            index
            for index, group in enumerate(request.told)
            if index in memory.told or any(self._mentions(words) for words in group)
        ]
        return memory._replace(done=tuple(done), told=tuple(told))

    def _settled(self, request: Request, memory: Memory) -> bool:
        if request.done:
            return len(memory.done) == len(request.done)
        return bool(request.told) and len(memory.told) == len(request.told)

    def _refused(self, request: Request, memory: Memory) -> tuple[Reply, Memory]:
        # If policy forbids the request, the script sets the number of objections; otherwise the user objects once.
        times = request.insist if request.accept or request.insist else 1
        if memory.insisted < times:
            line = request.insist_say or _INSIST
            self.said.parts.append(line[memory.insisted % len(line)])
            self.said.acts.append("insist")
            return self.said, memory._replace(insisted=memory.insisted + 1, proposed=False, waits=0)
        return self._next(memory, "accept_refusal", request.accept or _ACCEPT)

    def _proposed(self, request: Request, memory: Memory) -> tuple[Reply, Memory]:
        wrong = self._wrong(request)
        if wrong:
            if memory.objections >= _PATIENCE:
                return self._leave(self._pick(_GIVE_UP, "give_up"), "give_up"), memory
            self._say(_NO, "deny")
            for slot in wrong:
                self._tell(request, slot)
            return self.said, memory._replace(objections=memory.objections + 1, proposed=False, waits=0, named=())
        named = self._named(request, memory)
        if len(named) < len(request.expect):
            return self._clarify(request, memory, named)
        if request.change is not None and not memory.changed:
            memory = memory._replace(changed=True, proposed=False, stuck=0, waits=0, named=())
            self._say(request.change.say, "change")
            if request.change.withdraw:
                self.said.acts.append("withdraw")
                return self._next(memory, None, ())
            self.said.slots.extend(request.change.slots)
            return self.said, memory
        if request.action is None:
            self._say(_AGREE, "agree")
        else:
            self._say(request.confirm or _YES, "confirm")
        if self.heard.asks:
            memory = self._inform(request, memory)
        return self.said, self._after_answer(request, memory)._replace(proposed=True, named=named)

    def _clarify(self, request: Request, memory: Memory, named: tuple[int, ...]) -> tuple[Reply, Memory]:
        """Ask for the details that the proposal leaves out; give up after several attempts."""
        if memory.unclear >= _PATIENCE:
            return self._leave(self._pick(_GIVE_UP, "give_up"), "give_up"), memory
        missing = dict.fromkeys(item.slot for index, item in enumerate(request.expect) if index not in named)
        what = " and the ".join(slot.replace("_", " ") for slot in missing) or "details"
        self.said.parts.append(self._pick(_CLARIFY, "clarify").format(what=what))
        self.said.acts.append("clarify")
        # The agent's answer to this question need not name these details again; later messages must.
        return self.said, memory._replace(unclear=memory.unclear + 1, named=named, proposed=True, waits=0)

    def _named(self, request: Request, memory: Memory) -> tuple[int, ...]:
        """Indexes in ``expect`` of the details that this message or the previous one named."""
        return tuple(index for index, item in enumerate(request.expect) if index in memory.named or self._names(item))

    def _names(self, item: Expect) -> bool:
        """Whether the message names a detail, in any notation of numbers and with or without hyphens."""
        return any(self._mentions(words.lstrip("#")) for words in item.any)

    def _mentions(self, words: str) -> bool:
        return wanted(words).stands_in(self.heard.reading)

    def _inform(self, request: Request, memory: Memory) -> Memory:
        known = list(memory.known)
        for slot in self._wanted(request):
            self._tell(request, slot)
            if slot not in known:
                known.append(slot)
        self.said.acts.append("inform")
        if len(known) > len(memory.known):
            return memory._replace(known=tuple(known), stuck=0, repeats=0)
        return memory._replace(repeats=memory.repeats + 1)

    def _wanted(self, request: Request) -> list[str]:
        """The slots to tell; if the agent offers alternatives, only the first one that the user can tell in full."""
        asks = list(self.heard.asks)
        for ways in self.cues.alternatives if _EITHER.search(self.heard.reading.words) else ():
            offered = [way for way in ways if any(slot in asks for slot in way)]
            if len(offered) > 1:
                best = next((way for way in offered if all(self._knows(request, slot) for slot in way)), None)
                if best is not None:
                    dropped = {slot for way in offered for slot in way} - set(best)
                    asks = [slot for slot in asks if slot not in dropped]
        if any(self._knows(request, slot) for slot in asks):
            asks = [slot for slot in asks if self._knows(request, slot) or not self.cues.slots[slot].quiet]
        return asks

    def _knows(self, request: Request, slot: str) -> bool:
        return slot in request.slots or slot in self.script.facts

    def _tell(self, request: Request, slot: str) -> None:
        answer: Answer | None = request.slots.get(slot) or self.script.facts.get(slot)
        cue = self.cues.slots.get(slot)
        line = answer.say if answer is not None else (cue.unknown if cue is not None and cue.unknown else _UNKNOWN)
        text = self._pick(line, slot)
        if text not in self.said.parts:
            self.said.parts.append(text)
        if slot not in self.said.slots:
            self.said.slots.append(slot)

    def _wrong(self, request: Request) -> list[str]:
        """Slots for which the proposal names a wrong value and no right one."""
        return [item.slot for item in request.expect if self._contradicts(item)]

    def _contradicts(self, item: Expect) -> bool:
        if self._names(item):
            return False
        if item.token is not None and self.cues.tokens_in(item.token, self.heard.reading.words):
            return True
        return any(self._mentions(words) for words in item.avoid)

    def _about(self, request: Request, memory: Memory) -> bool:
        """Whether a request for confirmation concerns the user's request, by this message or the previous one."""
        if request.action is None:
            return False
        if request.action in self.heard.actions or memory.proposed:
            return True
        return bool(request.expect) and all(self._names(item) for item in request.expect)

    def _after_answer(self, request: Request, memory: Memory) -> Memory:
        """Reset the count of waits and remember whether, and with which details, the message mentioned the action."""
        spoke = request.action is not None and request.action in self.heard.actions and not self.heard.asks
        return memory._replace(waits=0, proposed=spoke, named=self._named(request, memory) if spoke else ())

    def _fall_back(self, request: Request, memory: Memory) -> tuple[Reply, Memory]:
        """Repeat the request; the next time, say that there is nothing to add; then give up."""
        proposed = request.action is not None and request.action in self.heard.actions
        named = self._named(request, memory) if proposed else ()
        memory = memory._replace(stuck=memory.stuck + 1, waits=0, proposed=proposed, named=named)
        if memory.stuck == 1:
            self.said.parts.append(self._pick(_RESTATE, "restate") + self._pick(request.say, "request"))
            self.said.acts.append("restate")
        elif memory.stuck == 2:
            self._say(_MORE, "nothing_to_add")
        else:
            return self._leave(self._pick(_GIVE_UP, "give_up"), "give_up"), memory
        return self.said, memory

    def _next(self, memory: Memory, act: str | None, line: Sequence[str]) -> tuple[Reply, Memory]:
        """Make the next request, or leave if there is none."""
        if act is not None:
            self._say(line, act)
        at = memory.at + 1
        if at >= len(self.script.requests):
            return self._leave(self._pick(self.script.close or _CLOSE, "close"), "leave"), memory._replace(at=at)
        self._say(self.script.requests[at].say, "request")
        return self.said, Memory(at=at, seen=memory.seen, known=("request",))

    def _leave(self, words: str, act: str) -> Reply:
        self.said.parts.append(words)
        self.said.acts.append(act)
        self.said.end = "user_stop"
        return self.said

    def _present(self, memory: Memory) -> Request:
        request = self.script.requests[min(memory.at, len(self.script.requests) - 1)]
        change = request.change
        if change is None or not memory.changed or change.withdraw:
            return request
        given = {name: getattr(change, name) for name in ("action", "expect", "done")}
        update = {name: value for name, value in given.items() if value not in (None, "")}
        return request.model_copy(update={**update, "slots": {**request.slots, **change.slots}})

    def _say(self, line: Sequence[str], act: str) -> None:
        self.said.parts.append(self._pick(line, act))
        self.said.acts.append(act)

    def _pick(self, line: Sequence[str], key: str) -> str:
        return _pick(line, self.seed, key)


def _script_of(task: Task) -> Script:
    return script_from_json(task.user, f"task {task.id}: user")


def _pick(line: Sequence[str], seed: int, key: str) -> str:
    """Pick a wording, determined by seed and key and evenly distributed over seeds."""
    if len(line) == 1:
        return line[0]
    return line[zlib.crc32(f"{seed}:{key}:{line[0]}".encode()) % len(line)]


def _calls(events: Sequence[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
    """The successful tool calls among some events."""
    return [
        event["call"]
        for event in events
        if event["type"] == "transition" and event["call"] is not None and event["outcome"] == "ok"
    ]


def _fits(call: Mapping[str, Any], tool: str, arguments: Mapping[str, Any]) -> bool:
    given = call["arguments"]
    return bool(call["name"] == tool and all(given.get(name) == value for name, value in arguments.items()))
