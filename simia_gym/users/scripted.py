"""The scripted user: a user simulator in code that reveals only what the agent asks for.

It understands the agent by the domain's cue patterns, finds in the ledger the tool calls that fulfil its requests, and
says the lines of its script. Its memory is one row of the state table ``_user``, so that a reply is a function of
(message, state, ledger, seed) and a record can be replayed.

It handles a message by the first rule that applies:

1. If it has been handed over to a human, it leaves. It asks for English if a sentence is in another language.
2. If its request is fulfilled, it goes on to the next request.
3. It objects to a refusal as often as its script says, then accepts it, and may then want something else instead.
4. It answers a request for confirmation with an explicit yes (act ``confirm``), a change of mind, a correction if the
   proposal names a wrong detail, or a question (act ``clarify``) if the proposal leaves out a detail.
5. It answers questions for details.
6. It takes one value for the answer to its question, and asks which one it is if the message leaves that open; it
   believes the agent's claim that the request is fulfilled.
7. Otherwise it repeats its request, then says that it has nothing to add, then gives up and leaves.

``Transition.meta`` holds the dialogue acts of each reply.
"""

from __future__ import annotations

import re
import zlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from simia_gym.contracts import StepContext
from simia_gym.language import Asserted, Reading, wanted
from simia_gym.state import State, freeze
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
_TONGUE = ("Please write in English.", "Sorry, I only read English. Please write in English.")
_WHICH = ("Which one is it?", "I need one answer. Which one is it?", "So which one is it?")
_DECLINE = ("No, thank you, that is not what I asked for.", "No, thanks. I want something else.")
_THANKS = ("Great, thank you.", "Perfect, thanks.", "Thanks for that.", "Good, thank you.")
_WAIT = ("Sure, take your time.", "Okay, I'll wait.", "Alright, I am here.")
ACCEPT = ("I see. Alright then.", "That's a pity, but I understand.", "Okay, if that is how it is.")
INSIST = ("Are you sure? I really need this.", "Can't you make an exception?", "Please, there must be a way.")
_MORE = ("I have nothing more to add, can you go on?", "That is all I can tell you. Could you please carry on?")
_GIVE_UP = ("This is not getting anywhere. I'll leave it, goodbye.", "Never mind, I'll try another time. Goodbye.")
_CLOSE = ("That was all. Thank you, goodbye.", "Nothing else, thanks. Bye!", "That's everything, thank you. Bye.")
_UNKNOWN = ("I'm sorry, I don't know that.", "I can't tell you that, sorry.", "I don't have that information.")
_RESTATE = ("As I said: ", "To say it again: ", "Let me repeat it. ")
_PATIENCE = 4
_EITHER = re.compile(
    r"\b(?:or|otherwise|else|alternatively|alternative|one of|instead|if you (?:don't|do not|can't|cannot))\b"
)


@dataclass
class Memory:
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
        """The memory as a row of the state, without what is still as at the start."""
        return {name: value for name, value in vars(self).items() if value}

    @classmethod
    def of(cls, state: State) -> Memory:
        """Read the memory from the state; it is that of the start if the state has none."""
        row: Mapping[str, Any] = state.get(TABLE, KEY) or {}
        values: dict[str, Any] = {name: tuple(v) if isinstance(v, list) else v for name, v in row.items()}
        return cls(**values)


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
        memory = Memory(seen=len(context.ledger.events), known=() if script.vague else ("request",))
        turn = _Turn(self.cues, script, memory, self.cues.hear(""), context.seed)
        turn.say(script.opening or script.requests[0].say, "open", key="opening")
        return turn.transition()

    async def reply(self, text: str, context: StepContext) -> Transition:
        """Answer a message of the agent."""
        script = context.prepared.once("script", _script_of)
        memory = Memory.of(context.state)
        calls = _calls(context.ledger.events[memory.seen :])
        memory.seen = len(context.ledger.events)
        turn = _Turn(self.cues, script, memory, self.cues.hear(text), context.seed)
        turn.answer(calls)
        return turn.transition()


