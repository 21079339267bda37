"""The customer from the conversation alone."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from simia_gym.common.files import read_yaml
from simia_gym.oracle import OracleServer
from simia_gym.types import Task

from .asking import Messages, about, about_task, ask, data, human, model, retail, system


def opening(task: Task, customer: Any = None) -> Messages:
    domain = retail()
    return [
        system(about(domain), about_task(domain, task), data("customer", customer or task.user)),
        human(data("begin", {})),
    ]


def test_it_tells_what_it_is_asked_for_and_nothing_else(blind: OracleServer) -> None:
    task = retail().tasks["train"][0]
    assert task.user is not None
    said = [
        *opening(task),
        model("{}"),
        human(data("agent", {"text": "May I have your email address or full name and zip?"})),
    ]
    reply = ask(blind, said).reply
    facts = task.user["facts"]
    assert any(value in reply["message"] for fact in facts.values() for value in fact["values"])
    again = [*opening(task), model("{}"), human(data("agent", {"text": "Nice weather."}))]
    quiet = ask(blind, again).reply["message"]
    assert not any(value in quiet for fact in facts.values() for value in fact["values"])


@pytest.mark.parametrize("text", read_yaml(Path(__file__).parents[1] / "domains" / "courtesies.yaml"))
def test_it_does_not_leave_at_a_courtesy_while_its_wish_is_open(blind: OracleServer, text: str) -> None:
    said = opening(retail().tasks["train"][0])
    said += [model(ask(blind, said).text), human(data("agent", {"text": text}))]
    first = ask(blind, said)
    again = ask(blind, [*said, model(first.text), human(data("agent", {"text": text}))])
    assert [first.reply["stop"], again.reply["stop"]] == [False, False]
    assert first.reply["message"]


def test_a_repair_gives_the_same_words(blind: OracleServer) -> None:
    prompt = opening(retail().tasks["train"][0])
    first = ask(blind, prompt)
    assert ask(blind, [*prompt, model(first.text), human(data("violations", ["too long"]))]).reply == first.reply


def test_a_customer_without_a_script_is_played_from_its_brief(blind: OracleServer) -> None:
    task = retail().tasks["train"][0]
    reply = ask(blind, opening(task, {"reason": "You want to return your lamp.", "known": "You are Ada."})).reply
    assert reply["message"] == "Hi. I want to return my lamp. I am Ada."
