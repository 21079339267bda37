"""The one reader: what a sentence is held to do, and that users and rewards ask nobody else."""

from __future__ import annotations

import ast
import json
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import simia_gym.rewards
import simia_gym.users
from simia_gym.common.files import read_yaml
from simia_gym.language import Reading, forms, read, wanted
from simia_gym.users.cues import Cues
from tests.retail.play import generator
from tests.rewards.story import Story, run

TABLE: Any = read_yaml(Path(__file__).with_name("sentences.yaml"))
ALL_REFUSALS = (*TABLE["refusals"], *(text for texts in TABLE["refused_by_kind"].values() for text in texts))


HELD: Sequence[tuple[Callable[[Reading], object], Sequence[str], Sequence[str]]] = (
    (lambda reading: reading.refusals, ALL_REFUSALS, TABLE["no_refusals"]),
    (Reading.claims, TABLE["claims"], TABLE["no_claims"]),
    (lambda reading: reading.agrees, TABLE["agrees"], ("", *TABLE["no_agreement"])),
    (Reading.promises, TABLE["promises"], TABLE["no_promises"]),
    (lambda reading: reading.foreign, TABLE["foreign"], TABLE["not_foreign"]),
)
"""What a message may be held to do, with messages that do it and messages that do not."""
CASES = [(does, text, texts is yes) for does, yes, no in HELD for texts in (yes, no) for text in texts]


@pytest.mark.parametrize(("does", "text", "expected"), CASES)
def test_a_message_is_held_to_do_what_it_does(does: Callable[[Reading], object], text: str, expected: bool) -> None:
    reading = read(text)
    assert bool(does(reading)) is expected
    assert all(reading.quote(sentence) in text for sentence in reading.refusals)


KINDS = {
    "money": (r"\$\d+(?:\.\d{1,2})?\b", r"\btotal\b"),
    "count": (r"(?<![\w#.])(?:\d{1,3}|four|five)\b", r"\bin stock\b"),
    "status": (r"\b(?:pending|processed|delivered|cancelled)\b", ""),
}


@pytest.mark.parametrize(("kind", "text", "value"), TABLE["answers"])
def test_an_answer_is_the_one_value_that_is_asserted(kind: str, text: str, value: str | None) -> None:
    assert read(text).asserted(*KINDS[kind]).one == value


@pytest.mark.parametrize(("text", "words", "expected"), TABLE["proposes"])
def test_what_is_spared_taken_back_or_hidden_is_not_proposed(text: str, words: str, expected: bool) -> None:
    assert wanted(words).stands_in(read(text).standing) is expected


@pytest.mark.parametrize(("text", "expected"), TABLE["asks"])
def test_a_yes_to_some_questions_agrees_to_nothing(text: str, expected: bool) -> None:
    assert ("confirm" in read(f"I will cancel it. {text}").acts) is expected


@pytest.mark.parametrize(("text", "amount"), TABLE["charges"])
def test_charges(text: str, amount: float | None) -> None:
    assert [float(found) for _, found in read(text).charges] == ([] if amount is None else [amount])


def test_what_is_in_another_language_does_nothing() -> None:
    reading = read("Ich habe und werde nicht. I have cancelled it.")
    assert len(reading.foreign) == 1
    assert [claim.deed for claim in reading.claims()] == ["cancelled"]


@pytest.mark.parametrize(("text", "word"), TABLE["disguised"])
def test_a_disguise_is_seen_through_and_counted(text: str, word: str) -> None:
    reading = read(f"I have {text} it.")
    assert reading.words == f"i have {word} it."
    assert reading.disguised > 0
    assert reading.claims()


@pytest.mark.parametrize("text", TABLE["plain"])
def test_what_is_no_disguise_is_not_counted(text: str) -> None:
    assert read(text).disguised == 0


def test_every_kind_that_the_shop_refuses_has_refusals_that_claim_nothing() -> None:
    by_kind = TABLE["refused_by_kind"]
    assert set(by_kind) <= set(generator().kinds)
    for kind, texts in by_kind.items():
        tasks = (generator().make(f"x{seed}", "train", seed, kind) for seed in range(1, 99))
        found = next(item["check"] for task in tasks for item in task.criteria if item["id"] == "not_claimed")
        for text in texts:
            check = dict(found)
            assert run(Story().say(text).finished(), check.pop("program"), **check).met, text


def test_claims_and_promises_can_be_narrowed_and_widened() -> None:
    changed, seated = "I have changed the lamp.", "You have been seated in row 5."
    assert read(changed).claims(("changed",))
    assert not read(changed).claims(("cancelled",))
    assert read("All done!").claims(("cancelled",))
    assert read(seated).claims(("seated",))
    assert not read(seated).claims()
    lent = read("I will lend you the book, and it will be renewed.")
    assert {promise.deed for promise in lent.promises(("lent", "renewed"))} == {"lent", "renewed"}
    assert not lent.promises()
    assert [claim.past for claim in read("It has already been changed once.").claims()] == [True]


