"""The customer from the conversation alone."""

from __future__ import annotations

import json
from typing import Any

import pytest

from simia_gym.llm.types import ChatRequest, Reply
from simia_gym.oracle import OracleOptions, OracleServer
from simia_gym.oracle.answering import Oracle
from simia_gym.types import Task
from simia_gym.users.llm import LLMUser

from ..proof.stage import suite_of
from .asking import Messages, about, about_task, ask, data, human, model, retail, system
from .playing import played


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


def test_a_repair_gives_the_same_words(blind: OracleServer) -> None:
    prompt = opening(retail().tasks["train"][0])
    first = ask(blind, prompt)
    assert ask(blind, [*prompt, model(first.text), human(data("violations", ["too long"]))]).reply == first.reply


def test_a_customer_without_a_script_is_played_from_its_brief(blind: OracleServer) -> None:
    task = retail().tasks["train"][0]
    reply = ask(blind, opening(task, {"reason": "You want to return your lamp.", "known": "You are Ada."})).reply
    assert reply["message"] == "Hi. I want to return my lamp. I am Ada."


@pytest.mark.parametrize("customer", [{"type": "scripted", "requests": []}, {"mood": "good"}])
def test_a_customer_that_nobody_can_play_is_refused(blind: OracleServer, customer: Any) -> None:
    got = ask(blind, opening(retail().tasks["train"][0], customer))
    assert got.status == 400
    assert "cannot be played" in got.json["error"]["message"]


class Direct:
    """A model that is the oracle without a wire, for many episodes."""

    def __init__(self) -> None:
        self.oracle = Oracle(OracleOptions(data_free=True))

    async def complete(self, request: ChatRequest) -> Reply:
        raw = b'{"model":"m","messages":' + request.prompt.messages_json() + b"}"
        text = self.oracle.answer(raw, self.oracle.fate(raw).chance).text
        return Reply(text=text, raw=text, data=json.loads(text))


@pytest.mark.parametrize("policy", ["expert", "pushover", "claimer", "refuser"])
def test_every_fixed_task_ends_as_with_the_scripted_user(policy: str) -> None:
    suite = suite_of("simia/retail-v0", split="all")
    oracle = Direct()
    different = []
    for seed, task in enumerate(suite.tasks):
        truth = played(suite, task, policy, seed=seed)
        other = played(suite, task, policy, seed=seed, user=LLMUser(suite.domain, oracle))
        assert truth.verdict is not None
        assert other.verdict is not None
        if truth.verdict.reward != other.verdict.reward:
            different.append(task.id)
    assert different == []
