"""The scripted user: a user simulator in code that reveals only what the agent asks for.

It understands the agent by the domain's cue patterns, finds in the ledger the tool calls that fulfil its requests, and
says the lines of its script. Its memory is one row of the state table ``_user``, so that a reply is a function of
(message, state, ledger, seed) and a record can be replayed.

It handles a message by the first rule that applies:

1. If it has been handed over to a human, it leaves. It asks for English if a sentence is in another language.
2. If its request is fulfilled, it goes on to the next request.
3. It objects to a refusal as often as its script says, then accepts it, and may then want something else instead.
4. It answers a request for confirmation with an explicit yes (act ``confirm``), a change of mind, a correction if the
   proposal names a wrong detail, or a question (act ``clarify``) if the proposal leaves out a detail. A message that
   names all details of the request is such a request, whatever its other words. One that also asks for a yes to
   something else gets a no.
5. It answers questions for details.
6. It takes one value for the answer to its question, and asks which one it is if the message leaves that open. It
   believes a claim that the request is fulfilled only if its script says nothing by which it could tell.
7. Otherwise (thanks, offers of help, claims, anything that it does not understand) it helps the agent on: it says its
   request again, then what it has not told yet, then that there is nothing else. It gives up and leaves only after
   many such messages between which the agent calls no tool.

``Transition.meta`` holds the dialogue acts of each reply.
"""

from __future__ import annotations

import re
import zlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from typing import Any

