"""The shop's customers understand agents however they put it, and tell what is asked for and nothing else."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

from simia_gym.common.event_loop import run_inline
from simia_gym.common.files import read_yaml
from simia_gym.types import JsonObject, Task
from simia_gym.users.cues import Cues
from tests.retail.play import generated, suite

AGENTS: Any = read_yaml(Path(__file__).parents[1] / "domains" / "agents" / "retail.yaml")
"""What agents of the shop say in many ways."""
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


def _slots(task: Task) -> dict[str, set[str]]:
    """The private words of each slot that the customer can be asked for at first."""
    assert task.user is not None
    known = {**task.user["facts"], **task.user["requests"][0].get("slots", {})}
    return {name: {str(value).lower() for value in answer["values"]} for name, answer in known.items()}


def _first_reply(task: Task, text: str) -> tuple[str, str, JsonObject]:
    """The opening, the reply to the text, and what the record tells about the reply."""
    episode = suite().episode()
    start = run_inline(episode.reset(task))
    step = run_inline(episode.step(text))
    return start.observation.lower(), step.observation.lower(), episode.ledger.events[-1]["meta"]


def _says(text: str, value: str) -> bool:
    return re.search(rf"(?<!\w){re.escape(value)}(?!\w)", text) is not None


def test_nothing_is_told_unasked() -> None:
    for task in [*suite().tasks, *generated(20)]:
        known = _slots(task)
        asking = [texts[0] for texts in AGENTS["asks"].values()]
        for text in (*asking, *AGENTS["silent"], "Hello!", "One moment, please."):
            asked = set(CUES.hear(text).asks)
            opening, reply, _ = _first_reply(task, text)
            allowed = {value for slot in asked for value in known.get(slot, ())}
            for value in allowed:
                reply = reply.replace(value, "...")  # an email address holds the name
            for slot, values in known.items():
                for value in values - allowed:
                    assert _says(opening, value) or not _says(reply, value) or _said_of_itself(task, value), (
                        slot,
                        text,
                    )


def _said_of_itself(task: Task, value: str) -> bool:
    """Whether the wish itself names the value, so that stating the wish is no leak."""
    assert task.user is not None
    return any(_says(say.lower(), value) for say in task.user["requests"][0]["say"])


def test_opening_tells_no_secret() -> None:
    for task in [*suite().tasks, *generated(60)]:
        assert task.user is not None
        secrets = {str(v).lower() for fact in task.user["facts"].values() for v in fact["values"]}
        for opening in task.user["opening"]:
            assert not any(_says(opening.lower(), value) for value in secrets)


@pytest.mark.slow
def test_wrong_details_are_turned_down() -> None:
    checked = set()
    for task in generated(120):
        assert task.user is not None
        request = task.user["requests"][0]
        kinds = ("cancel", "exchange", "modify_items", "return", "return_several", "modify_payment")
        if "change" in request or task.kind not in kinds:
            continue
        right = " ".join(f"{item['any'][0]}" for item in request["expect"])
        verb = {"modify_items": "change", "modify_payment": "change the payment of"}.get(task.kind, task.kind[:8])
        verb = "return" if task.kind.startswith("return") else verb
        meta = _first_reply(task, f"I will {verb} {right}. Shall I go ahead?")[-1]
        assert meta["acts"] == ["confirm"], (task.id, right)
        for wrong in request["expect"]:
            if not wrong.get("avoid"):
                continue
            others = " ".join(str(i["any"][0]) for i in request["expect"] if not set(i["any"]) & set(wrong["any"]))
            meta = _first_reply(task, f"I will {verb} {others} {wrong['avoid'][0]}. Shall I go ahead?")[-1]
            assert meta["acts"] == ["deny"], (task.id, others, wrong)
            assert wrong["slot"] in meta["slots"]
            checked.add(wrong["slot"])
    assert checked == {"reason", "variant", "payment", "items"}
