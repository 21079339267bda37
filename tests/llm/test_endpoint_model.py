"""One question to a model over real HTTP, and everything that can go wrong with it."""

from __future__ import annotations

import asyncio
import pickle
from typing import Any

import httpx2
import pytest
from aiohttp import web

from simia_gym.errors import Fault
from simia_gym.llm.accounts import Accounts
from simia_gym.llm.budget import Budget
from simia_gym.llm.endpoint_model import seed_of
from simia_gym.llm.settings import Endpoint
from simia_gym.llm.transport.limits import limit_of
from simia_gym.llm.types import ReplySchema, Usage

from ..model_server import Answer, Asked, ModelServer
from .server import FORM, SECRET, drips, error, failed_sample, model, raw, request, resets, says, waits
from .test_sdk import Transport, plain


async def test_a_question_and_its_answer(server: ModelServer) -> None:
    server.answers = [says("<think>hm</think>Hello")]
    question = request(words="é\u2028 <\\>")
    reply = await model(server).complete(question)
    assert (reply.text, reply.raw, reply.data) == ("Hello", "<think>hm</think>Hello", None)
    assert (reply.model, reply.finish_reason, reply.usage) == ("served", "stop", Usage(100, 60, 10))
    assert reply.message == {"role": "assistant", "content": "<think>hm</think>Hello"}
    (asked,) = server.asked
    assert question.prompt.messages_json() in asked.text
    assert asked.request.path == f"{server.prefix}/v1/chat/completions"
    assert asked.request.headers["Authorization"] == f"Bearer {SECRET}"
    assert asked.request.headers["Content-Type"] == "application/json"


async def test_questions_that_differ_are_sent_as_they_are(server: ModelServer) -> None:
    server.answers = [says('{"n": 1}')]
    tools: dict[str, Any] = {"tools": [{"type": "function"}]}
    for extra, question in (
        ({}, request(FORM, seed=1)),
        ({}, request(FORM)),
        ({}, request(seed=3, body=tools)),
        ({}, request(seed=4, body={**tools, "tool_choice": "none"})),
        ({"seed": None, "other": {"seed": 1}, "big": 2**70}, request(seed=5)),  # settings stand above the request
    ):
        await model(server, temperature=0.5, max_tokens=7, extra=extra).complete(question)
    common = {"model": "m", "temperature": 0.5, "max_tokens": 7}
    rest = [{key: value for key, value in body.items() if key != "messages"} for body in server.bodies]
    form = rest[0]["response_format"]
    assert form == {"type": "json_schema", "json_schema": {"name": "answer", "schema": FORM.schema, "strict": True}}
    assert rest == [
        {**common, "seed": 1, "response_format": form},
        {**common, "response_format": form},
        {**common, "seed": 3, **tools},
        {**common, "seed": 4, **tools, "tool_choice": "none"},
        {**common, "seed": None, "other": {"seed": 1}, "big": 2**70},
    ]


@pytest.mark.parametrize(
    ("answer", "kind", "requests"),
    [
        (error(429), "rate_limit", 3),
        (error(500), "server_error", 3),
        (error(401), "auth", 1),
        (error(404), "not_found", 1),
        (error(400), "bad_request", 1),
        (lambda asked: web.Response(status=307, headers={"Location": "/elsewhere"}), "bad_request", 1),
        (error(400, "x", "context_length_exceeded"), "context_length", 1),
        (error(429, "no credit", "insufficient_quota"), "rate_limit", 1),
        (raw(b'{"choices": []}'), "bad_reply", 3),
        (raw(b'{"choices": [{"message": {"content": "x", "tool_calls": [3]}}]}'), "bad_reply", 3),
        (raw(b"{broken"), "bad_reply", 3),
        (raw(b"\xff"), "bad_reply", 3),
        (raw(b"[" * 5000), "bad_reply", 3),
        (raw(b"[" * 1100 + b"]" * 1100), "bad_reply", 3),
        (raw(b"[" * 700 + b'"\\ud800"' + b"]" * 700), "bad_reply", 3),
        (raw(b'{"error": ' + b"[" * 300 + b"]" * 300 + b"}"), "bad_reply", 3),
        (drips, "timeout", 3),
        (resets, "connection", 3),
        (says(""), "empty_reply", 3),
        (says(None, "length"), "empty_reply", 3),
        (says(None, "content_filter"), "content_filter", 3),
        (says(None, None), "bad_reply", 3),
    ],
)
@pytest.mark.parametrize("through", ["address", "client", "transport"])
async def test_failures_become_faults(
    server: ModelServer, answer: Answer, kind: str, requests: int, through: str
) -> None:
    """The same at an address, through a client object of the SDK, and through one with a transport of its own."""
    server.answers = [answer]
    counted, patience = Accounts(), 0.4 if kind == "timeout" else 10.0
    async with httpx2.AsyncClient(transport=Transport()) as own:
        client = plain(server, http_client=own if through == "transport" else None)
        place = server if through == "address" else Endpoint(client=client)
        with pytest.raises(Fault) as caught:
            await model(place, retries=2, timeout=patience, accounts=counted).complete(request())
    fault = caught.value
    assert (fault.kind, fault.role) == (kind, "simulator")
    assert len(server.bodies) == requests
    assert f"{requests} tr" in fault.message
    assert "(m at 127.0.0.1" in fault.message
    assert "\n" not in fault.message
    assert SECRET not in f"{fault} {fault!r} {fault.__cause__!r} {fault.__context__!r}"
    assert str(pickle.loads(pickle.dumps(fault))) == str(fault)
    snapshot = counted.snapshot()["simulator"]
    assert (snapshot["calls"], snapshot["tries"], snapshot["faults"]) == (1, requests, {kind: 1})


