"""A proxy that keeps what it passes on: the prompts as they really went over the wire."""

from __future__ import annotations

import asyncio
import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from aiohttp import ClientSession, web


class Proxy:
    """Passes requests on to an endpoint and keeps their bodies.

    Args:
        upstream: The endpoint's address, ending in ``/v1``.

    Attributes:
        kept: The bodies, in the order in which they came.
        url: Its own address; known once it has started.
    """

    def __init__(self, upstream: str) -> None:
        self.upstream = upstream
        self.kept: list[dict[str, Any]] = []
        self.url = ""
        self._session: ClientSession | None = None
        self._runner: web.AppRunner | None = None

    async def start(self) -> None:
        """Begin to listen."""
        self._session = ClientSession()
        app = web.Application(client_max_size=64 * 2**20)
        app.router.add_post("/v1/chat/completions", self._pass_on)
        self._runner = web.AppRunner(app, access_log=None)
        await self._runner.setup()
        await web.TCPSite(self._runner, "127.0.0.1", 0).start()
        self.url = f"http://127.0.0.1:{self._runner.addresses[0][1]}/v1"

    async def stop(self) -> None:
        """Stop listening."""
        assert self._runner is not None
        assert self._session is not None
        await self._runner.cleanup()
        await self._session.close()

    async def _pass_on(self, request: web.Request) -> web.Response:
        raw = await request.read()
        self.kept.append(json.loads(raw))
        assert self._session is not None
        headers = {"Content-Type": "application/json"}
        async with self._session.post(f"{self.upstream}/chat/completions", data=raw, headers=headers) as answer:
            body = await answer.read()
        return web.Response(body=body, status=answer.status, content_type="application/json")


@contextmanager
def proxy_in_thread(upstream: str) -> Iterator[Proxy]:
    """Run a proxy as long as the block lasts."""
    proxy = Proxy(upstream)
    loop = asyncio.new_event_loop()
    thread = threading.Thread(target=loop.run_forever, name="proxy", daemon=True)
    thread.start()
    try:
        asyncio.run_coroutine_threadsafe(proxy.start(), loop).result(30)
        try:
            yield proxy
        finally:
            asyncio.run_coroutine_threadsafe(proxy.stop(), loop).result(30)
    finally:
        loop.call_soon_threadsafe(loop.stop)
        thread.join(30)
        loop.close()
