"""A model over real HTTP whose every answer a test decides, after reading what it was asked."""

from __future__ import annotations

import itertools
import json
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

from aiohttp import web

from simia_gym.errors import Role
from simia_gym.llm.accounts import Accounts
from simia_gym.llm.blocks import Block, read_blocks
from simia_gym.llm.endpoint_model import EndpointModel
from simia_gym.llm.settings import Endpoint, ModelSettings
from simia_gym.llm.transport.http import close_connections
from simia_gym.types import JsonObject

_numbers = itertools.count()


@dataclass(frozen=True)
class Asked:
    request: web.Request
    text: bytes
    body: JsonObject

    @property
    def messages(self) -> list[dict[str, str]]:
        messages: list[dict[str, str]] = self.body["messages"]
        return messages

    @property
    def contents(self) -> list[str]:
        return [message["content"] for message in self.messages]

    @property
    def blocks(self) -> list[Block]:
        """The blocks of all messages that are not the model's own."""
        others = [message["content"] for message in self.messages if message["role"] != "assistant"]
        return [item for content in others for item in read_blocks(content)]

    def value(self, kind: str) -> Any:
        """The last block of a kind."""
        return [item.value for item in self.blocks if item.kind == kind][-1]

    def has(self, kind: str) -> bool:
        return any(item.kind == kind for item in self.blocks)


Answer = Callable[[Asked], Any]
"""Gives JSON, a text, an HTTP status, a whole response, or one of them to await."""


@dataclass
class ModelServer:
    """The server: answers from a list, the last answer for ever, and keeps what it was asked.

    The path of its address has a number, because ports are used again, and what is learned of an address is remembered.
    """

    answers: list[Answer]
    models: list[str] | None = field(default_factory=lambda: ["m"])
    asked: list[Asked] = field(default_factory=list)
    flying: int = 0
    most: int = 0
    root: str = ""
    prefix: str = field(default_factory=lambda: f"/{next(_numbers)}")

    @property
    def url(self) -> str:
        return f"{self.root}{self.prefix}/v1"

    @property
    def bodies(self) -> list[JsonObject]:
        return [asked.body for asked in self.asked]

    def model(self, role: Role, **settings: Any) -> EndpointModel:
        """A model of a role behind this server."""
        chosen = ModelSettings(model="m", **{"retries": 0, "timeout": 10.0, **settings})
        return EndpointModel(role, chosen, Endpoint(base_url=self.url, api_key="k"), accounts=Accounts())

    async def chat(self, request: web.Request) -> web.StreamResponse:
        self.flying += 1
        self.most = max(self.most, self.flying)
        try:
            asked = Asked(request, await request.read(), await request.json())
            self.asked.append(asked)
            said = (self.answers.pop(0) if len(self.answers) > 1 else self.answers[0])(asked)
            said = await said if isinstance(said, Awaitable) else said
            if isinstance(said, web.StreamResponse):
                return said
            if isinstance(said, int):
                return web.json_response({"error": {"message": "no"}}, status=said)
            return completion(said if isinstance(said, str) else json.dumps(said))
        finally:
            self.flying -= 1

    async def list_models(self, request: web.Request) -> web.Response:
        """The names of the models, if there is a list."""
        if self.models is None:
            return web.Response(status=404, text="no such page")
        return web.json_response({"object": "list", "data": [{"id": name} for name in self.models]})


def completion(content: Any, reason: str | None = "stop", usage: Any = None, **message: Any) -> web.Response:
    said = {"role": "assistant", "content": content, **message}
    choice = {"index": 0, "finish_reason": reason, "message": said}
    body = {"id": "x", "object": "chat.completion", "model": "served", "choices": [choice], "usage": usage}
    return web.json_response(body)


@asynccontextmanager
async def serving(*answers: Answer) -> AsyncIterator[ModelServer]:
    """Run a server for a while."""
    server = ModelServer(list(answers))
    app = web.Application(client_max_size=64 * 2**20)
    app.router.add_get("/{path:.*}", server.list_models)
    app.router.add_post("/{path:.*}", server.chat)
    runner = web.AppRunner(app, access_log=None, shutdown_timeout=0.05)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0).start()
    server.root = f"http://127.0.0.1:{runner.addresses[0][1]}"
    try:
        yield server
    finally:
        await close_connections()
        await runner.cleanup()
