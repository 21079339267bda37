"""Finds what a customer that a model plays cannot say at this point of the conversation, though its form is right.

A slip of the customer would count against the agent: a yes that nobody asked for, a no with the flag of a yes, a
customer that asks the agent for its order number. So the model is told what is wrong and asked again. Whatever may be
right passes: only plain contradictions are slips.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from simia_gym.common.json_encoding import texts_in
from simia_gym.language import VERBS, Reading, Said, asks_otherwise, read
from simia_gym.types import JsonObject

_TWICE = 2
_FEW_WORDS = 3
"""An answer of so few words may be given again and again."""
_IN_VAIN, _NO_WISH_YET, _STUCK = 3, 6, 4
"""How many answers may pass that tell no detail when one is asked for; without any wish; that are the same and tell
nothing."""
_STEM = 5

_WORD = re.compile(r"\w+")
_CONTENT = re.compile(r"[^\W\d_]{4,}|\w*\d\w*")
_QUOTED = re.compile(r"\"[^\"]*\"|(?<!\w)'[^']*'(?!\w)")
_ANYBODYS = (
    "about alright also been before from have hello help here just like make more need okay order please some sure"
    " thank thanks that them then there they this understand want what when will with would your yours"
)
_NO_WISH = frozenset(_ANYBODYS.split())
"""Words that any customer may say, whatever it wants."""
_WH = re.compile(r"\b(?:what|which|where|how|why|who|when|whose)\b")
_DEMAND = re.compile(
    r"\b(?:what|which|where|how|why|who|when|whose)\b|\b(?:provide|share|tell|give|send|specify|supply|spell|repeat)\b"
    r"|\b(?:have|know|remember|recall) (?:your|the|an?|any)\b"
)
"""Words of a question for a detail, to which a yes agrees to nothing."""
_INTENDS = re.compile(
    r"\b(?:i|we)(?:'ll|'d| will| can| could| would| am going to|'m going to| shall| propose| suggest)\b"
)
_DEED = re.compile(
    r"\b(?:(?:i|we)(?:'ll|'d| will| would| can| could| am going to|'m going to)|(?:shall|should|may|can) (?:i|we)"
    rf"|me to) (?:now |then |also |please |go ahead and )*(?:{VERBS})\b"
)
"""What an agent proposes to do."""
_PLAIN_YES = re.compile(
    r"^\W*(?:yes|yep|yeah|yup|sure|absolutely|definitely|of course|certainly)\b|\bgo ahead\b|\bplease proceed\b"
    r"|\b(?:i|we) (?:do |hereby )?(?:confirm|agree|approve|accept|consent|authori[sz]e)\b"
)
_BARE_YES = re.compile(r"(?:ok|okay|alright|all right|fine|sounds good|very well)(?:,? (?:please|thanks|thank you))?")
"""A yes if it is all that is said to a proposal."""
_PLAIN_NO = re.compile(
    r"^\W*(?:no|nope|nah)\b(?! (?:problem|worries|objection|issue|concern|need|more|further|other))"
    r"|\b(?:do not|don't) (?:\w+ )?(?:proceed|go ahead|do (?:it|that|this)|cancel|change|book|return|exchange|touch"
    r"|make)\b"
    r"|\b(?:i|we) (?:do not|don't|cannot|can't|won't) (?:agree|confirm|approve|accept|consent)\b|\bnot yet\b"
)
_YES = (
    "ja jawohl jepp einverstanden oui ouais si claro vale sim certo da tak evet tamam igen ano kylla joo hai iya ya"
    " \u0434\u0430 \u043a\u043e\u043d\u0435\u0447\u043d\u043e"  # Russian
    " \u306f\u3044 \u662f \u662f\u7684 \u597d \u597d\u7684 \u5bf9"  # Japanese, Chinese
    " \ub124 \u0646\u0639\u0645 \u05db\u05df \u03bd\u03b1\u03b9"  # Korean, Arabic, Hebrew, Greek
)
_NO = (
    "nein nee nicht non nao nie nej nei hayir nem tidak jangan"
    " \u043d\u0435\u0442 \u043d\u0456"  # Russian, Ukrainian
    " \u3044\u3044\u3048 \u4e0d \u4e0d\u662f \u4e0d\u884c \u4e0d\u8981"  # Japanese, Chinese
    " \uc544\ub2c8 \uc544\ub2c8\uc694 \u0644\u0627 \u05dc\u05d0 \u03bf\u03c7\u03b9"  # Korean, Arabic, Hebrew, Greek
)
_YES_WORDS, _NO_WORDS = frozenset(_YES.split()), frozenset(_NO.split())
"""Words of other languages that say yes, or no, at the beginning of an answer."""
_YOUR_DETAIL = r"your (?:\w+ )?(?:e-?mail|name|zip|order|user|reservation|booking|account|date|phone|address|details)"
_DETAIL = re.compile(rf"\b{_YOUR_DETAIL}\b")
_DONE = r"(?:cancel+ed|processed|updated|modified|refunded|exchanged|booked|changed|submitted|placed)"
_THING = r"(?:order|return|exchange|refund|reservation|booking|request|flight|account|address)"
_AGENT = re.compile(
    r"\bhow (?:can|may|could) (?:i|we) (?:help|assist|be of)\b"
    r"|\b(?:can|could|may|would|will) you (?:please |kindly )?(?:provide|share|tell|give|confirm|verify)(?: me| us)?"
    rf"(?: with)? {_YOUR_DETAIL}"
    rf"|\bplease (?:provide|share|enter|verify|confirm|give me|tell me) {_YOUR_DETAIL}"
    rf"|\b(?:i|we)(?:'ve| have|'ll| will)? (?:now |just |successfully |already )*{_DONE} your\b"
    rf"|\byour {_THING} (?:\S+ )?(?:has been|have been|was|is now|will be) (?:successfully )?{_DONE}\b"
    r"|\banything else (?:that )?(?:i|we) (?:can|could|may) (?:help|assist|do)\b"
    r"|\bthank you for (?:contacting|reaching out|choosing|your patience|providing)\b"
    r"|\b(?:i'm|i am|we're|we are) (?:here|happy|glad|ready|pleased) to (?:help|assist) you\b"
    r"|\bas an? (?:ai|artificial|language model|customer service (?:agent|representative)|virtual assistant)\b"
    r"|\bwie kann ich (?:ihnen|dir) helfen\b|\bcomment puis-je vous aider\b|\b(?:en que|como) (?:le )?puedo ayudar"
    r"|\bcomo posso ajudar|\bcome posso aiutar|\bhoe kan ik u helpen\b"
)
"""What only the agent would say."""
_LIKE_A_DETAIL = re.compile(r"[@\d]")
_KNOWS_NONE = re.compile(
    r"\bno idea\b|\b(?:have|know|remember) (?:none|nothing)\b|\bnot sure\b|\b(?:forgot|forgotten)\b"
    r"|\b(?:rather|prefer) not\b"
    r"|\b(?:don't|do not|can't|cannot|won't|will not) (?:\w+ )?(?:know|have|remember|recall|find|tell|give|say|share)\b"
)
"""Says that there is nothing to tell, or that it is not told."""
_SMALL_WORDS = frozenset(["the", "and", "for", "its", "any", "all", "one", "two"])
_TOKEN = re.compile(r"(?<![\w-])\w{6,}(?![\w-])")
_ID = re.compile(r"\d{7,}|(?=\D*\d\D*\d\D*\d)\w*[^\W\d_]\w*")
_SIZE = re.compile(r"\d+[^\W\d_]{1,6}")
"""A token is an id if it is a long number, or has letters and three digits and is no size, such as `1000mah`."""


class Part(NamedTuple):
    """What a task gives its customer to say.

    Attributes:
        wishes: Words of its wishes, by their first letters.
        ids: The ids that it knows.
        details: Words of the details that it may be asked for; none without a script.
    """

    wishes: frozenset[str] = frozenset()
    ids: frozenset[str] = frozenset()
    details: frozenset[str] = frozenset()

    @classmethod
    def of(cls, user: Mapping[str, Any]) -> Part:
        """Read it from the ``user`` of a task."""
        told = [user.get("reason"), user.get("requests"), None if user.get("vague") else user.get("opening")]
        answers = [user.get("facts", {}), *(request.get("slots", {}) for request in user.get("requests", ()))]
        values = [answer.get("values", ()) for each in answers for answer in each.values()]
        return cls(
            frozenset(stem for text in texts_in(told) for stem in _stems(_plain(read(text)))),
            frozenset(each for text in texts_in(dict(user)) for each in _ids(text)),
            frozenset(word for text in texts_in(values) for word in _details(_plain(read(text)))),
        )


_NO_PART = Part()


@dataclass
class Talk:
    """What was said so far in a conversation.

    Attributes:
        part: What the customer has to say.
        last: The agent's last message.
        heard: Number of the agent's messages.
        again: Whether the agent has said its last message before.
        proposed: Whether the agent may have proposed something since the customer's last yes.
        declined: Whether the agent has refused something, or spoken in another language than English.
        named: The ids that the agent has named.
        asked: Whether the agent has asked for a detail.
        told: Whether the customer has told any word of its details, or that it has none.
        in_vain: Number of the customer's answers that told nothing since it was asked for a detail.
        answers: Number of the customer's answers.
        stated: The words of its wishes that the customer has said.
        said: How often the customer has given each answer.
    """

    part: Part = _NO_PART
    last: Reading | None = None
    heard: int = 0
    again: bool = False
    proposed: bool = False
    declined: bool = False
    stated: set[str] = field(default_factory=set)
    said: Counter[str] = field(default_factory=Counter)
    named: set[str] = field(default_factory=set)
    asked: bool = False
    told: bool = False
    in_vain: int = 0
    answers: int = 0
    _agent: set[str] = field(default_factory=set)

    def hear(self, text: str) -> None:
        """Take in a message of the agent."""
        self.last, self.heard = read(text), self.heard + 1
        words = _plain(self.last)
        self.again = words in self._agent
        self._agent.add(words)
        self.named |= _ids(text)
        self.asked = self.asked or any(map(_wants_detail, self.last.said))
        self.proposed = self.proposed or may_propose(self.last)
        self.declined = self.declined or bool("refuse" in self.last.acts or self.last.foreign)

    def say(self, said: JsonObject) -> None:
        """Take in a message of the customer that was accepted."""
        words = _plain(read(said["message"]))
        self.stated |= self.part.wishes & _stems(words)
        self.told = self.told or _tells(words, self)
        self.in_vain += self.asked and not self.told
        self.answers += self.heard > 0
        if said["confirms"]:
            self.proposed = False
        else:
            self.said[words] += 1


def slips(said: JsonObject, talk: Talk) -> list[str]:
    """What a message of the customer contradicts, one sentence each; the agent's last message is in the talk."""
    return list(_slips(said, talk))


