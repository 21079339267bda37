"""What is found out about an endpoint, in a line each."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import openai
import pytest

from simia_gym.errors import InputError
from simia_gym.llm.probe import Found, preflight, probe
from simia_gym.llm.settings import Endpoint, ModelSettings
from simia_gym.llm.structured import fits_strict
from simia_gym.simulators.checking import LEDGER_REPLY
from simia_gym.types import JsonObject

from .server import SECRET, Answer, ChatServer, error, raw, says

SETTINGS = ModelSettings(model="m", backoff=0.001, timeout=2.0)


CITY = '{"name": "Oslo", "code": null, "mayor": {"since": 2023}}'


def able(*, seeds: bool = True, form: bool = True) -> Answer:
    numbers: Iterator[int] = iter(range(100))

    def answer(asked: Any, body: JsonObject) -> Any:
        words = body["messages"][0]["content"]
        if "response_format" in body and not form:
            return error(400, "response_format is not supported")(asked, body)
        if "as JSON" in words:
            return says(CITY)(asked, body)
        return says(f"text {body.get('seed') if seeds else next(numbers)}")(asked, body)

    return answer


async def found(server: ChatServer, endpoint: Endpoint | None = None) -> dict[str, Found]:
    listed = await probe(SETTINGS, endpoint or Endpoint(server.url, SECRET), "judge")
    return {one.name: one for one in listed}


async def test_a_server_that_can_do_everything(server: ChatServer) -> None:
    server.answers = [able()]
    by_name = await found(server)
    assert list(by_name) == ["answers", "model", "structured", "seeds", "latency"]
    assert {one.status for one in by_name.values()} == {"ok"}
    assert "JSON Schema" in by_name["structured"].text
    assert " ms" in by_name["latency"].text


async def test_a_server_that_can_do_little(server: ChatServer) -> None:
    server.answers = [able(seeds=False, form=False)]
    server.models = ["other"]
    by_name = await found(server)
    assert {name: one.status for name, one in by_name.items()} == {
        "answers": "ok",
        "model": "warning",
        "structured": "warning",
        "seeds": "warning",
        "latency": "ok",
    }
    assert "listed: other" in by_name["model"].text
    server.models = None
    assert "does not list" in (await found(server))["model"].text


def is_open(schema: Any) -> bool:
    """Whether somewhere a value may be of any kind."""
    if isinstance(schema, list):
        return any(is_open(item) for item in schema)
    return isinstance(schema, dict) and (schema == {} or any(is_open(item) for item in schema.values()))


async def test_the_form_of_the_simulator_is_tried(server: ChatServer) -> None:
    server.answers = [able()]
    await found(server)
    (form,) = [body["response_format"]["json_schema"] for body in server.bodies if "response_format" in body]
    assert form["strict"] is fits_strict(LEDGER_REPLY.schema) is False
    assert is_open(form["schema"]) is is_open(LEDGER_REPLY.schema) is True


async def test_a_server_that_takes_closed_forms_alone(server: ChatServer) -> None:
    """It is enough for a judge, and not for a simulator."""

    def answer(asked: Any, body: JsonObject) -> Any:
        form = body.get("response_format", {}).get("json_schema", {"schema": None})
        if is_open(form["schema"]):
            return error(400, "Invalid schema for response_format: 'type' is missing")(asked, body)
        return able()(asked, body)

    server.answers = [answer]
    structured = (await found(server))["structured"]
    assert structured == Found("structured", "warning", "replies keep to JSON, not to a schema")


async def test_a_model_that_breaks_the_simulators_form(server: ChatServer) -> None:
    def answer(asked: Any, body: JsonObject) -> Any:
        return says('{"name": 1}')(asked, body) if "response_format" in body else able()(asked, body)

    server.answers = [answer]
    structured = (await found(server))["structured"]
    assert structured.status == "warning"
    assert "not in the form asked for" in structured.text


async def test_a_client_object(server: ChatServer) -> None:
    server.answers = [able()]
    client = openai.AsyncOpenAI(base_url=server.url, api_key=SECRET)
    by_name = await found(server, Endpoint(client=client))
    assert by_name["model"] == Found("model", "ok", "m is one of 1 models that are listed")


CASES = [
    (error(401), "key is wrong"),
    (error(404, "no such model", "model_not_found"), "check the model's name"),
    (error(404, "Not Found"), "base URL"),
    (error(400, "bad"), "settings"),
]


@pytest.mark.parametrize(("answer", "words"), [*CASES, (raw(b"<html>", "text/html"), "not OpenAI-compatible")])
async def test_what_does_not_work_is_one_line(server: ChatServer, answer: Answer, words: str) -> None:
    server.answers = [answer]
    by_name = await found(server)
    assert list(by_name) == ["answers"]
    only = by_name["answers"]
    assert only.status == "error"
    assert words in only.text
    assert "\n" not in only.text
    assert SECRET not in only.text


@pytest.mark.parametrize(("answer", "words"), CASES)
async def test_nothing_begins_with_a_wrong_endpoint(server: ChatServer, answer: Answer, words: str) -> None:
    server.answers = [answer]
    with pytest.raises(InputError, match=words) as caught:
        await preflight(SETTINGS, Endpoint(server.url, SECRET), "judge")
    assert SECRET not in str(caught.value)
    assert len(server.bodies) == 1


async def test_nobody_there() -> None:
    with pytest.raises(InputError, match=r"the user's model: .*No server responds"):
        await preflight(SETTINGS, Endpoint("http://127.0.0.1:9/v1"), "user")


async def test_a_role_is_called_as_in_settings(server: ChatServer) -> None:
    server.answers = [error(401)]
    with pytest.raises(InputError, match=r"the escalation's model: .*SIMIA_ESCALATION_API_KEY"):
        await preflight(SETTINGS, Endpoint(server.url, SECRET), "simulator", name="escalation")
    server.answers = [error(503)]
    worry = await preflight(SETTINGS, Endpoint(server.url, SECRET), "simulator", name="escalation")
    assert worry is not None
    assert worry.startswith("the escalation's model: ")


@pytest.mark.parametrize("answer", [says("ready"), says(""), error(429), error(503)])
async def test_a_server_that_is_only_busy_is_no_reason(server: ChatServer, answer: Answer) -> None:
    server.answers = [answer]
    await preflight(SETTINGS, Endpoint(server.url), "judge")


TOO_SMALL = "Could not finish the message because max_tokens or model output limit was reached."


def thinking(least: int, answer: Answer) -> Answer:
    """A model that says something only where it has room to think before."""
    return lambda asked, body: (says("ready") if body["max_tokens"] >= least else answer)(asked, body)


@pytest.mark.parametrize("short", [error(400, TOO_SMALL), says(None, "length")])
async def test_a_model_that_thinks_answers(server: ChatServer, short: Answer) -> None:
    endpoint = Endpoint(server.url)
    server.answers = [thinking(1000, short)]
    assert await preflight(SETTINGS, endpoint, "judge") is None
    assert len(server.bodies) == 1
    server.answers = [thinking(5000, short)]
    assert await preflight(SETTINGS, endpoint, "judge") is None
    worry = await preflight(replace(SETTINGS, max_tokens=20), endpoint, "judge")
    assert worry is not None
    assert "the judge's model: " in worry
    assert "max_tokens" in worry
    assert "raise max_tokens" in worry
    assert (await found(server))["answers"].status == "warning"


@pytest.mark.parametrize(
    "words",
    [
        "This model's maximum context length is 2048 tokens. However, you requested 2100 tokens.",
        "max_tokens is too large: 2000. This model supports at most 1024 completion tokens.",
    ],
)
async def test_a_model_that_has_little_room(server: ChatServer, words: str) -> None:
    endpoint = Endpoint(server.url)
    server.answers = [
        lambda asked, body: (error(400, words) if body["max_tokens"] > 1000 else says("ready"))(asked, body)
    ]
    assert await preflight(SETTINGS, endpoint, "judge") is None
    server.answers = [error(400, words)]
    with pytest.raises(InputError, match="max"):
        await preflight(SETTINGS, endpoint, "judge")
    assert [body["max_tokens"] for body in server.bodies[-2:]] == [2000, 16]


@pytest.mark.parametrize(
    ("text", "code"), [("Insufficient credits", "402"), ("Insufficient Balance", "invalid_request")]
)
async def test_an_account_without_credit(server: ChatServer, text: str, code: str) -> None:
    server.answers = [error(402, text, code)]
    worry = await preflight(SETTINGS, Endpoint(server.url), "judge")
    assert worry is not None
    assert "no credit left" in worry
    assert len(server.bodies) == 1


async def test_a_server_that_says_the_key_is_not_repeated(server: ChatServer) -> None:
    server.answers = [says(f"Your key is {SECRET}, is it not?")]
    server.models = [f"of-{SECRET}"]
    by_name = await found(server)
    assert by_name["answers"].text.endswith("answers: 'Your key is ***, is it not?'")
    assert not any(SECRET[:8] in one.text for one in by_name.values())
