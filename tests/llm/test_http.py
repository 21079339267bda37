"""The HTTP client: TLS, proxies, loops, forks, and servers that mean no good."""

from __future__ import annotations

import asyncio
import os
import shutil
import socket
import ssl
import subprocess
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from simia_gym.errors import Fault, InputError
from simia_gym.llm.accounts import Accounts
from simia_gym.llm.budget import Budget
from simia_gym.llm.settings import Endpoint
from simia_gym.llm.transport import http
from simia_gym.llm.transport.failures import Failure
from simia_gym.llm.transport.limits import limit_of

from ..model_server import ModelServer, serving
from ..work import forked
from .server import SECRET, model, raw, request, says

OPENSSL = shutil.which("openssl")
HEADERS = {"Content-Type": "application/json"}
Say = Callable[[asyncio.StreamWriter], Awaitable[None]]


@pytest.fixture(autouse=True)
def _no_proxies(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in list(os.environ):
        if name.upper().endswith("_PROXY") or name in ("SSL_CERT_FILE", "REQUESTS_CA_BUNDLE"):
            monkeypatch.delenv(name)


@pytest.fixture(scope="module")
def authority(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A file with a certificate that signed itself, and its key."""
    if OPENSSL is None:
        pytest.skip("there is no openssl program")
    folder = tmp_path_factory.mktemp("tls")
    words = "req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -keyout key.pem -out ca.pem -days 2"
    names = ["-subj", "/CN=localhost", "-addext", "subjectAltName=IP:127.0.0.1,DNS:localhost"]
    usage = ["-addext", "keyUsage=critical,keyCertSign,digitalSignature"]  # required from Python 3.13 on
    subprocess.run([OPENSSL, *words.split(), *names, *usage], cwd=folder, check=True, capture_output=True)
    return folder / "ca.pem"


def tls_of(authority: Path) -> ssl.SSLContext:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(authority, authority.with_name("key.pem"))
    return context


class RawServer:
    """Answers each request with the next of its answers; keeps the requests."""

    def __init__(self, answers: Sequence[bytes | Say]) -> None:
        self.answers, self.asked, self.connections = list(answers), list[bytes](), 0
        self.root = ""

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
async def writing(*answers: bytes | Say, tls: ssl.SSLContext | None = None) -> AsyncIterator[RawServer]:
    """A server that writes exactly these bytes."""
    told = RawServer(answers)
    server = await asyncio.start_server(told.serve, "127.0.0.1", 0, ssl=tls)
    told.root = f"{'https' if tls else 'http'}://127.0.0.1:{server.sockets[0].getsockname()[1]}"
    try:
        yield told
    finally:
        await http.close_connections()
        server.close()


async def ask(server: RawServer, timeout: float = 5.0) -> tuple[int, bytes]:
    status, said, _ = await http.send(http.Target(f"{server.root}/v1/x?y=z", HEADERS), [b"{", b"}"], timeout)
    return status, said


def ok(body: bytes, *headers: bytes) -> bytes:
    return b"\r\n".join([b"HTTP/1.1 200 OK", b"Content-Length: %d" % len(body), *headers, b"", b""]) + body


CHAT = ok(b'{"choices": [{"message": {"content": "Hello"}}]}')


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


@pytest.mark.parametrize("variable", ["SSL_CERT_FILE", "REQUESTS_CA_BUNDLE"])
async def test_tls_with_an_authority_of_our_own(
    authority: Path, monkeypatch: pytest.MonkeyPatch, variable: str
) -> None:
    monkeypatch.setenv(variable, str(authority))
    async with writing(CHAT, tls=tls_of(authority)) as server:
        assert (await model(Endpoint(f"{server.root}/v1", SECRET)).complete(request())).text == "Hello"


async def test_certificates_are_checked(authority: Path) -> None:
    async with writing(CHAT, tls=tls_of(authority)) as server:
        with pytest.raises(Fault, match=r"certificate.*1 try") as caught:
            await model(Endpoint(f"{server.root}/v1", SECRET)).complete(request())
        assert (caught.value.kind, server.asked) == ("connection", [])


@pytest.mark.parametrize("variable", ["SSL_CERT_FILE", "REQUESTS_CA_BUNDLE"])
@pytest.mark.parametrize("words", [None, "AAAA", "####"])
async def test_an_authority_that_is_none(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, variable: str, words: str | None
) -> None:
    bundle = tmp_path / "ca.pem"
    if words is not None:
        bundle.write_text(f"-----BEGIN CERTIFICATE-----\n{words}\n-----END CERTIFICATE-----\n")
    monkeypatch.setenv(variable, str(bundle))
    with pytest.raises(InputError, match=rf"{variable}: .*ca\.pem' .*cannot be read"):
        await model(Endpoint("https://127.0.0.1:9/v1", SECRET)).complete(request())


@pytest.mark.parametrize(
    ("address", "key"),
    [
        ("https://127.0.0.1:9/v1", f"{SECRET}\r\nHost: other"),
        ("https://127.0.0.1:9/v1", f"{SECRET}\ud800"),
        ("https://exa mple/v1", SECRET),
        ("https://exa\ud800mple/v1", SECRET),
        ("http://127.0.0.1:9/v1", f"{SECRET}\n"),
    ],
)
async def test_what_cannot_be_sent_is_a_fault_without_the_key(address: str, key: str) -> None:
    with pytest.raises(Fault, match="the request cannot be made") as caught:
        await model(Endpoint(address, key)).complete(request())
    assert caught.value.kind == "bad_request"
    assert SECRET not in f"{caught.value} {caught.value.__cause__!r} {caught.value.__context__!r}"


async def test_a_proxy_for_plain_http(server: ModelServer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HTTP_PROXY", server.root.replace("://", "://me:p%40ss@"))
    await model(Endpoint("http://model.invalid/v1", SECRET)).complete(request())
    headers = server.asked[0].request.headers
    assert (headers["Host"], headers["Proxy-Authorization"]) == ("model.invalid", "Basic bWU6cEBzcw==")


async def test_a_proxy_of_another_kind_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HTTPS_PROXY", "socks5://127.0.0.1:9")
    with pytest.raises(InputError, match="HTTPS_PROXY"):
        await model(Endpoint("https://model.invalid/v1", SECRET)).complete(request())


async def test_addresses_that_need_no_proxy(server: ModelServer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HTTP_PROXY", "http://127.0.0.1:9")
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    assert (await model(server).complete(request())).text == "Hello"


async def test_a_proxy_for_tls(authority: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async def tunnel(writer: asyncio.StreamWriter) -> None:
        writer.write(b"HTTP/1.1 200 OK\r\n\r\n")
        await writer.start_tls(tls_of(authority))

    monkeypatch.setenv("SSL_CERT_FILE", str(authority))
    async with writing(tunnel, CHAT) as proxy:
        monkeypatch.setenv("HTTPS_PROXY", proxy.root)
        assert (await model(Endpoint("https://localhost/v1", SECRET)).complete(request())).text == "Hello"
    connect, asked = proxy.asked
    assert connect.startswith(b"CONNECT localhost:443 HTTP/1.1\r\n")
    assert SECRET.encode() not in connect
    assert asked.startswith(b"POST /v1/chat/completions HTTP/1.1\r\n")


@pytest.mark.parametrize(
    ("answer", "tries"),
    [
        (b"HTTP/1.1 407 Who are you?\r\n\r\n", 1),
        (b"HTTP/1.1 503 Busy\r\n\r\n", 2),
        (b"", 2),
        (b"SSH-2.0\r\n\r\n", 2),
    ],
)
async def test_a_proxy_that_opens_no_tunnel(monkeypatch: pytest.MonkeyPatch, answer: bytes, tries: int) -> None:
    async with writing(*[closes(answer)] * tries) as proxy:
        monkeypatch.setenv("HTTPS_PROXY", proxy.root)
        with pytest.raises(Fault, match=f"{tries} (try|tries)") as caught:
            await model(Endpoint("https://model.invalid/v1", SECRET), retries=1).complete(request())
    assert caught.value.kind == "connection"


async def test_an_answer_without_end_is_cut(server: ModelServer) -> None:
    server.answers = [raw(b" " * 14_000_000), says("Hello")]
    one = model(server, retries=0)
    with pytest.raises(Fault, match="longer than 10 MB") as caught:
        await one.complete(request())
    assert caught.value.kind == "bad_reply"
    assert (await one.complete(request())).text == "Hello"


async def test_long_prompts_arrive_whole(server: ModelServer) -> None:
    words = "é" * 2_000_000
    await model(server).complete(request(words=words))
    assert server.bodies[0]["messages"][1]["content"] == words


@pytest.mark.parametrize("tidy", [True, False])
def test_each_loop_has_its_own_connections(tidy: bool) -> None:
    async def ask() -> str:
        async with serving(says("Hello")) as server:
            return (await model(server).complete(request())).text

    async def leave() -> str:
        with pytest.raises(Fault):
            await model(Endpoint("http://127.0.0.1:9/v1"), retries=0).complete(request())
        return "Hello"

    assert [asyncio.run(ask() if tidy else leave()) for _ in range(2)] == ["Hello", "Hello"]


@pytest.mark.skipif(not hasattr(os, "fork"), reason="the platform does not fork")
@pytest.mark.filterwarnings("ignore:.*multi-threaded:DeprecationWarning")
async def test_a_forked_process_starts_afresh(server: ModelServer) -> None:
    counted, budget = Accounts(), Budget(max_tokens=1000)
    one = model(server, accounts=counted, budget=budget)
    await one.complete(request())
    limit = limit_of(server.url, "m")
    await limit.acquire()
    held = budget.reserve("judge", 1000 - budget.snapshot()["tokens"], 0.0)
    waiting = asyncio.ensure_future(one.complete(request()))
    await asyncio.sleep(0.05)

    def afresh() -> bool:
        free = limit.in_flight == 0
        reply = asyncio.run(asyncio.wait_for(one.complete(request()), 20))
        return (free, reply.text, counted.snapshot()["simulator"]["calls"]) == (True, "Hello", 1)

    assert await forked(afresh)
    assert limit.in_flight == 2  # ours and that of the request that waits
    budget.settle(held, 0, 0.0)
    await waiting
    assert counted.snapshot()["simulator"]["calls"] == 2
    assert len(server.bodies) == 3


async def test_no_address_shows_where_nobody_answers() -> None:
    endpoint = Endpoint("http://127.0.0.1:9/hidden-place/v1?key=hidden-word", SECRET)
    with pytest.raises(Fault) as caught:
        await model(endpoint, retries=0).complete(request())
    assert caught.value.kind == "connection"
    assert "refused" in caught.value.message
    assert "127.0.0.1:9" in caught.value.message
    assert "hidden" not in caught.value.message


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
    async with writing(answer, answer) as server:
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

    async with writing(ok(b"a"), ok(b"b"), held, ok(b"c")) as server:
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
        (closes(b"HTTP/1.1 200 OK\r\nX: " + b"a" * 3_000_000 + b"\r\n\r\n"), "bad_reply"),
        (b"HTTP/1.1 200 OK\r\nContent-Length: 50\r\nConnection: close\r\n\r\nshort", "connection"),
        (b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nConnection: close\r\n\r\n5\r\nhel", "connection"),
        (closes(b""), "connection"),
        (closes(b"HTTP/1.1 100 Continue\r\n\r\n"), "connection"),
        (closes(b"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 2"), "connection"),
    ],
)
async def test_what_is_no_answer_is_a_failure_that_may_pass(answer: bytes | Say, kind: str) -> None:
    async with writing(answer, ok(b"after")) as server:
        with pytest.raises(Failure) as caught:
            await ask(server)
        assert (caught.value.kind, caught.value.again) == (kind, True)
        assert await ask(server) == (200, b"after")  # on another connection
        assert server.connections == 2


async def test_a_cancelled_request_leaves_no_answer_behind() -> None:
    async def late(writer: asyncio.StreamWriter) -> None:
        await asyncio.sleep(0.1)
        writer.write(ok(b"for the first"))

    async with writing(late, ok(b"for the second")) as server:
        first = asyncio.create_task(ask(server))
        while not server.asked:
            await asyncio.sleep(0.01)
        first.cancel()
        with pytest.raises(asyncio.CancelledError):
            await first
        await asyncio.sleep(0.1)
        assert await ask(server) == (200, b"for the second")


async def test_an_answer_that_nobody_asked_for_is_never_the_next_one() -> None:
    async with writing(ok(b"a") + ok(b"smuggled"), ok(b"b")) as server:
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