def may_propose(heard: Reading) -> bool:
    """Whether a message of an agent may propose something to which a customer can say yes."""
    if heard.foreign or "confirm" in heard.acts or any(map(asks_otherwise, heard.said)):
        return True
    for one in heard.said:
        text = one.sentence.plain
        if "offer" in one.acts or "invite" in one.acts:
            continue
        if (one.sentence.question or _INTENDS.search(text)) and not _DEMAND.search(text):
            return True
    return False


def _slips(said: JsonObject, talk: Talk) -> Iterator[str]:
    message, stop, confirms = read(said["message"]), said["stop"], said["confirms"]
    words, heard = _plain(message), talk.last
    if confirms and stop:
        yield "confirms and stop are both true: who agrees to a proposal stays until it is done"
    elif confirms and not talk.proposed:
        yield "confirms is true, but the agent has proposed nothing that is still open: say yes only to a proposal"
    if confirms and _says(words, message, yes=False):
        yield "confirms is true, but the message says no: make both say the same"
    if heard is not None and not confirms and not stop and _firm(heard) and _says(words, message, yes=True):
        yield "the message says yes to what the agent proposed, but confirms is false: make both say the same"
    if _AGENT.search(_QUOTED.sub(" ", words)):
        yield "the message is what the agent would say: you are the customer, so say what the customer says"
    if talk.part.wishes and (invented := sorted(_ids(said["message"]) - talk.part.ids - talk.named)):
        yield f"the message names {invented[0]}, which you do not know: say only what you were told"
    if talk.said[words] >= _TWICE and not confirms and not talk.again and len(_WORD.findall(words)) > _FEW_WORDS:
        yield "you have said the same twice already: answer what the agent said last, in other words"
    if not (stop or confirms):
        yield from _idling(message, talk)
    if stop:
        yield from _leaving(message, talk)
        if talk.asked and _holds_back(message, talk):
            yield "stop is true, but you have told nothing of what the agent asked you for: answer it"


