from __future__ import annotations

import pytest

from simia_gym.language.plain import plain, sentences


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("**Bold** and `code`", "Bold and code"),
        ("# Heading\nText", "Heading\nText"),
        ("#W123 stays", "#W123 stays"),
        ("> quoted", "quoted"),
        ("[link](https://example.com)", "link"),
        ("It’s “fine” – really…", 'It\'s "fine" - really...'),
        ('{"message": "Hello"}', "Hello"),
        ('```json\n{"message": "Hello"}\n```', "Hello"),
        ('{"text": "Hello", "order_id": "#W1"}', "Hello\norder id: #W1"),
        ('{"text": "Hello"', '{"text": "Hello"'),
        ("{}", "{}"),
        ("[1, 2]", "- 1\n- 2"),
        ('{"a": {"b": 1, "c": null}, "d": true}', "\na:\n- b: 1\n\n- d: true"),
    ],
)
def test_markup_is_taken_off(text: str, words: str) -> None:
    assert plain(text) == words


def test_deep_json_is_cut() -> None:
    assert len(plain("[" * 50 + '"x"' + "]" * 50)) < 200


def test_list_knows_what_introduced_it() -> None:
    found = sentences("Please give me:\n\n- your email\n- your zip\n\nThank you!")
    assert [(s.text, s.head) for s in found] == [
        ("please give me:", ""),
        ("your email", "please give me:"),
        ("your zip", "please give me:"),
        ("thank you!", ""),
    ]


def test_questions_are_marked() -> None:
    assert [s.question for s in sentences('I see. Is it "blue?" Yes.')] == [False, True, False]


@pytest.mark.parametrize("text", ["", "\n\n", "---", "***", "\u0000", "{" * 2000, "[" * 2000, "- \n- \n"])
def test_anything_can_be_read(text: str) -> None:
    sentences(plain(text))
