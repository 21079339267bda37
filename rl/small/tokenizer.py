"""A tokenizer for a domain: byte-level BPE on its text, made so that copying is easy for a small model.

An agent copies: ids, names, options, amounts. A small model can copy what is written in the same tokens wherever it
stands, and in tokens that are not everywhere. So

- what follows punctuation begins without a space: an option is written alike on a page, in JSON and in an action,
- numbers are cut into groups of up to three digits, and ids of letters and digits into pairs: an id is the same few
  tokens everywhere, each rare enough on a page to be found again,
- phrases (see `phrases`) hold only what stands in many conversations, never what belongs to one task.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from itertools import chain
from typing import Any

from simia_gym.errors import InputError
from simia_gym.rl.chat.template import CONTROL, END, MARKS, PAD, chat_template
from simia_gym.rl.small.phrases import find_phrases, lines
from simia_gym.types import Message

_MIXED = "(?=[{0}0-9]*[{0}])(?=[{0}0-9]*[0-9])[{0}0-9]{{6,}}"
_ID = rf"(?<![A-Za-z0-9])(?!\p{{L}}{{4}})(?:{_MIXED.format('A-Z')}|{_MIXED.format('a-z')})(?![A-Za-z0-9])"
_WORDS = rf"{_ID}|[0-9]+| ?\p{{L}}+|[^\s\p{{L}}\p{{N}}]+ ?|\n| +|\s"
"""How text is cut. Line breaks stand alone: the chat template puts them next to any text."""
_GROUPS = r"\G[0-9]{1,3}(?=[0-9]*\z)|\A(?=[A-Za-z]*[0-9])[A-Za-z0-9]{2}|\G(?<!\A)[A-Za-z0-9]{2}"
"""How numbers and ids are cut further; a word of letters has no beginning here and stays whole."""

LEAST_VOCAB = 256 + len(CONTROL) + len(MARKS)
"""Every byte and every mark has a token."""
DEFAULT_VOCAB = 6144
_SHARE = 0.15
_LOOKED_AT = 300
"""Conversations in which phrases are looked for; more of them say the same."""
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
        vocab: Most tokens, marks and phrases included; there are fewer where the text has no more to offer.
        phrases: Most phrases among them; 0 for none.
        max_length: The longest conversation in tokens, for the tokenizer's ``model_max_length``.

    Returns:
        A ``PreTrainedTokenizerFast`` with the chat template. ``<tool_call>`` and its like are tokens of their own, but
        not special: they stay when an action is decoded.

    Raises:
        InputError: The vocabulary cannot hold every byte and every mark, or there is no text.
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

        said = [[word for text in _texts(_spoken(talk), found) for word in words(text)] for talk in some]
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
    """The texts of a conversation without what has a token already."""
    rule = _rule((*CONTROL, *MARKS, *phrases))
    for message in conversation:
        yield from (part for part in rule.split(str(message["content"])) if part)


def _spoken(conversation: Iterable[Message]) -> list[Message]:
    return [message for message in conversation if message["role"] == "assistant"]


_rules: dict[tuple[str, ...], re.Pattern[str]] = {}


def _rule(tokens: tuple[str, ...]) -> re.Pattern[str]:
    """Finds tokens, the longest where several begin at one place."""
    if tokens not in _rules:
        _rules.clear()
        longest_first = sorted(tokens, key=len, reverse=True)
        _rules[tokens] = re.compile("|".join(map(re.escape, longest_first)))
    return _rules[tokens]
