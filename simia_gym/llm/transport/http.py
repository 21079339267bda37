"""One HTTP client per event loop, shared by everything that asks models on it.

Plain HTTP that needs no proxy goes from the loop itself (`simia_gym.llm.transport.direct`). For everything else the
client is pyreqwest, chosen by measurement (``benchmarks/http_clients.py``). It takes proxies from the usual
variables (``HTTPS_PROXY``, ``NO_PROXY``, ...) and further certificate authorities from ``SSL_CERT_FILE`` or
``REQUESTS_CA_BUNDLE``. Its runtime does not survive a fork; `usable` says so, and the caller then takes the slower way
through the OpenAI SDK.
"""

from __future__ import annotations

import asyncio
import atexit
import os
import re
import time
from collections.abc import Awaitable, Callable, Coroutine, Mapping, Sequence
from contextlib import suppress
from datetime import timedelta
from functools import cache
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit
from urllib.request import getproxies, proxy_bypass
from weakref import WeakKeyDictionary

from pyreqwest.client import Client, ClientBuilder
from pyreqwest.exceptions import BuilderError, ConnectError, PyreqwestError, RequestTimeoutError
from pyreqwest.request import StreamRequest
from pyreqwest.response import Response

from simia_gym.errors import InputError
from simia_gym.llm.transport import direct
from simia_gym.llm.transport.direct import Answer as Answer
from simia_gym.llm.transport.failures import Failure

MAX_REPLY = 10_000_000
_KEPT = ("retry-after", "retry-after-ms", "location")
_CA_VARIABLES = ("SSL_CERT_FILE", "REQUESTS_CA_BUNDLE")
_MANY_FILES = 16_384
_END = b"-----END CERTIFICATE-----"
_FIX = "Name a PEM file, or unset the variable."
_LAST_WAIT = 0.1
_ADDRESS = re.compile(r" for url \(\S*\)")

_clients: WeakKeyDictionary[asyncio.AbstractEventLoop, Client] = WeakKeyDictionary()
_others: list[Callable[[], Awaitable[None]]] = []
_started = _forked = False


def usable() -> bool:
    """Whether this process may use the client: not if it was forked from one that had used it."""
    return not _forked


def send(
    url: str, headers: Mapping[str, str], body: Sequence[bytes] | None, timeout: float
) -> Coroutine[Any, Any, Answer]:
    """Send one request and read the whole answer.

    Args:
        url: Where to.
        headers: All headers that are not the protocol's own.
        body: What to post, in pieces; ``None`` for a GET.
        timeout: Seconds for everything, the reading of the answer included.

    Returns:
        The answer, to be awaited, whatever its status.

    Raises:
        Failure: ``timeout``, ``connection``, ``bad_request`` where key or address cannot be sent, or ``bad_reply``
            where the answer is too long.
        InputError: A file of certificates cannot be read.
    """
    if _is_direct(url):
        return direct.send(url, headers, body, timeout, MAX_REPLY)
    return _send(url, headers, None if body is None else b"".join(body), timeout)


async def _send(url: str, headers: Mapping[str, str], body: bytes | None, timeout: float) -> Answer:
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
                return Answer(200, parts[0] if len(parts) == 1 else b"".join(parts), {})
            found = {name: _header(response, name) for name in _KEPT}
            kept = {name: value for name, value in found.items() if value is not None}
            return Answer(response.status, b"".join(parts), kept)
    except (RequestTimeoutError, TimeoutError):
        raise Failure("timeout", f"no answer within {timeout:g} s", again=True) from None
    except BuilderError as error:
        raise Failure("bad_request", f"the request cannot be made: {_words(error)}") from None
    except PyreqwestError as error:
        raise Failure("connection", _words(error), again=not _hopeless(error)) from None


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
    direct.close_connections()
    client = _clients.pop(asyncio.get_running_loop(), None)
    if client is not None and not _forked:
        await client.close()
    for close in _others:
        await close()


def also_close(close: Callable[[], Awaitable[None]]) -> None:
    """Have `close_connections` call this too."""
    _others.append(close)


@cache
def _is_direct(url: str) -> bool:
    """Whether an address is asked from the loop itself: plain HTTP that no proxy stands before."""
    parts = urlsplit(url)
    proxies = getproxies()
    return parts.scheme == "http" and not (
        ("http" in proxies or "all" in proxies) and not proxy_bypass(parts.hostname or "")
    )


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


def _hopeless(error: PyreqwestError) -> bool:
    """A certificate that is not trusted will not be so in a second."""
    words = _words(error).lower()
    return isinstance(error, ConnectError) and ("certificate" in words or "unknownissuer" in words)


def _after_fork() -> None:
    global _forked
    _forked = _forked or _started
    _clients.clear()
    direct.after_fork()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork)
