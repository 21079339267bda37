"""The shop's customers understand agents however they put it."""

from __future__ import annotations

import pytest

from simia_gym.users.cues import Cues
from tests.retail.play import AGENTS, suite

CUES = Cues(suite().domain.cues)


@pytest.mark.parametrize(
    ("slots", "text"), [(slots.split(", "), text) for slots, texts in AGENTS["asks"].items() for text in texts]
)
def test_a_question_asks_for_little_else(slots: list[str], text: str) -> None:
    heard = CUES.hear(text)
    allowed = {"variant": {"payment", "items"}, "items": {"variant", "name"}, "address": {"zip"}, "payment": set()}
    assert set(heard.asks) - set(slots) <= allowed.get(slots[0], set())
    assert "confirm" not in heard.acts


@pytest.mark.parametrize(("act", "text"), [(act, text) for act, texts in AGENTS["acts"].items() for text in texts])
def test_act_is_understood(act: str, text: str) -> None:
    heard = CUES.hear(text)
    assert act in heard.acts
    assert not set(heard.asks) & {"email", "name", "zip", "payment", "address", "order"}
    if act == "confirm":
        assert CUES.about("cancel", heard.reading.words)


def test_proposal_and_question_at_once() -> None:
    heard = CUES.hear("I will return the lamp. Do you confirm? And which payment method should get the refund?")
    assert "confirm" in heard.acts
    assert heard.asks == ("payment",)


def test_proposal_names_details_without_asking_for_them() -> None:
    text = (
        "Order #W1234567: exchange the Trackball for the one with 3 buttons. The price difference goes to your PayPal "
        "account (payment method paypal_1234567). Can you confirm the details are correct?"
    )
    heard = CUES.hear(text)
    assert heard.asks == ()
    assert "confirm" in heard.acts
