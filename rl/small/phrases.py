"""Phrases: what stands word for word in many conversations becomes one token each.

A domain says much with the same words every time: the system message, the frame of a page, the names of fields in an
answer, the expert's set phrases. A tokenizer that cannot cross the border of a word spends most of a conversation on
them. Here words that keep following each other are joined, as in byte-pair encoding but across words, as long as what
comes out stands in enough conversations. What a policy copies is kept out: a word that it says now and then, such as a
colour, and every digit, so that values are written in the same tokens wherever they stand.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from itertools import pairwise

_ROUNDS = 40
_SHORT_END = re.compile(r"(?<!\w)\w{1,2}\Z")
"""A phrase that ends so is more often the beginning of a longer word."""
_LEAST_WORDS = 2


def find_phrases(
    documents: Sequence[Sequence[Sequence[str]]], said: Sequence[Iterable[str]], *, share: float, most: int
) -> list[str]:
    """Find phrases.

    Args:
        documents: Conversations, each of several texts, each cut into words as the tokenizer cuts them.
        said: The words of each conversation that the policy said.
        share: In which part of the conversations a phrase has to stand, 0 to 1; and in which part the policy has to
            say a word that it says at all, for the word to be in a phrase.
        most: Most phrases to find.

    Returns:
        The phrases, those first that save the most tokens.
    """
    least = max(2, round(share * len(documents)))
    texts = [[list(text) for text in document] for document in documents]
    spoken = Counter(word.strip() for words in said for word in {word.strip(): None for word in words})
    values = {word for word, count in spoken.items() if count < least and any(letter.isalpha() for letter in word)}
    for _ in range(_ROUNDS):
        chosen = _choose(texts, least, values)
        if not chosen:
            break
        for document in texts:
            document[:] = [_join(text, chosen) for text in document]
    cut: dict[str, int] = {}
    used: Counter[str] = Counter()
    pieces = {word for document in documents for text in document for word in text}
    for document in texts:
        for text in document:
            used.update(text)
    for phrase, count in used.items():
        if phrase not in pieces and count >= least and not _SHORT_END.search(phrase):
            cut[phrase] = count * (len(phrase) - 1)
    return sorted(cut, key=lambda phrase: (-cut[phrase], phrase))[:most]


def _choose(texts: Iterable[Iterable[Sequence[str]]], least: int, values: set[str]) -> set[tuple[str, str]]:
    """Pairs to join at once: the most frequent ones, none of which has a word that another needs on its other side."""
    counts: Counter[tuple[str, str]] = Counter()
    held: Counter[tuple[str, str]] = Counter()
    for document in texts:
        here: Counter[tuple[str, str]] = Counter()
        for text in document:
            here.update(pairwise(text))
        counts.update(here)
        held.update(here.keys())
    chosen: set[tuple[str, str]] = set()
    first: set[str] = set()
    second: set[str] = set()
    for pair, _ in sorted(counts.items(), key=lambda item: (-item[1], item[0])):
        left, right = pair
        if held[pair] < least or left.strip() in values or right.strip() in values:
            continue
        if not (_may_begin(left) and _may_stand(right)):
            continue
        if left in second or right in first or left == right or left in first or right in second:
            continue
        chosen.add(pair)
        first.add(left)
        second.add(right)
    return chosen


def _join(text: Sequence[str], chosen: set[tuple[str, str]]) -> list[str]:
    joined: list[str] = []
    for word in text:
        if joined and (joined[-1], word) in chosen:
            joined[-1] += word
        else:
            joined.append(word)
    return joined


def _may_begin(word: str) -> bool:
    """A line break before a text belongs to the chat template, so no phrase begins with one."""
    return not word.startswith("\n") and _may_stand(word)


def _may_stand(word: str) -> bool:
    return word.isascii() and not any(letter.isdigit() for letter in word)


def lines(text: str) -> Iterator[str]:
    """The lines of a text that are worth a token each: those of several words."""
    for line in text.split("\n"):
        line = line.strip()
        if len(line.split()) >= _LEAST_WORDS and line.isascii():
            yield line
