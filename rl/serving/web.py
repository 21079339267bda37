"""Serves an application over HTTP until it is stopped: to whom, with which token, and how it ends."""

from __future__ import annotations

import asyncio
import hmac
import os
import signal
import socket
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, nullcontext
from typing import Any

import uvicorn
from starlette.responses import JSONResponse
from starlette.types import ASGIApp, Receive, Scope, Send

from simia_gym.errors import InputError
from simia_gym.rl.serving.hosted import HostedEpisodes, kept

HEALTH = "/health"
TOKEN = "SIMIA_SERVE_TOKEN"
_LOOPBACK = ("127.0.0.1", "localhost", "::1")


def token_for(host: str) -> str | None:
    """The token that requests must send, from the environment.

    Raises:
        InputError: There is none, and others can reach the address.
    """
    token = os.environ.get(TOKEN) or None
    if token is None and host not in _LOOPBACK:
        fix = f"Set {TOKEN}, which agents send as bearer token."
        raise InputError(f"{host} can be reached by others, and there is no token", where="--host", fix=fix)
    return token


def guarded(app: ASGIApp, token: str | None) -> ASGIApp:
    """An application that asks for a token everywhere but at ``/health``; without one it refuses other sites' pages.

    A page in a browser on this machine can open the loopback address, too: directly, or by a name of its own that leads
    there. Browsers say where a page comes from, and which name it asked for.
    """
    expected = None if token is None else f"Bearer {token}".encode()

    def refusal(headers: dict[bytes, bytes]) -> tuple[int, str] | None:
        if expected is not None:
            given = headers.get(b"authorization", b"")
            return None if hmac.compare_digest(given, expected) else (401, "the token is missing or wrong")
        names = [headers.get(b"host", b""), headers.get(b"origin", b"").partition(b"://")[2]]
        local = all(not name or _name(name.decode("latin-1")) in _LOOPBACK for name in names)
        return None if local else (403, "only this machine is served without a token")

    async def guard(scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] in ("http", "websocket") and scope["path"] != HEALTH:
            refused = refusal(dict(scope["headers"]))
            if refused is not None and scope["type"] == "websocket":
                await send({"type": "websocket.close", "code": 1008, "reason": refused[1]})
                return
            if refused is not None:
                await JSONResponse({"error": refused[1]}, status_code=refused[0])(scope, receive, send)
                return
        await app(scope, receive, send)

    return guard


def listen(host: str, port: int) -> socket.socket:
    """A socket that listens.

    Raises:
        InputError: The address is taken or is none.
    """
    try:
        return socket.create_server((host, port), family=socket.AF_INET6 if ":" in host else socket.AF_INET)
    except OSError as error:
        fix = "Give another --port, or 0 for a free one."
        raise InputError(f"cannot listen on {host}:{port}: {error.strerror}", where="--port", fix=fix) from error


def base_url(listening: socket.socket) -> str:
    """The address of a socket that listens."""
    host, port = listening.getsockname()[:2]
    return f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"


@asynccontextmanager
async def running(app: ASGIApp, episodes: HostedEpisodes, listening: socket.socket) -> AsyncIterator[asyncio.Event]:
    """Serves an application while the body runs; then ends the episodes that are open.

    Yields:
        An event that is set when the server has stopped by itself.
    """
    server = _Server(
        uvicorn.Config(app, log_level="warning", timeout_graceful_shutdown=5, ws_per_message_deflate=False)
    )
    stopped = asyncio.Event()
    async with kept(episodes):
        serving = asyncio.ensure_future(server.serve(sockets=[listening]))
        serving.add_done_callback(lambda _: stopped.set())
        try:
            yield stopped
        finally:
            server.should_exit = True
            await serving


async def serve(app: ASGIApp, episodes: HostedEpisodes, listening: socket.socket) -> int:
    """Serve an application until SIGINT or SIGTERM.

    Returns:
        The exit code: 130 after SIGINT, else 0.
    """
    stop: asyncio.Future[int] = asyncio.get_running_loop().create_future()
    for number in (signal.SIGINT, signal.SIGTERM):
        asyncio.get_running_loop().add_signal_handler(number, _resolve, stop, int(number))
    async with running(app, episodes, listening) as stopped:
        ended = asyncio.ensure_future(stopped.wait())
        waiting: list[asyncio.Future[Any]] = [stop, ended]
        await asyncio.wait(waiting, return_when=asyncio.FIRST_COMPLETED)
        ended.cancel()
    return 130 if stop.done() and stop.result() == signal.SIGINT else 0


class _Server(uvicorn.Server):
    def capture_signals(self) -> Any:
        """Leave signals to the command, which has an exit code for each."""
        return nullcontext()


def _resolve(future: asyncio.Future[int], number: int) -> None:
    if not future.done():
        future.set_result(number)


def _name(host: str) -> str:
    """The name in ``name:port``."""
    return host[1:].partition("]")[0] if host.startswith("[") else host.partition(":")[0]
