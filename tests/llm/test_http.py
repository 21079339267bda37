"""The HTTP client: TLS, proxies, loops, forks, and servers that mean no good."""

from __future__ import annotations

import asyncio
import os
import shutil
import socket
import ssl
import subprocess
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
from aiohttp import web

from simia_gym.errors import Fault, InputError
from simia_gym.llm.settings import Endpoint
from simia_gym.llm.transport import http

from ..model_server import Asked, ModelServer, serving
from .server import SECRET, model, request, says

OPENSSL = shutil.which("openssl")


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


@pytest.mark.parametrize("variable", ["SSL_CERT_FILE", "REQUESTS_CA_BUNDLE"])
async def test_tls_with_an_authority_of_our_own(
    authority: Path, monkeypatch: pytest.MonkeyPatch, variable: str
) -> None:
    monkeypatch.setenv(variable, str(authority))
    async with serving(says("Hello"), tls=tls_of(authority)) as server:
        assert (await model(server).complete(request())).text == "Hello"


async def test_certificates_are_checked(authority: Path) -> None:
    async with serving(says("Hello"), tls=tls_of(authority)) as server:
        with pytest.raises(Fault, match=r"certificate.*1 try") as caught:
            await model(server).complete(request())
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


@asynccontextmanager
async def tunnel() -> AsyncIterator[tuple[str, list[str]]]:
    """A proxy that knows CONNECT alone."""
    asked: list[str] = []
    open_ones: set[asyncio.Task[None] | None] = set()

    async def pump(source: asyncio.StreamReader, sink: asyncio.StreamWriter) -> None:
        while data := await source.read(1 << 16):
            sink.write(data)
            await sink.drain()
        sink.close()
        await sink.wait_closed()

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        head = (await reader.readuntil(b"\r\n\r\n")).decode()
        asked.append(head.split("\r\n", 1)[0])
        open_ones.add(asyncio.current_task())
        host, _, port = head.split()[1].rpartition(":")
        far_reader, far_writer = await asyncio.open_connection(host, int(port))
        writer.write(b"HTTP/1.1 200 OK\r\n\r\n")
        await asyncio.gather(pump(reader, far_writer), pump(far_reader, writer), return_exceptions=True)

    listening = await asyncio.start_server(serve, "127.0.0.1", 0)
    try:
        yield f"http://127.0.0.1:{listening.sockets[0].getsockname()[1]}", asked
    finally:
        await http.close_connections()
        await asyncio.gather(*filter(None, open_ones))
        listening.close()


async def test_a_proxy_for_tls(authority: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SSL_CERT_FILE", str(authority))
    async with tunnel() as (address, asked), serving(says("Hello"), tls=tls_of(authority)) as server:
        monkeypatch.setenv("HTTPS_PROXY", address)
        assert (await model(server).complete(request())).text == "Hello"
        assert asked == [f"CONNECT {server.url.split('/')[2]} HTTP/1.1"]


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
    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(answer)
        writer.close()

    listening = await asyncio.start_server(serve, "127.0.0.1", 0)
    monkeypatch.setenv("HTTPS_PROXY", f"http://127.0.0.1:{listening.sockets[0].getsockname()[1]}")
    with pytest.raises(Fault, match=f"{tries} (try|tries)") as caught:
        await model(Endpoint("https://model.invalid/v1", SECRET), retries=1).complete(request())
    assert caught.value.kind == "connection"
    listening.close()


async def test_redirects_are_not_followed(server: ModelServer) -> None:
    headers = {"Location": f"{server.url}/elsewhere"}
    server.answers = [lambda asked: web.Response(status=307, headers=headers)]
    with pytest.raises(Fault, match="redirects are not followed") as caught:
        await model(server).complete(request())
    assert (caught.value.kind, len(server.asked)) == ("bad_request", 1)


async def test_an_answer_without_end_is_cut(server: ModelServer) -> None:
    async def flood(asked: Asked) -> web.StreamResponse:
        response = web.StreamResponse()
        await response.prepare(asked.request)
        block = b" " * (1 << 20)
        for _ in range(14):
            await response.write(block)
        return response

    server.answers = [flood]
    with pytest.raises(Fault, match="longer than 10 MB") as caught:
        await model(server, retries=0).complete(request())
    assert caught.value.kind == "bad_reply"
    server.answers = [says("Hello")]
    assert (await model(server).complete(request())).text == "Hello"


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


FORKING = """
import asyncio, os, sys
from simia_gym.llm.endpoint_model import EndpointModel
from simia_gym.llm.accounts import accounts
from simia_gym.llm.transport.http import close_connections
from simia_gym.llm.prompt import Prompt
from simia_gym.llm.settings import Endpoint, ModelSettings
from simia_gym.llm.types import ChatRequest

async def ask():
    prompt = Prompt()
    prompt.add("user", "Hi")
    model = EndpointModel("user", ModelSettings(model="m", timeout=10), Endpoint(sys.argv[1]))
    text = (await model.complete(ChatRequest("user", prompt))).text
    await close_connections()
    return text

assert asyncio.run(ask()) == "Hello"
child = os.fork()
if child == 0:
    good = asyncio.run(ask()) == "Hello" and accounts().snapshot()["user"]["calls"] == 1
    os._exit(0 if good else 1)
assert os.waitpid(child, 0)[1] == 0
assert asyncio.run(ask()) == "Hello" and accounts().snapshot()["user"]["calls"] == 2
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="the platform does not fork")
async def test_a_forked_process_starts_afresh(server: ModelServer) -> None:
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-c", FORKING, server.url, stderr=asyncio.subprocess.PIPE
    )
    _, complaints = await asyncio.wait_for(process.communicate(), 60)
    assert process.returncode == 0, complaints.decode()
    assert len(server.bodies) == 3


async def test_no_address_shows_where_nobody_answers() -> None:
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    endpoint = Endpoint(f"http://127.0.0.1:{port}/hidden-place/v1?key=hidden-word", SECRET)
    with pytest.raises(Fault) as caught:
        await model(endpoint, retries=0).complete(request())
    assert caught.value.kind == "connection"
    assert "refused" in caught.value.message
    assert f"127.0.0.1:{port}" in caught.value.message
    assert "hidden" not in caught.value.message
