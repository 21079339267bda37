"""The HTTP client against servers that write exactly the bytes that a test gives."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager

import pytest

from simia_gym.llm.transport import http
from simia_gym.llm.transport.failures import Failure

HEADERS = {"Content-Type": "application/json"}
Say = Callable[[asyncio.StreamWriter], Awaitable[None]]


class Server:
    """Answers each request with the next of its answers; keeps the requests."""

    def __init__(self, answers: Sequence[bytes | Say]) -> None:
        self.answers, self.asked, self.connections = list(answers), list[bytes](), 0
        self.url = ""

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.connections += 1
        try:
            while self.answers:
                head = await reader.readuntil(b"\r\n\r\n")
                length = next((int(x[15:]) for x in head.lower().split(b"\r\n") if x.startswith(b"content-length:")), 0)
                self.asked.append(head + await reader.readexactly(length))
                answer = self.answers.pop(0)
                if not isinstance(answer, bytes):
                    await answer(writer)
                    continue
                writer.write(answer)
                await writer.drain()
                if b"Connection: close" in answer or answer.startswith(b"HTTP/1.0"):
                    break
        except (asyncio.IncompleteReadError, ConnectionError):
            pass
        finally:
            writer.close()


@asynccontextmanager
async def serving(*answers: bytes | Say) -> AsyncIterator[Server]:
    told = Server(answers)
    server = await asyncio.start_server(told.serve, "127.0.0.1", 0)
    told.url = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}/v1/x?y=z"
    try:
        yield told
    finally:
        await http.close_connections()
        server.close()


async def ask(server: Server, timeout: float = 5.0) -> tuple[int, bytes]:
    status, said, _ = await http.send(http.Target(server.url, HEADERS), [b"{", b"}"], timeout)
    return status, said


def ok(body: bytes, *headers: bytes) -> bytes:
    return b"\r\n".join([b"HTTP/1.1 200 OK", b"Content-Length: %d" % len(body), *headers, b"", b""]) + body


def closes(said: bytes) -> Say:
    async def answer(writer: asyncio.StreamWriter) -> None:
        writer.write(said)
        await writer.drain()
        writer.close()

    return answer


async def slowly(writer: asyncio.StreamWriter) -> None:
    for byte in ok(b"hello"):
        writer.write(bytes([byte]))
        await writer.drain()


@pytest.mark.parametrize(
    "answer",
    [
        ok(b"hello"),
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nhe\r\n3\r\nllo\r\n0\r\n\r\n",
        b"HTTP/1.0 200 OK\r\n\r\nhello",
        b"HTTP/1.1 200 OK\r\nConnection: close\r\n\r\nhello",
        b"HTTP/1.1 100 Continue\r\n\r\n" + ok(b"hello"),
        ok(b"hello", b"Connection: close", b"Retry-After: \xff"),
        slowly,
        closes(ok(b"hello")),
    ],
    ids=["length", "chunked", "HTTP/1.0", "until it closes", "100", "close", "byte by byte", "closed meanwhile"],
)
async def test_every_way_to_end_an_answer(answer: bytes | Say) -> None:
    async with serving(answer, answer) as server:
        assert await ask(server) == (200, b"hello")
        await asyncio.sleep(0.05)
        assert await ask(server) == (200, b"hello")
    head, _, body = server.asked[0].partition(b"\r\n\r\n")
    assert head.startswith(b"POST /v1/x?y=z HTTP/1.1\r\n")
    assert b"content-type: application/json" in head.lower()
    assert body == b"{}"


async def test_a_connection_is_used_again_and_several_are_opened_at_once() -> None:
    gate = asyncio.Event()

    async def held(writer: asyncio.StreamWriter) -> None:
        await gate.wait()
        writer.write(ok(b"late"))

    async with serving(ok(b"a"), ok(b"b"), held, ok(b"c")) as server:
        assert [await ask(server), await ask(server)] == [(200, b"a"), (200, b"b")]
        assert server.connections == 1
        waiting = asyncio.create_task(ask(server))
        while len(server.asked) < 3:
            await asyncio.sleep(0.01)
        assert await ask(server) == (200, b"c")
        gate.set()
        assert await waiting == (200, b"late")
        assert server.connections == 2


@pytest.mark.parametrize(
    ("answer", "kind"),
    [
        (closes(b"SSH-2.0-OpenSSH_9.6\r\n"), "bad_reply"),
        (closes(b"HTTP/1.1 abc OK\r\n\r\n"), "bad_reply"),
        (closes(b"HTTP/1.1 200 OK\r\nContent-Length: -5\r\n\r\nhello"), "bad_reply"),
        (closes(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\nhel"), "bad_reply"),
        (closes(b"HTTP/1.1 200 OK\r\nX: " + b"a" * 3_000_000 + b"\r\n\r\n"), "bad_reply"),
        (b"HTTP/1.1 200 OK\r\nContent-Length: 50\r\nConnection: close\r\n\r\nshort", "connection"),
        (b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nConnection: close\r\n\r\n5\r\nhel", "connection"),
        (closes(b""), "connection"),
        (closes(b"HTTP/1.1 2"), "connection"),
        (closes(b"HTTP/1.1 200 OK\r\nContent-Ty"), "connection"),
        (closes(b"HTTP/1.1 100 Continue\r\n\r\n"), "connection"),
        (closes(b"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 2"), "connection"),
    ],
)
async def test_what_is_no_answer_is_a_failure_that_may_pass(answer: bytes | Say, kind: str) -> None:
    async with serving(answer, ok(b"after")) as server:
        with pytest.raises(Failure) as caught:
            await ask(server)
        assert (caught.value.kind, caught.value.again) == (kind, True)
        assert await ask(server) == (200, b"after")  # on another connection
        assert server.connections == 2


async def test_a_cancelled_request_leaves_no_answer_behind() -> None:
    async def late(writer: asyncio.StreamWriter) -> None:
        await asyncio.sleep(0.1)
        writer.write(ok(b"for the first"))

    async with serving(late, ok(b"for the second")) as server:
        first = asyncio.create_task(ask(server))
        while not server.asked:
            await asyncio.sleep(0.01)
        first.cancel()
        with pytest.raises(asyncio.CancelledError):
            await first
        await asyncio.sleep(0.1)
        assert await ask(server) == (200, b"for the second")


async def test_an_answer_that_nobody_asked_for_is_never_the_next_one() -> None:
    async with serving(ok(b"a") + ok(b"smuggled"), ok(b"b")) as server:
        assert await ask(server) == (200, b"a")
        assert await ask(server) == (200, b"b")


async def test_a_server_that_accepts_no_connection() -> None:
    with socket.create_server(("127.0.0.1", 0), backlog=0) as full:
        waiting = [socket.socket() for _ in range(3)]
        for one in waiting:
            one.setblocking(False)
            one.connect_ex(full.getsockname())
        target = http.Target(f"http://127.0.0.1:{full.getsockname()[1]}/v1", {})
        with pytest.raises(Failure, match=r"no answer within 0\.2 s") as caught:
            await http.send(target, None, 0.2)
        for one in waiting:
            one.close()
    assert (caught.value.kind, caught.value.again) == ("timeout", True)
