"""Maximum throughput of the mock server: simulator requests over keep-alive connections, without latency."""

from __future__ import annotations

import asyncio
import json
import time
from pathlib import Path
from typing import Any
from urllib.request import urlopen

from benchmarks.model_calls.measure import CLIENT_CORE, pin, report, settings

_END = b"\r\n\r\n"


async def hammer(port: int, request: bytes, until: float) -> int:
    """Send requests over one connection, one after the other."""
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    count = 0
    while time.perf_counter() < until:
        writer.write(request)
        head = await reader.readuntil(_END)
        length = int(head.lower().partition(b"content-length:")[2].split(b"\r\n", 1)[0])
        await reader.readexactly(length)
        count += 1
    writer.close()
    return count


def stats(port: int) -> dict[str, Any]:
    """The server's counts so far."""
    with urlopen(f"http://127.0.0.1:{port}/stats", timeout=10) as answer:
        found: dict[str, Any] = json.load(answer)
    return found


async def run(options: dict[str, Any]) -> None:
    """Send requests as fast as one core can, and measure the server's load."""
    start = json.loads(Path(options["answers"]).read_text(encoding="utf-8"))["episodes"][0]
    messages = [{"role": "system", "content": start["simulator"]}, {"role": "user", "content": start["asks"][2]}]
    body = json.dumps({"model": "simulator", "messages": messages}, ensure_ascii=False).encode()
    head = f"POST /simulator/v1/chat/completions HTTP/1.1\r\nHost: bench\r\nContent-Length: {len(body)}\r\n\r\n"
    before, began = stats(options["port"]), time.perf_counter()
    work = [
        hammer(options["port"], head.encode() + body, began + options["seconds"]) for _ in range(options["concurrency"])
    ]
    count = sum(await asyncio.gather(*work))
    wall = time.perf_counter() - began
    after = stats(options["port"])
    if after["misses"]:
        raise RuntimeError(f"the server had no answer for {after['misses']} requests")
    busy = after["cpu_s"] - before["cpu_s"]
    found = {"concurrency": options["concurrency"], "request_bytes": len(head) + len(body)}
    found["requests_per_s"] = round(count / wall)
    found["server_us_per_request"] = round(1e6 * busy / count, 2)
    report({**found, "requests_per_s_of_a_full_core": round(count / busy)})


if __name__ == "__main__":
    pin(CLIENT_CORE)
    asyncio.run(run(settings()))
