"""Plain HTTP without a detour: requests written to sockets of the running loop, answers read by `httptools`.

Model servers inside a cluster speak plain HTTP, and there the client is a large part of what a turn costs: handing each
request to another thread and back takes more than sending it. So addresses with ``http://`` that need no proxy are
asked from the loop itself; TLS, proxies and everything else are pyreqwest's.
"""

from __future__ import annotations

import asyncio
import os
from collections import deque
from collections.abc import Coroutine, Iterable, Mapping, Sequence
from typing import Any, NamedTuple, cast
from urllib.parse import urlsplit
from weakref import WeakKeyDictionary

import httptools

from simia_gym.llm.transport.failures import Failure

_CONNECT = 10.0
_MOST_PIECES = 64
"""From how many on it is faster to put them together than to hand each to the system."""
_MOST_WATCHES = 8
_KEPT_HEADERS = (b"retry-after", b"retry-after-ms", b"location", b"content-length", b"transfer-encoding")


class Answer(NamedTuple):
    """What a server answered.

    Attributes:
        status: The HTTP status.
        body: The whole body.
        headers: Those that say when to try again and where to go; lower-case names.
    """

    status: int
    body: bytes
    headers: Mapping[str, str]


class Connection(asyncio.Protocol):
    """One connection that is kept open; one request at a time."""

    __slots__ = (
        "_begun",
        "_chunks",
        "_done",
        "_headers",
        "_most",
        "_parser",
        "_size",
        "_transport",
        "alive",
        "heard",
        "quiet",
        "used",
    )

    def __init__(self, most: int) -> None:
        self._most = most
        self._transport: asyncio.Transport | None = None
        self._done: asyncio.Future[Answer] | None = None
        self._parser = httptools.HttpResponseParser(self)
        self._chunks: list[bytes] = []
        self._headers: dict[str, str] = {}
        self._size = 0
        self._begun = False
        self.alive = self.used = self.heard = self.quiet = False

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """The connection stands."""
        self._transport, self.alive = cast("asyncio.Transport", transport), True

    def connection_lost(self, exc: Exception | None) -> None:
        """It is gone; an answer that ends with the connection is complete, any other is lost."""
        self.alive, self.quiet = False, exc is None
        if self._done is None or self._done.done():
            return
        if exc is None and self._begun and self._ends_with_connection:
            self.on_message_complete()
            return
        self._fail(Failure("connection", f"the connection was lost: {exc or 'closed by the server'}", again=True))

    def ask(self, pieces: Iterable[bytes]) -> asyncio.Future[Answer]:
        """Send a request.

        Args:
            pieces: All of it, head and body. They are handed to the system as they are: the body is long, and most of
                it stands in other requests, too.

        Returns:
            Its answer, or a `Failure`: ``connection``, ``timeout``, or ``bad_reply`` where the answer is no HTTP or too
            long.
        """
        transport = self._transport
        assert transport is not None
        self._chunks, self._headers, self._size, self._begun, self.heard = [], {}, 0, False, False
        done = self._done = asyncio.get_running_loop().create_future()
        transport.writelines(pieces)
        return done

    def late(self, timeout: float) -> None:
        """The time for the answer is over."""
        self._fail(Failure("timeout", f"no answer within {timeout:g} s", again=True))

    def close(self) -> None:
        """Close it."""
        self.alive = False
        if self._transport is not None:
            self._transport.close()

    # What the parser reports.

    def data_received(self, data: bytes) -> None:
        """Bytes of an answer; without a question they are nothing that can be understood."""
        if self._done is None:
            self.close()
            return
        self.heard = True
        try:
            self._parser.feed_data(data)
        except httptools.HttpParserError as error:
            self._fail(Failure("bad_reply", f"the answer is no HTTP: {error}", again=True))

    def on_message_begin(self) -> None:
        """An answer begins; one that nobody asked for must not become the answer to the next question."""
        if self._done is None:
            self.close()

    def on_header(self, name: bytes, value: bytes) -> None:
        """A header."""
        key = name.lower()
        if key in _KEPT_HEADERS:
            self._headers[key.decode("ascii")] = value.decode("latin-1")

    def on_headers_complete(self) -> None:
        """The head is there: what follows is the body."""
        self._begun = True

    def on_body(self, body: bytes) -> None:
        """A piece of the body."""
        self._size += len(body)
        if self._size > self._most:
            self._fail(Failure("bad_reply", f"the answer is longer than {self._most // 1_000_000} MB", again=True))
            return
        self._chunks.append(body)

    def on_message_complete(self) -> None:
        """The whole answer is there."""
        parser, done = self._parser, self._done
        if done is None or done.done():
            return
        status = parser.get_status_code()
        if status < 200:  # "100 Continue" comes before the answer, and the parser goes on by itself
            self._chunks, self._headers, self._size, self._begun = [], {}, 0, False
            return
        if not parser.should_keep_alive():
            self.close()
        chunks, self._done, self.used = self._chunks, None, True
        done.set_result(Answer(status, chunks[0] if len(chunks) == 1 else b"".join(chunks), self._headers))

    @property
    def _ends_with_connection(self) -> bool:
        return "content-length" not in self._headers and "transfer-encoding" not in self._headers

    def _fail(self, failure: Failure) -> None:
        if self._done is not None and not self._done.done():
            self._done.set_exception(failure)
        self.close()


