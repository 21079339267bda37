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
from collections.abc import Coroutine, Mapping
from contextlib import suppress
from functools import lru_cache
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import unquote, urlsplit
from urllib.request import getproxies, proxy_bypass
from weakref import WeakKeyDictionary

from simia_gym.errors import InputError
from simia_gym.llm.transport.connections import Answer, Pool, Route, bracketed
from simia_gym.llm.transport.failures import Failure

_CA_VARIABLES = ("SSL_CERT_FILE", "REQUESTS_CA_BUNDLE")
_MANY_FILES = 16_384
_BEGIN, _END = "-----BEGIN CERTIFICATE-----", "-----END CERTIFICATE-----"
_FIX = "Name a PEM file, or unset the variable."
_PORTS = {"http": 80, "https": 443}

_pools: WeakKeyDictionary[asyncio.AbstractEventLoop, dict[tuple[str, str, int], Pool]] = WeakKeyDictionary()


class Address(NamedTuple):
    """The parts of a URL that a request needs.

    Attributes:
        scheme: ``http`` or ``https``.
        host: The server's host name or IP address.
        port: The server's port.
        place: Host and port as in the ``Host`` header.
        target: Path and query.
    """

    scheme: str
    host: str
    port: int
    place: str
    target: str


def send(url: str, headers: Mapping[str, str], body: bytes | None, timeout: float) -> Coroutine[Any, Any, Answer]:
    """Send one request and read the whole response. Redirects are not followed.

    Args:
        url: The URL.
        headers: All headers except ``Host`` and ``Content-Length``.
        body: The body of a POST; ``None`` sends a GET.
        timeout: Seconds for connecting, sending and reading together.

    Returns:
        A coroutine of the response, whatever its status.

    Raises:
        Failure: ``timeout``; ``connection``; ``bad_request`` if key or URL contain invalid characters; ``bad_reply`` if
            the response is malformed or longer than `MAX_REPLY` bytes.
        InputError: A certificate file cannot be read, or the proxy is not an HTTP proxy.
    """
    address = _address(url)
    pool = _pool(address)
    target, proxy_headers = address.target, b""
    if pool.route.proxy is not None and pool.route.tls is None:  # a proxy for plain HTTP expects the absolute URL
        target, proxy_headers = f"http://{address.place}{target}", pool.route.proxy_headers
    lines = [f"{'GET' if body is None else 'POST'} {target} HTTP/1.1", f"Host: {address.place}"]
    lines += [f"{name}: {value}" for name, value in headers.items()]
    if not any(name.lower() == "user-agent" for name in headers):
        lines.append("User-Agent: simia-gym")
    if body is not None:
        lines.append(f"Content-Length: {len(body)}")
    text = "\n".join(lines)
    if "\r" in text or "\0" in text or text.count("\n") != len(lines) - 1:
        raise _unsendable()
    try:
        head = text.replace("\n", "\r\n").encode("latin-1")
    except UnicodeEncodeError:
        raise _unsendable() from None
    return pool.ask(b"%b\r\n%b\r\n" % (head, proxy_headers), body or b"", timeout)


async def close_connections() -> None:
    """Close the idle connections of the running event loop; the next request opens new ones."""
    for pool in _pools.pop(asyncio.get_running_loop(), {}).values():
        pool.close()
    await asyncio.sleep(0)  # transports close in the loop's next iteration


def _unsendable() -> Failure:
    """The failure of a key or URL with invalid characters; the message does not show them."""
    words = "the key or the address has characters that cannot be sent"
    return Failure("bad_request", f"the request cannot be made: {words}")


@lru_cache(maxsize=256)
def _address(url: str) -> Address:
    try:
        parts = urlsplit(url)
        host, port = parts.hostname or "", parts.port or _PORTS[parts.scheme]
        host.encode("idna")
    except (KeyError, ValueError):  # unknown scheme, or not a valid URL
        raise _unsendable() from None
    if not host or not url.isascii() or any(character.isspace() for character in url):
        raise _unsendable()
    place = f"{bracketed(host)}:{port}" if parts.port else bracketed(host)
    return Address(parts.scheme, host, port, place, f"{parts.path or '/'}{'?' + parts.query if parts.query else ''}")


def _pool(address: Address) -> Pool:
    pools = _pools.setdefault(asyncio.get_running_loop(), {})
    pool = pools.get(address[:3])
    if pool is None:
        _allow_many_connections()
        tls = _trusted() if address.scheme == "https" else None
        proxy, proxy_headers = _proxy_for(address)
        pool = pools[address[:3]] = Pool(Route(address.host, address.port, tls, proxy, proxy_headers))
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
        if not path:
            continue
        try:
            text = Path(path).read_text(encoding="utf-8", errors="replace")
        except OSError as error:
            raise InputError(f"{path!r} cannot be read ({error.strerror})", where=name, fix=_FIX) from None
        for part in text.split(_BEGIN)[1:]:
            try:
                context.load_verify_locations(cadata=f"{_BEGIN}{part.partition(_END)[0]}{_END}\n")
            except (ssl.SSLError, ValueError):
                raise InputError(f"{path!r} has a certificate that cannot be read", where=name, fix=_FIX) from None
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
