"""What a scripted user makes of an agent's message: which details it asks for, and what it does besides asking.

The patterns of conversation (asking for a yes, refusing, claiming to be done, promising to look) are the same in every
domain and stand here. Which details there are, and how an agent asks for them, a domain says in its cue file:

    slots:
      email: {ask: ["e-?mail"], direct: [], unknown: ["I do not remember which email I used."]}
    actions: {cancel: ["cancel"]}          # words that show that a proposal is about this action
    tokens: {order: "#?w[0-9]{7}"}         # values that can be recognised by their shape
    alternatives: [[[email], [name, zip]]] # "your email, or your name and zip code": one of them is enough
    leave_after: [transfer_to_human]       # tools after whose success the user has nothing more to wait for
    conversation: {confirm: []}            # further patterns for the built-in acts

Patterns are regular expressions over lower-case text. ``ask`` patterns count in sentences that ask for something;
``direct`` patterns count in any question, even one that asks for a yes. A slot with ``quiet: true`` is passed over by a
user who does not have it and can answer another question of the same message instead.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from simia_gym.errors import InputError
from simia_gym.language.conversation import ACTS, DEMAND, FIRM, FOUND, NOTICE, WH, YES
from simia_gym.language.patterns import Cue
from simia_gym.language.plain import Sentence, plain, sentences

_DIGIT_COMMA = re.compile(r"(?<=\d),(?=\d{3}(?!\d))")
_WEAK = re.compile(r"^(?:confirm|verify)")
_FIELD = re.compile(r"^[\w ()-]{1,40}: ?\S")
_VALUE = re.compile(r"\d{4,}|\S@\S+\.\S|\$ ?\d")
_REACH = 90


@dataclass(frozen=True, slots=True)
class Heard:
    """What was understood of one message.

    Attributes:
        text: The whole message in lower case, white space joined, thousands separators removed.
        asks: Slots that were asked for, in order of mention.
        acts: Which of confirm, refuse, claim, wait, offer, invite the message does; ``question`` if it asks anything.
        actions: Actions of the domain whose words occur.
        offered: Those whose words occur in a sentence that asks for a yes.
    """

    text: str
    asks: tuple[str, ...]
    acts: frozenset[str]
    actions: frozenset[str]
    offered: frozenset[str]


@dataclass(frozen=True, slots=True)
class SlotCues:
    """How one detail is asked for, and what is said by a user who does not have it.

    A ``quiet`` one is passed over by a user who does not have it and can answer another question instead.
    """

    ask: Cue | None
    direct: Cue | None
    unknown: tuple[str, ...]
    quiet: bool = False


class Cues:
    """The cue patterns of a domain, compiled.

    Args:
        config: What the domain's cue file says; an empty mapping gives the patterns of conversation alone.
        where: The file, for error messages.

    Raises:
        InputError: A key or pattern is wrong.
    """

    def __init__(self, config: Mapping[str, Any], where: str = "cues") -> None:
        known = {"slots", "actions", "tokens", "alternatives", "leave_after", "conversation"}
        for key in config:
            if key not in known:
                fix = f"Known keys: {', '.join(sorted(known))}."
                raise InputError(f"there is no cue key {key!r}", where=where, fix=fix)
        extra = config.get("conversation") or {}
        for act in extra:
            if act not in ACTS:
                raise InputError(f"there is no act {act!r}", where=f"{where}: conversation", fix=f"Acts: {[*ACTS]}.")
        self._acts = {
            act: Cue((*patterns, *extra.get(act, ())), f"{where}: conversation.{act}") for act, patterns in ACTS.items()
        }
        self.slots = {name: _slot(item, f"{where}: slots.{name}") for name, item in (config.get("slots") or {}).items()}
        self.actions = {
            name: Cue(patterns, f"{where}: actions.{name}") for name, patterns in (config.get("actions") or {}).items()
        }
        self.tokens = {
            name: _compile((pattern,), f"{where}: tokens.{name}")
            for name, pattern in (config.get("tokens") or {}).items()
        }
        self.alternatives: tuple[tuple[tuple[str, ...], ...], ...] = tuple(
            tuple(tuple(way) for way in group) for group in config.get("alternatives") or ()
        )
        self.leave_after = frozenset(config.get("leave_after") or ())
        self._heard: dict[Sentence, tuple[tuple[str, ...], frozenset[str], bool]] = {}

    def hear(self, text: str) -> Heard:
        """Understand a message.

        Args:
            text: What the agent said, in any wrapping.
        """
        words = plain(text)
        asks: dict[str, None] = {}
        acts: set[str] = set()
        offered: set[str] = set()
        for sentence in sentences(words):
            asked, does, confirms = self._understand(sentence)
            asks.update(dict.fromkeys(asked))
            acts |= does
            if confirms:
                offered.update(self._actions(sentence.text))
        flat = _DIGIT_COMMA.sub("", " ".join(words.lower().split()))
        return Heard(flat, tuple(asks), frozenset(acts), frozenset(self._actions(flat)), frozenset(offered))

    def _actions(self, text: str) -> list[str]:
        return [name for name, cue in self.actions.items() if cue.occurs(text)]

    def tokens_in(self, kind: str, text: str) -> set[str]:
        """Values of one shape that occur in a lower-case text, leading ``#`` left out."""
        pattern = self.tokens.get(kind)
        return set() if pattern is None else {found.group(0).lstrip("#") for found in pattern.finditer(text)}

    def _understand(self, sentence: Sentence) -> tuple[tuple[str, ...], frozenset[str], bool]:
        """`_sentence`, remembered: agents say much the same short sentences again and again."""
        known = self._heard.get(sentence)
        if known is None:
            known = self._sentence(sentence)
            if len(sentence.text) + len(sentence.head) <= 400:
                if len(self._heard) >= 4096:
                    self._heard.clear()
                self._heard[sentence] = known
        return known

    def _sentence(self, sentence: Sentence) -> tuple[tuple[str, ...], frozenset[str], bool]:
        """What a sentence asks for, what it does, and whether it asks for a yes."""
        acts: set[str] = set()
        text, cue = sentence.text, self._acts
        offers = cue["offer"].occurs(text)
        if offers:
            acts.add("offer")
        if cue["invite"].occurs(text):
            acts.add("invite")
        if sentence.question and not offers:
            acts.add("question")
        found = cue["confirm"].find(text)
        # "What would you like me to do?" asks for no yes, nor does "would you like help with anything else?".
        confirms = found is not None and (YES.occurs(text) or not (offers or WH.occurs(text[:found])))
        headed = bool(sentence.head) and cue["request"].occurs(sentence.head)
        if headed and cue["confirm"].occurs(sentence.head) and not DEMAND.search(sentence.head):
            headed = False
        requests = sentence.question or headed or cue["request"].occurs(text)
        # "email on file: a@b.com" tells something and asks for nothing.
        tells = not sentence.question and _FIELD.search(text) is not None and _VALUE.search(text) is not None
        asked = self._asked(text, confirms) if (requests or confirms) and not tells else []
        if confirms and (not asked or YES.occurs(text)):  # "could you confirm your email?" asks for no yes
            acts.add("confirm")
        if cue["refuse"].occurs(text) and (FIRM.occurs(text) or not NOTICE.occurs(text)):
            acts.add("refuse")
        if not sentence.question and cue["wait"].occurs(text):
            acts.add("wait")
        if not sentence.question and cue["claim"].occurs(text) and not FOUND.occurs(text):
            acts.add("claim")
        return tuple(asked), frozenset(acts), confirms

    def _asked(self, text: str, confirms: bool) -> list[str]:
        found: list[tuple[int, str]] = []
        regions: list[tuple[int, str, bool]] = []
        if confirms:
            regions = [
                (demand.end(), text[demand.end() : demand.end() + _REACH], bool(_WEAK.match(demand.group())))
                for demand in DEMAND.finditer(text)
            ]
        valued = confirms and _VALUE.search(text) is not None
        for name, cue in self.slots.items():
            direct = cue.direct.find(text) if cue.direct is not None else None
            if direct is not None:
                found.append((direct, name))
            elif cue.ask is None:
                continue
            elif not confirms:
                hit = cue.ask.find(text)
                if hit is not None:
                    found.append((hit, name))
            else:
                for start, region, weak in regions:
                    hit = cue.ask.find(region)
                    if hit is not None and not (weak and (valued or hit > 30)):
                        found.append((start + hit, name))
                        break
        return [name for _, name in sorted(found)]