class _Turn:
    """Builds the reply to one message of the agent, and changes the user's memory."""

    def __init__(self, cues: Cues, script: Script, memory: Memory, heard: Heard, seed: int) -> None:
        self.cues, self.script, self.memory, self.heard, self.seed = cues, script, memory, heard, seed
        self.request = present_request(script, memory)
        self.parts: list[str] = []
        self.acts: list[str] = []
        self.slots: list[str] = []
        self.end: str | None = None

    def transition(self) -> Transition:
        """The reply, with the memory as a change of the state."""
        meta: JsonObject = {"acts": self.acts, "slots": self.slots}
        if self.memory.at < len(self.script.requests):
            meta["request"] = self.script.requests[self.memory.at].id
        return Transition(
            observation=" ".join(self.parts),
            ops=(freeze({"op": "add", "path": _PATH, "value": self.memory.to_row()}),),
            speaker="user",
            end=self.end,
            meta=meta,
        )

    def say(self, line: Sequence[str], act: str, key: str = "") -> None:
        """Add one wording of a line; ``key`` picks it together with the seed, and is the act if not given."""
        self.parts.append(_pick(line, self.seed, key or act))
        self.acts.append(act)

    def answer(self, calls: Sequence[Mapping[str, Any]]) -> None:
        """Choose the reply by the rules of the module; ``calls`` have succeeded since the user's last turn."""
        if any(call["name"] in self.cues.leave_after for call in calls):
            self._leave(("Okay, thank you.",), "handed_over")
            return
        self._notice(calls)
        request, heard = self.request, self.heard
        confirms = "confirm" in heard.acts
        about = confirms and self._about()
        new = any(slot not in self.memory.known and self._knows(slot) for slot in heard.asks)
        if heard.reading.foreign:
            self._ask_again(_TONGUE, "english")
        elif self._settled():
            self._thank()
        # A proposal may contain warnings that look like refusals, and a refusal may come with an alternative.
        elif "refuse" in heard.acts and not new and not (confirms and self._stated()):
            self._refused()
        elif confirms and (request.action is None or about):
            self._proposed()
        elif heard.asks:
            self._answer(confirms)
        elif confirms:
            self._answer_unrelated_proposal()
        else:
            self._other()

    def _answer(self, confirms: bool) -> None:
        """Answer questions for details."""
        if confirms:
            self.say(_AGREE, "agree")
        unsaid = "request" not in self.memory.known
        self._inform()
        if self.memory.repeats > _PATIENCE:
            self.parts, self.acts, self.slots = [], [], []
            self._leave(_GIVE_UP, "give_up")
            return
        if (unsaid and "invite" in self.heard.acts) or self.memory.repeats > 1:
            self.parts.insert(0, self._wish())
            self.slots.insert(0, "request")
            self.memory.known += ("request",)
        self._after_answer()

    def _answer_unrelated_proposal(self) -> None:
        """Answer a request for confirmation of something else, such as a summary or another action."""
        if self.memory.stuck > 1:
            self._fall_back()
            return
        self.memory.stuck += 1
        self.memory.waits = 0
        if self.request.action is not None and self._offers():
            self.say(_DECLINE, "deny")
            self.parts.append(self._wish())
        else:
            self.say(_AGREE, "agree")

    def _other(self) -> None:
        """Answer a message that is neither a refusal, nor a proposal, nor a question for a detail."""
        acts, request, memory = self.heard.acts, self.request, self.memory
        if "wait" in acts and memory.waits < _PATIENCE:
            self.say(_WAIT, "wait")
            memory.waits += 1
        elif request.answer is not None and self._answered.one is not None:
            self._thank()
        elif request.answer is not None and self.cues.tokens_in(request.answer, self.heard.reading.words):
            self._ask_again(_WHICH, "which")
        elif "invite" in acts and "offer" not in acts and "claim" not in acts and memory.repeats <= _PATIENCE:
            self.say(request.say, "request")
            self.slots.append("request")
            if "request" in memory.known:
                memory.repeats += 1
            else:
                memory.known, memory.repeats = (*memory.known, "request"), 0
            self._after_answer()
        elif "claim" in acts or "offer" in acts:
            self._thank()
        else:
            self._fall_back()

    def _notice(self, calls: Sequence[Mapping[str, Any]]) -> None:
        """Remember what tool calls and the message have fulfilled since the user's last turn."""
        done = list(self.memory.done)
        for call in calls:
            for index, deed in enumerate(self.request.done):
                if index not in done and _fits(call, deed.tool, deed.arguments):
                    done.append(index)
                    break
        self.memory.done = tuple(done)
        self.memory.told = tuple(
            index
            for index, group in enumerate(self.request.told)
            if index in self.memory.told or (not self.heard.reading.foreign and any(map(self._mentions, group)))
        )

    @cached_property
    def _answered(self) -> Asserted:
        """What the message asserts as the answer to the user's question."""
        pattern = self.cues.tokens.get(self.request.answer or "")
        return self.heard.reading.asserted(pattern.pattern if pattern else r"(?!)", self.request.about)

    def _settled(self) -> bool:
        if self.request.answer is not None:
            return self._answered.named and self._answered.one is not None
        if self.request.done:
            return len(self.memory.done) == len(self.request.done)
        return bool(self.request.told) and len(self.memory.told) == len(self.request.told)

    def _refused(self) -> None:
        request, memory = self.request, self.memory
        if memory.insisted < request.insist:
            line = request.insist_say or INSIST
            self.parts.append(line[memory.insisted % len(line)])
            self.acts.append("insist")
            memory.insisted, memory.proposed, memory.waits = memory.insisted + 1, False, 0
        else:
            self.say(request.accept or ACCEPT, "accept_refusal")
            self._next(refused=True)

    def _proposed(self) -> None:
        """Answer a request for confirmation of what the user wants."""
        request, memory = self.request, self.memory
        named = self._named()
        unsure = {*range(len(request.expect))}.difference(named).union(memory.named)
        wrong = [item.slot for index, item in enumerate(request.expect) if index in unsure and self._contradicts(item)]
        if wrong and memory.objections >= _PATIENCE:
            self._leave(_GIVE_UP, "give_up")
        elif wrong:
            self.say(_NO, "deny")
            for slot in wrong:
                self._tell(slot)
            memory.objections, memory.proposed, memory.waits, memory.named = memory.objections + 1, False, 0, ()
        elif len(named) < len(request.expect):
            self._clarify(named)
        elif request.change is not None and not memory.changed:
            memory.changed, memory.proposed, memory.stuck, memory.waits, memory.named = True, False, 0, 0, ()
            self.say(request.change.say, "change")
            self.slots.append("change")
            if request.change.withdraw:
                self.acts.append("withdraw")
                self._next()
            else:
                self.slots.extend(request.change.slots)
        else:
            if request.action is None:
                self.say(_AGREE, "agree")
            else:
                self.say(request.confirm or _YES, "confirm")
            if self.heard.asks:
                self._inform()
            memory.waits, memory.proposed, memory.named = 0, True, named

    def _ask_again(self, line: Sequence[str], key: str) -> None:
        """Ask for a message that can be understood; give up after several attempts."""
        self.memory.unclear += 1
        if self.memory.unclear > _PATIENCE:
            self._leave(_GIVE_UP, "give_up")
        else:
            self.say(line, "clarify", key=key)
            self.memory.waits = 0

    def _clarify(self, named: tuple[int, ...]) -> None:
        """Ask for the details that the proposal leaves out; give up after several attempts."""
        if self.memory.unclear >= _PATIENCE:
            self._leave(_GIVE_UP, "give_up")
            return
        missing = dict.fromkeys(item.slot for index, item in enumerate(self.request.expect) if index not in named)
        what = " and the ".join(slot.replace("_", " ") for slot in missing) or "details"
        self.parts.append(_pick(_CLARIFY, self.seed, "clarify").format(what=what))
        self.acts.append("clarify")
        # The agent's answer to this question need not name these details again; later messages must.
        self.memory.unclear += 1
        self.memory.named, self.memory.proposed, self.memory.waits = named, True, 0

    def _named(self) -> tuple[int, ...]:
        """Indexes in ``expect`` of the details that this message or the previous one named."""
        known = self.memory.named
        return tuple(index for index, item in enumerate(self.request.expect) if index in known or self._names(item))

    def _names(self, item: Expect) -> bool:
        """Whether the message names a detail, and leaves no other value open."""
        reading = self.heard.reading.standing
        if not _names(item, reading):
            return False
        if not self._others(item, reading):
            return True
        return not reading.leaves_open(lambda text: self._sides(item, text)) and not (
            self._strange(item, reading)
            and reading.replaces(lambda text: (_names(item, text), bool(self._strange(item, text))))
        )

    def _strange(self, item: Expect, reading: Reading) -> frozenset[str]:
        """The values of a detail's kind in a text that the user has no wish about."""
        if item.token is None:
            return frozenset()
        return self.cues.tokens_in(item.token, reading.words) - self._wished

    @cached_property
    def _wished(self) -> set[str]:
        """The words for the details of this request and of those that come later in any case."""
        later = [request for request in self.script.requests[self.memory.at + 1 :] if not request.otherwise]
        expected = (item for request in (self.request, *later) for item in request.expect)
        return {words.lower().lstrip("#") for item in expected for words in (*item.any, *item.beside)}

    def _others(self, item: Expect, reading: Reading) -> list[str]:
        """The words in a text for other values of a detail's kind."""
        found = [words for words in item.avoid if wanted(words).stands_in(reading)]
        if item.token is not None:
            found += self.cues.tokens_in(item.token, reading.words) - self._known[item.slot]
        return found

    def _sides(self, item: Expect, reading: Reading) -> tuple[bool, bool]:
        """Whether a text names a detail, and whether it names another value of its kind; the longer phrase counts."""
        other = self._others(item, reading)
        if not other:
            return _names(item, reading), False
        right = [words for words in self._known[item.slot] if wanted(words).stands_in(reading)]
        own = {words.lower().lstrip("#") for words in item.any}.intersection(right)
        return _outside(own, other), _outside(other, right)

    @cached_property
    def _known(self) -> dict[str, set[str]]:
        """The words for the values of each slot, of which there may be several."""
        known: dict[str, set[str]] = {}
        for item in self.request.expect:
            known.setdefault(item.slot, set()).update(words.lower().lstrip("#") for words in (*item.any, *item.beside))
        return known

    def _mentions(self, words: str) -> bool:
        return wanted(words).stands_in(self.heard.reading)

    def _inform(self) -> None:
        """Tell the details that the message asks for."""
        slots = self._wanted()
        for slot in slots:
            self._tell(slot)
        self.acts.append("inform")
        new = tuple(slot for slot in slots if slot not in self.memory.known)
        if new:
            self.memory.known, self.memory.stuck, self.memory.repeats = (*self.memory.known, *new), 0, 0
        else:
            self.memory.repeats += 1

    def _wanted(self) -> list[str]:
        """The slots to tell; if the agent offers alternatives, only the first one that the user can tell in full."""
        asks = list(self.heard.asks)
        for ways in self.cues.alternatives if _EITHER.search(self.heard.reading.words) else ():
            offered = [way for way in ways if any(slot in asks for slot in way)]
            if len(offered) > 1:
                best = next((way for way in offered if all(self._knows(slot) for slot in way)), None)
                if best is not None:
                    dropped = {slot for way in offered for slot in way} - set(best)
                    asks = [slot for slot in asks if slot not in dropped]
        if any(self._knows(slot) for slot in asks):
            asks = [slot for slot in asks if self._knows(slot) or not self.cues.slots[slot].quiet]
        return asks

    def _answer_to(self, slot: str) -> Answer | None:
        return self.request.slots.get(slot) or self.script.facts.get(slot)

    def _knows(self, slot: str) -> bool:
        return self._answer_to(slot) is not None

    def _tell(self, slot: str) -> None:
        """Tell a detail, unless the message has told it already, in the description of another one."""
        answer, cue = self._answer_to(slot), self.cues.slots.get(slot)
        line = answer.say if answer is not None else (cue.unknown if cue is not None and cue.unknown else _UNKNOWN)
        text = _pick(line, self.seed, slot)
        told = {value for other in map(self._answer_to, self.slots) if other is not None for value in other.values}
        if text not in self.parts and not (answer is not None and answer.values and told.issuperset(answer.values)):
            self.parts.append(text)
        if slot not in self.slots:
            self.slots.append(slot)

    def _contradicts(self, item: Expect) -> bool:
        """Whether the message names a wrong value of a detail and no right one."""
        return not _names(item, self.heard.reading) and self._sides(item, self.heard.reading)[1]

    def _about(self) -> bool:
        """Whether a request for confirmation concerns the user's request, by this message or the previous one."""
        request = self.request
        if request.action is None:
            return False
        return self.memory.proposed or self._speaks_of_it() or self._in_full()

    def _speaks_of_it(self) -> bool:
        """Whether the message has words of the request's action, and does not deny them."""
        return self.cues.about(self.request.action, self.heard.reading.standing.words)

    def _offers(self) -> bool:
        """Whether the message asks for a yes to some action, in the same sentence."""
        asked = [said.sentence.plain for said in self.heard.reading.said if "confirm" in said.acts]
        return any(self.cues.about(action, text) for text in asked for action in self.cues.actions)

    def _in_full(self) -> bool:
        """Whether the message names every detail of the request."""
        return bool(self.request.expect) and all(self._names(item) for item in self.request.expect)

    def _stated(self) -> bool:
        """Whether the message, beside what it refuses, proposes the request in full."""
        return self._speaks_of_it() and all(map(self._names, self.request.expect))

    def _after_answer(self) -> None:
        """Reset the count of waits and remember whether, and with which details, the message mentioned the action."""
        spoke = not self.heard.asks and self._speaks_of_it()
        self.memory.waits, self.memory.proposed, self.memory.named = 0, spoke, self._named() if spoke else ()

    def _fall_back(self) -> None:
        """Repeat the request; the next time, say that there is nothing to add; then give up."""
        memory = self.memory
        proposed = self._speaks_of_it()
        memory.named = self._named() if proposed else ()
        memory.stuck, memory.waits, memory.proposed = memory.stuck + 1, 0, proposed
        if memory.stuck == 1:
            self.parts.append(_pick(_RESTATE, self.seed, "restate") + self._wish())
            self.acts.append("restate")
        elif memory.stuck == 2:
            self.say(_MORE, "nothing_to_add")
        else:
            self._leave(_GIVE_UP, "give_up")

    def _wish(self) -> str:
        return _pick(self.request.say, self.seed, "request")

    def _thank(self) -> None:
        self.say(_THANKS, "thank")
        self._next()

    def _next(self, *, refused: bool = False) -> None:
        """Make the next request, or leave if there is none; one marked ``otherwise`` only after a refusal."""
        at = self.memory.at + 1
        while at < len(self.script.requests) and self.script.requests[at].otherwise and not refused:
            at += 1
        if at < len(self.script.requests):
            self.say(self.script.requests[at].say, "request")
            if self.script.requests[at].otherwise:
                self.slots.append("otherwise")
            self.memory = Memory(at=at, seen=self.memory.seen, known=("request",))
        else:
            self._leave(self.script.close or _CLOSE, "leave", key="close")
            self.memory.at = at

    def _leave(self, line: Sequence[str], act: str, key: str = "") -> None:
        self.say(line, act, key)
        self.end = "user_stop"


def _names(item: Expect, reading: Reading) -> bool:
    """Whether a text names a detail, in any notation of numbers and with or without hyphens."""
    return any(wanted(words.lstrip("#")).stands_in(reading) for words in item.any)


def _outside(phrases: Iterable[str], others: Sequence[str]) -> bool:
    """Whether one of some phrases is not only the end of another phrase, as "economy" is of "basic economy"."""
    return any(not any(other.lower().endswith(f" {phrase.lower()}") for other in others) for phrase in phrases)


def present_request(script: Script, memory: Memory) -> Request:
    """The current request, after the user's change of mind if there was one."""
    request = script.requests[min(memory.at, len(script.requests) - 1)]
    change = request.change
    if change is None or not memory.changed or change.withdraw:
        return request
    given = {name: getattr(change, name) for name in ("action", "expect", "done")}
    update = {name: value for name, value in given.items() if value not in (None, "")}
    return request.model_copy(update={**update, "slots": {**request.slots, **change.slots}})


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
