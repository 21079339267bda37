"""CPU cost of one request with each HTTP client, at several numbers of concurrent requests.

    python benchmarks/http_clients.py [--seconds 2] [--latency-ms 100] [--out benchmarks/results/http_clients.json]

Each row runs in its own process, pinned to the first core. The server is a small asyncio program in another process on
the last core; it answers every request after the same delay. Request bodies are built as in the product: by joining
chunks that were encoded once. CPU is user and system time of the whole process, including the client's threads, divided
by the number of responses.
"""

from __future__ import annotations

import argparse
import asyncio
import importlib.metadata
import importlib.util
import json
import multiprocessing
import os
import platform
import sys
import time
from collections.abc import Awaitable, Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import orjson

Post = Callable[[list[bytes]], Awaitable[bytes]]
REPLY = orjson.dumps(
    {
        "id": "chatcmpl-1",
        "object": "chat.completion",
        "created": 1,
        "model": "m",
        "choices": [
            {"index": 0, "message": {"role": "assistant", "content": "Hello there." * 8}, "finish_reason": "stop"}
        ],
        "usage": {"prompt_tokens": 500, "completion_tokens": 24, "total_tokens": 524},
    }
)
ANSWER = b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n%b" % (len(REPLY), REPLY)
HEADERS = {"Authorization": "Bearer key", "Content-Type": "application/json"}
ROWS = ("simia", "simia+uvloop", "aiohttp", "aiohttp+uvloop", "pyreqwest", "pyreqwest+uvloop", "httpx2", "openai")
"""``simia`` is `simia_gym.llm.transport.http`; aiohttp and pyreqwest must be installed for their rows."""