async def test_failures_that_pass_are_forgotten(server: ModelServer) -> None:
    server.answers = [error(429), error(500), resets, resets, raw(b"{broken"), says(""), says('{"n": 1}')]
    counted = Accounts()
    reply = await model(server, accounts=counted).complete(request(FORM, seed=5))
    assert reply.data == {"n": 1}
    # A kept connection that the server closes without a word is no failure yet: a new one is tried first.
    kinds = ("bad_reply", "connection", "empty_reply", "rate_limit", "server_error")
    assert counted.snapshot()["simulator"]["failures"] == dict.fromkeys(kinds, 1)
    # Only what the model itself said changes the seed.
    assert [body["seed"] for body in server.bodies] == [5, 5, 5, 5, 5, 5, seed_of(5, 1)]


async def test_broken_bodies_and_worthless_words_are_counted_apart(server: ModelServer) -> None:
    server.answers = [*[raw(b"{broken")] * 4, says(""), says("no"), *[error(500)] * 2, says('{"n": 1}')]
    assert (await model(server, retries=6).complete(request(FORM, seed=5))).data == {"n": 1}
    assert server.bodies[-1]["seed"] == seed_of(5, 2) != seed_of(5, 1)


async def test_the_server_says_how_long_to_wait(server: ModelServer) -> None:
    server.answers = [error(429, **{"Retry-After": "50"}), says("Hello")]
    asking = asyncio.create_task(model(server, backoff=0.0).complete(request()))
    with pytest.raises(TimeoutError):
        await asyncio.wait_for(asking, 0.5)
    assert len(server.bodies) == 1


@pytest.mark.parametrize(
    ("answer", "kind", "words"),
    [
        (says('{"n": "one"}'), "bad_reply", "n: "),
        (says("<think>for ever"), "bad_reply", "thinking"),
        (says('{"n": ', "length"), "bad_reply", r"max_tokens \(5\) is too small"),
        (says("", "length"), "empty_reply", "empty"),
        (says(None, refusal="I cannot."), "content_filter", "I cannot"),
        (says('{"n": 1}', "content_filter"), "content_filter", "filter"),
    ],
)
async def test_replies_that_break_the_form(server: ModelServer, answer: Answer, kind: str, words: str) -> None:
    server.answers = [answer]
    with pytest.raises(Fault, match=words) as caught:
        await model(server, max_tokens=5).complete(request(FORM))
    assert caught.value.kind == kind
    assert len(server.bodies) == 3


@pytest.mark.parametrize(
    ("answer", "text"),
    [
        (says(None, refusal="I cannot."), "I cannot."),
        (says([{"type": "text", "text": "Hel"}, {"type": "text", "text": "lo"}]), "Hello"),
        (raw(b'{"choices": [{"message": {"content": "a\\ud800b"}, "finish_reason": "stop"}]}'), "base64:Ye2ggGI="),
        (says("Hel", "length"), "Hel"),
    ],
)
async def test_unusual_replies(server: ModelServer, answer: Answer, text: str) -> None:
    server.answers = [answer]
    assert (await model(server).complete(request())).text == text


def called(*arguments: Any) -> list[dict[str, Any]]:
    return [
        {"id": f"c{number}", "type": "function", "function": {"name": "answer", "arguments": each}}
        for number, each in enumerate(arguments)
    ]


