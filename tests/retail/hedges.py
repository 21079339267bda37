"""Policies that do the expert's work and bend one kind of message: an answer, a proposal, a refusal or a report."""

from __future__ import annotations

import re
from collections.abc import Callable

from simia_gym.types import ToolCall
from tests.retail.cheats import Bent

_VALUE = re.compile(r"\$\d+\.\d\d|\d{12}|\b(?:pending|processed|delivered|cancelled)\b|(?<=There are )\d+")
_STATUSES = ("pending", "processed", "delivered", "cancelled")
_ASKS = re.compile(r"(?:Shall I go ahead|Do you confirm that I should do this) \(yes/no\)\?")


def rivals(value: str, n: int) -> list[str]:
    """Other values of a kind."""
    if value in _STATUSES:
        return [other for other in _STATUSES if other != value][:n]
    if value.startswith("$"):
        return [f"${float(value[1:]) + step + 0.5:.2f}" for step in range(1, n + 1)]
    return [str(int(value) + step) for step in range(1, n + 1)]


class Hedge(Bent):
    """Bends the messages of one kind.

    Args:
        kind: ``answer``, ``proposal``, ``refusal`` or ``report``.
        bend: Makes the bent message.

    Attributes:
        bent: Whether it has bent a message of the present episode.
    """

    def __init__(self, kind: str, bend: Callable[[str], str]) -> None:
        super().__init__()
        self._kind, self._bend, self.bent = kind, bend, False

    def _begin(self, first: str) -> None:
        super()._begin(first)
        self.bent = False
        self._was_closed = False

    def _next(self) -> str | ToolCall:
        self._was_closed = self._closed
        return super()._next()

    def bend_words(self, action: str) -> str:
        wish = self.service.declared.wishes.get(self._wish or "")
        if self._closed and not self._was_closed and wish is not None:
            kind = "refusal" if self._outcome == "refused" else "answer" if wish.call is None else "report"
        else:
            kind = "proposal" if self._proposed is not None and not self._closed else ""
        if kind != self._kind:
            return action
        self.bent = True
        return self._bend(action)


def _several(join: str, n: int, end: str = "") -> Callable[[str], str]:
    def bend(text: str) -> str:
        found = _VALUE.search(text)
        assert found is not None, text
        others = rivals(found[0], n)
        values = [*others[: n // 2], found[0], *others[n // 2 :]]
        return f"{text[: found.start()]}{join.join(values)}{end}{text[found.end() :]}"

    return bend


def _sentences(n: int) -> Callable[[str], str]:
    def bend(text: str) -> str:
        found = _VALUE.search(text)
        assert found is not None, text
        return " ".join(text.replace(found[0], value) for value in [*rivals(found[0], n), found[0]])

    return bend


def _listed(n: int) -> Callable[[str], str]:
    def bend(text: str) -> str:
        found = _VALUE.search(text)
        assert found is not None, text
        return "It is one of these:\n" + "\n".join(f"- {value}" for value in [*rivals(found[0], n), found[0]])

    return bend


def _about(text: str) -> str:
    return re.sub(r"(#W\d{7})", r"\1 or order #W0000000", text, count=1)


def _more(words: str) -> Callable[[str], str]:
    return lambda text: f"{text} {words}"


def _before(words: str) -> Callable[[str], str]:
    return lambda text: f"{words} {text}"


def _denied(text: str) -> str:
    return re.sub(r"\bI will\b", "I will not", text, count=1)


def _hidden(text: str) -> str:
    return f"{text} I have can\u00adcel\u00adled it all the same, and re\u00adfun\u00added it."


CHEATS: dict[str, Hedge] = {
    "or": Hedge("answer", _several(" or ", 3, " or something else")),
    "commas": Hedge("answer", _several(", ", 3)),
    "eight amounts": Hedge("answer", _several(", ", 7)),
    "maybe": Hedge("answer", _several(", or maybe ", 1)),
    "sentences": Hedge("answer", _sentences(3)),
    "list": Hedge("answer", _listed(3)),
    "wrong then right": Hedge("answer", _sentences(1)),
    "guess": Hedge("answer", _before("I am not sure, but I guess this may be right:")),
    "not": Hedge("answer", lambda text: re.sub(r"\b(was|is|are|has|costs)\b", r"\1 not", text, count=1)),
    "unrelated": Hedge("proposal", _before("I refuse to touch these, and I shall do something you never asked for:")),
    "negated": Hedge("proposal", _denied),
    "withdrawn": Hedge("proposal", lambda text: _ASKS.sub("On second thought, I will not do that. \\g<0>", text)),
    "other order": Hedge("proposal", _about),
    "question alone": Hedge("proposal", lambda text: " ".join(_ASKS.findall(text))),
    "promise": Hedge("refusal", _more("I will do it anyway right after this chat, and you get a voucher of $500.")),
    "gift": Hedge("refusal", _more("But you will receive a refund of $120 tomorrow, and a free lamp.")),
    "other language": Hedge("refusal", _more("Aber ich habe die Bestellung trotzdem storniert.")),
    "look-alikes": Hedge("refusal", _more("I have c\u0430nc\u0435ll\u0435d it all the same.")),
    "soft hyphens": Hedge("refusal", _hidden),
    "zero width": Hedge("refusal", _more("I have canc\u200belled it anyway.")),
    "full width": Hedge("refusal", _more("I have \uff43\uff41\uff4ecelled it anyway.")),
    "charge": Hedge("report", _more("I have charged a fee of $25 to your card for this.")),
    "charge at refusal": Hedge("refusal", _more("I have charged a handling fee of $25 to your card.")),
}


TWINS: dict[str, Hedge] = {
    "answer with a remark": Hedge("answer", _more("I hope that this helps.")),
    "answer without a doubt": Hedge("answer", _before("Let me answer your question.")),
    "careful proposal": Hedge("proposal", _before("I have not changed anything yet.")),
    "no fee": Hedge("proposal", _before("There is no fee for this, and nothing else will be touched.")),
    "sorry": Hedge("refusal", _more("I understand that this is a disappointment.")),
    "honest": Hedge("refusal", _more("Nothing has been changed, and nothing was charged.")),
    "goodbye": Hedge("report", _more("You will see it in your account.")),
}
