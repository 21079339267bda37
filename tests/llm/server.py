"""Answers of servers, good and bad, and what the tests ask for them."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable
from typing import Any

from aiohttp import web

from simia_gym.llm.accounts import Accounts
from simia_gym.llm.budget import Budget
from simia_gym.llm.endpoint_model import EndpointModel
from simia_gym.llm.prompt import Prompt
from simia_gym.llm.settings import Endpoint, ModelSettings
from simia_gym.llm.types import ChatRequest, ReplySchema

from ..model_server import Answer, Asked, ModelServer, completion

SECRET = "sk-very-secret-1234567890"
SCHEMA = {"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"], "additionalProperties": False}
FORM = ReplySchema("answer", SCHEMA)
USAGE = {"prompt_tokens": 100, "completion_tokens": 10, "prompt_tokens_details": {"cached_tokens": 60}}


def says(content: Any, reason: str | None = "stop", usage: Any = USAGE, **message: Any) -> Answer:
    return lambda asked: completion(content, reason, usage, **message)


def error(
    status: int, text: str = f"bad key {SECRET}", code: str = "some_code", param: str | None = None, **headers: str
) -> Answer:
    body = {"error": {"message": text, "code": code, "param": param, "type": "x"}}
    return lambda asked: web.json_response(body, status=status, headers=headers)


def failed_sample(text: str | None, code: str = "json_validate_failed") -> Answer:
    """A server that accepts the request, but not what the model wrote for it, as Groq's does."""
    words = "Failed to generate JSON. Please adjust your prompt. See 'failed_generation' for more details."
    body = {"error": {"message": words, "type": "invalid_request_error", "code": code, "failed_generation": text}}
    return lambda asked: web.json_response(body, status=400)


def raw(text: bytes, kind: str = "application/json") -> Answer:
    return lambda asked: web.Response(body=text, content_type=kind)


def waits(seconds: float, then: Answer) -> Answer:
    async def answer(asked: Asked) -> Any:
        await asyncio.sleep(seconds)
        found = then(asked)
        return await found if isinstance(found, Awaitable) else found

    return answer


async def resets(asked: Asked) -> web.Response:
    assert asked.request.transport is not None
    asked.request.transport.abort()
    return completion("lost")


async def drips(asked: Asked) -> web.StreamResponse:
    response = web.StreamResponse(headers={"Content-Type": "application/json"})
    await response.prepare(asked.request)
    for _ in range(100):
        await response.write(b" ")
        await asyncio.sleep(0.05)
    return response


def model(
    at: ModelServer | Endpoint, *, accounts: Accounts | None = None, budget: Budget | None = None, **changes: Any
) -> EndpointModel:
    settings = ModelSettings(**{"model": "m", "backoff": 0.001, "timeout": 5.0, **changes})
    endpoint = at if isinstance(at, Endpoint) else Endpoint(at.url, SECRET)
    return EndpointModel("simulator", settings, endpoint, accounts=accounts or Accounts(), budget=budget)


def request(reply: ReplySchema | None = None, words: str = "Hi", **fields: Any) -> ChatRequest:
    prompt = Prompt()
    prompt.add("system", "Rules.")
    prompt.mark_static()
    prompt.add("user", words)
    return ChatRequest("simulator", prompt, reply, **fields)
