"""Permutes content words in every trajectory, so that a policy learns to copy words from the conversation.

A domain has a few dozen kinds of products, colours and names. A policy that is trained on thousands of trajectories
memorises which of them occur together and writes memorised ones when a task asks for others. Here the words that an
expert writes only after reading them are permuted in each trajectory, consistently: then only the conversation tells
what to search for, to choose or to write.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from random import Random

from simia_gym.rl.chat.trajectories import rewritten
from simia_gym.types import Message

_WORD = re.compile(r"(?<![A-Za-z0-9])[A-Za-z]{3,}(?![A-Za-z0-9])")
_COMMON = 0.15
"""Share of conversations above which a word counts as a common word and is kept."""
_READ_BEFORE = 0.95
"""Share of the conversations with a word in the policy's text in which it has to be read before it is written."""


class FreshWords:
    """Replaces content words of conversations by other content words."""

    def __init__(self, conversations: Iterable[Sequence[Message]], random: Random) -> None:
        self._random = random
        self._words = _exchangeable(conversations)
        self._known = frozenset(self._words)

    def of(self, messages: Sequence[Message]) -> list[Message]:
        """Replace the content words of a conversation, except those in its system messages.

        Equal words stay equal, different words stay different, and the case is kept.
        """
        others: dict[str, str] = {}
        left = self._random.sample(self._words, len(self._words))

        def other(found: re.Match[str]) -> str:
            text = found.group()
            key = text.lower()
            if key not in self._known:
                return text
            if key not in others:
                others[key] = left.pop()
            return _written_as(text, others[key])

        return rewritten(messages, lambda text: _WORD.sub(other, text))


def _exchangeable(conversations: Iterable[Sequence[Message]]) -> list[str]:
    """Content words: written only after they were read, not common, and not in a system message."""
    number = 0
    present: Counter[str] = Counter()
    said: Counter[str] = Counter()
    read_before: Counter[str] = Counter()
    rules: set[str] = set()
    for messages in conversations:
        number += 1
        read: set[str] = set()
        speech: dict[str, bool] = {}
        for message in messages:
            words = [word.lower() for word in _WORD.findall(str(message["content"]))]
            if message["role"] == "system":
                rules.update(words)
            elif message["role"] == "assistant":
                for word in words:
                    speech.setdefault(word, word in read)
            else:
                read.update(words)
        present.update(read.union(speech))
        said.update(speech.keys())
        read_before.update(word for word, before in speech.items() if before)
    return sorted(
        word
        for word, count in said.items()
        if word not in rules and present[word] <= _COMMON * number and read_before[word] >= _READ_BEFORE * count
    )


def _written_as(text: str, word: str) -> str:
    """A word in the case of another text: lower, upper or capitalised."""
    if text.islower():
        return word
    return word.upper() if text.isupper() else word.capitalize()
