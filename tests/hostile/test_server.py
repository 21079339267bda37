"""Over a hundred kinds of hostile answers, over every transport.

Each gives a typed fault in time and in little memory, without a secret or a traceback, and the next call works.
"""

from __future__ import annotations

import asyncio
import os
import re
import ssl
import tracemalloc
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import replace
from functools import partial
from pathlib import Path

import httpx2
import openai
import pytest

from simia_gym.common.secrets import forms
from simia_gym.errors import Fault
from simia_gym.llm.accounts import Accounts
from simia_gym.llm.endpoint_model import EndpointModel
from simia_gym.llm.settings import Endpoint, ModelSettings
from simia_gym.llm.transport.http import close_connections

from ..llm.server import FORM, request
from ..llm.test_http import _no_proxies, authority, closes, tls_of, writing
from ..sweeps import sweep
from ..work import forked
from .answers import KEY, TIMEOUT, Hostile, hostile, said

__all__ = ["_no_proxies", "authority"]

TRANSPORTS = ("plain", "tls", "proxy", "tunnel", "sdk", "own")
GOOD = said('{"n": 1}')
KINDS = frozenset().union(*(one.kinds for one in hostile("").values()))
MOST = 150_000_000
_AT_ONCE = 8


class Server:
    """Gives the answer whose number stands in the path, until it is `over`; opens tunnels, too."""

    def __init__(self, table: Sequence[Hostile], tls: ssl.SSLContext) -> None:
        self._table, self._tls = table, tls
        self.over: set[int] = set()

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with suppress(asyncio.IncompleteReadError, asyncio.CancelledError, OSError):
            while not writer.is_closing():
                head = await reader.readuntil(b"\r\n\r\n")
                if head.startswith(b"CONNECT "):
                    writer.write(b"HTTP/1.1 200 OK\r\n\r\n")
                    await writer.start_tls(self._tls)
                    continue
                length = re.search(rb"content-length: (\d+)", head.lower())
                await reader.readexactly(int(length[1]) if length else 0)
                place = re.search(rb"/(\d+)/v1/", head)
                number = int(place[1]) if place else 0
                answer = GOOD if number in self.over else self._table[number].answer
                if isinstance(answer, bytes):
                    writer.write(answer)
                    await writer.drain()
                else:
                    await answer(writer)
        writer.close()


def endpoint_of(transport: str, root: str) -> Endpoint:
    if transport not in ("sdk", "own"):
        return Endpoint(f"{root}/v1", KEY)
    own = httpx2.AsyncClient(transport=httpx2.AsyncHTTPTransport()) if transport == "own" else None
    return Endpoint(client=openai.AsyncOpenAI(base_url=f"{root}/v1", api_key=KEY, http_client=own))


async def wrong(one: Hostile, endpoint: Endpoint, transport: str, over: Callable[[], None]) -> str:
    """Ask for the hostile answer, then once more; returns what is wrong, empty if all is well."""
    settings = ModelSettings(model="m", retries=0, timeout=TIMEOUT if one.waits else 30, structured="none")
    model = EndpointModel("simulator", settings, endpoint, accounts=Accounts())
    try:
        reply = await asyncio.wait_for(model.complete(request(FORM if one.form else None)), 60)
        return f"the reply {reply.text[:40]!r}"
    except Fault as fault:
        if fault.kind not in (KINDS if transport == "own" else one.kinds):
            return f"the fault {fault}"
        text = f"{fault} {fault.__cause__!r} {fault.__context__!r}"
        if any(form in text for form in forms(KEY)) or "\x1b" in text or "\n" in str(fault):
            return f"what the fault shows: {text}"
    over()
    # What a transport of somebody else keeps of a broken connection may cost one more try.
    patient = replace(settings, timeout=30, retries=1 if transport == "own" else 0, backoff=0.01)
    again = await EndpointModel("simulator", patient, endpoint, accounts=Accounts()).complete(request(FORM))
    if endpoint.client is not None:
        await endpoint.client.close()
    return "" if again.data == {"n": 1} else f"the next reply: {again.text!r}"


