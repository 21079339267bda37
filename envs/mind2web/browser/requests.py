"""Requests: what a link or a form asks for, as a server sees it."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import NamedTuple
from urllib.parse import parse_qsl, quote_plus

_PLAIN = re.compile(r"[A-Za-z0-9_.*-]*")
Pairs = tuple[tuple[str, str], ...]


class Request(NamedTuple):
    """One request to the site.

    Attributes:
        method: ``GET`` or ``POST``.
        path: The path, without a query.
        query: Ordered pairs behind the ``?``; None where there is no ``?``, while an empty form asks for ``/slots?``.
        body: Ordered pairs of a form that is posted, else None.
    """

    method: str
    path: str
    query: Pairs | None = None
    body: Pairs | None = None

    @property
    def url(self) -> str:
        """The path and query as they are sent."""
        return self.path if self.query is None else f"{self.path}?{encode(self.query)}"

    def __str__(self) -> str:
        """The request on one line: method, path and query, and the body as it is sent."""
        return f"{self.method} {self.url}" + (f" {encode(self.body)}" if self.body is not None else "")


@lru_cache(maxsize=4_096)
def encode(pairs: Pairs) -> str:
    """The pairs as a form is sent: ``~`` is escaped and ``*`` is not, a space is a plus."""
    return "&".join(f"{_quote(name)}={_quote(value)}" for name, value in pairs)


def decode(query: str) -> Pairs:
    """The pairs of a query or body."""
    return tuple(parse_qsl(query, keep_blank_values=True))


@lru_cache(maxsize=4_096)
def follow(href: str, path: str, query: Pairs | None) -> tuple[str, Pairs | None]:
    """Where an address of a page leads, without its mark (``#part``).

    Args:
        href: The address, in the part of HTML that is declared: empty, or beginning with ``/``, ``?`` or ``#``.
        path: The path of the page on which it stands.
        query: The query of that page.

    Returns:
        The path and the query.
    """
    address = href.partition("#")[0]
    if not address:
        return path, query
    there, mark, asked = address.partition("?")
    return there or path, decode(asked) if mark else None


def _quote(words: str) -> str:
    if _PLAIN.fullmatch(words):
        return words
    return quote_plus(words, safe="*").replace("~", "%7E")
