"""Answers of servers that mean no good, or are broken: name, bytes, and the kinds of fault that they may give."""

from __future__ import annotations

import asyncio
import gzip
import json
import os
import zlib
from base64 import b64encode
from collections.abc import Iterable
from typing import Any, NamedTuple
from urllib.parse import quote

from ..llm.test_http import Say, closes

KEY = "sk-a/very+secret=key"
_SAID = f"bad key {KEY} or {quote(KEY, safe='')} or Basic {b64encode(KEY.encode()).decode()} \x1b[2J"
TIMEOUT = 0.4
"""Seconds that a request may take where nothing comes."""


class Hostile(NamedTuple):
    """An answer, and the kinds of fault that it may give.

    ``form`` is whether a reply in a form is asked for, ``large`` whether the memory is measured.
    """

    answer: bytes | Say
    kinds: frozenset[str]
    form: bool = False
    large: bool = False

    @property
    def waits(self) -> bool:
        """Whether it may have no end."""
        return "timeout" in self.kinds and self.kinds <= _ENDLESS


def http(body: bytes, *headers: str, status: str = "200 OK") -> bytes:
    lines = [f"HTTP/1.1 {status}", f"Content-Length: {len(body)}", "Content-Type: application/json", *headers, "", ""]
    return "\r\n".join(lines).encode() + body


def chunked(pieces: Iterable[bytes], end: bytes = b"0\r\n\r\n") -> bytes:
    return _CHUNKED + b"".join(b"%x\r\n%b\r\n" % (len(piece), piece) for piece in pieces) + end


def forever(first: bytes, again: bytes, pause: float = 0.0) -> Say:
    async def answer(writer: asyncio.StreamWriter) -> None:
        writer.write(first)
        while not writer.is_closing():
            writer.write(again)
            await writer.drain()
            await asyncio.sleep(pause)

    return answer


async def resets(writer: asyncio.StreamWriter) -> None:
    writer.transport.abort()


def said(content: Any, reason: Any = "stop", **more: Any) -> bytes:
    message = {"role": "assistant", "content": content, **more}
    return http(json.dumps({"choices": [{"finish_reason": reason, "message": message}]}).encode())


_CHUNKED = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"
_ERROR = json.dumps({"error": {"message": _SAID, "code": _SAID, "param": _SAID}}).encode()
_LATE, _LOST, _BAD = frozenset({"timeout"}), frozenset({"connection"}), frozenset({"bad_reply"})
_ENDLESS = _BAD | _LATE
_DEEP = b"[" * 100_000
_NO_COMPLETION = {
    **{name: name.encode() for name in ("null", "true", "1", '"text"', "[]", "{}", "[[]]", "NaN", "1e999", "{", "}")},
    "nothing": b"",
    "spaces": b" " * 1000,
    "zeros": bytes(1000),
    "page": b"<html><body>It works!</body></html>",
    "no utf-8": b'{"choices": "\xff\xfe"}',
    "utf-16": json.dumps({"choices": []}).encode("utf-16"),
    "events": b'data: {"choices": [{"delta": {"content": "Hello"}}]}\n\ndata: [DONE]\n\n',
    "deep": _DEEP,
    "deep and closed": _DEEP + b"]" * 100_000,
    "deep message": b'{"choices": [{"message": %b}]}' % (_DEEP + b"]" * 100_000),
    "lists": b"[%b[]]" % (b"[]," * 300_000),
    "keys": b"{%b}" % b",".join(b'"k%d":1' % number for number in range(100_000)),
    "long text": b'"%b"' % (b"x" * 9_000_000),
    "error": _ERROR,
    "secret": json.dumps({"said": _SAID}).encode(),
    "array of errors": b"[%b]" % _ERROR,
    "two values": b'{"choices": []}{"choices": []}',
    "cut": b'{"choices": [{"message": {"content": "Hel',
    **{f"choices {value}": f'{{"choices": {value}}}'.encode() for value in ("null", "1", '"x"', "{}", "[]", "[null]")},
    **{f"choice {value}": f'{{"choices": [{value}]}}'.encode() for value in ("1", '"x"', "[]", "{}")},
    **{f"message {v}": f'{{"choices": [{{"message": {v}}}]}}'.encode() for v in ("null", "1", '"x"', "[]")},
    "call without function": b'{"choices": [{"message": {"tool_calls": [{}]}}]}',
    "calls that are numbers": b'{"choices": [{"message": {"tool_calls": [1, 2]}}]}',
}
_EMPTY = {
    "no content": {},
    "null": {"content": None},
    "blank": {"content": " \n "},
    "number": {"content": 1},
    "object": {"content": {"text": "x"}},
    "parts": {"content": [{"type": "image"}, 1, None]},
    "no calls": {"content": "", "tool_calls": []},
    "calls are no list": {"content": "", "tool_calls": "x"},
    "refusal is no text": {"content": "", "refusal": [1]},
}
_NO_FORM = {
    "words": "Hello",
    "secret": _SAID,
    "no keys": "{}",
    "list": "[1]",
    "twice": '{"n": 1, "n": 2}',
    "two objects": '{"n": 1} {"n": 2}',
    "not a number": '{"n": NaN}',
    "infinity": '{"n": 1e999}',
    "digits": f'{{"n": {"1" * 5000}}}',
    "fraction": '{"n": 1.5}',
    "thinking alone": "<think>{}",
    "open fence": '```json\n{"n": 1',
    "deep": '{"n": ' + "[" * 50_000,
    "many keys": "{" + ",".join(f'"k{number}":1' for number in range(100_000)) + ',"k0":1}',
    "many lists": f"[{'[],' * 300_000}[]]",
    "ends of thinking": "</think>{" * 100_000,
    "fences": "```{" * 100_000,
    "halves of characters": '{"n": "\\ud800"}',
    "cut": '{"n": ',
}
_STATUSES = [
    *(*range(400, 419), *range(421, 427), 428, 429, 431, 451, 499),
    *(*range(500, 509), 510, 511, 520, 599, 600, 999),
]
_ANY = frozenset({"auth", "rate_limit", "not_found", "timeout", "context_length", "server_error", "bad_request"})


