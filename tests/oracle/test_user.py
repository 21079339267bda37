"""The customer from the conversation alone."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from simia_gym.common.files import read_yaml
from simia_gym.oracle import OracleOptions, OracleServer, serve_in_thread
from simia_gym.types import Task
from simia_gym.users.told import told

from .asking import Messages, about, about_task, ask, data, human, model, retail, system


@pytest.fixture(scope="module")
def knowing() -> Iterator[OracleServer]:
    with serve_in_thread(OracleOptions()) as server:
        yield server


def opening(task: Task, customer: Any = None) -> Messages:
    domain = retail()
    return [
        system(about(domain), about_task(domain, task), data("customer", customer or told(task.user or {}, task.id))),
        human(data("begin", {})),
    ]


def test_it_tells_what_it_is_asked_for_and_nothing_else(knowing: OracleServer) -> None:
    task = retail().tasks["train"][0]
    assert task.user is not None
    said = [
        *opening(task),
        model("{}"),
        human(data("agent", {"text": "May I have your email address or full name and zip?"})),
    ]
    reply = ask(knowing, said).reply
    facts = task.user["facts"]
    assert any(value in reply["message"] for fact in facts.values() for value in fact["values"])
    again = [*opening(task), model("{}"), human(data("agent", {"text": "Nice weather."}))]
    quiet = ask(knowing, again).reply["message"]
    assert not any(value in quiet for fact in facts.values() for value in fact["values"])


@pytest.mark.parametrize("text", read_yaml(Path(__file__).parents[1] / "domains" / "courtesies.yaml"))
def test_it_does_not_leave_at_a_courtesy_while_its_wish_is_open(knowing: OracleServer, text: str) -> None:
    said = opening(retail().tasks["train"][0])
    said += [model(ask(knowing, said).text), human(data("agent", {"text": text}))]
    first = ask(knowing, said)
    again = ask(knowing, [*said, model(first.text), human(data("agent", {"text": text}))])
    assert [first.reply["stop"], again.reply["stop"]] == [False, False]
    assert first.reply["message"]


def test_a_repair_gives_the_same_words(knowing: OracleServer) -> None:
    prompt = opening(retail().tasks["train"][0])
    first = ask(knowing, prompt)
    assert ask(knowing, [*prompt, model(first.text), human(data("violations", ["too long"]))]).reply == first.reply


def test_a_customer_without_a_script_is_played_from_its_brief(knowing: OracleServer) -> None:
    task = retail().tasks["train"][0]
    reply = ask(knowing, opening(task, {"reason": "You want to return your lamp.", "known": "You are Ada."})).reply
    assert reply["message"] == "Hi. I want to return my lamp. I am Ada."


def test_a_customer_of_another_task_is_refused(knowing: OracleServer) -> None:
    task, other = retail().tasks["train"][:2]
    answer = ask(knowing, opening(task, told(other.user or {}, other.id)))
    assert answer.status == 400
    assert "is not the customer of task" in answer.json["error"]["message"]
