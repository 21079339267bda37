"""Serves the oracle over HTTP: chat completions, the list of models, counters, and injected transport faults.

Example:
    async with OracleServer(OracleOptions()) as server:
        client = AsyncOpenAI(base_url=server.base_url, api_key="any")
"""

from __future__ import annotations

import asyncio
import contextlib
import socket
import struct
import threading
from collections.abc import Iterator
from types import ModuleType, TracebackType
from typing import TYPE_CHECKING, Any, Self

from simia_gym.common.json_encoding import encode
from simia_gym.errors import InputError
from simia_gym.oracle.answering import Answer, Fate, Oracle
from simia_gym.oracle.options import OracleOptions
from simia_gym.oracle.reading import Refused

if TYPE_CHECKING:
    from aiohttp import web

_RESET = struct.pack("ii", 1, 0)
_START_SECONDS = 30


class OracleServer:
    """An HTTP server for an `Oracle`.

    Attributes:
        oracle: The oracle that answers.
        base_url: The server's URL, ending in ``/v1``; empty before `start`.

    Raises:
        InputError: aiohttp is not installed, or a folder in ``options.domains`` is not a domain.
    """

    def __init__(self, options: OracleOptions | None = None) -> None:
        self.options = options or OracleOptions()
        self.oracle = Oracle(self.options)
        self.base_url = ""
        self._web = _aiohttp_web()
        self._runner: Any = None
        self._closing = asyncio.Event()

    @property
    def counts(self) -> dict[str, dict[str, int]]:
        """A copy of the counters; see `Oracle.counts`."""
        return self.oracle.counts

    async def start(self) -> None:
        """Start listening.

        Raises:
            InputError: The address cannot be bound, for example because the port is in use.
        """
        web = self._web
        runner = web.ServerRunner(web.Server(self._handle), handle_signals=False, shutdown_timeout=1)
        await runner.setup()
        host, port = self.options.host, self.options.port
        try:
            site = web.TCPSite(runner, host, port, backlog=4096)
            await site.start()
        except OSError as error:
            await runner.cleanup()
            reason = error.strerror or str(error)
            raise InputError(
                f"cannot listen on {host}:{port} ({reason})", where="port", fix="Choose another."
            ) from None
        self._runner = runner
        bound = runner.addresses[0]
        name = f"[{bound[0]}]" if ":" in bound[0] else bound[0]
        self.base_url = f"http://{name}:{bound[1]}/v1"

    async def stop(self) -> None:
        """Drop hanging requests and stop listening."""
        self._closing.set()
        if self._runner is not None:
            await self._runner.cleanup()
            self._runner = None

    async def __aenter__(self) -> Self:
        await self.start()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.stop()

    async def _handle(self, request: web.BaseRequest) -> web.StreamResponse:
        path = request.path
        if path.endswith("/chat/completions"):
            if request.method != "POST":
                return self._refuse(Refused("use POST", status=405, code="method_not_allowed"))
            return await self._complete(request)
        if path.endswith("/models") and request.method == "GET":
            if not self._known(request):
                return self._refuse(_WRONG_KEY)
            models = [{"id": self.options.model or "oracle", "object": "model", "created": 0, "owned_by": "oracle"}]
            return self._json({"object": "list", "data": models})
        if path in ("/stats", "/v1/stats") and request.method == "GET":
            return self._json(self.counts)
        return self._refuse(Refused(f"there is nothing at {path}", status=404, code="not_found"))

    async def _complete(self, request: web.BaseRequest) -> web.StreamResponse:
        raw = await request.content.read()
        if not self._known(request):
            return self._refuse(_WRONG_KEY)
        fate = self.oracle.fate(raw)
        if fate.delay:
            await asyncio.sleep(fate.delay)
        if fate.fault in ("rate_limit", "server_error", "hang", "reset"):
            self.oracle.count("faults", fate.fault)
            return await self._fail(request, fate)
        try:
            answer = self.oracle.answer(raw, fate.chance)
        except Refused as refused:
            return self._refuse(refused)
        except Exception as error:  # a bug in the domain's code: retrying cannot help
            return self._refuse(Refused(f"{type(error).__name__}: {error}", code="oracle_bug"))
        if fate.fault is None:
            return self._json(_completion(answer, answer.reply.text))
        self.oracle.count("faults", fate.fault)
        return await self._spoil(request, answer, fate.fault)

    async def _fail(self, request: web.BaseRequest, fate: Fate) -> web.StreamResponse:
        """Inject a fault that replaces the answer."""
        if fate.fault == "rate_limit":
            return self._error("slow down", 429, "rate_limit_exceeded", {"Retry-After": "0"})
        if fate.fault == "server_error":
            return self._error("something broke", fate.chance.choice((500, 503)), "server_error")
        if fate.fault == "hang":
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(self._closing.wait(), self.options.hang)
        return self._drop(request, reset=fate.fault == "reset")

    async def _spoil(self, request: web.BaseRequest, answer: Answer, fault: str) -> web.StreamResponse:
        """Inject a fault that makes the answer unusable."""
        text = answer.reply.text
        if fault == "empty":
            return self._json(_completion(answer, ""))
        if fault == "cut":
            return self._json(_completion(answer, text[: len(text) // 2]))
        body = encode(_completion(answer, answer.reply.text))
        if fault == "malformed":
            return self._response(body=body[: len(body) // 2] + b"]]", content_type="application/json")
        response: web.StreamResponse = self._web.StreamResponse(headers={"Content-Type": "application/json"})
        response.content_length = len(body)
        await response.prepare(request)
        await response.write(body[: len(body) // 2])
        if request.transport is not None:
            request.transport.close()
        return response

    def _drop(self, request: web.BaseRequest, *, reset: bool) -> web.StreamResponse:
        """Close the connection without an answer."""
        transport = request.transport
        if transport is not None:
            wire = transport.get_extra_info("socket")
            if reset and wire is not None:
                wire.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, _RESET)
            transport.abort()
        return self._response(status=503)  # never sent: the connection is closed

    def _known(self, request: web.BaseRequest) -> bool:
        key = self.options.api_key
        given = request.headers.get("Authorization", "").removeprefix("Bearer "), request.headers.get("api-key")
        return key is None or key in given

    def _refuse(self, refused: Refused) -> web.StreamResponse:
        self.oracle.count("refused", refused.code)
        return self._error(refused.message, refused.status, refused.code)

    def _error(self, message: str, status: int, code: str, headers: dict[str, str] | None = None) -> web.StreamResponse:
        kind = "server_error" if status >= 500 else "invalid_request_error"
        body = {"error": {"message": message, "type": kind, "param": None, "code": code}}
        return self._response(body=encode(body), status=status, content_type="application/json", headers=headers)

    def _response(self, **fields: Any) -> web.StreamResponse:
        made: web.StreamResponse = self._web.Response(**fields)
        return made

    def _json(self, value: Any) -> web.StreamResponse:
        return self._response(body=encode(value), content_type="application/json")


@contextlib.contextmanager
def serve_in_thread(options: OracleOptions | None = None) -> Iterator[OracleServer]:
    """Serve an oracle in a thread of its own while the ``with`` block runs, for callers without an event loop.

    Args:
        options: The oracle's options.

    Yields:
        The running server.

    Raises:
        InputError: The server cannot start.
    """
    server = OracleServer(options)
    loop = asyncio.new_event_loop()
    thread = threading.Thread(target=loop.run_forever, name="oracle", daemon=True)
    thread.start()
    try:
        asyncio.run_coroutine_threadsafe(server.start(), loop).result(_START_SECONDS)
        try:
            yield server
        finally:
            asyncio.run_coroutine_threadsafe(server.stop(), loop).result(_START_SECONDS)
    finally:
        loop.call_soon_threadsafe(loop.stop)
        thread.join(_START_SECONDS)
        loop.close()


_WRONG_KEY = Refused("Incorrect API key provided.", status=401, code="invalid_api_key")


def _completion(answer: Answer, text: str) -> dict[str, Any]:
    usage = answer.reply.usage
    return {
        "id": "chatcmpl-oracle",
        "object": "chat.completion",
        "created": 0,
        "model": answer.reply.model,
        "injected": list(answer.injected),
        "choices": [
            {"index": 0, "message": {"role": "assistant", "content": text}, "finish_reason": "stop", "logprobs": None}
        ],
        "usage": {
            "prompt_tokens": usage.prompt,
            "completion_tokens": usage.completion,
            "total_tokens": usage.prompt + usage.completion,
            "prompt_tokens_details": {"cached_tokens": usage.cached},
        },
    }


def _aiohttp_web() -> ModuleType:
    try:
        from aiohttp import web
    except ImportError as error:
        fix = "pip install 'simia-gym[oracle]' (or: pip install aiohttp)"
        raise InputError("the oracle needs aiohttp", fix=fix) from error
    return web