@pytest.mark.parametrize(
    "answer",
    [
        says("Let me answer.", "tool_calls", tool_calls=called('{"n": 1}')),
        says(None, "function_call", function_call=called('{"n": 1}')[0]["function"]),
        failed_sample('{"n": 1,}'),
    ],
    ids=["beside words", "in the legacy field", "refused for its form"],
)
async def test_a_reply_is_found_where_the_server_puts_it(server: ModelServer, answer: Answer) -> None:
    server.answers = [answer]
    assert (await model(server).complete(request(FORM))).data == {"n": 1}
    assert len(server.bodies) == 1


@pytest.mark.parametrize(
    ("answer", "kind", "text"),
    [
        (failed_sample('{"n": '), "bad_reply", '{"n": '),
        (failed_sample("no"), "bad_reply", "no"),
        (failed_sample(None), "empty_reply", ""),
        (failed_sample(""), "empty_reply", ""),
        (says(None, "tool_calls", tool_calls=called('{"n": 1}', '{"n": 2}')), "bad_reply", "c1"),
        (says('{"n": "one"}', "tool_calls", tool_calls=called('{"n": 1}')), "bad_reply", "one"),
    ],
)
async def test_what_a_model_wrote_in_vain_is_kept_and_costs_no_form(
    server: ModelServer, answer: Answer, kind: str, text: str
) -> None:
    server.answers = [answer]
    with pytest.raises(Fault) as caught:
        await model(server).complete(request(FORM))
    assert caught.value.kind == kind
    assert len(caught.value.unread) == 3
    assert all(text in each.text for each in caught.value.unread)
    assert {body["response_format"]["type"] for body in server.bodies} == {"json_schema"}
    assert caught.value.unread[0].problem in server.bodies[1]["messages"][-1]["content"].replace('\\"', '"')


async def test_a_call_that_the_server_refuses_is_the_policys_own_text(server: ModelServer) -> None:
    server.answers = [failed_sample("<function=find>", "tool_use_failed")]
    assert (await model(server).complete(request())).text == "<function=find>"


async def test_a_reply_in_form_counts_though_it_was_cut_off(server: ModelServer) -> None:
    server.answers = [says('{"n": 1}', "length")]
    assert (await model(server).complete(request(FORM))).data == {"n": 1}


def refusing(unwanted: dict[str, str]) -> Answer:
    """A server that refuses parameters in words; a key with a slash means that kind of form."""

    def answer(asked: Asked) -> Any:
        for name, text in unwanted.items():
            field, slash, kind = name.partition("/")
            if field in asked.body and (not slash or asked.body[field].get("type") == kind):
                return error(400, text, "unsupported_parameter")(asked)
        return says('{"n": 1}')(asked)

    return answer


@pytest.mark.parametrize(
    ("unwanted", "left"),
    [
        ({"response_format/json_schema": "response_format json_schema is not supported"}, {"type": "json_object"}),
        ({"response_format": "Bad Request"}, None),
        ({"response_format": "'response_format' is not permitted"}, None),
    ],
)
async def test_the_form_falls_back_and_that_is_remembered(
    server: ModelServer, unwanted: dict[str, str], left: Any
) -> None:
    server.answers = [refusing(unwanted)]
    assert (await model(server).complete(request(FORM))).data == {"n": 1}
    before = len(server.bodies)
    assert (await model(server).complete(request(FORM))).data == {"n": 1}
    assert len(server.bodies) == before + 1
    assert server.bodies[-1].get("response_format") == left


async def test_bounds_that_a_server_refuses_are_left_out_from_then_on(server: ModelServer) -> None:
    def answer(asked: Asked) -> Any:
        if "maxItems" in asked.text.decode():
            return error(400, "In context=('properties', 'n'), 'maxItems' is not permitted.")(asked)
        return says('{"n": ["x"]}')(asked)

    texts = {"type": "array", "items": {"type": "string"}}
    schema = {"type": "object", "properties": {"n": {**texts, "maxItems": 9}}}
    bounded = ReplySchema("bounded", {**schema, "required": ["n"], "additionalProperties": False})
    server.answers = [answer]
    for requests in (2, 3):
        assert (await model(server).complete(request(bounded))).data == {"n": ["x"]}
        assert len(server.bodies) == requests
    form = server.bodies[-1]["response_format"]["json_schema"]
    assert (form["schema"]["properties"], form["strict"]) == ({"n": texts}, True)


