"""Pages of large records, made when somebody looks at them, for browsers on this machine alone."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import TYPE_CHECKING

from simia_gym.errors import SimiaError
from simia_gym.record.records import read_record_at
from simia_gym.viewer.pages import PanelsOf, item_of, list_values, policy, render
from simia_gym.viewer.rows import Overview
from simia_gym.viewer.times import TimesOf

if TYPE_CHECKING:
    from markupsafe import Markup

_EPISODE = "/episode/"
HOST = "127.0.0.1"


class PageServer(ThreadingHTTPServer):
    """Serves the list at ``/`` and each episode at an address of its own; only the list is kept in memory.

    Args:
        overview: The episodes.
        title: The title of the list.
        panels_of: Finds the domain's own view of a record's state.
        port: The port; 0 for a free one.
        curves: Curves of a training, to stand above the list.
    """

    daemon_threads = True

    def __init__(
        self, overview: Overview, title: str, panels_of: PanelsOf, port: int = 0, curves: Sequence[Markup] = ()
    ) -> None:
        self._overview, self._panels_of, self._times = overview, panels_of, TimesOf()
        values = list_values(overview, title) | {"curves": curves}
        self.list = _bytes(render("list", **values, episodes=(), systems={}, address=_address))
        super().__init__((HOST, port), _Handler)

    @property
    def address(self) -> str:
        """Where the list is."""
        return f"http://{HOST}:{self.server_port}/"

    def episode(self, name: str) -> bytes | None:
        """The page of an episode; ``None`` if there is none of this name."""
        rows = self._overview.rows
        if not name.isdecimal() or int(name) >= len(rows):
            return None
        row = rows[int(name)]
        record = read_record_at(row.path, row.offset, row.line)
        times = self._times(row.path, record.key)
        item = item_of(row, record, self._panels_of(record), len(rows) - 1, times)
        return _bytes(render("one", title=record.task, item=item, back=f"/#r{name}", address=_address))


def _address(number: int) -> str:
    return f"{_EPISODE}{number}"


def _bytes(parts: Iterator[str]) -> bytes:
    return "".join(parts).encode("utf-8", "replace")


class _Handler(BaseHTTPRequestHandler):
    server: PageServer

    def do_GET(self) -> None:
        """Answer a browser that asks for an address of this server by its own name."""
        port = self.server.server_port
        if self.headers.get("Host") not in (f"{HOST}:{port}", f"localhost:{port}"):  # another site's name for it
            self._send(403, b"", "text/plain")
        elif self.path == "/":
            self._send(200, self.server.list)
        elif self.path == "/favicon.ico":
            self._send(204, b"", "image/x-icon")
        else:
            try:
                page = self.server.episode(self.path.removeprefix(_EPISODE))
            except SimiaError as error:
                self._send(500, str(error).encode(), "text/plain; charset=utf-8")
                return
            if page is None:
                self._send(404, b"There is no such episode.", "text/plain")
            else:
                self._send(200, page)

    def _send(self, status: int, content: bytes, kind: str = "text/html; charset=utf-8") -> None:
        self.send_response(status)
        headers = {"Content-Type": kind, "Content-Length": str(len(content)), "Cache-Control": "no-store"}
        headers |= {"Content-Security-Policy": policy(), "X-Content-Type-Options": "nosniff"}
        for name, value in headers.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(content)

    def log_message(self, format: str, *args: object) -> None:
        """Say nothing."""
