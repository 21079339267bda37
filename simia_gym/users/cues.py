"""Cue patterns: regular expressions by which a scripted user understands the agent, from the domain's cue file.

An example of such a file:

    slots:
      email: {ask: ["e-?mail"], direct: [], unknown: ["I do not remember which email I used."]}
    actions: {cancel: ["cancel"]}          # words that show that a proposal is about this action
    tokens: {order: "#?w[0-9]{7}"}         # values that can be recognised by their shape
    alternatives: [[[email], [name, zip]]] # "your email, or your name and zip code": one of them is enough
    leave_after: [transfer_to_human]       # tools after whose success the user has nothing more to wait for

Patterns are matched against lower-case text without accents. ``ask`` patterns apply in sentences that request
something; ``direct`` patterns apply in any question, even one that asks for a yes. A user without a value for a slot
with ``quiet: true`` ignores the question if it can answer another question of the same message. Patterns for refusals,
claims and requests for consent are the same in every domain and belong to `simia_gym.language`.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Annotated, Any

import orjson
from pydantic import AfterValidator, BeforeValidator, Field

from simia_gym.common.json_encoding import encode
from simia_gym.common.validation import StrictModel, Where, validated
from simia_gym.errors import InputError
from simia_gym.language import Act, Cue, Detail, Reading, Said, asked, read


def listed(value: Any) -> Any:
    """A text as a list of one."""
    return (value,) if isinstance(value, str) else value


def _cue(pattern: str) -> str:
    try:
        Cue((pattern,))
    except InputError as error:
        raise ValueError(error.what) from None
    if re.search(r"(?<![\\?])[A-Z]|[à-öø-ÿ]", pattern):
        raise ValueError("it is matched against lower-case text without accents, so that such a letter never matches")
    return pattern


CuePattern = Annotated[str, AfterValidator(_cue)]
"""A regular expression over lower-case text."""
Texts = Annotated[tuple[str, ...], BeforeValidator(listed, json_schema_input_type=str | tuple[str, ...])]
CuePatterns = Annotated[tuple[CuePattern, ...], BeforeValidator(listed, json_schema_input_type=str | tuple[str, ...])]


class SlotCues(StrictModel):
    """How agents ask for a detail."""

    ask: CuePatterns = Field((), description="Patterns that count in a sentence that asks for something.")
    direct: CuePatterns = Field((), description="Patterns that count in any question, even one that asks for a yes.")
    unknown: Texts = Field((), description="What the user says if it does not have this detail.")
    quiet: bool = Field(False, description="Whether it then ignores the question if it can answer another one.")


class CueFile(StrictModel):
    """The keys of a cue file."""

    slots: Mapping[str, SlotCues] = Field(default_factory=dict, description="Details that agents ask for.")
    actions: Mapping[str, CuePatterns] = Field(
        default_factory=dict, description="Patterns that show that a proposal is about an action."
    )
    tokens: Mapping[str, CuePattern] = Field(default_factory=dict, description="Values with a shape of their own.")
    alternatives: tuple[tuple[tuple[str, ...], ...], ...] = Field((), description="Slots of which one way is enough.")
    leave_after: Texts = Field((), description="Tools after whose success the user leaves.")


@dataclass(frozen=True, slots=True)
class Heard:
    """One message of the agent, understood with a domain's cue patterns.

    Attributes:
        reading: The message, read by `simia_gym.language`.
        asks: Slots that the message asks for, in order of mention.
        acts: The message's dialogue acts; "could you confirm your email?" asks for a slot, not for consent.
    """

    reading: Reading
    asks: tuple[str, ...]
    acts: frozenset[Act]


class Cues:
    """The compiled cue patterns of a domain. Create it with `load_cues`, which caches.

    Args:
        config: The content of the domain's cue file; may be empty.
        where: The place of a part, for error messages.

    Raises:
        InputError: A key or pattern is wrong.
    """

    def __init__(self, config: Mapping[str, Any], where: str | Where = "cues: ") -> None:
        file = validated(CueFile, config, where=where)
        self.slots = {
            name: Detail(Cue(slot.ask), Cue(slot.direct), slot.unknown, slot.quiet) for name, slot in file.slots.items()
        }
        self.actions = {name: Cue(patterns) for name, patterns in file.actions.items()}
        self.tokens = {name: re.compile(pattern) for name, pattern in file.tokens.items()}
        self.alternatives = file.alternatives
        self.leave_after = frozenset(file.leave_after)

    def hear(self, text: str) -> Heard:
        """Understand a message of the agent; the text may be wrapped in JSON or markup."""
        reading = read(text)
        asks: dict[str, None] = {}
        acts: set[Act] = set()
        for said in reading.said:
            slots = _asked(self, said)
            asks.update(dict.fromkeys(slots))
            acts |= said.acts if said.firm or not slots else said.acts - {"confirm"}
        return Heard(reading, tuple(asks), frozenset(acts))

    def tokens_in(self, kind: str, text: str) -> frozenset[str]:
        """The values in a lower-case text that match a token pattern, without a leading ``#``."""
        pattern = self.tokens.get(kind)
        found = () if pattern is None else pattern.finditer(text)
        return frozenset(one.group(0).lstrip("#") for one in found)

    def about(self, action: str | None, text: str) -> bool:
        """Whether words of an action occur in a lower-case text."""
        cue = None if action is None else self.actions.get(action)
        return cue is not None and cue.occurs(text)


# Without the cache, a step of retail costs 7 to 16% more.
@lru_cache(maxsize=4096)
def _asked(cues: Cues, said: Said) -> tuple[str, ...]:
    return tuple(asked(said, cues.slots))


def load_cues(config: Mapping[str, Any]) -> Cues:
    """The compiled patterns of a cue file; the same content is compiled once."""
    return _cues(encode(dict(config)))


@lru_cache(maxsize=16)
def _cues(encoded: bytes) -> Cues:
    return Cues(orjson.loads(encoded))