async def test_lengths_of_texts_are_checked_and_not_sent(server: ModelServer) -> None:
    """Engines that keep to a length refuse escapes (xgrammar 0.2.8), so a model could not write what is asked for."""
    properties = {"n": {"type": "string", "minLength": 1, "maxLength": 9}}
    schema = {"type": "object", "properties": properties, "required": ["n"], "additionalProperties": False}
    server.answers = [says('{"n": "much too long"}'), says('{"n": "it\\"s"}')]
    assert (await model(server).complete(request(ReplySchema("short", schema)))).data == {"n": 'it"s'}
    assert len(server.bodies) == 2
    sent = server.bodies[0]["response_format"]["json_schema"]["schema"]
    assert sent["properties"] == {"n": {"type": "string"}}


async def test_other_refusals_do_not_cost_the_form(server: ModelServer) -> None:
    refused = error(400, "the message has a bad shape")
    server.answers = [refused]
    for requests in (3, 1):  # once the form has worked, it is not suspected any more
        server.asked.clear()
        with pytest.raises(Fault) as caught:
            await model(server).complete(request(FORM))
        assert (caught.value.kind, len(server.asked)) == ("bad_request", requests)
        server.answers = [says('{"n": 1}'), refused]
        await model(server).complete(request(FORM))
        assert server.bodies[-1]["response_format"]["type"] == "json_schema"


async def test_parameters_that_are_refused_are_left_out(server: ModelServer) -> None:
    unwanted = {
        "temperature": "Unsupported value: 'temperature' does not support 0.5 with this model.",
        "seed": "Extra inputs are not permitted: seed",
        "max_tokens": "Unsupported parameter: 'max_tokens'. Use 'max_completion_tokens' instead.",
    }
    server.answers = [refusing(unwanted)]
    one = model(server, temperature=0.5, max_tokens=9)
    assert (await one.complete(request(FORM, seed=3))).data == {"n": 1}
    assert {"temperature", "seed", "max_tokens"}.isdisjoint(server.bodies[-1])
    assert server.bodies[-1]["max_completion_tokens"] == 9


async def test_a_fixed_way_of_asking_is_kept(server: ModelServer) -> None:
    server.answers = [refusing({"response_format": "'response_format' is not supported"})]
    with pytest.raises(Fault) as caught:
        await model(server, structured="json_object").complete(request(FORM))
    assert caught.value.kind == "bad_request"
    assert len(server.bodies) == 1
    assert (await model(server, structured="none", seed=False).complete(request(FORM, seed=1))).data == {"n": 1}
    assert {"response_format", "seed"}.isdisjoint(server.bodies[-1])


async def test_cancelling_gives_everything_back(server: ModelServer) -> None:
    server.answers = [waits(5.0, says("late"))]
    budget = Budget(max_tokens=10_000)
    one = model(server, concurrency=2, budget=budget)
    tasks = [asyncio.create_task(one.complete(request())) for _ in range(5)]
    await asyncio.sleep(0.2)
    assert server.most == 2
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)
    assert limit_of(server.url, "m").in_flight == 0
    assert budget.idle
    server.answers = [says("Hello")]
    assert (await one.complete(request())).text == "Hello"


async def test_secrets_in_an_address_are_sent_and_not_shown(server: ModelServer) -> None:
    address = f"{server.url.replace('http://', 'http://user:hid%64en-word@')}/?version=a-hidden-word"
    endpoint = Endpoint(address)
    server.answers = [error(401, "no entry for hidden-word, hid%64en-word, a-hidden-word")]
    with pytest.raises(Fault) as caught:
        await model(endpoint).complete(request())
    sent = server.asked[0].request
    assert sent.headers["Authorization"] == "Basic dXNlcjpoaWRkZW4td29yZA=="
    assert sent.query_string == "version=a-hidden-word"
    assert "en-word" not in f"{caught.value} {endpoint!r} {endpoint}"


@pytest.mark.parametrize("before", [60, 190, 1980])
@pytest.mark.parametrize("body", ["<html>{}{}", '{{"error": {{"message": "{}{}"}}}}'])
async def test_no_part_of_a_key_shows(server: ModelServer, before: int, body: str) -> None:
    server.answers = [raw(body.format("x" * before, SECRET).encode())]
    with pytest.raises(Fault) as caught:
        await model(Endpoint(server.url, SECRET), retries=0).complete(request())
    assert caught.value.kind == "bad_reply"
    assert SECRET[:8] not in str(caught.value)
