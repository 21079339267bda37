"""The mock server: looks up every answer and sends it after a fixed latency. Uses only the standard library.

It reads a file of prepared answers and serves `/policy/v1` and `/simulator/v1`. A policy's request is identified by the
id of its last tool message, or by the customer's first message; a simulator's by its last message, which contains the
state and the call. The server computes nothing while a benchmark runs, so it stays far from its own limit.

    python benchmarks/model_calls/server.py --answers FILE [--port 0 --latency 0.1 --sigma 0 --core 1 --poll]

With ``--poll`` it polls for requests and never sleeps. Otherwise the client would spend CPU time to wake the server on
the other core, much of it on a virtual machine; with a server on another machine it would not.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import random
import re
import resource
import socket
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, cast

_LENGTH = re.compile(rb"\r\ncontent-length: *(\d+)", re.IGNORECASE)
_LAST_ID = b'"tool_call_id":"'
_STATE, _END = b"<<data:state ", b"<<end:call "
_BACKLOG = 8192


def response(body: bytes, status: str = "200 OK") -> bytes:
    """A complete HTTP response."""
    head = f"HTTP/1.1 {status}\r\nContent-Type: application/json\r\nContent-Length: {len(body)}\r\n\r\n"
    return head.encode() + body


def completion(message: Mapping[str, Any], model: str) -> bytes:
    """A chat completion as servers send it."""
    reason = "tool_calls" if message.get("tool_calls") else "stop"
    choice = {"index": 0, "message": message, "logprobs": None, "finish_reason": reason}
    usage = {"prompt_tokens": 4000, "completion_tokens": 60, "total_tokens": 4060}
    body = {"id": "chatcmpl-1", "object": "chat.completion", "created": 1, "model": model}
    return json.dumps({**body, "choices": [choice], "usage": usage}, separators=(",", ":")).encode()


class Answers:
    """Prepared answers, found by the content of a request.

    Args:
        prepared: ``openings`` (first message to script), ``scripts`` (script to its assistant messages, one a turn) and
            ``replies`` (a simulator's last message to the text of its reply).
    """

    def __init__(self, prepared: Mapping[str, Any]) -> None:
        self._openings: dict[str, str] = prepared["openings"]
        self._turns: dict[bytes, bytes] = {}
        self._first: dict[str, bytes] = {}
        for script, messages in prepared["scripts"].items():
            answers = [response(completion(message, "policy")) for message in messages]
            self._first[script] = answers[0]
            for message, following in zip(messages, answers[1:], strict=False):
                self._turns[message["tool_calls"][0]["id"].encode()] = following
        self._replies: dict[bytes, bytes] = {}
        self._texts: dict[str, bytes] = {}
        for asked, text in prepared["replies"].items():
            answer = response(completion({"role": "assistant", "content": text}, "simulator"))
            self._texts[asked] = answer
            self._replies[_between(json.dumps(asked, ensure_ascii=False).encode())] = answer
        self._free = response(completion({"role": "assistant", "content": "ok"}, "free"))

    def policy(self, body: bytes) -> bytes | None:
        """The next action."""
        at = body.rfind(_LAST_ID)
        if at >= 0:
            at += len(_LAST_ID)
            return self._turns.get(body[at : body.index(b'"', at)])
        messages = json.loads(body)["messages"]
        for message in reversed(messages):
            if "tool_call_id" in message:
                return self._turns.get(message["tool_call_id"].encode())
        script = self._openings.get(messages[-1]["content"])
        return None if script is None else self._first[script]

    def simulator(self, body: bytes) -> bytes | None:
        """The reply to a call in a state."""
        found = self._replies.get(_between(body))
        return found or self._texts.get(json.loads(body)["messages"][-1]["content"])

    def free(self, body: bytes) -> bytes:
        """The same answer for every request; for clients whose work does not depend on its content."""
        return self._free


def _between(body: bytes) -> bytes:
    """The blocks of state and call in an encoded message."""
    return body[body.rfind(_STATE) : body.rfind(_END)]


class Server:
    """State that all connections share."""

    def __init__(self, answers: Answers, latency: float, sigma: float) -> None:
        self.routes: dict[bytes, Callable[[bytes], bytes | None]] = {
            b"policy": answers.policy,
            b"simulator": answers.simulator,
            b"free": answers.free,
        }
        self._latency, self._sigma = latency, sigma
        self._random = random.Random(0)
        self.requests = self.misses = self.now = self.most = self.connections = 0

    def delay(self) -> float:
        """Seconds until the next answer: fixed, or lognormal around the latency as its median."""
        if not self._sigma:
            return self._latency
        return self._latency * self._random.lognormvariate(0.0, self._sigma)

    def stats(self) -> bytes:
        """Counts so far."""
        used = resource.getrusage(resource.RUSAGE_SELF)
        counts = {"requests": self.requests, "misses": self.misses, "most_in_flight": self.most}
        counts["connections"] = self.connections
        return json.dumps({**counts, "cpu_s": used.ru_utime + used.ru_stime}).encode()


class Connection(asyncio.Protocol):
    """One keep-alive connection."""

    def __init__(self, server: Server, later: Callable[..., Any]) -> None:
        self._server, self._later = server, later
        self._data = b""
        self._wanted = self._head = 0
        self._transport: asyncio.Transport | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Begin."""
        self._transport = cast(asyncio.Transport, transport)
        self._server.connections += 1

    def connection_lost(self, exc: Exception | None) -> None:
        """Close the connection; pending answers are dropped."""
        self._transport = None

    def data_received(self, data: bytes) -> None:
        """Collect a request, and answer it when it is complete."""
        self._data = self._data + data if self._data else data
        while self._data:
            if not self._wanted:
                head = self._data.find(b"\r\n\r\n")
                if head < 0:
                    return
                length = _LENGTH.search(self._data, 0, head + 2)
                self._head = head + 4
                self._wanted = self._head + (int(length.group(1)) if length else 0)
            if len(self._data) < self._wanted:
                return
            request, self._data = self._data[: self._wanted], self._data[self._wanted :]
            self._wanted = 0
            self._answer(request)

    def _answer(self, request: bytes) -> None:
        server = self._server
        path = request[: request.index(b"\r\n")].split(b" ", 2)[1]
        if path == b"/stats":
            self._write(response(server.stats()))
            return
        find = server.routes.get(path.split(b"/", 2)[1])
        if path.endswith(b"/models"):
            self._write(response(b'{"object":"list","data":[{"id":"mock","object":"model"}]}'))
            return
        try:
            found = find(request[self._head :]) if find is not None else None
        except (ValueError, LookupError, TypeError):
            found = None
        server.requests += 1
        server.now += 1
        server.most = max(server.most, server.now)
        if found is None:
            server.misses += 1
            found = response(b'{"error":{"message":"no answer is prepared for this"}}', "400 Bad Request")
        self._later(server.delay(), self._done, found)

    def _done(self, answer: bytes) -> None:
        self._server.now -= 1
        self._write(answer)

    def _write(self, answer: bytes) -> None:
        if self._transport is not None:
            self._transport.write(answer)


async def serve(options: argparse.Namespace) -> None:
    """Serve until killed; prints the port."""
    prepared = json.loads(Path(options.answers).read_text(encoding="utf-8"))
    server = Server(Answers(prepared), options.latency, options.sigma)
    loop = asyncio.get_running_loop()
    listening = socket.create_server(("127.0.0.1", options.port), backlog=_BACKLOG)
    await loop.create_server(lambda: Connection(server, loop.call_later), sock=listening, backlog=_BACKLOG)
    print(json.dumps({"port": listening.getsockname()[1], "loop": type(loop).__module__}), flush=True)
    if options.poll:
        _poll(loop)
    parent = os.getppid()
    while os.getppid() == parent:  # end with the benchmark
        await asyncio.sleep(1)


def _poll(loop: asyncio.AbstractEventLoop) -> None:
    """Keep the loop busy, so that it never sleeps while it waits for requests."""
    loop.call_soon(_poll, loop)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--answers", required=True)
    parser.add_argument("--port", type=int, default=0)
    parser.add_argument("--latency", type=float, default=0.1)
    parser.add_argument("--sigma", type=float, default=0.0)
    parser.add_argument("--core", type=int)
    parser.add_argument("--poll", action="store_true")
    options = parser.parse_args()
    if options.core is not None:
        os.sched_setaffinity(0, {options.core})
    try:
        import uvloop
    except ImportError:
        asyncio.run(serve(options))
    else:
        uvloop.run(serve(options))


if __name__ == "__main__":
    main()
