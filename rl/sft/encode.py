"""Encodes conversations as token ids and labels.

The ids are put together as in an episode (see `simia_gym.rl.chat.tokens`). Only the policy's turns are learned: their
text and the token that ends them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from simia_gym.actions.thinking import CLOSE, OPEN
from simia_gym.errors import InputError
from simia_gym.policies.base import Thinking
from simia_gym.rl.chat.thinking import DEFAULT
from simia_gym.rl.chat.tokens import Conversation
from simia_gym.types import Message

IGNORED = -100
"""Label of a token that is not learned."""


@dataclass(frozen=True)
class Encoded:
    """One conversation as token ids.

    Attributes:
        input_ids: All tokens, up to the end of the policy's last turn.
        labels: The token if it is of the policy's turn, else `IGNORED`; as long as ``input_ids``.
    """

    input_ids: list[int]
    labels: list[int]

    @property
    def learned(self) -> int:
        """Number of tokens that are learned."""
        return sum(label != IGNORED for label in self.labels)


def encode(tokenizer: Any, messages: Sequence[Message], thinking: Thinking = DEFAULT) -> Encoded:
    """Encode one conversation, the policy's turns as raw text; messages after its last turn are dropped.

    Raises:
        InputError: The policy has no turn, or the first message, or two turns in a row, or a turn does not end the
            thinking that the chat template begins.
    """
    turns = [place for place, message in enumerate(messages) if message["role"] == "assistant"]
    if not turns or turns[0] == 0:
        raise InputError("the policy has no turn, or the first message", where="conversation")
    talk = Conversation(tokenizer, messages[: turns[0]], thinking)
    for turn, following in zip(turns, [*turns[1:], None], strict=True):
        text = str(messages[turn]["content"])
        if talk.opens_thinking:
            text = text.removeprefix(OPEN).lstrip("\n")
            if CLOSE not in text:
                fix = "Give --thinking never, or take a template that leaves the beginning to the policy."
                what = f"it has no {CLOSE}, and the chat template begins every turn of the policy with {OPEN}"
                raise InputError(what, where=f"message {turn}", fix=fix)
        heard = [] if following is None else messages[turn + 1 : following]
        talk.said([*tokenizer.encode(text, add_special_tokens=False), *talk.ends_with(heard)])
        if following is not None:
            if following == turn + 1:
                raise InputError("the policy has two turns in a row", where=f"message {following}")
            talk.heard(heard)
    labels = [token if said else IGNORED for token, said in zip(talk.ids, talk.mask, strict=True)]
    return Encoded(talk.ids, labels)


@dataclass
class EncodedSet:
    """Encoded conversations.

    Attributes:
        rows: Those that are short enough.
        too_long: Number of conversations that were too long and left out.
        longest: Length of the longest conversation, left out or not.
    """

    rows: list[Encoded]
    too_long: int = 0
    longest: int = 0


def encode_all(
    tokenizer: Any, conversations: Sequence[Sequence[Message]], *, max_length: int | None, thinking: Thinking = DEFAULT
) -> EncodedSet:
    """Encode conversations; one that is too long is left out and counted, never truncated; with ``None`` none is.

    Raises:
        InputError: No conversation is short enough.
    """
    found = EncodedSet([])
    for messages in conversations:
        row = encode(tokenizer, messages, thinking)
        found.longest = max(found.longest, len(row.input_ids))
        if max_length is None or len(row.input_ids) <= max_length:
            found.rows.append(row)
        else:
            found.too_long += 1
    if conversations and not found.rows:
        fix = f"Use a larger --max-length, or a policy that reads more; the longest has {found.longest} tokens."
        raise InputError(f"no conversation fits into {max_length} tokens", where="max-length", fix=fix)
    return found
