"""Plain HTTP from the loop itself, against servers that say exactly what a test writes."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager

import pytest

from simia_gym.llm.transport import direct
from simia_gym.llm.transport.failures import Failure

HEADERS = {"Content-Type": "application/json"}
MOST = 1000
Say = Callable[[asyncio.StreamWriter], Awaitable[None]]


class Server:
    """Answers each request with the next of its answers; keeps the requests."""

    def __init__(self, answers: Sequence[bytes | Say]) -> None:
        self.answers, self.asked, self.connections = list(answers), [b""][:0], 0
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
        direct.close_connections()
        server.close()


async def ask(server: Server, body: bytes = b"{}", timeout: float = 5.0) -> tuple[int, bytes]:
    status, said, _ = await direct.send(server.url, HEADERS, (body,), timeout, MOST)
    return status, said


def ok(body: bytes, *headers: bytes) -> bytes:
    return b"\r\n".join([b"HTTP/1.1 200 OK", b"Content-Length: %d" % len(body), *headers, b"", b""]) + body


def closes(said: bytes) -> Say:
    async def answer(writer: asyncio.StreamWriter) -> None:
        writer.write(said)
        await writer.drain()
        writer.close()

    return answer


@pytest.mark.parametrize(
    "answer",
    [
        ok(b"hello"),
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nhe\r\n3\r\nllo\r\n0\r\n\r\n",
        b"HTTP/1.0 200 OK\r\n\r\nhello",
        b"HTTP/1.1 200 OK\r\nConnection: close\r\n\r\nhello",
        b"HTTP/1.1 100 Continue\r\n\r\n" + ok(b"hello"),
        ok(b"hello", b"Connection: close"),
    ],
    ids=["length", "chunked", "HTTP/1.0", "until it closes", "100", "close"],
)
async def test_every_way_to_end_an_answer(answer: bytes) -> None:
    async with serving(answer, answer) as server:
        assert await ask(server) == (200, b"hello")
        assert await ask(server) == (200, b"hello")
    head, _, body = server.asked[0].partition(b"\r\n\r\n")
    assert head.startswith(b"POST /v1/x?y=z HTTP/1.1\r\nHost: 127.0.0.1:")
    assert b"Content-Type: application/json" in head
    assert body == b"{}"


async def test_an_answer_may_come_in_pieces() -> None:
    async def slowly(writer: asyncio.StreamWriter) -> None:
        for byte in ok(b"hello"):
            writer.write(bytes([byte]))
            await writer.drain()

    async with serving(slowly) as server:
        assert await ask(server) == (200, b"hello")


async def test_a_connection_is_used_again_and_several_are_opened_at_once() -> None:
    gate = asyncio.Event()

    async def held(writer: asyncio.StreamWriter) -> None:
        await gate.wait()
        writer.write(ok(b"late"))

    async with serving(ok(b"a"), ok(b"b"), held, ok(b"c")) as server:
        assert [await ask(server), await ask(server)] == [(200, b"a"), (200, b"b")]
        assert server.connections == 1
        waiting = asyncio.create_task(ask(server))
        await asyncio.sleep(0.05)
        assert await ask(server) == (200, b"c")
        gate.set()
        assert await waiting == (200, b"late")
        assert server.connections == 2


async def test_a_connection_that_the_server_closed_meanwhile_is_no_failure() -> None:
    async def answered_and_closed(writer: asyncio.StreamWriter) -> None:
        writer.write(ok(b"a"))
        await writer.drain()
        writer.close()

    async with serving(answered_and_closed, ok(b"b")) as server:
        assert await ask(server) == (200, b"a")
        assert await ask(server) == (200, b"b")
        await asyncio.sleep(0.05)


@pytest.mark.parametrize(
    ("answer", "kind"),
    [
        (b"SSH-2.0-OpenSSH_9.6\r\n", "bad_reply"),
        (b"HTTP/1.1 200 OK\r\nContent-Length: 50\r\nConnection: close\r\n\r\nshort", "connection"),
        (b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nConnection: close\r\n\r\n5\r\nhel", "connection"),
        (ok(b"x" * (MOST + 1)), "bad_reply"),
        (closes(b"HTTP/1.1 2"), "connection"),
        (closes(b"HTTP/1.1 200 OK\r\nContent-Ty"), "connection"),
        (closes(b"HTTP/1.1 100 Continue\r\n\r\n"), "connection"),
        (closes(b"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 2"), "connection"),
    ],
    ids=["no HTTP", "cut", "cut chunk", "too long", "cut status", "cut head", "only 100", "cut after 100"],
)
async def test_what_is_no_answer_is_a_failure(answer: bytes | Say, kind: str) -> None:
    async with serving(answer, ok(b"after")) as server:
        with pytest.raises(Failure) as caught:
            await ask(server)
        assert (caught.value.kind, caught.value.again) == (kind, True)
        assert await ask(server) == (200, b"after")  # on another connection
        assert server.connections == 2


async def test_time_runs_out_also_for_a_server_that_drips() -> None:
    async def drips(writer: asyncio.StreamWriter) -> None:
        writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\n")
        while not writer.is_closing():
            writer.write(b"x")
            await writer.drain()
            await asyncio.sleep(0.02)

    async with serving(drips, ok(b"after")) as server:
        began = asyncio.get_running_loop().time()
        with pytest.raises(Failure, match=r"no answer within 0\.2 s"):
            await ask(server, timeout=0.2)
        assert asyncio.get_running_loop().time() - began < 2
        assert await ask(server) == (200, b"after")


async def test_a_cancelled_request_leaves_no_answer_behind() -> None:
    async def late(writer: asyncio.StreamWriter) -> None:
        await asyncio.sleep(0.1)
        writer.write(ok(b"for the first"))

    async with serving(late, ok(b"for the second")) as server:
        first = asyncio.create_task(ask(server))
        await asyncio.sleep(0.05)
        first.cancel()
        with pytest.raises(asyncio.CancelledError):
            await first
        await asyncio.sleep(0.1)
        assert await ask(server) == (200, b"for the second")


async def test_a_header_cannot_smuggle_another() -> None:
    async with serving(ok(b"")) as server:
        with pytest.raises(Failure, match="line break"):
            await direct.send(server.url, {"Authorization": "Bearer x\r\nHost: other"}, (b"{}",), 1.0, MOST)
        assert server.asked == []


async def test_an_answer_that_breaks_off_on_a_kept_connection() -> None:
    async with serving(ok(b"a"), closes(b"HTTP/1.1")) as server:
        assert await ask(server) == (200, b"a")
        with pytest.raises(Failure, match="the connection was lost"):
            await ask(server)


@pytest.mark.parametrize("host", ["my..host", "a" * 64, "\ud800"])
async def test_a_host_that_can_have_no_name(host: str) -> None:
    with pytest.raises(Failure, match="host's name") as caught:
        await direct.send(f"http://{host}:8000/v1", {}, (b"{}",), 1.0, MOST)
    assert (caught.value.kind, caught.value.again) == ("connection", False)


async def test_an_answer_that_nobody_asked_for_is_never_the_next_one() -> None:
    async with serving(ok(b"a") + ok(b"smuggled")[:30], ok(b"b")) as server:
        assert await ask(server) == (200, b"a")
        assert await ask(server) == (200, b"b")
        assert server.connections == 2


@pytest.mark.parametrize("count", [1, 7, 200])
async def test_a_body_in_pieces_is_sent_whole(count: int) -> None:
    pieces = [b"%d " % number for number in range(count)]
    async with serving(ok(b"a")) as server:
        await direct.send(server.url, HEADERS, pieces, 5.0, MOST)
    assert server.asked[0].partition(b"\r\n\r\n")[2] == b"".join(pieces)


async def test_each_request_has_its_own_time() -> None:
    async def never(writer: asyncio.StreamWriter) -> None:
        await asyncio.sleep(3)

    async with serving(never, never, never) as server:
        loop = asyncio.get_running_loop()
        began, took = loop.time(), list[float]()

        async def timed(timeout: float, pause: float) -> None:
            await asyncio.sleep(pause)
            with pytest.raises(Failure, match=f"no answer within {timeout:g} s"):
                await ask(server, timeout=timeout)
            took.append(loop.time() - began)

        await asyncio.gather(timed(0.4, 0), timed(0.4, 0.4), timed(0.8, 0.4))
    for seconds, expected in zip(took, (0.4, 0.8, 1.2), strict=True):
        assert expected - 0.02 < seconds < expected + 0.35


async def test_many_different_timeouts_leave_no_timers_behind() -> None:
    answers = [ok(b"a") for _ in range(40)]
    async with serving(*answers) as server:
        for number in range(40):
            await ask(server, timeout=50.0 + number)
        pools = direct._pools[asyncio.get_running_loop()]
        (pool,) = pools.values()
        assert len(pool._watches) <= 8
