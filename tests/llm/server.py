"""A chat server over real HTTP that answers as each test says, and what the tests ask it with."""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager
from typing import Any

from aiohttp import web

from simia_gym.llm.accounts import Accounts
from simia_gym.llm.endpoint_model import EndpointModel
from simia_gym.llm.prompt import Prompt
from simia_gym.llm.settings import Endpoint, ModelSettings
from simia_gym.llm.transport.http import close_connections
from simia_gym.llm.types import ChatRequest, ReplySchema
from simia_gym.types import JsonObject

SECRET = "sk-very-secret-1234567890"
FORM = ReplySchema(
    "answer",
    {
        "type": "object",
        "properties": {"n": {"type": "integer"}},
        "required": ["n"],
        "additionalProperties": False,
    },
)
Given = JsonObject | web.StreamResponse
Answer = Callable[[web.Request, JsonObject], Awaitable[Given] | Given]


def completion(content: Any, reason: str | None = "stop", **message: Any) -> JsonObject:
    return {
        "id": "x",
        "object": "chat.completion",
        "model": "served",
        "choices": [
            {"index": 0, "message": {"role": "assistant", "content": content, **message}, "finish_reason": reason}
        ],
        "usage": {
            "prompt_tokens": 100,
            "completion_tokens": 10,
            "total_tokens": 110,
            "prompt_tokens_details": {"cached_tokens": 60},
        },
    }


def says(content: Any, reason: str | None = "stop", **message: Any) -> Answer:
    return lambda request, body: completion(content, reason, **message)


def error(
    status: int, text: str = f"bad key {SECRET}", code: str = "some_code", param: str | None = None, **headers: str
) -> Answer:
    body = {"error": {"message": text, "code": code, "param": param, "type": "x"}}
    return lambda request, _: web.json_response(body, status=status, headers=headers)


def raw(text: bytes, kind: str = "application/json") -> Answer:
    return lambda request, body: web.Response(body=text, content_type=kind)


def waits(seconds: float, then: Answer) -> Answer:
    async def answer(request: web.Request, body: JsonObject) -> Given:
        await asyncio.sleep(seconds)
        found = then(request, body)
        return await found if isinstance(found, Awaitable) else found

    return answer


async def resets(request: web.Request, body: JsonObject) -> Given:
    assert request.transport is not None
    request.transport.abort()
    return completion("lost")


async def truncates(request: web.Request, body: JsonObject) -> Given:
    response = web.StreamResponse(headers={"Content-Length": "1000", "Content-Type": "application/json"})
    await response.prepare(request)
    await response.write(b'{"choices": [')
    assert request.transport is not None
    request.transport.close()
    return response


async def drips(request: web.Request, body: JsonObject) -> Given:
    response = web.StreamResponse(headers={"Content-Type": "application/json"})
    await response.prepare(request)
    for _ in range(100):
        await response.write(b" ")
        await asyncio.sleep(0.05)
    return response


class ChatServer:
    """Answers from a list, the last answer for ever, and keeps what it was asked."""

    def __init__(self) -> None:
        self.answers: list[Answer] = [says("Hello")]
        self.bodies: list[JsonObject] = []
        self.texts: list[bytes] = []
        self.headers: list[Mapping[str, str]] = []
        self.paths: list[str] = []
        self.models: list[str] | None = ["m"]
        self.url = ""
        self.flying = self.most = 0

    async def chat(self, request: web.Request) -> web.StreamResponse:
        self.flying += 1
        self.most = max(self.most, self.flying)
        try:
            self.texts.append(await request.read())
            self.bodies.append(await request.json())
            self.headers.append(request.headers.copy())
            self.paths.append(request.path_qs)
            answer = self.answers.pop(0) if len(self.answers) > 1 else self.answers[0]
            found = answer(request, self.bodies[-1])
            if isinstance(found, Awaitable):
                found = await found
            return found if isinstance(found, web.StreamResponse) else web.json_response(found)
        finally:
            self.flying -= 1

    async def list_models(self, request: web.Request) -> web.Response:
        if self.models is None:
            return web.Response(status=404, text="no such page")
        return web.json_response({"object": "list", "data": [{"id": name} for name in self.models]})


@asynccontextmanager
async def serving(tls: ssl.SSLContext | None = None) -> AsyncIterator[ChatServer]:
    it = ChatServer()
    app = web.Application(client_max_size=1 << 26)
    app.router.add_get("/v1/models", it.list_models)
    app.router.add_post("/{path:.*}", it.chat)
    runner = web.AppRunner(app, shutdown_timeout=0.05)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0, ssl_context=tls).start()
    it.url = f"http{'s' if tls else ''}://127.0.0.1:{runner.addresses[0][1]}/v1"
    try:
        yield it
    finally:
        await close_connections()
        # Ends of TLS connections that the loop does not live to see are reported as leaks.
        for _ in range(200 if tls else 0):
            if runner.server is None or not runner.server.connections:
                break
            await asyncio.sleep(0.01)
        await runner.cleanup()
        if tls:
            await asyncio.sleep(0.1)


def model(server: ChatServer, endpoint: Endpoint | None = None, **changes: Any) -> EndpointModel:
    parts = {name: changes.pop(name) for name in ("accounts", "budget") if name in changes}
    settings = ModelSettings(**{"model": "m", "backoff": 0.001, "timeout": 5.0, **changes})
    parts.setdefault("accounts", Accounts())
    return EndpointModel("simulator", settings, endpoint or Endpoint(server.url, SECRET), **parts)


def request(reply: ReplySchema | None = None, words: str = "Hi", **fields: Any) -> ChatRequest:
    prompt = Prompt()
    prompt.add("system", "Rules.")
    prompt.mark_static()
    prompt.add("user", words)
    return ChatRequest("simulator", prompt, reply, **fields)
