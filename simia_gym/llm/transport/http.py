"""The HTTP client that all requests to models share: one connection pool per event loop.

The client is pyreqwest (``docs/performance.md`` compares it with others). It takes proxies from the usual variables
(``HTTP_PROXY``, ``HTTPS_PROXY``, ``NO_PROXY``, ...) and trusts further certificate authorities from ``SSL_CERT_FILE``
and ``REQUESTS_CA_BUNDLE``. Its threads do not survive a fork: a process that was forked after the first request sends
through the OpenAI SDK instead (`usable`).
"""

from __future__ import annotations

import asyncio
import atexit
import os
import re
import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import suppress
from datetime import timedelta
from pathlib import Path
from typing import NamedTuple
from weakref import WeakKeyDictionary

from pyreqwest.client import Client, ClientBuilder
from pyreqwest.exceptions import BuilderError, ConnectError, DecodeError, PyreqwestError, RequestTimeoutError
from pyreqwest.request import StreamRequest
from pyreqwest.response import Response

from simia_gym.errors import InputError
from simia_gym.llm.transport.failures import Failure

MAX_REPLY = 10_000_000
_KEPT = ("retry-after", "retry-after-ms", "location")
_CA_VARIABLES = ("SSL_CERT_FILE", "REQUESTS_CA_BUNDLE")
_MANY_FILES = 16_384
_END = b"-----END CERTIFICATE-----"
_FIX = "Name a PEM file, or unset the variable."
_CONNECT = 10.0
_LAST_WAIT = 0.1
_ADDRESS = re.compile(r" for url \(\S*\)")
_CONNECTING = "(Connect)"
_CUT = "end of file before message length"
_UNTRUSTED = re.compile("certificate|UnknownIssuer", re.IGNORECASE)
"""A certificate that is not trusted will not be trusted a second later, so the request is not sent again."""

_clients: WeakKeyDictionary[asyncio.AbstractEventLoop, Client] = WeakKeyDictionary()
_others: list[Callable[[], Awaitable[None]]] = []
_started = _forked = False


class Answer(NamedTuple):
    """The answer of a server.

    Attributes:
        status: HTTP status.
        body: The whole body.
        headers: ``retry-after``, ``retry-after-ms`` and ``location``, as far as they came.
    """

    status: int
    body: bytes
    headers: Mapping[str, str]


def usable() -> bool:
    """Whether this process may use the client. It may not if it was forked from a process that had used it."""
    return not _forked


async def send(url: str, headers: Mapping[str, str], body: bytes | None, timeout: float) -> Answer:
    """Send one request and read the whole answer. Redirects are not followed.

    Args:
        url: The address.
        headers: All headers except those of the protocol, such as ``Content-Length``.
        body: The body of a POST; ``None`` sends a GET.
        timeout: Seconds for connecting, sending and reading together.

    Returns:
        The answer, whatever its status.

    Raises:
        Failure: ``timeout``; ``connection``; ``bad_request`` if the key or the address cannot be sent; ``bad_reply`` if
            the answer is broken or longer than `MAX_REPLY`.
        InputError: A file of certificates cannot be read.
    """
    try:
        async with _request(url, headers, body, timeout) as response:
            parts: list[bytes] = []
            size = 0
            reader = response.body_reader
            while (chunk := await reader.read_chunk()) is not None:
                size += len(chunk)
                if size > MAX_REPLY:
                    raise Failure("bad_reply", f"the answer is longer than {MAX_REPLY // 1_000_000} MB", again=True)
                parts.append(bytes(chunk))
            if response.status == 200:
                return Answer(200, b"".join(parts), {})
            found = {name: _header(response, name) for name in _KEPT}
            kept = {name: value for name, value in found.items() if value is not None}
            return Answer(response.status, b"".join(parts), kept)
    except RequestTimeoutError as error:
        if _CONNECTING in _words(error):
            raise Failure("connection", f"no connection within {_CONNECT:g} s", again=True) from None
        raise Failure("timeout", f"no answer within {timeout:g} s", again=True) from None
    except BuilderError as error:
        raise Failure("bad_request", f"the request cannot be made: {_words(error)}") from None
    except PyreqwestError as error:
        words = _words(error)
        if isinstance(error, DecodeError) and _CUT not in words:
            raise Failure("bad_reply", f"the answer cannot be read: {words}", again=True) from None
        untrusted = isinstance(error, ConnectError) and _UNTRUSTED.search(words)
        raise Failure("connection", words, again=not untrusted) from None


