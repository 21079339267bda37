"""Serves a visit at 127.0.0.1: the pages of the site as they are, and one page of ours with the task and its end."""

from __future__ import annotations

from collections.abc import Callable
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread
from types import TracebackType
from typing import Self
from urllib.parse import urlsplit

from simia_gym.envs.mind2web.browser.requests import Request, decode
from simia_gym.envs.mind2web.browser.themes import THEMES, Block, Field, Form, Heading, Step, Steps, Words, draw
from simia_gym.envs.mind2web.browser.tree import document
from simia_gym.envs.mind2web.serving.visitor import Visitor
from simia_gym.errors import InputError

HOST = "127.0.0.1"
TASK_PATH = "/_task"
"""The page with the task; no page of a site has an underscore in its path."""
_LONGEST = 65_536
_SAFE = {
    "Cache-Control": "no-store",
    "Content-Security-Policy": "default-src 'none'; form-action 'self'; frame-ancestors 'none'; base-uri 'none'",
    "X-Content-Type-Options": "nosniff",
}


class SiteServer:
    """A server of one visit, in threads of its own.

    Args:
        visitor: The visit.
        port: The port; 0 for a free one.
        ended: What is called with the answer when the visit is ended on the page of the task; without it there is no
            such page.

    Attributes:
        url: The address, without a slash at its end.

    Raises:
        InputError: The port cannot be used.
    """

    def __init__(self, visitor: Visitor, port: int = 0, ended: Callable[[str], None] | None = None) -> None:
        self.visitor, self._ended = visitor, ended
        try:
            self._server = _Server((HOST, port), _Handler)
        except OSError as error:
            reason = error.strerror or str(error)
            what = f"cannot listen on {HOST}:{port} ({reason})"
            raise InputError(what, where="port", fix="Choose another.") from None
        self._server.site = self
        self.url = f"http://{HOST}:{self._server.server_port}"
        self._thread = Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()

    def task_page(self) -> str:
        """The page with the task."""
        asks = self.visitor.asks
        fields = (Field("answer", "Answer", "text", required=True),) if asks else ()
        told: tuple[Block, ...] = (
            Heading("Your task"),
            Words(self.visitor.request),
            Words("When you are done, end the visit here. Then the verdict is printed, and the site is gone."),
            Form(TASK_PATH, fields, "End the visit", "post"),
            Steps((Step("To the site", self.visitor.site.start),)),
        )
        return document("Your task", draw(told, THEMES[0]))

    def end(self, said: str) -> str | None:
        """Ends the visit.

        Returns:
            A last page; None where there is nothing to end.
        """
        if self._ended is None:
            return None
        self._ended(said)
        told = (Heading("The visit has ended"), Words("The verdict stands where the site was started."))
        return document("The visit has ended", draw(told, THEMES[0]))

    @property
    def has_task(self) -> bool:
        """Whether there is a page of the task."""
        return self._ended is not None


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    site: SiteServer


class _Handler(BaseHTTPRequestHandler):
    server: _Server
    protocol_version = "HTTP/1.1"
    timeout = 60

    def do_GET(self) -> None:
        """Shows a page."""
        site, request = self.server.site, self._asked("GET")
        if request is None:
            return
        if request.path == TASK_PATH and site.has_task:
            self._show(200, site.task_page())
        else:
            self._show(*site.visitor.page(request))

    def do_POST(self) -> None:
        """Does what a form asks for, and leads to the next page."""
        size = self.headers.get("Content-Length", "")
        if not size.isdecimal() or int(size) > _LONGEST:
            self._refuse(413 if size.isdecimal() else 411)
            return
        sent = self.rfile.read(int(size)).decode("utf-8", "replace")
        site, request = self.server.site, self._asked("POST")
        if request is None:
            return
        request = request._replace(body=decode(sent))
        if request.path == TASK_PATH and site.has_task:
            self._show(200, site.end(dict(decode(sent)).get("answer", "").strip()) or "")
            return
        self._answer(303, b"", {"Location": site.visitor.send(request)})

    def _asked(self, method: str) -> Request | None:
        """The request; None after a refusal, since no other page may play here."""
        own = {self.server.site.url, self.server.site.url.replace(HOST, "localhost")}
        origin = self.headers.get("Origin")
        if f"http://{self.headers.get('Host', '')}" not in own or (origin is not None and origin not in own):
            self._refuse(403)
            return None
        address = urlsplit(self.path)
        return Request(method, address.path, decode(address.query) if "?" in self.path else None)

    def _show(self, status: int, page: str) -> None:
        self._answer(status, page.encode(), {"Content-Type": "text/html; charset=utf-8"})

    def _refuse(self, status: int) -> None:
        self.close_connection = True
        self._answer(status, b"", {"Connection": "close"})

    def _answer(self, status: int, body: bytes, headers: dict[str, str]) -> None:
        self.send_response(status)
        for name, value in {**_SAFE, **headers, "Content-Length": str(len(body))}.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: object) -> None:
        """Says nothing."""
