"""Servers that are no model, or one that knows a single sentence."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

PAGE = b"<html><body><h1>It works!</h1></body></html>"


def completion(text: str) -> bytes:
    """The body of an answer, by a server that counts no tokens."""
    choice = {"index": 0, "finish_reason": "stop", "message": {"role": "assistant", "content": text}}
    return json.dumps({"id": "x", "object": "chat.completion", "model": "m", "choices": [choice]}).encode()


@contextmanager
def replying(answer: Callable[[BaseHTTPRequestHandler], tuple[int, bytes, dict[str, str]]]) -> Iterator[str]:
    """Serve what a function makes of a request: status, body and headers; yields the address."""

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"
        asked = b""

        def _answer(self) -> None:
            self.asked = self.rfile.read(int(self.headers.get("Content-Length") or 0))
            status, body, headers = answer(self)
            self.send_response(status)
            for name, value in {**headers, "Content-Length": str(len(body))}.items():
                self.send_header(name, value)
            self.end_headers()
            self.wfile.write(body)

        do_GET = do_POST = _answer

        def log_message(self, format: str, *arguments: Any) -> None:
            return

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    # A server looks every 10 ms whether it shall stop, instead of every 500.
    thread = threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True)
    thread.start()
    try:
        yield f"127.0.0.1:{server.server_address[1]}"
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


def answering(status: int, body: bytes, kind: str = "application/json") -> AbstractContextManager[str]:
    """Serve the same answer to everything."""
    return replying(lambda request: (status, body, {"Content-Type": kind}))
