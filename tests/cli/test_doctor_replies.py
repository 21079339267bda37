"""``simia doctor --replies``: how the replies of real endpoints to real prompts are read."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from random import Random
from typing import Any

import pytest

from simia_gym.evaluation.replies import WAYS
from simia_gym.llm.structured import find_json
from simia_gym.oracle import OracleOptions, OracleServer
from simia_gym.oracle.answering import Oracle

from .conftest import Simia, tables_of
from .servers import completion, replying

Habit = Callable[[Any, bool], str]
"""What a model writes in the place of a reply; whether it was told what is wrong with its last one."""


def as_asked(reply: Any, told: bool) -> str:
    return json.dumps(reply)


def trailing_comma(reply: Any, told: bool) -> str:
    return f"{json.dumps(reply)[:-1]},}}"


def capitals(reply: Any, told: bool) -> str:
    return json.dumps({key.upper(): value for key, value in reply.items()})


def prose(reply: Any, told: bool) -> str:
    return "I would rather say it in words."


def prose_until_told(reply: Any, told: bool) -> str:
    return json.dumps(reply) if told else "I would rather say it in words."


def agrees_and_leaves(reply: Any, told: bool) -> str:
    return json.dumps({**reply, "stop": True, "confirms": True})


def misquotes(reply: Any, told: bool) -> str:
    evidence = [{"event": 0, "quote": "nobody has ever said this"}]
    return json.dumps({**reply, "evidence": evidence})


def no_slash(reply: Any, told: bool) -> str:
    inner = reply.get("answer", reply)
    ops = [{**op, "path": op["path"].removeprefix("/")} for op in inner.get("ops", [])]
    return json.dumps({**inner, "ops": ops} if ops else inner)


@contextmanager
def model(**habits: Habit) -> Iterator[str]:
    """A model that knows the truth and writes as it is used to, by role; yields its base URL."""
    oracle = Oracle(OracleOptions())
    roles = {"transition": "simulator", "customer": "user", "judgement": "judge"}

    def answer(handler: Any) -> tuple[int, bytes, dict[str, str]]:
        kind = {"Content-Type": "application/json"}
        if handler.command == "GET":
            return 200, b'{"data": [{"id": "m"}]}', kind
        body = json.loads(handler.asked)
        form = body.get("response_format", {}).get("json_schema", {}).get("name")
        told = "cannot be read" in body["messages"][-1]["content"] or len(body["messages"]) > 2
        asked = {"messages": [message for message in body["messages"] if "unread" not in message["content"]]}
        text = oracle.answer(json.dumps(asked).encode(), Random(0)).reply.text
        habit = habits.get(roles.get(form, ""), as_asked)
        return 200, completion(habit(find_json(text), told) if form in roles else text), kind

    with replying(answer) as address:
        yield f"http://{address}/v1"


@pytest.mark.slow
def test_a_model_in_perfect_form_is_read_at_once(simia: Simia, oracle: OracleServer) -> None:
    result = simia("doctor", "--model", "oracle", "--base-url", oracle.base_url, "--replies", 6, "--json")
    assert (result.code, [*result.json["replies"]]) == (0, ["simulator", "user", "judge"])
    for found in result.json["replies"].values():
        assert {way: found[way] for way in WAYS if found[way]} == {"at_once": 6}
        assert (found["replies"], found["shares"]["at_once"], found["examples"]) == (6, 1.0, {})


CASES: dict[str, dict[str, tuple[Habit, str, list[str], str]]] = {
    "of form": {
        "simulator": (trailing_comma, "repaired", ["syntax"], ""),
        "user": (capitals, "normalised", ["case"], ""),
        "judge": (prose, "faulted", ["bad_reply"], "holds no JSON"),
    },
    "of content": {
        "simulator": (prose_until_told, "asked_again", [], "holds no JSON"),
        "user": (agrees_and_leaves, "rejected", [], "confirms and stop are both true"),
        "judge": (misquotes, "rejected", [], "evidence"),
    },
    "of paths": {"simulator": (no_slash, "normalised", ["path"], "")},
}


@pytest.mark.parametrize("case", CASES)
@pytest.mark.slow
def test_a_model_with_a_habit(case: str, simia: Simia) -> None:
    habits = CASES[case]
    with model(**{role: habit for role, (habit, *_) in habits.items()}) as url:
        result = simia("doctor", "--model", "m", "--base-url", url, "--replies", 8, "--json")
    for role, (_, way, kinds, problem) in habits.items():
        found = result.json["replies"][role]
        assert (found["replies"], found[way] > 0) == (8, True), found
        assert [*found["kinds"].get(way, {})] == kinds
        assert sum(found["shares"].values()) == pytest.approx(1)
        assert problem in found["examples"].get(way, {"problem": ""})["problem"]
        assert found["faulted"] == (8 if way == "faulted" else 0)
    findings = {item["name"]: item for item in result.json["findings"] if item["part"] == "replies"}
    assert [findings["judge"]["ok"], findings["simulator"]["ok"]] == [case != "of form", True]
    table = tables_of(result.err)["role"]
    assert table["judge"]["fault"] == ("100.0%" if case == "of form" else "0.0%")
    assert ("judge, fault: bad_reply 8; for example: the reply holds no JSON" in result.err) is (case == "of form")
