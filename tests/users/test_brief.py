from __future__ import annotations

from itertools import pairwise
from pathlib import Path

import pytest

from simia_gym.common.files import read_yaml
from simia_gym.errors import InputError
from simia_gym.types import JsonObject
from simia_gym.users.brief import BriefUser
from tests.users.stage import CUES, Stage

USER: JsonObject = {"type": "brief", "reason": "You want to return your lamp.", "known": "You are Ada, code 4711."}


def stage(user: JsonObject = USER) -> Stage:
    return Stage(user, player=BriefUser(CUES))


def test_opening_states_reason_and_facts() -> None:
    assert stage().opening.observation == "Hi. I want to return my lamp. I am Ada, code 4711."
    known = "You want it sent to you. If your card fails, you'd pay yourself."
    told = stage({**USER, "known": known}).opening.observation
    assert told.endswith("I want it sent to me. If my card fails, I would pay myself.")


def test_answers_with_known_facts() -> None:
    talk = stage()
    first = talk.say("What is your name?")
    assert first.observation == "I am Ada, code 4711."
    assert first.meta["acts"] == ["inform"]
    again = talk.say("And which lamp is it?").observation
    assert again.startswith("I want to return my lamp. I am Ada, code 4711.")
    assert again != f"{first.observation} I want to return my lamp."


def test_says_yes() -> None:
    assert stage().say("I will book it. Shall I proceed?").meta["acts"] == ["confirm"]


def test_leaves_after_success() -> None:
    for text in ("Your return has been submitted.", "Is there anything else I can do?"):
        talk = stage()
        talk.call("send_back")
        assert talk.say(text).end == "user_stop"


def test_stays_until_every_tool_that_its_task_names_has_succeeded() -> None:
    talk = Stage(USER, player=BriefUser(CUES), options={"done": ["send_back", "send_back"]})
    talk.call("find")
    talk.call("send_back", ok=False)
    talk.call("send_back")
    assert talk.say("Your return has been submitted.").end is None
    talk.call("send_back")
    assert talk.say("Your return has been submitted.").end == "user_stop"


COURTESIES: list[str] = read_yaml(Path(__file__).parents[1] / "domains" / "courtesies.yaml")


@pytest.mark.parametrize("text", [*COURTESIES, "Your return is submitted."])
def test_stays_while_nothing_is_done(text: str) -> None:
    talk = stage()
    said = [talk.say(text) for _ in range(3)]
    assert [reply.end for reply in said] == [None] * 3
    assert all(one.observation != other.observation for one, other in pairwise(said))


def test_accepts_the_second_refusal() -> None:
    talk = stage()
    assert talk.say("I'm sorry, I cannot do that.").end is None
    assert talk.say("I'm sorry, I cannot do that.").end == "user_stop"


@pytest.mark.parametrize("text", ["Blue.", "One moment, please.", "What is your name?", "I cannot."])
def test_never_talks_forever(text: str) -> None:
    talk = stage()
    assert any(talk.say(text).end == "user_stop" for _ in range(40))


def test_task_without_a_brief_is_named() -> None:
    with pytest.raises(InputError, match="reason"):
        stage({"type": "brief"})
