from __future__ import annotations

import pytest

from simia_gym.language import read


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("**Bold** and `code`", "bold and code"),
        ("# Heading\nText", "heading text"),
        ("#W123 stays", "#w123 stays"),
        ("> quoted", "quoted"),
        ("> **1. Deep**", "deep"),
        ("It’s “fine” – really…", 'it\'s "fine" - really...'),
        ("| a | b |\n|---|---|\n| 1 | 2 |", "a b 1 2"),
        ("It costs $1,234.50.", "it costs $1234.50."),
        ('{"message": "Hello"}', "hello"),
        ('```json\n{"message": "Hello"}\n```', "hello"),
        ('{"text": "Hello", "order_id": "#W1"}', "hello order id: #w1"),
        ('{"text": "Hello"', '{"text": "hello"'),
        ('{"text": Hello}', '{"text": hello}'),
        ("{}", "{}"),
        ("[1, 2]", "1 2"),
        ('{"a": {"b": 1, "c": null}, "d": true}', "a: b: 1 d: true"),
    ],
)
def test_markup_is_taken_off(text: str, words: str) -> None:
    assert read(text).words == words


def test_deep_json_is_cut() -> None:
    assert len(read("[" * 50 + '"x"' + "]" * 50).words) < 200


def test_list_knows_what_introduced_it() -> None:
    found = read("Please give me:\n\n* your email\n- your zip\n\nThank you!").sentences
    assert [(s.plain, s.head) for s in found] == [
        ("please give me:", ""),
        ("your email", "please give me:"),
        ("your zip", "please give me:"),
        ("thank you!", ""),
    ]


def test_sentences_stand_in_the_message() -> None:
    text = 'I see.  **Is it "blue?"** Yes!\n1) Good: $1,000.'
    assert [s.question for s in read(text).sentences] == [False, True, False, False]
    assert all(s.said in text for s in read(text).sentences)