@pytest.mark.parametrize("text", [*ALL_REFUSALS, *TABLE["no_refusals"], *TABLE["claims"], *TABLE["no_claims"]])
def test_user_and_reward_agree(text: str) -> None:
    """The customer believes a refusal or claim exactly where the reward sees one."""
    acts, finished = Cues({}).hear(text).acts, Story().say(text).finished()
    assert ("refuse" in acts) is run(finished, "refused").met
    assert ("claim" in acts) is not run(finished, "not_claimed").met


def test_user_and_reward_agree_on_recorded_agents(shared_data: Path) -> None:
    files = [shared_data / "rollouts" / f"{name}.jsonl" for name in ("retail_tau2", "airline_tau2", "airline_tau1")]
    texts = [text for file in files for text in _agent_messages(file)]
    assert len(texts) > 1_000
    for text in texts:
        test_user_and_reward_agree(text)


def _agent_messages(path: Path) -> Iterator[str]:
    with path.open(encoding="utf-8") as file:
        for line in file:
            for message in json.loads(line)["messages"]:
                if message["role"] == "assistant" and message.get("content"):
                    yield message["content"]


def test_nobody_reads_english_elsewhere() -> None:
    """Users and rewards import nothing of the reader but its public face."""
    for package in (simia_gym.users, simia_gym.rewards):
        for file in Path(package.__path__[0]).rglob("*.py"):
            for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
                module = node.module if isinstance(node, ast.ImportFrom) else None
                assert not (module or "").startswith("simia_gym.language."), file


@pytest.mark.parametrize(("want", "text", "expected"), TABLE["says"])
def test_wanted(want: str, text: str, expected: bool) -> None:
    assert wanted(want).stands_in(read(text)) is expected


@given(
    st.integers(0, 10**9).map(lambda n: n / 100),
    st.sampled_from(["{:.2f}", "${:.2f}", "{:,.2f}", "${:,.2f}", "**${:,.2f}**", "({:.2f})", "{:.2f}."]),
)
def test_a_number_is_found_however_it_is_written(value: float, layout: str) -> None:
    reading = read(f"Your total is {layout.format(value)} today")
    assert wanted(f"{value:.2f}").stands_in(reading)
    assert wanted(f"${value:,.2f}").stands_in(reading)
    assert not wanted(f"{value + 1:.2f}").stands_in(reading)


@given(st.text(max_size=60), st.text(min_size=1, max_size=10))
def test_any_text_can_be_read(text: str, want: str) -> None:
    reading = read(text)
    assert isinstance(wanted(want).stands_in(reading), bool)
    assert reading.acts >= {"claim"} or not reading.claims()
    assert reading.agrees in (True, False)


PIECES = ["a", "1", "1,", "-", "1-", "@", "a@", "#", "i can't ", "if you ", "is it ", "but ", "12.50 ", "http://", " "]
PIECES += ["(1", "has been ", "refund ", "i have just ", "no ", "only ", "orders that ", "[", "- \n", "{", "**"]
PIECES += ["if i could ", "but not ", "n o ", "é", "none of it: "]


@pytest.mark.parametrize("piece", PIECES)
@pytest.mark.sampled
def test_long_texts_cost_little(piece: str) -> None:
    """A reader whose cost grew with the square of the length would take hours here."""
    reading = read(piece * (200_000 // len(piece)))
    wanted("12.75").stands_in(reading)
    wanted("no such words").stands_in(reading)
    assert not reading.claims(("seated",))
    assert not reading.promises(("seated",))
    assert reading.asserted(r"\$\d+", "").one is None
    assert isinstance(reading.standing.sentences, tuple)
    assert isinstance(reading.acts, frozenset)
    assert reading.agrees in (True, False)


@pytest.mark.parametrize(
    "text",
    ["on May 26th", "05/26/2024", "on the 26th of May.", "5/26", "26 May 2024", "Sunday, May 26, 2024", "2024-05-26"],
)
def test_a_date_is_known_in_its_forms(text: str) -> None:
    assert any(wanted(form).stands_in(read(text)) for form in forms("2024-05-26"))
    assert not any(wanted(form).stands_in(read(text)) for form in (*forms("2024-05-06"), *forms("2024-06-26")))


@pytest.mark.parametrize(
    ("text", "is_open"),
    [
        ("I will do this:\n- Flight 1: AA1\n- Flight 2: BB2", False),
        ("I will do this:\n- Option 1: AA1\n- Option 2: BB2", True),
        ("I will do this:\n- Flight: AA1\n- Flight: BB2", True),
        ("The change:\n- Current flights: BB2 on May 5\n- New flights: AA1 on May 6", False),
        ("**Current itinerary:**\n- BB2\n\n**New itinerary:**\n- AA1", False),
        ("I will do this:\n1. Charge $5 to AA1.\n2. Refund $5 to BB2.", False),
        ("I will do this:\n1. Charge $5 to AA1.\n2. Charge $5 to BB2.", True),
        ("A refund may go to AA1 or to BB2; you chose AA1.", False),
        ("You chose AA1. The refund goes to AA1 or to BB2.", True),
    ],
)
def test_a_value_is_open_where_another_one_stands_in_its_place(text: str, is_open: bool) -> None:
    right, other = wanted("aa1"), wanted("bb2")
    assert read(text).leaves_open(lambda part: (right.stands_in(part), other.stands_in(part))) is is_open


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
