"""What is found out about an endpoint, in a line each."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest

from simia_gym.domain.loading import load_domain
from simia_gym.domain.registration import domain_path
from simia_gym.errors import InputError
from simia_gym.llm.probe import Found, preflight, probe
from simia_gym.llm.settings import Endpoint, ModelSettings
from simia_gym.llm.structured import fits_strict
from simia_gym.llm.types import ANY_VALUE
from simia_gym.rollout.preflight import forms_of
from simia_gym.simulators.checking import LEDGER_REPLY

from ..model_server import Answer, Asked, ModelServer, completion
from .server import SECRET, error, raw, says

SETTINGS = ModelSettings(model="m", backoff=0.001, timeout=2.0)
CITY = '{"name": "Oslo", "code": null, "mayor": {"since": 2023}}'


FORMS = forms_of(load_domain(domain_path("simia/retail-v0")), ("simulator", "user", "judge"))
"""What runs ask for."""


def able(*, seeds: bool = True, form: bool = True, city: str = CITY) -> Answer:
    numbers: Iterator[int] = iter(range(100))

    def answer(asked: Asked) -> Any:
        if "response_format" in asked.body and not form:
            return error(400, "response_format is not supported")(asked)
        if "as JSON" in asked.contents[0]:
            return says(city)(asked)
        return says(f"text {asked.body.get('seed') if seeds else next(numbers)}")(asked)

    return answer


async def found(server: ModelServer, endpoint: Endpoint | None = None) -> dict[str, Found]:
    listed = await probe(SETTINGS, endpoint or Endpoint(server.url, SECRET), "judge", FORMS)
    return {one.name: one for one in listed}


async def test_a_server_that_can_do_everything(server: ModelServer) -> None:
    server.answers = [able()]
    by_name = await found(server)
    assert list(by_name) == ["answers", "model", "prompt", "structured", "seeds", "latency"]
    assert {one.status for one in by_name.values()} == {"ok"}
    assert by_name["structured"].text == "replies keep to a JSON Schema"
    # The form is as open as that of the simulator.
    form, *own = [body["response_format"]["json_schema"] for body in server.bodies if "response_format" in body]
    assert [each["name"] for each in own] == [each.name for each in FORMS]
    assert form["strict"] is fits_strict(LEDGER_REPLY.schema) is False
    assert is_open(form["schema"]) is is_open(LEDGER_REPLY.schema) is True


async def test_a_server_that_can_do_little(server: ModelServer) -> None:
    server.answers = [able(seeds=False, form=False)]
    server.models = ["other"]
    by_name = await found(server)
    assert {name for name, one in by_name.items() if one.status == "ok"} == {"answers", "prompt", "latency"}
    assert {name for name, one in by_name.items() if one.status == "warning"} == {"model", "structured", "seeds"}
    assert "listed: other" in by_name["model"].text
    server.models = None
    assert (await found(server))["model"].status == "warning"


def is_open(schema: Any) -> bool:
    """Whether somewhere a value may be of any kind."""
    if isinstance(schema, list):
        return any(is_open(item) for item in schema)
    return isinstance(schema, dict) and (schema == ANY_VALUE or any(is_open(item) for item in schema.values()))


def strict_only(asked: Asked) -> Any:
    """It is enough for a judge, and not for a simulator."""
    form = asked.body.get("response_format", {}).get("json_schema", {"schema": None})
    if is_open(form["schema"]):
        return error(400, "Invalid schema for response_format: 'type' is missing")(asked)
    return able()(asked)


@pytest.mark.parametrize(
    ("answer", "status", "words"),
    [
        (strict_only, "warning", "replies keep to JSON, not to a schema"),
        (able(city='{"name": []}'), "error", "not in the form asked for"),
    ],
)
async def test_a_server_without_the_simulators_form(
    server: ModelServer, answer: Answer, status: str, words: str
) -> None:
    server.answers = [answer]
    structured = (await found(server))["structured"]
    assert structured.status == status
    assert words in structured.text


@pytest.mark.parametrize(
    ("answer", "words", "requests"),
    [
        (error(404, "Not Found"), "base URL", 1),
        (error(400, "bad"), "settings", 1),
        (raw(b"<html>", "text/html"), "not OpenAI-compatible", 6),
    ],
)
async def test_nothing_begins_with_a_wrong_endpoint(
    server: ModelServer, answer: Answer, words: str, requests: int
) -> None:
    server.answers = [answer]
    endpoint = Endpoint(server.url, SECRET)
    with pytest.raises(InputError, match=f"the escalation's model: .*{words}") as caught:
        await preflight(SETTINGS, endpoint, "simulator", name="escalation")
    assert len(server.bodies) == requests
    (only,) = (await found(server)).values()
    assert (only.name, only.status) == ("answers", "error")
    assert words in only.text
    assert "\n" not in only.text
    assert SECRET not in f"{only.text} {caught.value}"


@pytest.mark.parametrize(
    ("answer", "words"),
    [
        (says("ready"), None),
        (says(""), "empty"),
        (error(429), "wait"),
        (error(503), "503"),
        (error(402, "Insufficient credits", "402"), "no credit left"),
        (error(402, "Insufficient Balance", "invalid_request"), "no credit left"),
    ],
)
async def test_what_may_pass_is_a_warning(server: ModelServer, answer: Answer, words: str | None) -> None:
    server.answers = [answer]
    worry = await preflight(SETTINGS, Endpoint(server.url), "judge")
    assert (worry is None) is (words is None)
    assert worry is None or (worry.startswith("the judge's model: ") and str(words) in worry)


TOO_SMALL = "Could not finish the message because max_tokens or model output limit was reached."


def with_room(fits: range, answer: Answer) -> Answer:
    """A model that replies if `max_tokens` is in a range."""
    return lambda asked: (says("ready") if asked.body["max_tokens"] in fits else answer)(asked)


@pytest.mark.parametrize("short", [error(400, TOO_SMALL), says(None, "length")])
async def test_a_model_that_thinks_answers(server: ModelServer, short: Answer) -> None:
    endpoint = Endpoint(server.url)
    for least in (1000, 5000):
        server.answers = [with_room(range(least, 10_000), short)]
        assert await preflight(SETTINGS, endpoint, "judge") is None
    worry = await preflight(replace(SETTINGS, max_tokens=20), endpoint, "judge")
    assert worry is not None
    assert "raise max_tokens" in worry
    assert (await found(server))["answers"].status == "warning"


@pytest.mark.parametrize(
    "words",
    [
        "This model's maximum context length is 2048 tokens. However, you requested 2100 tokens.",
        "max_tokens is too large: 2000. This model supports at most 1024 completion tokens.",
    ],
)
async def test_a_model_that_has_little_room(server: ModelServer, words: str) -> None:
    endpoint = Endpoint(server.url)
    server.answers = [with_room(range(1000), error(400, words))]
    assert await preflight(SETTINGS, endpoint, "judge") is None
    server.answers = [error(400, words)]
    with pytest.raises(InputError, match="max"):
        await preflight(SETTINGS, endpoint, "judge")
    assert [body["max_tokens"] for body in server.bodies[-2:]] == [2000, 16]


async def test_a_server_that_says_the_key_is_not_repeated(server: ModelServer) -> None:
    server.answers = [says(f"Your key is {SECRET}, is it not?")]
    server.models = [f"of-{SECRET}"]
    by_name = await found(server)
    assert by_name["answers"].text.endswith("answers: 'Your key is ***, is it not?'")
    assert not any(SECRET[:8] in one.text for one in by_name.values())


async def test_a_first_reply_that_is_empty_ends_nothing(server: ModelServer) -> None:
    first = iter([says("")])
    server.answers = [lambda asked: next(first, able())(asked)]
    by_name = await found(server)
    assert by_name["answers"].status == "warning"
    assert "empty" in by_name["answers"].text
    assert by_name["structured"].status == "ok"


READING = "\n".join(f"Rule {number}: a customer may return an order." for number in range(600))


def counted(limit: int | None, size: float = 6) -> Answer:
    """A server that reports the tokens of a prompt, so many characters each, and reads no more than some."""

    def answer(asked: Asked) -> Any:
        tokens = int(sum(map(len, asked.contents)) / size)
        usage = {"prompt_tokens": min(tokens, limit or tokens), "completion_tokens": 1}
        return completion(CITY if "response_format" in asked.body else "ready", usage=usage)

    return answer


def at_system(asked: Asked) -> Any:
    refused = any(message["role"] == "system" for message in asked.messages)
    said = says(CITY if "response_format" in asked.body else "ready")
    return error(400, "System role not supported")(asked) if refused else said(asked)


def at_choice(asked: Asked) -> Any:
    """A server whose engine fails at a schema with branches."""
    return 500 if b"anyOf" in asked.text else says(CITY if "response_format" in asked.body else "ready")(asked)


def at_form(asked: Asked) -> Any:
    return 500 if "response_format" in asked.body else says("ready")(asked)


@pytest.mark.parametrize(
    ("answer", "words"),
    [
        (counted(1000), "cuts the rest off"),
        (counted(6400, 3.3), "cuts the rest off"),
        (counted(6144, 3.8), "cuts the rest off"),
        (at_system, "System role"),
        (at_form, "only when JSON is asked for"),
        (at_choice, "only when JSON is asked for"),
    ],
)
async def test_what_a_run_will_send_is_tried_before_it(server: ModelServer, answer: Answer, words: str) -> None:
    server.answers = [answer]
    with pytest.raises(InputError, match=words):
        await preflight(SETTINGS, Endpoint(server.url), "simulator", reading=READING, forms=FORMS)
    assert server.asked[0].messages[0] == {"role": "system", "content": READING}
    by_name = await found(server)
    assert {one.name for one in by_name.values() if one.status == "error"} == (
        {"structured"} if answer in (at_form, at_choice) else {"prompt"}
    )


async def test_a_server_that_reads_all_of_it_is_fine(server: ModelServer) -> None:
    server.answers = [counted(None)]
    assert await preflight(SETTINGS, Endpoint(server.url), "simulator", reading=READING) is None
    assert await preflight(SETTINGS, Endpoint(server.url), "policy", reading=READING) is None
    assert ["response_format" in body for body in server.bodies] == [
        *[False, False, False, True],  # the simulator's: a question, the halves of its text, and the form
        *[False, False, False],
    ]