def _compile(patterns: Sequence[str], where: str) -> re.Pattern[str]:
    for pattern in patterns:
        try:
            re.compile(pattern)
        except (re.error, TypeError) as error:
            raise InputError(f"{pattern!r} is no pattern: {error}", where=where, fix="Mend the pattern.") from error
    return re.compile("|".join(f"(?:{pattern})" for pattern in patterns))


def _slot(item: Any, where: str) -> SlotCues:
    if not isinstance(item, Mapping) or set(item) - {"ask", "direct", "unknown", "quiet"}:
        raise InputError("a slot has the keys ask, direct, unknown, quiet", where=where, fix="Change its keys.")
    ask, direct = item.get("ask") or (), item.get("direct") or ()
    return SlotCues(
        ask=Cue(ask, f"{where}.ask") if ask else None,
        direct=Cue(direct, f"{where}.direct") if direct else None,
        unknown=tuple(item.get("unknown") or ()),
        quiet=bool(item.get("quiet", False)),
    )


def mentions(text: str, phrase: str) -> bool:
    """Whether a phrase occurs in a lower-case text as whole words or a whole number."""
    phrase = phrase.lower()
    start = text.find(phrase)
    while start != -1:
        end = start + len(phrase)
        before = text[start - 1] if start else " "
        after = text[end : end + 2]
        longer = after[:1].isalnum() or (phrase[-1:].isdigit() and after[:1] == "." and after[1:].isdigit())
        within = (before.isalnum() and phrase[:1].isalnum()) or (phrase[:1].isdigit() and before == ".")
        if not within and not (longer and phrase[-1:].isalnum()):
            return True
        start = text.find(phrase, start + 1)
    return False