def _request(url: str, headers: Mapping[str, str], body: bytes | None, timeout: float) -> StreamRequest:
    client = _client()
    try:
        builder = client.get(url) if body is None else client.post(url).body_bytes(body)
        return builder.headers(headers).timeout(timedelta(seconds=timeout)).build_streamed()
    except BuilderError:
        raise
    except ValueError:  # its text may hold the key
        words = "the key or the address has characters that cannot be sent"
        raise Failure("bad_request", f"the request cannot be made: {words}") from None


def _header(response: Response, name: str) -> str | None:
    try:
        return response.get_header(name)
    except ValueError:  # it is no text
        return None


async def close_connections() -> None:
    """Close everything that asking models opened on the running loop; the next request opens it anew."""
    client = _clients.pop(asyncio.get_running_loop(), None)
    if client is not None and not _forked:
        await client.close()
    for close in _others:
        await close()


def also_close(close: Callable[[], Awaitable[None]]) -> None:
    """Have `close_connections` call this too."""
    _others.append(close)


def _client() -> Client:
    global _started
    loop = asyncio.get_running_loop()
    client = _clients.get(loop)
    if client is None:
        if not _started:
            atexit.register(_let_go)
        _started = True
        _allow_many_connections()
        builder = ClientBuilder().follow_redirects(False).user_agent("simia-gym").referer(False)
        builder = builder.connect_timeout(timedelta(seconds=_CONNECT))
        authorities = _authorities()
        for _, certificate in authorities:
            builder = builder.add_root_certificate_pem(certificate)
        try:
            client = _clients[loop] = builder.build()
        except BuilderError:
            _check(authorities)
            raise
    return client


def _let_go() -> None:
    """Give the client's threads a moment to let go of their last objects before the interpreter ends.

    One of them that holds the interpreter's lock at that moment aborts the whole process, after all its work is done.
    """
    if not _forked:
        time.sleep(_LAST_WAIT)


def _allow_many_connections() -> None:
    """Every request in flight is an open file, of which many systems allow a thousand unless one asks for more."""
    try:
        import resource
    except ImportError:
        return
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = _MANY_FILES if hard == resource.RLIM_INFINITY else min(hard, _MANY_FILES)
    if soft != resource.RLIM_INFINITY and soft < wanted:
        with suppress(OSError, ValueError):
            resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))


def _authorities() -> list[tuple[str, bytes]]:
    """Certificates of further authorities from the files that the usual variables name, each with its variable."""
    found: list[tuple[str, bytes]] = []
    for name in _CA_VARIABLES:
        path = os.environ.get(name)
        if not path:
            continue
        try:
            text = Path(path).read_bytes()
        except OSError as error:
            raise InputError(f"{path!r} cannot be read ({error.strerror})", where=name, fix=_FIX) from None
        found.extend((name, part + _END) for part in text.split(_END)[:-1])
    return found


def _check(authorities: Sequence[tuple[str, bytes]]) -> None:
    """Say which variable names a file with a certificate that is none, if one does."""
    for name, certificate in authorities:
        try:
            ClientBuilder().add_root_certificate_pem(certificate).build()
        except BuilderError:
            what = f"{os.environ.get(name)!r} has a certificate that cannot be read"
            raise InputError(what, where=name, fix=_FIX) from None


def _words(error: PyreqwestError) -> str:
    """What happened, with its cause, without the address (which the caller names, and which may hold a password)."""
    details = getattr(error, "details", None)
    causes = details.get("causes") if isinstance(details, dict) else None
    texts = [str(cause.get("message", "")) for cause in causes or ()]
    words = _ADDRESS.sub("", ": ".join(filter(None, texts)))
    return f"{type(error).__name__}: {words or 'the connection failed'}"


def _after_fork() -> None:
    global _forked
    _forked = _forked or _started
    _clients.clear()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork)
