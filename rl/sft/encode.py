"""From conversations to what a trainer reads: token ids, and which of them are learned.

The ids are put together as a policy meets them when it plays (see `simia_gym.rl.chat.tokens`): each of its turns is
its own text and the token that ends it, and only these are learned. Nothing is found out by looking at the result.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from simia_gym.errors import InputError
from simia_gym.rl.chat.tokens import Conversation
from simia_gym.types import Message

IGNORED = -100
"""Label of a token that is read and not learned."""


@dataclass(frozen=True)
class Encoded:
    """One conversation as token ids.

    Attributes:
        input_ids: All tokens, up to the end of the policy's last turn.
        labels: The token where the policy said it, else `IGNORED`; as long as ``input_ids``.
    """

    input_ids: list[int]
    labels: list[int]

    @property
    def learned(self) -> int:
        """Number of tokens that are learned."""
        return sum(label != IGNORED for label in self.labels)


def encode(tokenizer: Any, messages: Sequence[Message]) -> Encoded:
    """Encode one conversation.

    Args:
        tokenizer: A Hugging Face tokenizer with a chat template.
        messages: The conversation, the policy's turns as raw text. What comes after its last turn is left out.

    Raises:
        InputError: The policy says nothing, or speaks first.
    """
    turns = [place for place, message in enumerate(messages) if message["role"] == "assistant"]
    if not turns or turns[0] == 0:
        raise InputError("nobody speaks before the policy, or the policy never speaks", where="conversation")
    talk = Conversation(tokenizer, messages[: turns[0]])
    end = [] if talk.end_id is None else [talk.end_id]
    for turn, following in zip(turns, [*turns[1:], None], strict=True):
        text = str(messages[turn]["content"])
        talk.said([*tokenizer.encode(text, add_special_tokens=False), *end])
        if following is not None:
            if following == turn + 1:
                raise InputError("the policy speaks twice in a row", where=f"message {following}")
            talk.heard(messages[turn + 1 : following])
    labels = [token if said else IGNORED for token, said in zip(talk.ids, talk.mask, strict=True)]
    return Encoded(talk.ids, labels)


@dataclass
class EncodedSet:
    """Conversations that fit.

    Attributes:
        rows: Those that fit.
        too_long: Number of those that were left out because they do not.
        longest: Length of the longest, left out or not.
    """

    rows: list[Encoded]
    too_long: int = 0
    longest: int = 0


def encode_all(tokenizer: Any, conversations: Sequence[Sequence[Message]], *, max_length: int) -> EncodedSet:
    """Encode conversations; one that is too long is left out and counted, never cut.

    Args:
        tokenizer: A Hugging Face tokenizer with a chat template.
        conversations: The conversations.
        max_length: Most tokens of one.

    Raises:
        InputError: None is short enough.
    """
    found = EncodedSet([])
    for messages in conversations:
        row = encode(tokenizer, messages)
        found.longest = max(found.longest, len(row.input_ids))
        if len(row.input_ids) <= max_length:
            found.rows.append(row)
        else:
            found.too_long += 1
    if conversations and not found.rows:
        fix = f"Use a larger --max-length; the longest has {found.longest} tokens."
        raise InputError(f"no conversation fits into {max_length} tokens", where="max-length", fix=fix)
    return found