def hostile(trap: str) -> dict[str, Hostile]:
    """All answers; redirects lead to `trap`."""
    found = {f"body: {name}": Hostile(http(body), _BAD) for name, body in _NO_COMPLETION.items()}
    empty = frozenset({"bad_reply", "empty_reply"})
    for name, message in _EMPTY.items():
        body = json.dumps({"choices": [{"finish_reason": "stop", "message": message}]}).encode()
        found[f"reply: {name}"] = Hostile(http(body), empty)
    for name, content in _NO_FORM.items():
        found[f"form: {name}"] = Hostile(said(content), empty, form=True)
    for reason in (_SAID, 1, ["x"], "content_filter", "length"):
        found[f"reason: {str(reason)[:20]}"] = Hostile(said("", reason), empty | {"content_filter"})
    for status in _STATUSES:
        found[f"status {status}"] = Hostile(http(_ERROR, status=f"{status} {_SAID[:20]}"), _ANY)
    for wait in ("9" * 400, "-1", "nan", "inf", "Fri, 31 Dec 9999 23:59:59 GMT", "x" * 1000):
        found[f"wait {wait[:10]}"] = Hostile(
            http(_ERROR, f"Retry-After: {wait}", status="429 Busy"), frozenset({"rate_limit"})
        )
    for status in (300, 301, 302, 303, 305, 307, 308):
        place = f"Location: {trap}/v1/chat/completions?{quote(KEY, safe='')}"
        found[f"redirect {status}"] = Hostile(http(_ERROR, place, status=f"{status} Moved"), frozenset({"bad_request"}))
    for name, place in {"no place": "", "itself": "Location: /v1", "script": "Location: javascript:x"}.items():
        headers = [place] if place else []
        found[f"redirect to {name}"] = Hostile(http(b"", *headers, status="302 Moved"), frozenset({"bad_request"}))
    bomb, other_bomb = gzip.compress(bytes(50_000_000)), zlib.compress(bytes(50_000_000))
    long = b'{"error": "%b"}' % (b"model " * 1_500_000)
    found |= {
        "nothing at all": Hostile(closes(b""), _LOST),
        "reset": Hostile(resets, _LOST),
        "silence": Hostile(forever(b"", b"", 0.05), _LATE),
        "half a status line": Hostile(closes(b"HTTP/1.1 2"), _LOST),
        "half a status line, then silence": Hostile(forever(b"HTTP/1.1 2", b"", 0.05), _LATE),
        "half a head": Hostile(closes(b"HTTP/1.1 200 OK\r\nContent-Ty"), _LOST),
        "headers that drip": Hostile(forever(b"HTTP/1.1 200 OK\r\n", b"X: y\r\n", 0.02), _LATE),
        "headers without end": Hostile(forever(b"HTTP/1.1 200 OK\r\n", b"X: y\r\n" * 5000), _ENDLESS, large=True),
        "a header without end": Hostile(forever(b"HTTP/1.1 200 OK\r\nX: ", b"y" * 50_000), _ENDLESS),
        "a status without end": Hostile(forever(b"HTTP/1.1 200 ", b"O" * 50_000), _ENDLESS),
        "a body that drips": Hostile(forever(b"HTTP/1.1 200 OK\r\nContent-Length: 100000\r\n\r\n", b" ", 0.02), _LATE),
        "a body without end": Hostile(forever(b"HTTP/1.1 200 OK\r\n\r\n", b" " * 1_000_000), _ENDLESS, large=True),
        "a body of 14 MB": Hostile(http(b" " * 14_000_000), _BAD, large=True),
        "a body that is short": Hostile(closes(b"HTTP/1.1 200 OK\r\nContent-Length: 50\r\n\r\nshort"), _LOST),
        "a length below 0": Hostile(closes(b"HTTP/1.1 200 OK\r\nContent-Length: -5\r\n\r\nhello"), _BAD),
        "a length of digits": Hostile(closes(b"HTTP/1.1 200 OK\r\nContent-Length: " + b"9" * 100 + b"\r\n\r\n"), _BAD),
        "two lengths": Hostile(closes(http(b"hello", "Content-Length: 3")), _BAD),
        "length and chunks": Hostile(closes(http(b"5\r\nhello\r\n0\r\n\r\n", "Transfer-Encoding: chunked")), _BAD),
        "chunks that are cut": Hostile(closes(_CHUNKED + b"5\r\nhel"), _LOST),
        "a chunk of no size": Hostile(closes(_CHUNKED + b"zz\r\nhello\r\n0\r\n\r\n"), _BAD),
        "a chunk of any size": Hostile(closes(_CHUNKED + b"f" * 40 + b"\r\nhello"), _BAD),
        "chunks of a byte": Hostile(chunked([b" "] * 200_000), _BAD, large=True),
        "chunks of a byte without end": Hostile(forever(_CHUNKED, b"1\r\n \r\n" * 20_000), _ENDLESS, large=True),
        "trailers without end": Hostile(forever(chunked([b" "], b"0\r\n"), b"X: y\r\n" * 5000), _ENDLESS),
        "extensions of chunks": Hostile(forever(_CHUNKED + b"1;", b"x=y;" * 10_000), _ENDLESS),
        "gzip": Hostile(http(gzip.compress(b"{}"), "Content-Encoding: gzip"), _BAD),
        "a bomb of gzip": Hostile(http(bomb, "Content-Encoding: gzip"), _BAD, large=True),
        "a bomb of deflate": Hostile(http(other_bomb, "Content-Encoding: deflate"), _BAD, large=True),
        "a bomb in an error": Hostile(http(bomb, "Content-Encoding: gzip", status="500 No"), _BAD | _ANY, large=True),
        "an unknown coding": Hostile(http(b"{}", "Content-Encoding: x-secret"), _BAD),
        "an error of 9 MB": Hostile(http(long, status="400 No"), _ANY, large=True),
        "an error without end": Hostile(forever(b"HTTP/1.1 500 No\r\n\r\n", b"x" * 500_000), _ENDLESS, large=True),
        "upgrade": Hostile(b"HTTP/1.1 101 Up\r\nUpgrade: h2c\r\nConnection: Upgrade\r\n\r\n" + bytes(100), _BAD),
        "upgrade without words": Hostile(closes(b"HTTP/1.1 101\r\n\r\n"), _BAD | _LOST),
        "continue without end": Hostile(forever(b"", b"HTTP/1.1 100 Continue\r\n\r\n" * 1000), _ENDLESS, large=True),
        "early hints alone": Hostile(closes(b"HTTP/1.1 103 Hints\r\nLink: x\r\n\r\n"), _LOST),
        "no content": Hostile(b"HTTP/1.1 204 No\r\n\r\n", _BAD | _ANY),
        "not modified": Hostile(b"HTTP/1.1 304 No\r\n\r\n", _ANY),
        "another protocol": Hostile(closes(b"SSH-2.0-OpenSSH_9.6\r\n"), _BAD),
        "a future version": Hostile(closes(b"HTTP/9.9 200 OK\r\n\r\n{}"), _BAD),
        "the second version": Hostile(closes(b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"), _BAD),
        "no version": Hostile(closes(b"<html>It works!</html>"), _BAD),
        "tls": Hostile(closes(b"\x15\x03\x01\x00\x02\x02\x28"), _BAD),
        "noise": Hostile(closes(b"\x80" + os.urandom(1000)), _BAD),
        "a status of letters": Hostile(closes(b"HTTP/1.1 abc OK\r\n\r\n"), _BAD),
        "a status of one digit": Hostile(closes(b"HTTP/1.1 2 OK\r\n\r\n{}"), _BAD),
        "a header with a zero": Hostile(closes(b"HTTP/1.1 200 OK\r\nX: a\0b\r\n\r\n{}"), _BAD),
        "a header without colon": Hostile(closes(b"HTTP/1.1 200 OK\r\nnonsense\r\n\r\n{}"), _BAD),
        "a folded header": Hostile(closes(b"HTTP/1.1 200 OK\r\nX: a\r\n b\r\n\r\n{}"), _BAD),
    }
    return found
