"""A model over real HTTP whose every answer a test decides, after reading what it was asked."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Callable
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


@dataclass(frozen=True)
class Asked:
    """One request, as the server got it."""

    body: JsonObject

    @property
    def messages(self) -> list[dict[str, str]]:
        """The messages."""
        messages: list[dict[str, str]] = self.body["messages"]
        return messages

    @property
    def contents(self) -> list[str]:
        """The texts of all messages."""
        return [message["content"] for message in self.messages]

    @property
    def blocks(self) -> list[Block]:
        """The blocks of all messages that are not the model's own."""
        return [
            item
            for message in self.messages
            if message["role"] != "assistant"
            for item in read_blocks(message["content"])
        ]

    def value(self, kind: str) -> Any:
        """The last block of a kind."""
        return [item.value for item in self.blocks if item.kind == kind][-1]

    def has(self, kind: str) -> bool:
        """Whether there is such a block."""
        return any(item.kind == kind for item in self.blocks)


Answer = Callable[[Asked], Any]


@dataclass
class ModelServer:
    """The server: gives what `answer` returns (JSON, a text, or an HTTP status), keeps what it was asked."""

    answer: Answer
    asked: list[Asked] = field(default_factory=list)
    url: str = ""

    def model(self, role: Role, **settings: Any) -> EndpointModel:
        """A model of a role behind this server."""
        chosen = ModelSettings(model="m", **{"retries": 0, "timeout": 10.0, **settings})
        return EndpointModel(role, chosen, Endpoint(base_url=self.url, api_key="k"), accounts=Accounts())

    async def chat(self, request: web.Request) -> web.Response:
        """Answer a request."""
        asked = Asked(await request.json())
        self.asked.append(asked)
        said = self.answer(asked)
        if isinstance(said, int):
            return web.json_response({"error": {"message": "no"}}, status=said)
        text = said if isinstance(said, str) else json.dumps(said)
        choice = {"index": 0, "finish_reason": "stop", "message": {"role": "assistant", "content": text}}
        return web.json_response({"id": "x", "object": "chat.completion", "model": "m", "choices": [choice]})


@asynccontextmanager
async def serving(answer: Answer) -> AsyncIterator[ModelServer]:
    """Run a server for a while."""
    server = ModelServer(answer)
    app = web.Application(client_max_size=64 * 2**20)
    app.router.add_post("/v1/chat/completions", server.chat)
    runner = web.AppRunner(app, access_log=None)
    await runner.setup()
    site = web.TCPSite(runner, "127.0.0.1", 0)
    await site.start()
    port = runner.addresses[0][1]
    server.url = f"http://127.0.0.1:{port}/v1"
    try:
        yield server
    finally:
        await close_connections()
        await runner.cleanup()
