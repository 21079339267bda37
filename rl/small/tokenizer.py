"""A tokenizer for a domain: byte-level BPE on its text, designed to make copying easy for a small model.

Agents copy ids, names, options and amounts. A small model can copy a text if its tokens are the same wherever it occurs
and are not too frequent. Therefore:

- a space after punctuation belongs to the punctuation: an option has the same tokens on a page, in JSON and in an
  action,
- numbers are split into groups of up to three digits, and ids of letters and digits into pairs: an id has the same few
  tokens everywhere, each of them rare enough on a page to be found again,
- phrases (see `simia_gym.rl.small.phrases`) contain only text of many conversations, never values of one task.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache
from itertools import chain
from typing import Any

from simia_gym.errors import InputError
from simia_gym.rl.chat.template import CONTROL, END, MARKS, PAD, chat_template
from simia_gym.rl.small.phrases import find_phrases, lines
from simia_gym.types import Message

_MIXED = "(?=[{0}0-9]*[{0}])(?=[{0}0-9]*[0-9])[{0}0-9]{{6,}}"
_ID = rf"(?<![A-Za-z0-9])(?!\p{{L}}{{4}})(?:{_MIXED.format('A-Z')}|{_MIXED.format('a-z')})(?![A-Za-z0-9])"
_WORDS = rf"{_ID}|[0-9]+| ?\p{{L}}+|[^\s\p{{L}}\p{{N}}]+ ?|\n| +|\s"
"""How text is split into words. Line breaks are separate, since the chat template puts them next to any text."""
_GROUPS = r"\G[0-9]{1,3}(?=[0-9]*\z)|\A(?=[A-Za-z]*[0-9])[A-Za-z0-9]{2}|\G(?<!\A)[A-Za-z0-9]{2}"
"""How numbers and ids are split further; words of letters do not match and stay whole."""

LEAST_VOCAB = 256 + len(CONTROL) + len(MARKS)
"""Minimum vocabulary: one token for each byte and each special token."""
DEFAULT_VOCAB = 6144
_SHARE = 0.15
_LOOKED_AT = 300
"""Number of conversations to search for phrases; more do not change the result."""
_LONGEST = 20_000


def train_tokenizer(
    conversations: Sequence[Sequence[Message]],
    *,
    vocab: int = DEFAULT_VOCAB,
    phrases: int = 768,
    max_length: int = _LONGEST,
) -> Any:
    """Train a tokenizer on conversations.

    Args:
        conversations: Whole conversations; their system messages may differ.
        vocab: Maximum number of tokens, special tokens and phrases included; fewer if the text has no further merges.
        phrases: Maximum number of phrases among them; 0 for none.
        max_length: The longest conversation in tokens, for the tokenizer's ``model_max_length``.

    Returns:
        A ``PreTrainedTokenizerFast`` with the chat template. ``<tool_call>`` and similar tags are single
        tokens but not special: they are kept when an action is decoded.

    Raises:
        InputError: The vocabulary is smaller than the number of bytes and special tokens, or there is no text.
    """
    if vocab < LEAST_VOCAB:
        raise InputError(f"{vocab} tokens cannot hold all bytes", where="vocab", fix=f"Use {LEAST_VOCAB} or more.")
    if not conversations:
        raise InputError("there is no text to train on", where="tokenizer", fix="Give conversations.")
    from tokenizers import AddedToken, Regex, Tokenizer, decoders, models, pre_tokenizers, trainers
    from transformers import PreTrainedTokenizerFast

    cuts = [pre_tokenizers.Split(Regex(rule), "isolated") for rule in (_WORDS, _GROUPS)]
    cutter = pre_tokenizers.Sequence(cuts)
    found: list[str] = []
    if phrases:
        room = min(phrases, vocab - LEAST_VOCAB)
        systems = {str(message["content"]) for talk in conversations for message in talk if message["role"] == "system"}
        found = list(dict.fromkeys(line for text in sorted(systems) for line in lines(text)))[:room]
        some = conversations[:_LOOKED_AT]

        def words(text: str) -> list[str]:
            return [word for word, _ in cutter.pre_tokenize_str(text)]

        spoken = [[message for message in talk if message["role"] == "assistant"] for talk in some]
        said = [[word for text in _texts(talk, found) for word in words(text)] for talk in spoken]
        documents = [[words(text) for text in _texts(talk, found)] for talk in some]
        found += find_phrases(documents, said, share=_SHARE, most=room - len(found))
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence(
        [*cuts, pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)]
    )
    tokenizer.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=vocab - len(found) - len(MARKS),
        special_tokens=list(CONTROL),
        initial_alphabet=sorted(pre_tokenizers.ByteLevel.alphabet()),
        show_progress=False,
    )
    roles = [role for role in ("system", "user", "assistant", "tool") for _ in conversations]
    texts = (text for talk in conversations for text in _texts(talk, found))
    tokenizer.train_from_iterator(chain(roles, texts), trainer)
    made = PreTrainedTokenizerFast(
        tokenizer_object=tokenizer,
        eos_token=END,
        pad_token=PAD,
        chat_template=chat_template(),
        model_max_length=max_length,
        clean_up_tokenization_spaces=False,
    )
    made.add_tokens([AddedToken(text, normalized=False, special=False) for text in (*MARKS, *found)])
    return made


def _texts(conversation: Iterable[Message], phrases: Sequence[str]) -> Iterator[str]:
    """The texts of a conversation, split at special tokens and phrases, which have tokens already."""
    rule = _rule((*CONTROL, *MARKS, *phrases))
    for message in conversation:
        yield from (part for part in rule.split(str(message["content"])) if part)


@lru_cache(maxsize=1)
def _rule(tokens: tuple[str, ...]) -> re.Pattern[str]:
    """A pattern that finds tokens; the longest match wins."""
    longest_first = sorted(tokens, key=len, reverse=True)
    return re.compile("|".join(map(re.escape, longest_first)))
