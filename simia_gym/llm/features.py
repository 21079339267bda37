"""Request parameters that an endpoint supports, learned from its refusals once per endpoint and model."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

import orjson

from simia_gym.llm.settings import Structured
from simia_gym.llm.transport.failures import Failure

_LADDER = ("json_schema", "json_object", "none")
_REFUSING = frozenset({400, 404, 415, 422, 501})
_ABOUT_FORM = re.compile(r"response_format|json_schema|json_object|guided|structured|grammar|json mode", re.IGNORECASE)
_ABOUT_BOUNDS = re.compile(r"\b(?:max|min)(?:Length|Items)\b")
_UNWANTED = re.compile(
    r"unsupported|not support|unknown|unrecogni[sz]ed|unexpected|extra (?:inputs|fields)|not (?:permitted|allowed)"
    r"|does not accept|only the default|invalid (?:parameter|argument)|forbidden",
    re.IGNORECASE,
)
_DROPPABLE = ("temperature", "top_p", "seed")


class Features:
    """Known features of one model behind one endpoint. Threads share it; a lost update is learned again.

    Attributes:
        mode: How structured replies are requested: ``json_schema``, ``json_object`` or ``none``.
        dropped: Parameters that the server refuses.
        renamed: Whether the server wants ``max_completion_tokens`` instead of ``max_tokens``.
        sure: Whether the server has accepted a structured request in the current mode.
        bounds: Whether it takes schemas that bound texts and lists.
    """

    def __init__(self, structured: Structured) -> None:
        self._fixed = structured != "auto"
        self.mode = "json_schema" if structured == "auto" else str(structured)
        self.dropped: frozenset[str] = frozenset()
        self.renamed = False
        self.sure = False
        self.bounds = True

    def learn(self, failure: Failure, sent: Mapping[str, Any], mode: str) -> bool:
        """Learn from a refused request with the fields `sent`.

        Returns:
            Whether the request would now be sent differently, so that a retry makes sense.
        """
        if failure.status not in _REFUSING or failure.kind not in ("bad_request", "not_found"):
            return False
        words = f"{failure.code} {failure.param} {failure.message}"
        return self._about_a_parameter(failure, words, sent) or self._about_the_form(failure, words, sent, mode)

    def _about_a_parameter(self, failure: Failure, words: str, sent: Mapping[str, Any]) -> bool:
        named = failure.param
        if "max_tokens" in sent and "max_completion_tokens" in words:
            self.renamed = True
            return True
        for name in _DROPPABLE:
            about = named == name or (not named and re.search(rf"\b{name}\b", words) is not None)
            if name in sent and about and (_UNWANTED.search(words) or "unsupported" in failure.code):
                self.dropped |= {name}
                return True
        return False

    def _about_the_form(self, failure: Failure, words: str, sent: Mapping[str, Any], mode: str) -> bool:
        if "response_format" not in sent:
            return False
        if _ABOUT_BOUNDS.search(words) and _ABOUT_BOUNDS.search(orjson.dumps(sent["response_format"]).decode()):
            self.bounds = False
            return True
        if self._fixed or mode == _LADDER[-1]:
            return False
        # The message need not name the response format, but then it is only suspected until it has worked once.
        if not _ABOUT_FORM.search(words) and (self.sure or failure.kind == "not_found"):
            return False
        step = _LADDER.index(mode) + 1
        if _LADDER.index(self.mode) < step:
            self.mode, self.sure = _LADDER[step], False
        return True

    def worked(self, mode: str) -> None:
        """Note that the server accepted a structured request in this mode."""
        if mode == self.mode:
            self.sure = True

    def forget_doubt(self) -> None:
        """Return to the first mode: the server refused the request in every mode, so the mode was not the reason."""
        if not self.sure and not self._fixed:
            self.mode = _LADDER[0]


_known: dict[tuple[str, str, str], Features] = {}


def features_of(url: str, model: str, structured: Structured) -> Features:
    """The known features of a model behind an address; one object for the whole process."""
    return _known.setdefault((url, model, structured), Features(structured))