class Answering(asyncio.Protocol):
    """Answers each request of a connection after a delay; parses only enough HTTP to find the end of a request."""

    latency = 0.1

    def __init__(self) -> None:
        self.transport: asyncio.Transport | None = None
        self.data = bytearray()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Keep the connection."""
        assert isinstance(transport, asyncio.Transport)
        self.transport = transport

    def data_received(self, data: bytes) -> None:
        """Collect data until the request is complete."""
        self.data += data
        end = self.data.find(b"\r\n\r\n")
        if end < 0:
            return
        head = bytes(self.data[:end]).lower()
        at = head.find(b"content-length:")
        length = int(head[at + 15 :].split(b"\r\n", 1)[0])
        if len(self.data) >= end + 4 + length:
            del self.data[: end + 4 + length]
            asyncio.get_running_loop().call_later(self.latency, self.answer)

    def answer(self) -> None:
        """Send the fixed answer."""
        if self.transport is not None and not self.transport.is_closing():
            self.transport.write(ANSWER)


def pin(core: int) -> None:
    if hasattr(os, "sched_setaffinity"):
        cores = sorted(os.sched_getaffinity(0))
        os.sched_setaffinity(0, {cores[core]})


def serve(latency: float, port: Any) -> None:
    pin(-1)
    Answering.latency = latency

    async def run() -> None:
        server = await asyncio.get_running_loop().create_server(Answering, "127.0.0.1", 0, backlog=4096)
        port.send(server.sockets[0].getsockname()[1])
        await server.serve_forever()

    asyncio.run(run())


def chunks_of(size: int) -> list[bytes]:
    """About twelve messages whose body has ``size`` bytes."""
    each = max(1, (size - 200) // 12 - 30)
    message = orjson.dumps({"role": "user", "content": "x" * each})
    return [message, *([b"," + message] * 11)]


def body(chunks: list[bytes]) -> bytes:
    return b"".join((b'{"model":"m","temperature":0.7,"messages":[', *chunks, b"]}"))


async def with_aiohttp(url: str) -> tuple[Post, Callable[[], Awaitable[Any]]]:
    import aiohttp

    session = aiohttp.ClientSession(
        connector=aiohttp.TCPConnector(limit=0),
        headers=HEADERS,
        cookie_jar=aiohttp.DummyCookieJar(),
        timeout=aiohttp.ClientTimeout(total=None),
    )

    async def post(chunks: list[bytes]) -> bytes:
        async with session.post(url, data=body(chunks)) as response:
            return await response.read()

    return post, session.close


async def with_pyreqwest(url: str) -> tuple[Post, Callable[[], Awaitable[Any]]]:
    ClientBuilder = importlib.import_module("pyreqwest.client").ClientBuilder

    client = ClientBuilder().default_headers(HEADERS).build()

    async def post(chunks: list[bytes]) -> bytes:
        response = await client.post(url).body_bytes(body(chunks)).build().send()
        return bytes(await response.bytes())

    return post, client.close


async def with_simia(url: str) -> tuple[Post, Callable[[], Awaitable[Any]]]:
    from simia_gym.llm.transport import http

    target = http.Target(url, HEADERS)

    async def post(chunks: list[bytes]) -> bytes:
        return (await http.send(target, [body(chunks)], 60.0)).body

    return post, http.close_connections


async def with_httpx2(url: str) -> tuple[Post, Callable[[], Awaitable[Any]]]:
    import httpx2

    limits = httpx2.Limits(max_connections=None, max_keepalive_connections=None)
    client = httpx2.AsyncClient(headers=HEADERS, limits=limits, timeout=None)

    async def post(chunks: list[bytes]) -> bytes:
        content: bytes = (await client.post(url, content=body(chunks))).content
        return content

    return post, client.aclose


async def with_openai(url: str) -> tuple[Post, Callable[[], Awaitable[Any]]]:
    import openai

    client = openai.AsyncOpenAI(
        base_url=url.removesuffix("/chat/completions"), api_key="key", max_retries=0, timeout=60
    )

    async def post(chunks: list[bytes]) -> bytes:
        messages = json.loads(b"[" + b"".join(chunks) + b"]")
        await client.chat.completions.create(model="m", temperature=0.7, messages=messages)
        return REPLY

    return post, client.close


CLIENTS = {
    "simia": with_simia,
    "aiohttp": with_aiohttp,
    "pyreqwest": with_pyreqwest,
    "httpx2": with_httpx2,
    "openai": with_openai,
}


async def measure(client: str, url: str, size: int, flying: int, seconds: float, reference: float) -> dict[str, Any]:
    post, close = await CLIENTS[client](url)
    chunks = chunks_of(size)
    answered, counting, going = 0, False, True
    waits: list[float] = []

    async def worker() -> None:
        nonlocal answered
        while going:
            began = time.perf_counter()
            if await post(chunks) != REPLY:
                raise RuntimeError("the server sent an unexpected response")
            if counting:
                answered += 1
                waits.append(time.perf_counter() - began)

    workers = [asyncio.create_task(worker()) for _ in range(flying)]
    await asyncio.sleep(max(1.0, 10 * reference))  # warm-up: open all connections
    counting, cpu, wall = True, time.process_time(), time.perf_counter()
    await asyncio.sleep(seconds)
    counting, cpu, wall = False, time.process_time() - cpu, time.perf_counter() - wall
    going = False
    await asyncio.gather(*workers)
    await close()
    waits.sort()
    return {
        "answers": answered,
        "cpu_ms_per_request": round(1000 * cpu / max(1, answered), 4),
        "of_ideal": round(answered / wall * reference / flying, 3),
        "p50_ms": round(1000 * waits[len(waits) // 2], 1) if waits else None,
    }


def row(name: str, url: str, size: int, flying: int, seconds: float, latency: float, result: Any) -> None:
    pin(0)
    client, _, loop = name.partition("+")
    factory: Any = None
    if loop:
        import uvloop

        factory = uvloop.new_event_loop
    with asyncio.Runner(loop_factory=factory) as runner:
        result.send(runner.run(measure(client, url, size, flying, seconds, latency)))


def versions() -> dict[str, str]:
    known = ("aiohttp", "httptools", "pyreqwest", "httpx2", "openai", "uvloop")
    return {name: importlib.metadata.version(name) for name in known if importlib.util.find_spec(name)}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--seconds", type=float, default=2.0)
    parser.add_argument("--latency-ms", type=float, default=100.0)
    parser.add_argument("--flying", type=int, nargs="+", default=[64, 256, 1024])
    parser.add_argument("--sizes", type=int, nargs="+", default=[2000, 20000])
    parser.add_argument("--rows", nargs="+", choices=ROWS, default=list(ROWS))
    parser.add_argument("--out", type=Path)
    given = parser.parse_args()
    context = multiprocessing.get_context("spawn")
    here, there = context.Pipe()
    server = context.Process(target=serve, args=(given.latency_ms / 1000, there), daemon=True)
    server.start()
    url = f"http://127.0.0.1:{here.recv()}/v1/chat/completions"
    rows: list[dict[str, Any]] = []
    for size in given.sizes:
        for flying in given.flying:
            for name in given.rows:
                near, far = context.Pipe()
                process = context.Process(
                    target=row, args=(name, url, size, flying, given.seconds, given.latency_ms / 1000, far)
                )
                process.start()
                far.close()
                try:
                    found: dict[str, Any] = near.recv()
                except EOFError:
                    found = {"error": "the row's process ended early"}
                process.join()
                rows.append({"client": name, "body_bytes": size, "in_flight": flying, **found})
                print(json.dumps(rows[-1]), file=sys.stderr, flush=True)
    server.terminate()
    report = {
        "command": " ".join(["python", "benchmarks/http_clients.py", *sys.argv[1:]]),
        "date": datetime.now(UTC).date().isoformat(),
        "machine": {
            "processor": platform.processor() or platform.machine(),
            "cores": os.cpu_count(),
            "load_at_the_end": os.getloadavg()[0] if hasattr(os, "getloadavg") else None,
            "python": platform.python_version(),
            "system": platform.system(),
        },
        "versions": versions(),
        "rows": rows,
    }
    if given.out:
        given.out.write_text(json.dumps(report, indent=2) + "\n")


if __name__ == "__main__":
    main()