@asynccontextmanager
async def serving(
    transport: str, table: Sequence[Hostile], authority: Path, monkeypatch: pytest.MonkeyPatch
) -> AsyncIterator[tuple[str, Server]]:
    """Run the server, and point the variables to it that the transport needs; yields the address for models."""
    tls = tls_of(authority)
    told = Server(table, tls)
    server = await asyncio.start_server(told.serve, "127.0.0.1", 0, ssl=tls if transport == "tls" else None)
    root = f"{'https' if transport == 'tls' else 'http'}://127.0.0.1:{server.sockets[0].getsockname()[1]}"
    monkeypatch.setenv("SSL_CERT_FILE", str(authority))
    if transport in ("proxy", "tunnel"):
        monkeypatch.setenv("HTTP_PROXY", root)
        monkeypatch.setenv("HTTPS_PROXY", root)
    try:
        yield {"proxy": "http://model.invalid", "tunnel": "https://localhost"}.get(transport, root), told
    finally:
        await close_connections()
        server.close()


@pytest.mark.parametrize("transport", sweep(TRANSPORTS, 2))
@pytest.mark.slow
async def test_every_hostile_answer_is_a_fault(
    transport: str, authority: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    several = asyncio.Semaphore(_AT_ONCE)
    async with writing(closes(GOOD)) as trap:
        table = hostile(trap.root)
        async with serving(transport, [*table.values()], authority, monkeypatch) as (root, told):

            async def look(number: int, one: Hostile) -> str:
                async with several:
                    over = partial(told.over.add, number)
                    return await wrong(one, endpoint_of(transport, f"{root}/{number}"), transport, over)

            found = await asyncio.gather(*(look(*each) for each in enumerate(table.values())), return_exceptions=True)
        assert trap.asked == []
    assert len(table) >= 100
    assert {name: said for name, said in zip(table, found, strict=True) if said} == {}
    assert [record.getMessage() for record in caplog.records if record.levelname != "DEBUG"] == []


@pytest.mark.skipif(not hasattr(os, "fork"), reason="the platform does not fork")
@pytest.mark.filterwarnings("ignore:.*multi-threaded:DeprecationWarning")
@pytest.mark.parametrize("transport", ["plain", "sdk", "own"])
async def test_a_forked_process_follows_no_redirect(
    transport: str, authority: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with writing(closes(GOOD)) as trap:
        one = hostile(trap.root)["redirect 307"]
        async with serving(transport, [one], authority, monkeypatch) as (root, told):
            endpoint = endpoint_of(transport, f"{root}/0")
            assert await wrong(one, endpoint, transport, lambda: told.over.add(0)) == ""
            told.over.clear()

            def refused() -> bool:
                model = EndpointModel("simulator", ModelSettings(model="m", retries=0), endpoint_of(transport, root))
                with pytest.raises(Fault) as caught:
                    asyncio.run(model.complete(request()))
                return caught.value.kind == "bad_request"

            assert await forked(refused)
        assert trap.asked == []


@pytest.mark.parametrize(
    ("name", "transport"),
    [
        *((name, "plain") for name, one in hostile("").items() if one.large),
        *((name, "own") for name in ("a bomb of gzip", "a bomb in an error", "a body without end")),
    ],
)
@pytest.mark.sampled
async def test_a_large_answer_takes_little_memory(
    name: str, transport: str, authority: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    one = hostile("")[name]
    async with serving(transport, [one], authority, monkeypatch) as (root, told):
        endpoint = endpoint_of(transport, f"{root}/0")
        tracemalloc.start()
        try:
            assert await wrong(one, endpoint, transport, partial(told.over.add, 0)) == ""
            assert tracemalloc.get_traced_memory()[1] < MOST
        finally:
            tracemalloc.stop()
