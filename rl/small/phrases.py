"""Finds phrases: sequences of words that occur in many conversations and become one token each.

Much of a domain's text is the same in every conversation: the system message, page layouts, field names, the expert's
set phrases. A tokenizer that does not merge across words spends most of a conversation on such text. Here adjacent
words are merged, as in byte-pair encoding but across words, while the result occurs in enough conversations. Words that
a policy has to copy are excluded: words that it writes only sometimes, such as a colour, and all digits. So a value has
the same tokens wherever it occurs.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from itertools import pairwise

_ROUNDS = 40
_SHORT_END = re.compile(r"(?<!\w)\w{1,2}\Z")
"""A phrase that ends with one or two letters is usually the beginning of a longer word."""
_LEAST_WORDS = 2


def find_phrases(
    documents: Sequence[Sequence[Sequence[str]]], said: Sequence[Iterable[str]], *, share: float, most: int
) -> list[str]:
    """Find phrases.

    Args:
        documents: For each conversation its texts, each split into words by the tokenizer's rule.
        said: The words that the policy wrote in each conversation.
        share: Minimum share of conversations that contain a phrase, 0 to 1. A word that the
            policy writes may be in a phrase only if the policy writes it in this share of the conversations.
        most: Maximum number of phrases.

    Returns:
        The phrases, sorted by the number of tokens that they save, largest first.
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
    """Pairs to merge in one round: the most frequent ones that do not overlap."""
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
    """Whether a phrase may begin with this word; not with a line break, which may belong to the chat template."""
    return not word.startswith("\n") and _may_stand(word)


def _may_stand(word: str) -> bool:
    return word.isascii() and not any(letter.isdigit() for letter in word)


def lines(text: str) -> Iterator[str]:
    """The lines of a text that have several words; each may become a token."""
    for line in text.split("\n"):
        line = line.strip()
        if len(line.split()) >= _LEAST_WORDS and line.isascii():
            yield line
