"""Other words in every trajectory, so that a policy learns to read them.

A domain has a few dozen kinds of products, colours, names. A policy that reads thousands of trajectories about them
remembers which go together, and says remembered ones where a task asks for others. Here the words that an expert says
only after it has read them are exchanged for one another in each trajectory, the same everywhere in it: what to search
for, to choose or to write then stands nowhere but in the conversation.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from random import Random

from simia_gym.rl.sft.trajectories import rewritten
from simia_gym.types import Message

_WORD = re.compile(r"(?<![A-Za-z0-9])[A-Za-z]{3,}(?![A-Za-z0-9])")
_COMMON = 0.15
"""A word of so many conversations belongs to how they are held, not to what they are about."""
_READ_BEFORE = 0.95
"""In which part of the conversations in which it is said a word has to have been read before."""


class FreshWords:
    """Exchanges words of conversations for others that occur in some of them.

    Args:
        conversations: Where words come from, and what shows which of them may be exchanged.
        random: Where chance comes from.
    """

    def __init__(self, conversations: Iterable[Sequence[Message]], random: Random) -> None:
        self._random = random
        self._words = _exchangeable(conversations)
        self._known = frozenset(self._words)

    def of(self, messages: Sequence[Message]) -> list[Message]:
        """Give a conversation other words.

        Args:
            messages: The conversation. Its system messages stay.

        Returns:
            The same conversation with other words: two places that held the same word hold the same one again, with a
            capital where there was one, and two that held different ones hold different ones.
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
    """The words that are said once they were read, that are not everywhere, and that are no rule's."""
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
    """A word in capital or small letters as another is."""
    if text.islower():
        return word
    return word.upper() if text.isupper() else word.capitalize()
