"""What the throw-away domains need of the engine: apps that are open, letters of a page, rows that do not count."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import pytest

from simia_gym.assembly.suite import Suite
from simia_gym.domain.registration import CUSTOM
from simia_gym.episode import Episode

from ..proof import stage
from ..proof.stage import play_all, take
from ..simulators.desk import Double
from ..simulators.desk import tool_call as call
from .table import FIXTURES


def suite_of(name: str, **settings: Any) -> Suite:
    return stage.suite_of(CUSTOM, domain=str(FIXTURES / name), simulator="world", **settings)


def after(suite: Suite, *actions: str, task: int = 0) -> Episode:
    return asyncio.run(take(suite, suite.tasks[task], actions))


def codes(episode: Episode) -> list[Any]:
    return [event["error_code"] for event in episode.ledger.events if event["type"] == "transition"]


def test_a_tool_works_while_its_app_is_open() -> None:
    event = {"user": "Ann", "subject": "Tea", "start": "now"}
    create, mail = call("create_event", **event), call("send_mail", to="Ann", subject="Tea", body="now")
    calendar = call("switch_app", app="calendar")
    episode = after(suite_of("office"), create, calendar, create, mail, create)
    assert codes(episode) == ["wrong_app", None, None, "wrong_app", "exists"]
    assert [*episode.state.keys("mails")] == []
    assert episode.shown is not None
    assert "\n - Step 1: " in str(episode.shown[1]["content"])


def test_equal_actions_end_the_office_day() -> None:
    assert after(suite_of("office"), *[call("list_events", user="Ann")] * 5).ended == "got_stuck"


def test_a_tool_of_the_office_asks_its_model() -> None:
    double = Double({"tea": "ready"})
    suite = suite_of("office", models={"office_llm": double}, roles={"office_llm": {"model": "m"}})
    send, reword = call("send_mail", to="Ann", subject="Tea", body="Tea!"), call("reword_mail", subject="Tea")
    episode = after(suite, call("switch_app", app="mail"), send, reword)
    assert json.loads(episode.state.at("/mails/Tea/body")) == {"tea": "ready"}
    assert [message["content"] for message in double.asked[0]] == ["Say it in other words.", "Tea!"]


def test_a_final_answer_is_what_was_asked_for_or_it_is_not() -> None:
    suite = suite_of("office")
    look_up = next(number for number, task in enumerate(suite.tasks) if task.kind == "look_up")
    told = str(suite.tasks[look_up].gold[-1]["end"])
    verdicts = [after(suite, text, task=look_up).verdict for text in (told, f"{told[:-2]}59")]
    assert [verdict and verdict.reward for verdict in verdicts] == [1.0, 0.0]


@pytest.mark.parametrize("grammar", ["answer", "short"])
def test_a_site_is_used_in_either_form(grammar: str) -> None:
    suite = suite_of("site", grammar=grammar)
    assert [outcome.verdict.reward for outcome in play_all(suite, suite.tasks).values()] == [1.0] * len(suite.tasks)


@pytest.mark.parametrize(
    ("action", "ended"), [("CLICK B", None), ("CLICK G", "invalid_action"), ("B", "invalid_action")]
)
def test_an_invalid_action_ends_the_visit_of_a_site(action: str, ended: str | None) -> None:
    episode = after(suite_of("site", grammar="short"), action)
    assert episode.ended == ended
    if ended is None:  # a click into a field is valid, has no effect, and the same page stays open
        assert codes(episode) == ["no_effect"]
        assert episode.messages[-1]["content"].startswith("<h1>search")
        assert episode.shown is not None
        assert "Previous actions:\nCLICK B" in str(episode.shown[1]["content"])


def test_what_was_searched_for_does_not_matter_and_what_was_booked_does() -> None:
    suite = suite_of("flights")
    search, book = (call(item["name"], **item["arguments"]) for item in suite.tasks[0].gold)
    assert suite.domain.base.count("flights") == 9000
    for actions, reward in (([search, search, book], 1.0), ([search, book, book], 0.0)):
        verdict = after(suite, *actions, "Done.").verdict
        assert verdict is not None
        assert verdict.reward == reward
