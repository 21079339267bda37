"""HTTP/1.1 connections to one server on the running event loop; `httptools` parses the responses.

Handing a request to another thread and back costs more CPU time than sending it, so everything runs on the event loop
that awaits the response. ``docs/performance.md`` compares this client with others.
"""

from __future__ import annotations

import asyncio
import os
import ssl
from collections import deque
from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple, cast

import httptools

from simia_gym.llm.transport.failures import Failure

MAX_REPLY = 10_000_000
"""Bytes of a response at most, as they come: a body in many small chunks is longer than its content."""
_MAX_HEAD = 100_000
_CONNECT = 10.0
_KEPT_HEADERS = (b"retry-after", b"retry-after-ms", b"location", b"content-length", b"transfer-encoding")


class Answer(NamedTuple):
    """A server's response: HTTP status, whole body, and the headers in `_KEPT_HEADERS` by their lower-case names."""

    status: int
    body: bytes
    headers: Mapping[str, str]


class Connection(asyncio.Protocol):
    """One keep-alive connection; it carries one request at a time.

    Attributes:
        alive: Whether it can carry another request.
        used: Whether it has completed a request.
        silent_end: Whether the server closed it before the first byte of a response.
    """

    def __init__(self) -> None:
        self._transport: asyncio.Transport | None = None
        self._done: asyncio.Future[Answer] | None = None
        self._parser = httptools.HttpResponseParser(self)
        self.alive = self.used = self.silent_end = False
        self._size = 0
        self._start()

    def _start(self) -> None:
        self._body = bytearray()
        self._headers: dict[str, str] = {}
        self._head = 0
        self._in_body = False

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """The connection is open."""
        self._transport, self.alive = cast("asyncio.Transport", transport), True

    def connection_lost(self, exc: Exception | None) -> None:
        """The connection has ended: this completes a response without a declared length; any other response is lost."""
        self.alive = False
        if self._done is None or self._done.done():
            return
        if exc is None and self._in_body and not {"content-length", "transfer-encoding"} & self._headers.keys():
            self.on_message_complete()
            return
        self.silent_end = exc is None and self._size == 0
        self._fail(Failure("connection", f"the connection was lost: {exc or 'closed by the server'}", again=True))

    def ask(self, pieces: Iterable[bytes]) -> asyncio.Future[Answer]:
        """Send a request, given as the bytes of its head and body.

        Returns:
            A future of the response. It fails with a `Failure`: ``connection``, ``timeout``, or ``bad_reply`` if the
            response is not HTTP or is too long.
        """
        assert self._transport is not None
        self._start()
        self._size = 0
        done = self._done = asyncio.get_running_loop().create_future()
        self._transport.writelines(pieces)
        return done

    def expire(self, timeout: float) -> None:
        """Fail the request: its timeout has passed."""
        self._fail(Failure("timeout", f"no answer within {timeout:g} s", again=True))

    def close(self) -> None:
        """Close the connection."""
        self.alive = False
        if self._transport is not None:
            self._transport.close()

    # Callbacks of the asyncio transport and of the HTTP parser.

    def data_received(self, data: bytes) -> None:
        """Parse received bytes; close the connection if no request is in flight."""
        if self._done is None:
            self.close()
            return
        self._size += len(data)
        if self._size > MAX_REPLY:
            self._fail(Failure("bad_reply", f"the answer is longer than {MAX_REPLY // 1_000_000} MB", again=True))
            return
        if not self._in_body:
            self._head += len(data)
        try:
            self._parser.feed_data(data)
        except httptools.HttpParserUpgrade:  # status 101
            self._fail(Failure("bad_reply", "the answer changes to another protocol", again=True))
        except httptools.HttpParserError as error:
            self._fail(Failure("bad_reply", f"the answer cannot be read: {error}", again=True))
        if self._head > _MAX_HEAD and not self._in_body:
            self._fail(Failure("bad_reply", "the answer cannot be read: its headers have no end", again=True))

    def on_message_begin(self) -> None:
        """A response begins; without a request in flight, close, so that it is not taken for the next response."""
        if self._done is None:
            self.close()

    def on_header(self, name: bytes, value: bytes) -> None:
        """Store the headers in `_KEPT_HEADERS`."""
        if self._in_body:  # after a body in chunks
            return
        key = name.lower()
        if key in _KEPT_HEADERS:
            self._headers[key.decode("ascii")] = value.decode("latin-1")

    def on_headers_complete(self) -> None:
        """The headers are complete; the body follows."""
        self._in_body = True

    def on_body(self, body: bytes) -> None:
        """Store a piece of the body."""
        self._body += body

    def on_message_complete(self) -> None:
        """The response is complete."""
        parser, done = self._parser, self._done
        if done is None or done.done():
            return
        status = parser.get_status_code()
        if status < 200:  # an interim response such as "100 Continue"; the parser continues with the final one
            self._start()
            return
        if not parser.should_keep_alive():
            self.close()
        self._done, self.used = None, True
        done.set_result(Answer(status, bytes(self._body), self._headers))
        self._start()  # an idle connection keeps no body

    def _fail(self, failure: Failure) -> None:
        if self._done is not None and not self._done.done():
            self._done.set_exception(failure)
        self.close()