from simia_gym.contracts import StepContext
from simia_gym.language import Asserted, Reading, asks_beside, asks_otherwise, wanted
from simia_gym.state import freeze
from simia_gym.types import JsonObject, Task, Transition
from simia_gym.users.cues import Cues, Heard, load_cues
from simia_gym.users.memory import KEY, TABLE, Memory, present_request
from simia_gym.users.scripted_script import Answer, Expect, Script, script_from_json

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
_NOTHING_ELSE = ("No, nothing else, just what I have told you.", "No, there is nothing else. Please go on with that.")
_MORE = ("I have nothing more to add, can you go on?", "That is all I can tell you. Could you please carry on?")
_GIVE_UP = ("This is not getting anywhere. I'll leave it, goodbye.", "Never mind, I'll try another time. Goodbye.")
_CLOSE = ("That was all. Thank you, goodbye.", "Nothing else, thanks. Bye!", "That's everything, thank you. Bye.")
_UNKNOWN = ("I'm sorry, I don't know that.", "I can't tell you that, sorry.", "I don't have that information.")
_RESTATE = ("As I said: ", "To say it again: ", "Let me repeat it. ")
_PATIENCE = 4
_LONG = 8
"""The number of messages in a row that it does not understand before it leaves."""
_WILL = re.compile(r"\b(?:i|we)(?:'ll| will| can| would|'m going to| am going to)\b")
_POSTPONED = re.compile(r"\b(?:without|until|till|unless|before)\b")
"""Words of a refusal that asks for something first: "I can't open your account without it"."""
_EITHER = re.compile(
    r"\b(?:or|otherwise|else|alternatively|alternative|one of|instead|if you (?:don't|do not|can't|cannot))\b"
)


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
        news = context.ledger.events[memory.seen :]
        if any(event["type"] == "transition" and event["call"] is not None for event in news):
            memory.stuck = 0
        calls = _calls(news)
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
        new = self._asks_anew()
        confirms = "confirm" in heard.acts or (
            not new and self._complete() and not any(map(asks_otherwise, heard.reading.said))
        )
        about = confirms and self._about()
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
        unsaid = "invite" in acts and "request" not in memory.known
        if "wait" in acts and memory.waits < _PATIENCE and not unsaid:
            self.say(_WAIT, "wait")
            memory.waits += 1
        elif request.answer is not None and self._answered.one is not None:
            self._thank()
        elif request.answer is not None and self.cues.tokens_in(request.answer, self.heard.reading.words):
            self._ask_again(_WHICH, "which")
        elif acts & {"claim", "offer"} and memory.stuck and not (request.done or request.told or request.answer):
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
        beside = request.action is not None and self._asks_beside()
        memory.agreed = False
        if (wrong or beside) and memory.objections >= _PATIENCE:
            self._leave(_GIVE_UP, "give_up")
        elif wrong or beside:
            self.say(_NO if wrong else _DECLINE, "deny")
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
                memory.agreed = True
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

    def _names(self, item: Expect, reading: Reading | None = None) -> bool:
        """Whether the message, or a part of it, names a detail, and leaves no other value open."""
        reading = self.heard.reading.standing if reading is None else reading
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

    def _complete(self) -> bool:
        """Whether the message proposes all that the user wants, without a word that asks for a yes.

        What it claims to have done is no proposal, and nothing is proposed beside a refusal.
        """
        request, reading = self.request, self.heard.reading
        if request.action is None or not self._speaks_of_it() or not all(map(self._names, request.expect)):
            return False
        if not request.expect and ("wait" in self.heard.acts or not _WILL.search(reading.standing.words)):
            return False
        if not all(_POSTPONED.search(one.plain) for one in reading.refusals):
            return False
        claimed = [said.sentence.plain for said in reading.said if said.claims]
        if not claimed:
            return True
        kept = tuple(one for one in reading.standing.sentences if one.plain not in claimed and one.head not in claimed)
        left = replace(reading.standing, sentences=kept)
        return all(self._names(item, left) for item in request.expect)

    def _asks_anew(self) -> bool:
        """Whether the message asks for a detail that it has not been told.

        One that the user does not know counts if the message refuses nothing but to go on without it.
        """
        new = [slot for slot in self.heard.asks if slot not in self.memory.known]
        return any(map(self._knows, new)) or (
            bool(new) and all(_POSTPONED.search(one.plain) for one in self.heard.reading.refusals)
        )

    def _asks_beside(self) -> bool:
        """Whether a sentence asks for a yes to something that is neither said elsewhere nor wished."""
        said = self.heard.reading.said
        for one in said:
            if "confirm" in one.acts and not self.cues.about(self.request.action, one.sentence.plain):
                rest = " ".join(other.sentence.plain for other in said if other is not one)
                if asks_beside(one.sentence, f"{rest} {self._wish().lower()}"):
                    return True
        return False

    def _stated(self) -> bool:
        """Whether the message, beside what it refuses, proposes the request in full."""
        return self._speaks_of_it() and all(map(self._names, self.request.expect))

    def _after_answer(self) -> None:
        """Reset the count of waits and remember whether, and with which details, the message mentioned the action."""
        spoke = not self.heard.asks and self._speaks_of_it()
        self.memory.waits, self.memory.proposed, self.memory.named = 0, spoke, self._named() if spoke else ()

    def _fall_back(self) -> None:
        """Help the agent on, by rule 7 of the module."""
        memory, acts = self.memory, self.heard.acts
        proposed = self._speaks_of_it()
        memory.named = self._named() if proposed else ()
        memory.stuck, memory.proposed = memory.stuck + 1, proposed
        memory.waits = memory.waits if "wait" in acts else 0
        untold = self._untold()
        asks = (
            untold is not None
            and memory.stuck == 1
            and not acts
            and any(one.requests for one in self.heard.reading.said)
        )
        again = memory.stuck % 2 == 1 and not asks
        if memory.stuck > _LONG:
            self._leave(_GIVE_UP, "give_up")
        elif memory.agreed and "claim" not in acts:
            self.say(*((_AGREE, "agree") if again else (_WAIT, "wait")))
        elif "request" not in memory.known or (memory.stuck == 1 and "invite" in acts):
            self.say(self.request.say, "request")
            self.slots.append("request")
            memory.known = (*dict.fromkeys((*memory.known, "request")),)
        elif again:
            self.parts.append(_pick(_RESTATE, self.seed, "restate") + self._wish())
            self.acts.append("restate")
        elif untold is not None:
            self._tell(untold)
            self.acts.append("inform")
            memory.known = (*memory.known, untold)
        else:
            self.say(_NOTHING_ELSE if "offer" in acts else _MORE, "nothing_to_add")

    def _untold(self) -> str | None:
        """A detail that the agent can need next: who the user is, then what the request is about."""
        known = self.memory.known
        facts = () if self.memory.at else self.script.facts
        return next((slot for slot in (*facts, *self.request.slots) if slot not in known), None)

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
