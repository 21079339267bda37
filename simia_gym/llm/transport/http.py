"""The HTTP client for all model requests: one connection pool per event loop and server.

It uses HTTP/1.1, with or without TLS. It takes proxies from the usual environment variables (``HTTP_PROXY``,
``HTTPS_PROXY``, ``ALL_PROXY``, ``NO_PROXY``) and additional certificate authorities from ``SSL_CERT_FILE`` and
``REQUESTS_CA_BUNDLE``. A forked process opens its own connections.
"""

from __future__ import annotations

import asyncio
import os
import ssl
from base64 import b64encode
from collections.abc import Coroutine, Mapping, Sequence
from contextlib import suppress
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import unquote, urlsplit
from urllib.request import getproxies, proxy_bypass
from weakref import WeakKeyDictionary

from simia_gym.errors import InputError
from simia_gym.llm.transport.connections import Answer, Pool, bracketed
from simia_gym.llm.transport.failures import Failure

_CA_VARIABLES = ("SSL_CERT_FILE", "REQUESTS_CA_BUNDLE")
_MANY_FILES = 16_384
_PORTS = {"http": 80, "https": 443}

_pools: WeakKeyDictionary[asyncio.AbstractEventLoop, dict[tuple[str, str, int], Pool]] = WeakKeyDictionary()


class Address(NamedTuple):
    """The parts of a URL that a request needs.

    Attributes:
        place: Host and port as in the ``Host`` header.
        target: Path and query.
    """

    scheme: str
    host: str
    port: int
    place: str
    target: str


class Target:
    """Where requests go, with all their headers except ``Host`` and ``Content-Length``."""

    def __init__(self, url: str, headers: Mapping[str, str]) -> None:
        self.url, self.headers = url, headers

    @cached_property
    def address(self) -> Address:
        """The parts of the URL."""
        try:
            parts = urlsplit(self.url)
            host, port = parts.hostname or "", parts.port or _PORTS[parts.scheme]
            host.encode("idna")
        except (KeyError, ValueError):  # unknown scheme, or not a valid URL
            raise _unsendable() from None
        if not host or not self.url.isascii() or self.url.split() != [self.url]:
            raise _unsendable()
        place = f"{bracketed(host)}:{port}" if parts.port else bracketed(host)
        target = f"{parts.path or '/'}{'?' + parts.query if parts.query else ''}"
        return Address(parts.scheme, host, port, place, target)

    @cached_property
    def header_lines(self) -> bytes:
        """All headers of a request except its length; written once, since an endpoint gets thousands of requests."""
        lines = [f"Host: {self.address.place}", *(f"{name}: {value}" for name, value in self.headers.items())]
        if not any(name.lower() == "user-agent" for name in self.headers):
            lines.append("User-Agent: simia-gym")
        if any(character in line for line in lines for character in "\r\n\0"):
            raise _unsendable()
        try:
            return "".join(f"{line}\r\n" for line in lines).encode("latin-1")
        except UnicodeEncodeError:
            raise _unsendable() from None


def send(target: Target, body: Sequence[bytes] | None, timeout: float) -> Coroutine[Any, Any, Answer]:
    """Send one request and read the whole response. Redirects are not followed.

    Args:
        target: Address and headers.
        body: The body of a POST, in pieces, which are sent without being copied together; ``None`` sends a GET.
        timeout: Seconds for connecting, sending and reading together.

    Returns:
        A coroutine of the response, whatever its status.

    Raises:
        Failure: ``timeout``; ``connection``; ``bad_request`` if key or URL contain invalid characters; ``bad_reply`` if
            the response is malformed or longer than `MAX_REPLY` bytes.
        InputError: A certificate file cannot be read, or the proxy is not an HTTP proxy.
    """
    address, headers = target.address, target.header_lines
    pool = _pool(address)
    path, length = address.target, b""
    if pool.proxy is not None and pool.tls is None:  # a proxy for plain HTTP expects the absolute URL
        path, headers = f"http://{address.place}{path}", headers + pool.proxy_headers
    if body is not None:
        length = b"Content-Length: %d\r\n" % sum(map(len, body))
    head = b"%b %b HTTP/1.1\r\n%b%b\r\n" % (b"GET" if body is None else b"POST", path.encode(), headers, length)
    return pool.ask((head, *(body or ())), timeout)


async def close_connections() -> None:
    """Close the idle connections of the running event loop; the next request opens new ones."""
    for pool in _pools.pop(asyncio.get_running_loop(), {}).values():
        pool.close()
    await asyncio.sleep(0)  # transports close in the loop's next iteration


def _unsendable() -> Failure:
    """The failure of a key or URL with invalid characters; the message does not show them."""
    words = "the key or the address has characters that cannot be sent"
    return Failure("bad_request", f"the request cannot be made: {words}")


def _pool(address: Address) -> Pool:
    pools = _pools.setdefault(asyncio.get_running_loop(), {})
    pool = pools.get(address[:3])
    if pool is None:
        _allow_many_connections()
        tls = _trusted() if address.scheme == "https" else None
        proxy, proxy_headers = _proxy_for(address)
        pool = pools[address[:3]] = Pool(address.host, address.port, tls, proxy, proxy_headers)
    return pool


def _proxy_for(address: Address) -> tuple[tuple[str, int] | None, bytes]:
    """The proxy for an address, from the environment variables, and the header line with its password."""
    proxies = getproxies()
    given = proxies.get(address.scheme) or proxies.get("all")
    if not given or proxy_bypass(f"{address.host}:{address.port}"):
        return None, b""
    parts = urlsplit(given if "://" in given else f"http://{given}")
    if parts.scheme != "http" or not parts.hostname:
        where = f"{address.scheme.upper()}_PROXY"
        raise InputError("the proxy is not of the form http://HOST:PORT", where=where, fix="Name an HTTP proxy.")
    headers = b""
    if parts.username is not None:
        pair = f"{unquote(parts.username)}:{unquote(parts.password or '')}"
        headers = b"Proxy-Authorization: Basic %b\r\n" % b64encode(pair.encode())
    return (parts.hostname, parts.port or 80), headers


def _trusted() -> ssl.SSLContext:
    """The system's certificate authorities, and those in the files that `_CA_VARIABLES` name."""
    context = ssl.create_default_context()
    system = ssl.get_default_verify_paths().openssl_cafile  # SSL_CERT_FILE adds to it here, and does not replace it
    if os.environ.get("SSL_CERT_FILE") and Path(system).is_file():
        context.load_verify_locations(system)
    for name in _CA_VARIABLES:
        path = os.environ.get(name)
        try:
            if path:
                context.load_verify_locations(path)
        except OSError as error:  # of the file, or of TLS
            what = f"the certificates in {path!r} cannot be read ({error.strerror})"
            raise InputError(what, where=name, fix="Name a PEM file, or unset the variable.") from None
    return context


def _allow_many_connections() -> None:
    """Raise the limit on open files: each request in flight needs one, and the default is often 1,024."""
    try:
        import resource
    except ImportError:
        return
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = _MANY_FILES if hard == resource.RLIM_INFINITY else min(hard, _MANY_FILES)
    if soft != resource.RLIM_INFINITY and soft < wanted:
        with suppress(OSError, ValueError):
            resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_pools.clear)