class Pool:
    """The connections to one server on one event loop.

    Args:
        host: The server's host.
        port: Its port.
        tls: Certificates to trust; ``None`` for plain HTTP.
        proxy: Host and port of the proxy; ``None`` for a direct connection.
        proxy_headers: Header lines for the proxy, such as its password, each with its line end.
    """

    def __init__(
        self, host: str, port: int, tls: ssl.SSLContext | None, proxy: tuple[str, int] | None, proxy_headers: bytes
    ) -> None:
        self.host, self.port, self.tls, self.proxy, self.proxy_headers = host, port, tls, proxy, proxy_headers
        self._idle: deque[Connection] = deque()

    async def ask(self, pieces: Sequence[bytes], timeout: float) -> Answer:
        """Send a request on an idle connection, or on a new one.

        Args:
            pieces: The bytes of its head and body.
            timeout: Seconds for connecting, sending and reading together.

        Raises:
            Failure: ``timeout``, ``connection`` or ``bad_reply``.
        """
        loop = asyncio.get_running_loop()
        end = loop.time() + timeout
        while True:
            connection = self._free() or await self._open(timeout, end)
            reused = connection.used
            answer = connection.ask(pieces)
            timer = loop.call_at(end, connection.expire, timeout)
            try:
                answered = await answer
            except Failure:
                # The server may have closed the idle connection just before it was used again.
                if reused and connection.silent_end:
                    continue
                raise
            except BaseException:
                connection.close()
                raise
            finally:
                timer.cancel()
            if connection.alive:
                self._idle.append(connection)
            return answered

    def close(self) -> None:
        """Close all idle connections."""
        while self._idle:
            self._idle.pop().close()

    def _free(self) -> Connection | None:
        while self._idle:
            connection = self._idle.pop()
            if connection.alive:
                return connection
        return None

    async def _open(self, timeout: float, end: float) -> Connection:
        left = end - asyncio.get_running_loop().time()
        try:
            async with asyncio.timeout(min(left, _CONNECT)):
                return await self._connect()
        except TimeoutError:
            if left < _CONNECT:
                raise Failure("timeout", f"no answer within {timeout:g} s", again=True) from None
            raise Failure("connection", f"no connection within {_CONNECT:g} s", again=True) from None
        except ssl.SSLCertVerificationError as error:  # no retry: an untrusted certificate stays untrusted
            raise Failure("connection", f"the certificate is not trusted: {error.verify_message}") from None
        except ssl.SSLError as error:
            raise Failure("connection", f"TLS failed: {error.reason or error}", again=True) from None
        except OSError as error:
            words = os.strerror(error.errno) if error.errno and error.errno > 0 else error.strerror or str(error)
            raise Failure("connection", f"no connection: {words}", again=True) from None

    async def _connect(self) -> Connection:
        loop = asyncio.get_running_loop()
        if self.proxy is None:
            name = None if self.tls is None else self.host
            _, connection = await loop.create_connection(
                Connection, self.host, self.port, ssl=self.tls, server_hostname=name
            )
            return connection
        if self.tls is None:
            return (await loop.create_connection(Connection, *self.proxy))[1]
        return await self._tunnel(self.proxy, self.tls)

    async def _tunnel(self, proxy: tuple[str, int], tls: ssl.SSLContext) -> Connection:
        """Open a tunnel through the proxy with CONNECT, then start TLS with the server."""
        loop = asyncio.get_running_loop()
        reader = asyncio.StreamReader(_MAX_HEAD, loop)
        transport, _ = await loop.create_connection(lambda: asyncio.StreamReaderProtocol(reader, loop=loop), *proxy)
        try:
            place = f"{bracketed(self.host)}:{self.port}".encode()
            transport.write(b"CONNECT %b HTTP/1.1\r\nHost: %b\r\n%b\r\n" % (place, place, self.proxy_headers))
            try:
                head = await reader.readuntil(b"\r\n\r\n")
            except (asyncio.IncompleteReadError, asyncio.LimitOverrunError, ConnectionError):
                raise Failure("connection", "the proxy closed the connection", again=True) from None
            line = head.split(b"\r\n", 1)[0].decode("latin-1")[:100]
            status = line.split()[1:2]
            if status != ["200"]:
                again = status != ["407"]  # no retry after a wrong proxy password
                raise Failure("connection", f"the proxy opens no connection: {line}", again=again)
            connection = Connection()
            secure = await loop.start_tls(transport, connection, tls, server_hostname=self.host)
        except BaseException:
            transport.close()
            raise
        if secure is None:
            raise Failure("connection", "the proxy closed the connection", again=True)
        connection.connection_made(secure)
        return connection


def bracketed(host: str) -> str:
    """A host as written in a URL: IPv6 addresses in brackets."""
    return f"[{host}]" if ":" in host else host