def _idling(message: Reading, talk: Talk) -> Iterator[str]:
    """What is wrong with staying and saying nothing."""
    words = _plain(message)
    if talk.in_vain >= _IN_VAIN and _holds_back(message, talk):
        yield "the agent asks for your details, and your answers tell none: give one, or say that you do not know it"
    if talk.answers >= _NO_WISH_YET and _hides_wishes(message, talk):
        yield "you have not said yet what you want: say it"
    if talk.said[words] >= _STUCK and _says_nothing(words, talk):
        yield "you say the same again and again, and it tells the agent nothing: say more, or leave"


def _leaving(message: Reading, talk: Talk) -> Iterator[str]:
    """What is wrong with leaving now."""
    if message.sentences and message.sentences[-1].question:
        yield "the message asks something, but stop is true: who asks stays for the answer"
    heard = talk.last
    if heard is None or talk.declined:
        return
    if _hides_wishes(message, talk):
        yield "stop is true, but you have not said yet what you want: say it, or answer the agent"
    elif talk.heard == 1 and "claim" not in heard.acts and any(_asks(one.sentence.plain) for one in heard.said):
        yield "stop is true, but the agent has only begun and asks you something: answer it"


def _asks(text: str) -> bool:
    return text.endswith("?") and "else" not in text


