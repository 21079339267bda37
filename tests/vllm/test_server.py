"""The transport against the real server: what it enforces, what it refuses, and how that reads."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from typing import Any

import pytest
import pytest_asyncio
from jsonschema import Draft202012Validator

from simia_gym.errors import Fault
from simia_gym.llm.accounts import Accounts
from simia_gym.llm.endpoint_model import EndpointModel
from simia_gym.llm.settings import Endpoint
from simia_gym.llm.transport.http import close_connections
from simia_gym.llm.types import ChatRequest, Reply, ReplySchema

from ..llm.server import model as model_at
from ..llm.server import request
from .server import CONTEXT, KEY, MODEL, SECOND_NAME, VllmServer

_OP = {
    "type": "object",
    "properties": {"op": {"enum": ["add", "remove"]}, "path": {"type": "string"}, "value": {}},
    "required": ["op", "path"],
    "additionalProperties": False,
}
_REPLY: dict[str, Any] = {
    "type": "object",
    "properties": {
        "outcome": {"enum": ["ok", "error"]},
        "code": {"anyOf": [{"type": "string"}, {"type": "null"}]},
        "ops": {"type": "array", "items": _OP, "maxItems": 2},
    },
    "required": ["outcome", "code", "ops"],
    "additionalProperties": False,
}


_FORM = ReplySchema("reply", _REPLY)


@pytest_asyncio.fixture(autouse=True)
async def _connections() -> AsyncIterator[None]:
    yield
    await close_connections()


def model_of(server: VllmServer, *, key: str = KEY, path: str = "/v1", **more: Any) -> EndpointModel:
    settings = {"model": MODEL, "temperature": 1.0, "max_tokens": 200, "retries": 2, "backoff": 0.01, **more}
    return model_at(Endpoint(server.root + path, key), timeout=120.0, **settings)


async def test_replies_in_a_form_meet_it(server: VllmServer) -> None:
    model = model_of(server)
    check = Draft202012Validator(_REPLY)
    replies = await asyncio.gather(*(model.complete(request(_FORM, seed=seed)) for seed in range(32)))
    assert all(check.is_valid(reply.data) for reply in replies)
    assert {reply.data["outcome"] for reply in replies} == {"ok", "error"}, "a model that knows nothing says both"
    assert any(reply.data["ops"] for reply in replies)
    assert {reply.model for reply in replies} == {MODEL}


async def test_the_prefix_cache_is_counted(server: VllmServer) -> None:
    accounts = Accounts()
    model = model_of(server, accounts=accounts, max_tokens=2, extra={"ignore_eos": True})
    asked = request(words="a long beginning " * 200)
    await model.complete(asked)
    reply = await model.complete(asked)
    assert 0 < reply.usage.cached < reply.usage.prompt
    counts = accounts.snapshot()["simulator"]
    assert (counts["calls"], counts["tries"], counts["cached_tokens"]) == (2, 2, reply.usage.cached)


async def fault_of(model: EndpointModel, asked: ChatRequest) -> Fault:
    with pytest.raises(Fault) as caught:
        await model.complete(asked)
    assert KEY not in str(caught.value)
    return caught.value


@pytest.mark.parametrize("form", [None, _FORM])
async def test_what_is_wrong_is_named_after_one_try(server: VllmServer, form: ReplySchema | None) -> None:
    asked = request(form, seed=1)
    for model, kind in (
        (model_of(server, key="a-wrong-key"), "auth"),
        (model_of(server, model="another"), "not_found"),
        (model_of(server, path="/v2"), "not_found"),
    ):
        assert (await fault_of(model, asked)).kind == kind
    long = await fault_of(model_of(server), request(form, "many words " * CONTEXT))
    assert long.kind == "context_length"
    assert str(CONTEXT) in long.message
    assert "1 try" in long.message


async def test_a_prompt_that_leaves_no_room_is_too_long(server: VllmServer) -> None:
    """The server then complains of max_tokens, which it has set to 0 itself."""
    model = model_of(server, max_tokens=4, extra={"ignore_eos": True})
    low, high, kinds = 1, CONTEXT, set()
    while high - low > 1:  # " a" is a token or two: so near to the end, only the real tokenizer knows the last fit
        middle = (low + high) // 2
        try:
            await model.complete(request(words=" a" * middle))
            low = middle
        except Fault as fault:
            kinds.add(fault.kind)
            high = middle
    for count in range(low, low + 3):
        try:
            await model.complete(request(words=" a" * count))
        except Fault as fault:
            kinds.add(fault.kind)
    assert kinds == {"context_length"}


async def test_a_form_that_the_server_cannot_enforce_is_asked_for_plainly(server: VllmServer) -> None:
    """Its grammar knows no `uniqueItems`; the reply is checked here, so that the answer counts all the same."""
    form = {
        "type": "object",
        "properties": {"codes": {"type": "array", "items": {"type": "integer"}, "uniqueItems": True}},
        "additionalProperties": True,
    }
    model = model_of(server, model=SECOND_NAME)
    asked = [model.complete(request(ReplySchema("codes", form), seed=seed)) for seed in range(12)]
    replies = await asyncio.gather(*asked, return_exceptions=True)
    faults = {reply.kind for reply in replies if isinstance(reply, Fault)}
    assert faults <= {"bad_reply", "empty_reply"}
    good = [reply for reply in replies if isinstance(reply, Reply)]
    assert good
    assert all(isinstance(reply.data, dict) for reply in good)