class Pool:
    """The connections to one server on one loop.

    Args:
        host: The server.
        port: Its port.
        most: Longest answer in bytes.
    """

    def __init__(self, host: str, port: int, most: int) -> None:
        self._host, self._port, self._most = host, port, most
        self._idle: deque[Connection] = deque()
        self._watches: dict[float, _Watch] = {}

    async def ask(self, pieces: Iterable[bytes], timeout: float) -> Answer:
        """Send a request on a free connection, or on a new one.

        Args:
            pieces: Head and body of the request.
            timeout: Seconds for everything.

        Raises:
            Failure: ``timeout``, ``connection`` or ``bad_reply``.
        """
        loop = asyncio.get_running_loop()
        watch = self._watches.get(timeout) or self._new_watch(loop, timeout)
        end = loop.time() + timeout
        while True:
            connection = self._free() or await self._open(timeout, end)
            reused = connection.used
            answer = connection.ask(pieces)
            watch.begin(connection, end)
            try:
                answered = await answer
            except Failure:
                # A server may close a connection that was idle in the very moment in which it is used again.
                if reused and connection.quiet and not connection.heard:
                    continue
                raise
            except BaseException:
                connection.close()
                raise
            finally:
                watch.end(connection)
            if connection.alive:
                self._idle.append(connection)
            return answered

    def close(self) -> None:
        """Close all connections that are idle."""
        while self._idle:
            self._idle.pop().close()
        for watch in self._watches.values():
            watch.close()
        self._watches.clear()

    def _new_watch(self, loop: asyncio.AbstractEventLoop, timeout: float) -> _Watch:
        if len(self._watches) >= _MOST_WATCHES:
            for watch in self._watches.values():
                watch.close()
            self._watches.clear()
        made = self._watches[timeout] = _Watch(loop, timeout)
        return made

    def _free(self) -> Connection | None:
        while self._idle:
            connection = self._idle.pop()
            if connection.alive:
                return connection
        return None

    async def _open(self, timeout: float, end: float) -> Connection:
        loop = asyncio.get_running_loop()
        left = end - loop.time()
        try:
            async with asyncio.timeout(min(left, _CONNECT)):
                _, connection = await loop.create_connection(lambda: Connection(self._most), self._host, self._port)
        except TimeoutError:
            if left < _CONNECT:
                raise Failure("timeout", f"no answer within {timeout:g} s", again=True) from None
            raise Failure("connection", f"no connection within {_CONNECT:g} s", again=True) from None
        except OSError as error:
            words = os.strerror(error.errno) if error.errno and error.errno > 0 else error.strerror or str(error)
            raise Failure("connection", f"ConnectError: {words}", again=True) from None
        except UnicodeError:
            words = "the host's name is none: a part of it is empty, too long, or has characters that no name has"
            raise Failure("connection", f"ConnectError: {words}") from None
        return connection