def _details(words: str) -> frozenset[str]:
    return frozenset(word for word in _WORD.findall(words) if len(word) > 2 and word not in _NO_WISH | _SMALL_WORDS)


def _tells(words: str, talk: Talk) -> bool:
    """Whether words of the customer tell a detail, or that it has none to tell."""
    return bool(talk.part.details & _details(words) or _LIKE_A_DETAIL.search(words) or _KNOWS_NONE.search(words))


def _holds_back(message: Reading, talk: Talk) -> bool:
    """Whether a customer that has details to tell has told none of them until now, nor that it has none."""
    return bool(talk.part.details) and not (talk.told or message.foreign or _tells(_plain(message), talk))


def _says_nothing(words: str, talk: Talk) -> bool:
    """Whether an answer tells neither a detail nor a wish; what a customer without a script wants, nobody knows."""
    if not talk.part.wishes and len(_WORD.findall(words)) > _FEW_WORDS:
        return False
    return not (_tells(words, talk) or talk.part.wishes & _stems(words))


def _hides_wishes(message: Reading, talk: Talk) -> bool:
    """Whether a customer that has wishes has said none of them until now."""
    wishes = talk.part.wishes
    return bool(wishes) and not (talk.stated or message.foreign or wishes & _stems(_plain(message)))


def _ids(text: str) -> set[str]:
    """The ids in a text, in one form."""
    found = (each.strip("_").lower() for each in _TOKEN.findall(text))
    return {each for each in found if _ID.fullmatch(each) and not _SIZE.fullmatch(each)}


def _wants_detail(one: Said) -> bool:
    """Whether a sentence of an agent asks for a detail of the customer."""
    text = one.sentence.plain
    return not {"offer", "invite"} & one.acts and all(each.search(text) for each in (_DEMAND, _DETAIL))


def _firm(heard: Reading) -> bool:
    """Whether a message says what will be done, asks for a yes to it, and asks for nothing else."""
    if not any(_DEED.search(one.sentence.plain) for one in heard.said):
        return False
    asks = [one for one in heard.said if one.firm or one.sentence.question]
    return bool(asks) and all(one.firm and not _WH.search(one.sentence.plain) for one in asks)


def _says(words: str, message: Reading, *, yes: bool) -> bool:
    """Whether a message plainly says yes, or no, and not the other one."""
    first = (_WORD.findall(words) or [""])[0]
    if message.foreign or first in _YES_WORDS | _NO_WORDS:
        return first in (_YES_WORDS if yes else _NO_WORDS)
    if yes:
        asks = any(sentence.question for sentence in message.sentences)
        bare = _BARE_YES.fullmatch(words) is not None
        return bare or (message.agrees and not asks and _PLAIN_YES.search(words) is not None)
    return not message.agrees and _PLAIN_NO.search(words) is not None and not _PLAIN_YES.search(words)


def _plain(message: Reading) -> str:
    """The words of a message in one form, without marks at the end."""
    return message.words.strip(" .,;:!?-")


def _stems(words: str) -> frozenset[str]:
    return frozenset(word[:_STEM] for word in _CONTENT.findall(words) if word not in _NO_WISH)