class _Watch:
    """Looks after the time of many requests with one timer: nearly all are answered long before theirs is over.

    Args:
        loop: Where they run.
        timeout: Seconds that each may take.
    """

    __slots__ = ("_closed", "_due", "_loop", "_timeout", "_timer", "_waiting")

    def __init__(self, loop: asyncio.AbstractEventLoop, timeout: float) -> None:
        self._loop, self._timeout, self._closed = loop, timeout, False
        self._waiting: dict[Connection, float] = {}
        self._timer: asyncio.TimerHandle | None = None
        self._due = 0.0

    def begin(self, connection: Connection, end: float) -> None:
        """A request begins, whose time is over at ``end``."""
        self._waiting[connection] = end
        if self._timer is None or end < self._due:  # sooner: its connection took its time to open
            self._set(end)

    def end(self, connection: Connection) -> None:
        """The request was answered, or given up."""
        del self._waiting[connection]
        if self._closed:
            self.close()

    def close(self) -> None:
        """Let go of the timer as soon as nobody waits any more."""
        self._closed = True
        if self._timer is not None and not self._waiting:
            self._timer.cancel()
            self._timer = None

    def _set(self, due: float) -> None:
        if self._timer is not None:
            self._timer.cancel()
        self._due, self._timer = due, self._loop.call_at(due, self._ring)

    def _ring(self) -> None:
        self._timer, now = None, self._loop.time()
        for connection, end in self._waiting.items():
            if end <= now:
                connection.late(self._timeout)
        left = [end for end in self._waiting.values() if end > now]
        if left:
            self._set(min(left))


_pools: WeakKeyDictionary[asyncio.AbstractEventLoop, dict[tuple[str, int], Pool]] = WeakKeyDictionary()
_heads: dict[tuple[str, int, bool], tuple[Mapping[str, str], bytes, tuple[str, int]]] = {}


def send(
    url: str, headers: Mapping[str, str], body: Sequence[bytes] | None, timeout: float, most: int
) -> Coroutine[Any, Any, Answer]:
    """Send one request over plain HTTP and read the whole answer.

    Args:
        url: Where to; ``http://``.
        headers: All headers that are not the protocol's own.
        body: What to post, in pieces; ``None`` for a GET.
        timeout: Seconds for everything.
        most: Longest answer in bytes.

    Returns:
        The answer, to be awaited.

    Raises:
        Failure: ``timeout``, ``connection`` or ``bad_reply``.
    """
    start, place = _head(url, headers, post=body is not None)
    loop = asyncio.get_running_loop()
    pools = _pools.get(loop)
    if pools is None:
        pools = _pools[loop] = {}
    pool = pools.get(place)
    if pool is None:
        pool = pools[place] = Pool(*place, most)
    if body is None:
        return pool.ask((start + b"\r\n",), timeout)
    if len(body) > _MOST_PIECES:
        body = (b"".join(body),)
    return pool.ask((b"%bContent-Length: %d\r\n\r\n" % (start, sum(map(len, body))), *body), timeout)


def close_connections() -> None:
    """Close the idle connections of the running loop."""
    for pool in _pools.pop(asyncio.get_running_loop(), {}).values():
        pool.close()


def after_fork() -> None:
    """A new process has connections of its own; the inherited ones are the parent's."""
    _pools.clear()


def _head(url: str, headers: Mapping[str, str], *, post: bool) -> tuple[bytes, tuple[str, int]]:
    """The head of a request but for its length, written once for each address and set of headers."""
    key = (url, id(headers), post)
    known = _heads.get(key)
    if known is not None and known[0] is headers:
        return known[1], known[2]
    parts = urlsplit(url)
    host, port = parts.hostname or "", parts.port or 80
    shown = f"[{host}]" if ":" in host else host
    place = f"{shown}:{port}" if parts.port else shown
    target = f"{parts.path or '/'}{'?' + parts.query if parts.query else ''}"
    lines = [f"{'POST' if post else 'GET'} {target} HTTP/1.1", f"Host: {place}"]
    lines += [f"{name}: {value}" for name, value in headers.items()]
    if not any(name.lower() == "user-agent" for name in headers):
        lines.append("User-Agent: simia-gym")
    if any("\r" in line or "\n" in line for line in lines):
        raise Failure("bad_request", "the request cannot be made: a header holds a line break")
    head = "".join(f"{line}\r\n" for line in lines).encode("latin-1", errors="replace")
    if len(_heads) >= 1024:
        _heads.clear()
    _heads[key] = headers, head, (host, port)
    return head, (host, port)
